package io.rdmaraw.verbs.softverbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.VerbsDevices;
import io.rdmaraw.verbs.VerbsException;
import java.lang.foreign.Arena;
import java.util.Optional;

/**
 * What the kernel and the driver tell of a network interface, before anything is opened on it: generic netlink, family
 * {@code netdev} (the kernel's {@code Documentation/netlink/specs/netdev.yaml}). Masks have the bits of
 * {@code linux/netdev.h}.
 *
 * @param driver           the driver's name, as {@code ethtool -i} has it; empty if the interface has none
 * @param isTold           whether the kernel tells what follows: from Linux 6.3 on
 * @param xdpFeatures      {@code enum netdev_xdp_act}
 * @param xdpRxMetadata    {@code enum netdev_xdp_rx_metadata}
 * @param zeroCopySegments how many chunks a frame may take in zero copy; 1 for one, 0 where it is not told
 * @param receiveQueues    its receive queues; 0 where they are not told (before Linux 6.8)
 * @param queuesWithNapi   those of them whose NAPI instance the driver tells
 * @param isNapiByFrame    whether a socket in a mode of the driver learns its instance from its first frame, whatever
 *                         the driver tells: before Linux 6.13
 * @param leftDeferring    NAPI instances whose interrupts a process that was killed has left deferred
 */
public record InterfaceFacts(String driver, boolean isTold, long xdpFeatures, long xdpRxMetadata, int zeroCopySegments,
        int receiveQueues, int queuesWithNapi, boolean isNapiByFrame, int leftDeferring) {
    /** {@code NETDEV_XDP_ACT_BASIC}: the driver runs XDP programs. */
    public static final long XDP_BASIC = 1;
    /** {@code NETDEV_XDP_ACT_REDIRECT}: and redirects to sockets. */
    public static final long XDP_REDIRECT = 1 << 1;
    /** {@code NETDEV_XDP_ACT_XSK_ZEROCOPY}: AF_XDP without a copy. */
    public static final long XDP_ZERO_COPY = 1 << 3;
    /** {@code NETDEV_XDP_ACT_RX_SG}: frames in several pieces, as above an MTU of about 3,500. */
    public static final long XDP_SEVERAL_PIECES = 1 << 5;

    private static final int DRIVER_BYTES = 32;

    /**
     * Asks for an interface of this network namespace.
     *
     * @return empty when there is no such interface, or softverbs cannot be used
     */
    public static Optional<InterfaceFacts> of(String netdev) {
        long function = VerbsDevices.softverbsFunction("softverbs_query_interface");
        if (function == 0) {
            return Optional.empty();
        }
        try (Arena arena = Arena.ofConfined()) {
            long memory = arena.allocate(SoftverbsInterfaceLayout.SIZE_BYTES, Long.BYTES).address();
            int errno = NativeCall.status(function, arena.allocateFrom(netdev).address(), memory);
            if (errno == Errno.ENODEV) {
                return Optional.empty();
            }
            VerbsException.check("softverbs_query_interface", errno, netdev);
            return Optional.of(read(memory));
        }
    }

    /** Returns whether the kernel says that the driver can do all of this. */
    public boolean has(long features) {
        return (xdpFeatures & features) == features;
    }

    private static InterfaceFacts read(long memory) {
        return new InterfaceFacts(
                NativeMemory.segment(memory + SoftverbsInterfaceLayout.DRIVER_OFFSET, DRIVER_BYTES).getString(0),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.TOLD_OFFSET) != 0,
                NativeMemory.getLong(memory + SoftverbsInterfaceLayout.XDP_FEATURES_OFFSET),
                NativeMemory.getLong(memory + SoftverbsInterfaceLayout.XDP_RX_METADATA_OFFSET),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.ZERO_COPY_SEGMENTS_OFFSET),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.RECEIVE_QUEUES_OFFSET),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.QUEUES_WITH_NAPI_OFFSET),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.NAPI_BY_FRAME_OFFSET) != 0,
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.LEFT_DEFERRING_OFFSET));
    }
}
