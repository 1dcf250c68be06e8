package io.rdmaraw.tools.doctor;

import io.rdmaraw.verbs.softverbs.InterfaceInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Checks the network device under a device: state, MTU, and offloads that merge or change frames. */
final class NetdevChecks {
    /** The largest MTU at which an Ethernet frame with two VLAN tags fits a slot of 2 KiB. */
    private static final int MAX_DEFAULT_MTU = 2048 - 14 - 8;
    /** IFF_UP of linux/if.h. */
    private static final int IFF_UP = 1;
    private static final int IFF_LOOPBACK = 8;
    private static final Map<String, String> MERGING_OFFLOADS = Map.of(
            "generic-receive-offload", "gro",
            "large-receive-offload", "lro",
            "rx-vlan-offload", "rxvlan");
    private static final String VETH = "veth";

    private final Host host;
    private final Features features;
    private final Function<String, Optional<InterfaceInfo>> query;

    /** Reads the offloads of a network device with {@code ethtool -k}. */
    interface Features {
        /** Returns the output of ethtool; empty if it is not installed. */
        Optional<String> of(String netdev);
    }

    /**
     * Creates the checks.
     *
     * @param query {@link InterfaceInfo#of}, or a replacement in tests
     */
    NetdevChecks(Host host, Features features, Function<String, Optional<InterfaceInfo>> query) {
        this.host = host;
        this.features = features;
        this.query = query;
    }

    /**
     * Runs the checks.
     *
     * @param needsWholeFrames whether merged frames and frames without their VLAN tag are a problem
     */
    List<Finding> check(String netdev, boolean needsWholeFrames) {
        List<Finding> findings = new ArrayList<>();
        if (!host.exists("sys/class/net/" + netdev)) {
            findings.add(Finding.fail("interface", "there is no network device '" + netdev + "'",
                    "use one of: " + String.join(", ", host.list("sys/class/net"))));
            return findings;
        }
        findings.add(state(netdev));
        findings.add(mtu(netdev));
        if (needsWholeFrames) {
            findings.addAll(offloads(netdev));
        }
        return findings;
    }

    private Finding state(String netdev) {
        int flags = host.read("sys/class/net/" + netdev + "/flags").map(Integer::decode).orElse(0);
        if ((flags & IFF_UP) == 0) {
            return Finding.fail("interface", netdev + " is down", "sudo ip link set dev " + netdev + " up");
        }
        if ((flags & IFF_LOOPBACK) != 0) {
            return Finding.warn("interface", netdev + " is a loopback device: it carries frames without real"
                    + " addresses, in generic mode only", "use a veth pair for tests");
        }
        // The carrier file is readable only while the device is up.
        return host.read("sys/class/net/" + netdev + "/carrier").filter("1"::equals).isPresent()
                ? Finding.ok("interface", netdev + " is up and has a carrier")
                : Finding.fail("interface", netdev + " is up but has no carrier",
                        "check the cable, the switch port, or the other end of the veth pair");
    }

    private Finding mtu(String netdev) {
        int mtu = host.read("sys/class/net/" + netdev + "/mtu").map(Integer::parseInt).orElse(0);
        return mtu <= MAX_DEFAULT_MTU ? Finding.ok("MTU", netdev + " has " + mtu)
                : Finding.fail("MTU", netdev + " has " + mtu + "; slots of 2 KiB hold frames up to an MTU of "
                        + MAX_DEFAULT_MTU, "sudo ip link set dev " + netdev + " mtu 1500, or larger slots"
                        + " (RdmaRawIoHandlerConfig.slotBytes)");
    }

    private List<Finding> offloads(String netdev) {
        Optional<String> output = features.of(netdev);
        if (output.isEmpty()) {
            return List.of(Finding.warn("offloads", "not known, as there is no ethtool",
                    "sudo apt-get install -y ethtool"));
        }
        // A veth pair removes no tags: its peer decides whether a frame has one. softverbs opens it with rxvlan on.
        boolean isVeth = query.apply(netdev).filter(facts -> facts.driver().equals(VETH)).isPresent();
        List<String> on = MERGING_OFFLOADS.entrySet().stream()
                .filter(offload -> output.get().contains(offload.getKey() + ": on"))
                .map(Map.Entry::getValue).filter(name -> !isVeth || !name.equals("rxvlan")).sorted().toList();
        if (on.isEmpty()) {
            return List.of(Finding.ok("offloads", "none that merges frames or takes VLAN tags off"));
        }
        return List.of(Finding.warn("offloads", String.join(", ", on)
                        + " on: frames can reach us merged or without their VLAN tag",
                "sudo ethtool -K " + netdev + ' ' + String.join(" off ", on) + " off"));
    }
}
