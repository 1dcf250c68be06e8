package io.rdmaraw.tcp.stack;

import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.wire.FrameOrigin;

/**
 * The options of one loop's TCP.
 *
 * @param segmentationOffload whether the device may segment large payloads (TSO)
 * @param frameOrigin         origin of received frames
 * @param engineConfigFactory creates the engine's configuration when the device is known
 * @param handover            ports that another process listens on, too
 */
public record TcpStackOptions(boolean segmentationOffload, FrameOrigin frameOrigin,
        EngineConfigFactory engineConfigFactory,
                              PortHandover handover) {
    /** Creates the configuration of the engine. */
    @FunctionalInterface
    public interface EngineConfigFactory {
        /**
         * Creates the configuration for a device.
         *
         * @param mtuBytes          MTU of the device
         * @param maxParts          maximum number of memory segments that the device gathers into one frame
         * @param segmentationBytes maximum payload length that the device segments; 0 if it does not segment
         */
        TcpConfig create(int mtuBytes, int maxParts, int segmentationBytes);
    }
}
