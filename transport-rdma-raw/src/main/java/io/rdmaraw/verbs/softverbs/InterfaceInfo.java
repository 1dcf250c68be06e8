package io.rdmaraw.verbs.softverbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.softverbs.SoftverbsLayouts.SoftverbsInterfaceLayout;
import java.lang.foreign.Arena;
import java.util.Optional;

/**
 * Properties of a network interface as reported by the kernel and the driver, available before a device is
 * opened on it. They are read through generic netlink, family {@code netdev}
 * ({@code Documentation/netlink/specs/netdev.yaml} of the kernel). Masks have the bits of
 * {@code linux/netdev.h}.
 *
 * @param driver            name of the driver as in {@code ethtool -i}; empty if the interface has none
 * @param isReported        whether the kernel reports the following properties (Linux 6.3 and later)
 * @param xdpFeatures       {@code enum netdev_xdp_act}
 * @param xdpRxMetadata     {@code enum netdev_xdp_rx_metadata}
 * @param zeroCopySegments  maximum number of chunks per frame in zero copy; 0 if not reported
 * @param receiveQueues     number of receive queues; 0 if not reported (before Linux 6.8)
 * @param queuesWithNapi    number of receive queues with a NAPI instance reported by the driver
 * @param isNapiByFrame     whether a socket in a driver mode learns its NAPI instance only from its first frame
 *                          (before Linux 6.13)
 * @param napisLeftDeferred number of NAPI instances with interrupts that a killed process has left deferred
 */
public record InterfaceInfo(String driver, boolean isReported, long xdpFeatures, long xdpRxMetadata,
        int zeroCopySegments, int receiveQueues, int queuesWithNapi, boolean isNapiByFrame, int napisLeftDeferred) {
    /** {@code NETDEV_XDP_ACT_BASIC}: the driver can run XDP programs. */
    public static final long XDP_BASIC = 1;
    /** {@code NETDEV_XDP_ACT_REDIRECT}: the driver can redirect frames to sockets. */
    public static final long XDP_REDIRECT = 1 << 1;
    /** {@code NETDEV_XDP_ACT_XSK_ZEROCOPY}: the driver supports AF_XDP zero copy. */
    public static final long XDP_ZERO_COPY = 1 << 3;
    /**
     * {@code NETDEV_XDP_ACT_RX_SG}: the driver supports frames in several chunks, needed for an MTU above about
     * 3,500.
     */
    public static final long XDP_RX_SG = 1 << 5;

    private static final int DRIVER_BYTES = 32;

    /**
     * Returns the properties of an interface in this network namespace.
     *
     * @return empty if the interface does not exist or softverbs is not usable
     */
    public static Optional<InterfaceInfo> of(String netdev) {
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

    /** Returns whether the kernel reports all the given features. */
    public boolean has(long features) {
        return (xdpFeatures & features) == features;
    }

    private static InterfaceInfo read(long memory) {
        return new InterfaceInfo(
                NativeMemory.segment(memory + SoftverbsInterfaceLayout.DRIVER_OFFSET, DRIVER_BYTES).getString(0),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.FEATURES_REPORTED_OFFSET) != 0,
                NativeMemory.getLong(memory + SoftverbsInterfaceLayout.XDP_FEATURES_OFFSET),
                NativeMemory.getLong(memory + SoftverbsInterfaceLayout.XDP_RX_METADATA_OFFSET),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.ZERO_COPY_SEGMENTS_OFFSET),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.RECEIVE_QUEUES_OFFSET),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.QUEUES_WITH_NAPI_OFFSET),
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.NAPI_FROM_FIRST_FRAME_OFFSET) != 0,
                NativeMemory.getInt(memory + SoftverbsInterfaceLayout.NAPI_LEFT_DEFERRING_OFFSET));
    }
}
