package io.rdmaraw.device;

import java.util.Map;
import java.util.Set;

import static java.util.Map.entry;

/**
 * Remedies for persistent drops and errors, by the name of their metric. Metrics without a remedy are caused by
 * peers or are part of the protocol; they are only counted.
 */
final class DropRemedies {
    private static final String MORE_POLLS = "let the loop poll more often: more loops, less work in handlers, or a"
            + " larger receiveQueueDepth";
    private static final String NEXT_HOP = "look whether the next hop answers ARP or neighbour discovery:"
            + " ip neigh, ip route get PEER";
    private static final Map<String, String> BY_METRIC = Map.ofEntries(
            entry("bad-checksum", "frames are damaged on the way, or a sender on this host omits checksums (offload)"
                    + " on an interface where that is not expected. In the second case set"
                    + " SOFTVERBS_PARTIAL_CHECKSUMS=on for this process, or run 'ethtool -K INTERFACE tx off' for the"
                    + " sender's interface"),
            entry("malformed", "a sender or a device on the way truncates packets or writes wrong lengths:"
                    + " 'tcpdump -v' at the sender shows whether the sender does"),
            entry("martian", "packets with impossible addresses, such as this host's own as the source, come to"
                    + " this host: 'tcpdump -e' on the link shows the MAC address of their sender"),
            entry("foreign-vlan", "frames carry a VLAN tag that no channel asked for: remove the tag before the frames"
                    + " reach this interface, or name the VLAN in a rule"),
            entry("too-long", "give the senders this interface's MTU, turn GRO and LRO off here, or open the device"
                    + " after the MTU was raised, with larger slotBytes"),
            entry("gso-flags", "a sender puts SYN, RST or URG on packets that hardware segments:"
                    + " 'ethtool -K INTERFACE tso off gso off' there"),
            entry("gso-malformed", "a sender builds large packets that contradict themselves: 'tcpdump -v' there"
                    + " shows them"),
            entry("gso-too-long", "a sender uses BIG TCP: 'ip link set dev INTERFACE gso_max_size 65536"
                    + " gso_ipv4_max_size 65536' there"),
            entry("gso-datagrams", "datagrams of UDP_SEGMENT that a sender on this host leaves to hardware go to the"
                    + " kernel's socket: SOFTVERBS_XDP_MODE=native or a soft:packet: device takes them"),
            entry("receive-error", "frames do not fit the slots: turn GRO and LRO of the interface off, or set larger"
                    + " slotBytes"),
            entry("no-connection", "peers send to ports on which nothing listens any more: start the server, or close"
                    + " the channel whose rule still matches them"),
            entry("no-channel", "frames still arrive for a channel that was closed: stop the peers that send them"),
            entry("no-receive", MORE_POLLS),
            entry("ring-full", MORE_POLLS),
            entry("driver-full", "the interface runs out of buffers: " + MORE_POLLS + "; 'ethtool -g INTERFACE' shows"
                    + " the size of its rings"),
            entry("interface-full", "the interface is down, or sends more slowly than the loops: 'ip -s link show dev"
                    + " INTERFACE' shows whether it is down; otherwise use more send queues ('ethtool -L')"),
            entry("no-send-queue", "the interface has fewer send queues than when the device was opened, and the loops"
                    + " share the rest, or the bond sends by an interface that can't be opened: 'ethtool -l INTERFACE'"
                    + " shows the queues; open the device again"),
            entry("syn-ring-full", "more clients connect than the loops serve, or it is a flood of SYNs: more loops;"
                    + " docs/reference/security.md says what a flood does"),
            entry("unsolicited", "clients use connections that are gone, or it is a flood:"
                    + " docs/reference/security.md says what it does"),
            entry("unserved", "receive queues were added to the interface, or an interface that can't be opened has"
                    + " joined the bond: open the device again, which works or names the cause"),
            entry("no-memory", "handlers hold too many frames: release them earlier, or set a larger slotCount"),
            entry("unroutable", "the host has no route to the peers, or the link of the route is down: ip route get"
                    + " PEER; ip link"),
            entry("other-link", "the route to the peers is by another link than the device's, and rp_filter of the"
                    + " device's interface forbids that: add a route to the peers by the device's interface, or set its"
                    + " rp_filter to 2"),
            entry("route-lookup-limited", "the host has policy rules (ip rule), and very many addresses send: block"
                    + " forged senders with a firewall in front"),
            entry("unresolved", NEXT_HOP),
            entry("connection-timeouts", "peers do not answer, or our packets do not reach them: " + NEXT_HOP
                    + "; 'tcpdump' at the peer shows what arrives"),
            entry("suspect-paths", "a peer has answered none of several repeats: " + NEXT_HOP + "; 'tcpdump' at the"
                    + " peer shows what arrives"),
            entry("backlog-full", "clients connect faster than the server accepts: a larger SO_BACKLOG, or more"
                    + " loops"),
            entry("not-read", "handlers read too slowly: read more often, or set a larger SO_RCVBUF"),
            entry("rules.kernel-visible", "the kernel also receives the packets and may answer them, for instance with"
                    + " resets. To prevent that, use Linux 6.6 with the capabilities of docs/reference/security.md, or"
                    + " a soft:xdp: device"));

    private DropRemedies() {
    }

    /** Returns the names of the metrics that have a remedy. */
    static Set<String> metrics() {
        return BY_METRIC.keySet();
    }

    /** Returns the remedy as a phrase to follow a colon, or null if the metric needs no warning. */
    static String of(String metric) {
        return BY_METRIC.get(metric);
    }
}
