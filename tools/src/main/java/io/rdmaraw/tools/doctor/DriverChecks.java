package io.rdmaraw.tools.doctor;

import io.rdmaraw.verbs.softverbs.InterfaceInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Reports the AF_XDP features of a network driver: modes, multi-buffer frames, queues, busy polling. They are
 * queried from the kernel; nothing is opened for the test.
 */
final class DriverChecks {
    /** SV_BPF_MAX_QUEUES of softverbs. */
    private static final int MAX_QUEUES = 64;
    /** The largest MTU at which each frame fits one chunk of AF_XDP (softverbs/xdp_queue.h, sv_xdp_is_jumbo()). */
    private static final int MAX_ONE_PIECE_MTU = 3822;
    /** Number of 4 KiB chunks of a frame with an MTU of 9,000. */
    private static final int JUMBO_CHUNKS = 3;
    private static final String MODE = "SOFTVERBS_XDP_MODE";
    private static final String BUSY_POLL = "SOFTVERBS_XDP_BUSY_POLL";
    /**
     * Additional requirements of the native modes by driver (docs/guide/deploying.md, Drivers, and
     * docs/guide/cloud.md).
     */
    private static final Map<String, String> WANTS = Map.of(
            "ena", "an MTU of 3,502 at most, and half of the queues that ethtool -l names as the most",
            "virtio_net", "a send queue for each processor beside those in use: else sends of processors share one,"
                    + " with a lock",
            "mlx5_core", "Linux 6.1 or newer for zero copy: before, its sockets have queue numbers of their own",
            "gve", "Linux 6.4; zero copy still has a copy inside the driver");

    private final Host host;
    private final Function<String, Optional<InterfaceInfo>> query;

    /**
     * Creates the checks.
     *
     * @param query {@link InterfaceInfo#of}, or a replacement in tests
     */
    DriverChecks(Host host, Function<String, Optional<InterfaceInfo>> query) {
        this.host = host;
        this.query = query;
    }

    List<Finding> check(String netdev) {
        return query.apply(netdev).map(info -> check(netdev, info)).orElse(List.of());
    }

    private List<Finding> check(String netdev, InterfaceInfo info) {
        List<Finding> findings = new ArrayList<>();
        String driver = info.driver().isEmpty() ? netdev + "'s driver" : info.driver();
        if (!info.isReported()) {
            findings.add(Finding.ok("driver", driver + "; before Linux 6.3 the kernel does not tell what it can do, and"
                    + " opening the device will"));
            return findings;
        }
        findings.add(modes(netdev, driver, info));
        findings.addAll(queues(netdev, info));
        findings.addAll(busyPolling(netdev, info));
        return findings;
    }

    private Finding modes(String netdev, String driver, InterfaceInfo info) {
        boolean isNative = info.has(InterfaceInfo.XDP_BASIC | InterfaceInfo.XDP_REDIRECT);
        boolean isZeroCopy = isNative && info.has(InterfaceInfo.XDP_ZERO_COPY);
        boolean isLong = isNative && info.has(InterfaceInfo.XDP_RX_SG);
        String text = driver + ": modes generic" + (isNative ? ", native" : "") + (isZeroCopy ? ", zerocopy" : "")
                + (host.isKernelFrom(6, 6) ? ", tap" : "") + (isNative ? "; an MTU above " + MAX_ONE_PIECE_MTU
                + " in " + longModes(isLong, isLong && isZeroCopy && info.zeroCopySegments() >= JUMBO_CHUNKS) : "");
        String mode = host.environment(MODE).orElse("");
        int mtu = host.read("sys/class/net/" + netdev + "/mtu").map(Integer::parseInt).orElse(0);
        if (mode.equals("native") && !isNative || mode.equals("zerocopy") && !isZeroCopy) {
            return Finding.fail("driver", text + "; not " + mode, "run without " + MODE + '=' + mode);
        }
        if (mtu > MAX_ONE_PIECE_MTU && !isLong && (mode.equals("native") || mode.equals("zerocopy"))) {
            return Finding.fail("driver", text, "sudo ip link set dev " + netdev + " mtu " + MAX_ONE_PIECE_MTU
                    + ", or run without " + MODE + '=' + mode);
        }
        String wants = WANTS.get(info.driver());
        return Finding.ok("driver", text + (isNative && wants != null ? "; native mode wants " + wants : ""));
    }

    private static String longModes(boolean isNative, boolean isZeroCopy) {
        return isZeroCopy ? "all of them" : isNative ? "generic and native" : "generic alone";
    }

    private static List<Finding> queues(String netdev, InterfaceInfo info) {
        return info.receiveQueues() <= MAX_QUEUES ? List.of()
                : List.of(Finding.fail("queues", netdev + " has " + info.receiveQueues() + " receive queues, and "
                        + MAX_QUEUES + " can be served", "sudo ethtool -L " + netdev + " combined " + MAX_QUEUES
                        + ", or use soft:packet:" + netdev));
    }

    private List<Finding> busyPolling(String netdev, InterfaceInfo info) {
        List<Finding> findings = new ArrayList<>();
        findings.add(info.isNapiByFrame() ? busyPollingByFrame(info) : busyPollingByQueue(netdev, info));
        if (info.napisLeftDeferred() > 0) {
            findings.add(Finding.warn("interrupts", "of " + info.napisLeftDeferred() + " queues of " + netdev + " are"
                    + " deferred as " + BUSY_POLL + "=on does it", "if no process has it open, one was killed: the next"
                    + " one with " + BUSY_POLL + "=on puts them back when it ends"));
        }
        return findings;
    }

    /** Checks busy polling from Linux 6.13 on, where each queue reports its NAPI instance. */
    private Finding busyPollingByQueue(String netdev, InterfaceInfo info) {
        if (info.receiveQueues() == 0) {
            return Finding.ok("busy polling", "the kernel tells whether it can be had while " + netdev + " is up");
        }
        if (info.queuesWithNapi() == info.receiveQueues()) {
            return Finding.ok("busy polling", isBusyPollingWanted() ? "is on"
                    : "can be had: " + BUSY_POLL + "=on, for loops that poll all the time");
        }
        return busyPollingRefused("queues of " + netdev + " have no NAPI instance that a socket can poll");
    }

    /**
     * Checks busy polling before Linux 6.13, where received frames report the NAPI instance. Frames in generic mode do
     * not. The mode that {@code auto} selects is known only after the device has been opened.
     */
    private Finding busyPollingByFrame(InterfaceInfo info) {
        String mode = host.environment(MODE).orElse("auto");
        if (!info.has(InterfaceInfo.XDP_BASIC | InterfaceInfo.XDP_REDIRECT)) {
            return busyPollingRefused("before Linux 6.13 it wants a driver with XDP of its own");
        }
        if (isBusyPollingWanted() && (mode.equals("generic") || mode.equals("tap"))) {
            return Finding.fail("busy polling", "cannot be had in mode " + mode + " before Linux 6.13",
                    "run with " + MODE + "=native, or without " + BUSY_POLL);
        }
        return Finding.ok("busy polling", isBusyPollingWanted() ? "is on in modes native and zerocopy"
                : "can be had in modes native and zerocopy: " + BUSY_POLL + "=on, for loops that poll all the time");
    }

    private Finding busyPollingRefused(String why) {
        return isBusyPollingWanted() ? Finding.fail("busy polling", "cannot be had: " + why, "run without " + BUSY_POLL)
                : Finding.ok("busy polling", "cannot be had: " + why);
    }

    private boolean isBusyPollingWanted() {
        return host.environment(BUSY_POLL).equals(Optional.of("on"));
    }
}
