package io.rdmaraw.testsuite.hostmodel;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The differences that do not fail a run, each with its reason. {@code docs/design/addresses-and-rules.md} documents
 * the same list for users; a test compares the two.
 */
final class AcceptedDifferences {
    private static final Pattern NEXT_HOP = Pattern.compile("nexthop via (\\S+) dev (up\\d)");
    private static final Set<String> ANY = Set.of("delivered", "sender", "answered", "link", "source", "next hop",
            "detail", "error");

    /**
     * An accepted difference.
     *
     * @param id        name in the document
     * @param isFault   whether it is a known fault; the entry is deleted when the fault is fixed
     * @param reason    why it is accepted
     * @param facts     facts that may differ
     * @param predicate selects the differences to which the entry applies
     */
    record Entry(String id, boolean isFault, String reason, Set<String> facts, Predicate<Difference> predicate) {
    }

    /** More specific entries come first, because they leave fewer facts for the others. */
    private static final List<Entry> ALL = List.of(
            accepted("device-link", Set.of("link", "next hop", "source", "detail"),
                    "answers leave by the device although the kernel would take another link",
                    AcceptedDifferences::isByDeviceLink),
            accepted("way-back", Set.of("answered", "delivered"),
                    "TCP answers to where segments come from although the next hop of the kernel's route does not"
                            + " answer",
                    difference -> difference.probe().kind().isTcp() && difference.probe().kind().isIncoming()
                            && difference.ours().isAnswered() && !difference.twin().isAnswered()
                            && hops(difference.ours()).equals(Set.of(hop(difference.probe().via(), 0)))
                            && difference.twinLink().getAsInt() >= 0),
            accepted("remembered-neighbor", Set.of("answered", "delivered", "error"),
                    "the MAC address of an IPv6 neighbor stays in use on a link without a link-local address, where the"
                            + " kernel cannot solicit it",
                    difference -> !difference.twin().isAnswered() && difference.ours().isAnswered()
                            && (!difference.isAfter("fe80::1/64 dev up0")
                                    || difference.isAfter("addr del fe80::1/64 dev up0")
                                    || difference.isAfter("link set up0 down"))
                            && hops(difference.ours()).stream()
                                    .allMatch(hop -> hop.contains("::") || hop.contains(":0:"))),
            accepted("rule-by-source", Set.of("link", "next hop", "answered", "detail", "error"),
                    "IPv6 routes and rules for a source hold for a new connection at once; the kernel keeps the route"
                            + " that it found before it chose the source",
                    difference -> difference.probe().kind() == Probe.Kind.CONNECT && difference.probe().isIpv6()
                            && difference.probe().source().isEmpty()
                            && (difference.isAfter(" from 2001:db8:0::1 lookup")
                                    || difference.isAfter(" from 2001:db8:0::/64"))),
            accepted("equal-next-hops", Set.of("next hop"),
                    "the hash that chooses among equal next hops is not the kernel's",
                    AcceptedDifferences::isAmongEqualNextHops),
            accepted("received-mtu", ANY,
                    "the device drops packets that are longer than the MTU of its link; the kernel's macvlan receives"
                            + " them",
                    difference -> difference.probe().kind() == Probe.Kind.DATAGRAM
                            && difference.probe().detail() > 1000 && difference.isAfter("link set up0 mtu 1")
                            && difference.ours().delivered() == null && !difference.ours().isAnswered()),
            accepted("rp-filter", ANY, "the device delivers packets that `rp_filter` would drop",
                    difference -> difference.isAfter("rp_filter ") && difference.probe().kind().isIncoming()
                            && difference.probe().link() == 0 && !difference.probe().isIpv6()
                            && !difference.twin().isAnswered() && difference.twin().delivered() == null),
            accepted("rp-filter-of-open-connections", Set.of("answered"),
                    "a strict `rp_filter` holds for open connections at once; the kernel checks their packets again"
                            + " when a route changes",
                    difference -> difference.isAfter("rp_filter 1") && !difference.probe().isIpv6()
                            && difference.probe().kind() == Probe.Kind.LIVE_DATA && difference.probe().link() == 0
                            && !difference.ours().isAnswered() && difference.twin().isAnswered()
                            && !links(difference.twin()).contains(0)),
            accepted("broadcast-source", ANY,
                    "packets from a broadcast address are dropped, which the kernel does only with `rp_filter`",
                    difference -> difference.probe().source().endsWith(".255")
                            && difference.ours().delivered() == null && !difference.ours().isAnswered()),
            accepted("unspecified-source", Set.of("answered"),
                    "TCP segments from the unspecified IPv6 address are dropped as RFC 9293 demands; the kernel answers"
                            + " them if it has a default route",
                    difference -> difference.probe().kind().isTcp() && difference.probe().source().equals("::")
                            && !difference.ours().isAnswered()),
            accepted("own-source", ANY,
                    "packets from an own address of the host are dropped, which the kernel does for IPv4 only",
                    difference -> difference.probe().isIpv6() && difference.ours().delivered() == null
                            && !difference.ours().isAnswered()
                            && difference.isAfter("addr add " + difference.probe().source() + "/")));

    private AcceptedDifferences() {
    }

    private static Entry accepted(String id, Set<String> facts, String reason, Predicate<Difference> predicate) {
        return new Entry(id, false, reason, facts, predicate);
    }

    static List<Entry> all() {
        return ALL;
    }

    /**
     * Returns the entries that together explain a difference. Returns an empty list if they leave a fact unexplained.
     */
    static List<Entry> of(Difference difference) {
        Set<String> left = new TreeSet<>(difference.facts());
        List<Entry> entries = new ArrayList<>();
        for (Entry entry : ALL) {
            if (!Collections.disjoint(entry.facts(), left) && entry.predicate().test(difference)) {
                left.removeAll(entry.facts());
                entries.add(entry);
            }
        }
        return left.isEmpty() ? entries : List.of();
    }

    private static boolean isByDeviceLink(Difference difference) {
        boolean isToBroadcast = !difference.probe().kind().isIncoming()
                && difference.probe().destination().endsWith(".255");
        return !isToBroadcast && difference.ours().isAnswered() && difference.twin().isAnswered()
                && links(difference.ours()).equals(Set.of(0)) && !links(difference.twin()).contains(0);
    }

    /** Returns whether both next hops belong to the same route and the same link. */
    private static boolean isAmongEqualNextHops(Difference difference) {
        Set<String> hops = new TreeSet<>(hops(difference.ours()));
        hops.addAll(hops(difference.twin()));
        return links(difference.ours()).equals(links(difference.twin()))
                && difference.changes().stream().anyMatch(change -> hopsOf(change).containsAll(hops));
    }

    private static Set<String> hops(Answer answer) {
        return answer.replies().stream().map(Answer.Reply::nextHop).filter(hop -> hop.contains("%"))
                .collect(Collectors.toSet());
    }

    /** Returns the next hops of a command, in the form of {@link Macs#name}. */
    private static Set<String> hopsOf(String change) {
        return NEXT_HOP.matcher(change).results()
                .map(hop -> hop(hop.group(1), hop.group(2).charAt(2) - '0'))
                .collect(Collectors.toSet());
    }

    /** Returns the name of a next hop's MAC address, which several addresses of a peer may share. */
    private static String hop(String address, int link) {
        return Macs.name(Macs.of(link, Frame.ofText(address)));
    }

    private static Set<Integer> links(Answer answer) {
        return answer.replies().stream().filter(reply -> !reply.nextHop().equals("any")).map(Answer.Reply::link)
                .collect(Collectors.toSet());
    }
}
