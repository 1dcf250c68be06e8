package io.rdmaraw.tcp.stack;

import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.wire.FrameOrigin;

/**
 * The settings of one loop's TCP.
 *
 * @param segmentationOffload whether the device may cut large payloads into segments
 * @param frameOrigin         where received frames come from
 * @param core                makes the settings of the core when the device is known
 * @param handover            which ports another process has too
 */
public record TcpStackOptions(boolean segmentationOffload, FrameOrigin frameOrigin, CoreSettings core,
                              PortHandover handover) {
    /** Makes the settings of the core. */
    @FunctionalInterface
    public interface CoreSettings {
        /**
         * Makes the settings for a device.
         *
         * @param mtuBytes          its MTU
         * @param maxParts          pieces of memory that it gathers into one frame
         * @param segmentationBytes the longest payload that it cuts into segments, 0 when it cuts none
         */
        TcpConfig of(int mtuBytes, int maxParts, int segmentationBytes);
    }
}
