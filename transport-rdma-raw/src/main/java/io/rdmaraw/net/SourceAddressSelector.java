package io.rdmaraw.net;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Selects source addresses as Linux does: {@code inet_select_addr} for IPv4, {@code ipv6_dev_get_saddr} (RFC
 * 6724 section 5) for IPv6. Immutable.
 */
final class SourceAddressSelector {
    private static final int SCOPE_SITE = 5;
    private static final int SCOPE_GLOBAL = 14;
    /** Penalty of an address with a narrower scope than the destination. Any wider scope is better. */
    private static final int TOO_NARROW = 128;
    private static final int DEFAULT_LABEL = 1;

    /** Labels of RFC 6724 section 2.1 and {@code net/ipv6/addrlabel.c}, the longest prefix first. */
    private static final List<Label> LABELS = List.of(new Label("::1", 128, 0), new Label("2001:10::", 28, 7),
            new Label("2001::", 32, 6), new Label("2002::", 16, 2), new Label("fec0::", 10, 11),
            new Label("3ffe::", 16, 12), new Label("fc00::", 7, 5));

    private final List<Link> links;
    private final Map<Integer, List<LocalAddress>> ipv4 = new HashMap<>();
    private final Map<Integer, List<LocalAddress>> ipv6 = new HashMap<>();

    private record Label(IpAddress prefix, int bits, int number) {
        Label(String prefix, int bits, int number) {
            this(IpAddress.parse(prefix), bits, number);
        }
    }

    /**
     * @param addresses in the order of the kernel's lists, for equal link and scope
     */
    SourceAddressSelector(List<Link> links, List<LocalAddress> addresses) {
        this.links = new ArrayList<>(links);
        // The loopback interface is the first one of each namespace.
        this.links.sort(Comparator.comparing(link -> !link.isLoopback()));
        for (LocalAddress candidate : addresses) {
            if (candidate.isUsable()) {
                (candidate.address().isIpv4() ? ipv4 : ipv6)
                        .computeIfAbsent(candidate.linkIndex(), link -> new ArrayList<>()).add(candidate);
            }
        }
        ipv4.values().forEach(list -> list.sort(Comparator.comparing(LocalAddress::scope, Collections.reverseOrder())));
        ipv6.values().forEach(list -> list.sort(Comparator.comparing(candidate -> -scope(candidate.address()))));
    }

    /**
     * Returns the IPv4 source address for a route, or null if the host has none.
     *
     * @param gatewayOrNull addresses in this router's subnet are preferred
     * @param scope         {@code RT_SCOPE_} value of the route; addresses of a narrower scope are skipped
     */
    IpAddress ipv4(Link link, IpAddress gatewayOrNull, int scope) {
        IpAddress first = null;
        for (LocalAddress candidate : ipv4.getOrDefault(link.index(), List.of())) {
            if (candidate.isSecondary() || candidate.scope() > scope) {
                continue;
            }
            if (gatewayOrNull == null || !gatewayOrNull.isIpv4()
                    || NetworkSnapshot.samePrefix(candidate.address(), gatewayOrNull, candidate.prefixLength())) {
                return candidate.address();
            }
            first = first == null ? candidate.address() : first;
        }
        return first != null ? first : links.stream()
                .flatMap(other -> ipv4.getOrDefault(other.index(), List.of()).stream())
                .filter(candidate -> !candidate.isSecondary() && !candidate.isLinkLocal() && candidate.scope() <= scope)
                .map(LocalAddress::address).findFirst().orElse(null);
    }

    /** Returns the IPv6 source address for packets that leave by a link, or null if the host has none. */
    IpAddress ipv6(Link link, IpAddress destination) {
        boolean sameLinkOnly = destination.isMulticast() || destination.isLinkLocal();
        LocalAddress best = null;
        for (Link holder : sameLinkOnly ? List.of(link) : links) {
            for (LocalAddress candidate : ipv6.getOrDefault(holder.index(), List.of())) {
                if (best == null || isBetter(candidate, best, link, destination)) {
                    best = candidate;
                }
            }
        }
        return best == null ? null : best.address();
    }

    /** Applies the rules of RFC 6724 section 5 in order. Rule 4 concerns mobile IPv6 and is omitted. */
    private static boolean isBetter(LocalAddress candidate, LocalAddress best, Link link, IpAddress destination) {
        int wanted = scope(destination);
        int order = Boolean.compare(candidate.address().equals(destination), best.address().equals(destination));
        order = order != 0 ? order : Integer.compare(scopeOrder(candidate, wanted), scopeOrder(best, wanted));
        order = order != 0 ? order : Boolean.compare(best.isDeprecated(), candidate.isDeprecated());
        order = order != 0 ? order
                : Boolean.compare(candidate.linkIndex() == link.index(), best.linkIndex() == link.index());
        int label = label(destination);
        order = order != 0 ? order
                : Boolean.compare(label(candidate.address()) == label, label(best.address()) == label);
        // Linux prefers public addresses unless use_tempaddr is 2.
        order = order != 0 ? order : Boolean.compare(best.isTemporary(), candidate.isTemporary());
        order = order != 0 ? order : Integer.compare(commonBits(candidate, destination), commonBits(best, destination));
        return order > 0;
    }

    private static int scopeOrder(LocalAddress address, int wanted) {
        int scope = scope(address.address());
        return scope >= wanted ? -scope : scope - TOO_NARROW;
    }

    /** Returns the scope of an IPv6 address (RFC 4291 section 2.7). */
    private static int scope(IpAddress address) {
        if (address.isMulticast()) {
            return (int) (address.high() >>> 48) & 0xf;
        }
        boolean isSite = address.high() >>> 54 == 0xfec0L >>> 6;
        return address.isLinkLocal() || address.isLoopback() ? IpAddress.LINK_SCOPE
                : isSite ? SCOPE_SITE : SCOPE_GLOBAL;
    }

    private static int label(IpAddress address) {
        for (Label label : LABELS) {
            if (NetworkSnapshot.samePrefix(address, label.prefix, label.bits)) {
                return label.number;
            }
        }
        return DEFAULT_LABEL;
    }

    private static int commonBits(LocalAddress address, IpAddress destination) {
        return Math.min(address.prefixLength(), Prefixes.commonBits(address.address().high(),
                address.address().low(), destination.high(), destination.low()));
    }
}
