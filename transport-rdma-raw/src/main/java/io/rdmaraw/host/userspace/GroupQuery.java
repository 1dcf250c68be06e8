package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.wire.GroupMessage;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

import java.util.HashSet;
import java.util.Set;

/**
 * An IGMP or MLD query of a router for the memberships on the link.
 *
 * @param ipv4 true for IGMP, false for MLD
 * @param version 1 to 3 for IGMP, 1 or 2 for MLD
 * @param group the queried group, or the unspecified address for all groups
 * @param sources the queried sources of the group; empty for all
 * @param maxResponseMillis maximum response time in milliseconds
 * @param robustness number of transmissions of a report, so that one of them arrives; 0 if unspecified
 */
record GroupQuery(boolean ipv4, int version, IpAddress group, Set<IpAddress> sources, int maxResponseMillis,
                  int robustness) {
    private static final IpAddress ALL_SYSTEMS = IpAddress.parse("224.0.0.1");
    private static final IpAddress ALL_NODES = IpAddress.parse("ff02::1");
    private static final int NEWEST_IGMP = 3;
    private static final int NEWEST_MLD = 2;
    /** RFC 2236 section 4: the response time that version 1 routers expect. */
    private static final int VERSION_1_RESPONSE_MILLIS = 10_000;

    /** Parses a packet that the frame parser has accepted. Returns null if it is not a query or must be ignored. */
    static GroupQuery of(ParsedFrame packet, ParseVerdict verdict) {
        if (verdict == ParseVerdict.OTHER_PROTOCOL && packet.ipVersion() == 4
                && packet.protocol() == IpProtocol.IGMP) {
            // RFC 3376 section 4: must not be forwarded. The source 0.0.0.0 denotes a switch (RFC 4541 section 2.1.1).
            GroupQuery query = packet.hopLimit() == 1 ? igmp(packet.payloadAddress(), packet.payloadLengthBytes())
                    : null;
            return query != null && query.isValidDestination(IpAddress.destinationOf(packet)) ? query : null;
        }
        // RFC 3810 section 6.2: from the link-local address of a neighbour, and not forwarded.
        if (verdict == ParseVerdict.ICMPV6 && packet.hopLimit() == 1
                && IcmpHeader.type(packet.transportHeaderAddress()) == GroupMessage.MLD_QUERY
                && IpAddress.sourceOf(packet).isLinkLocal()) {
            GroupQuery query = read(packet.transportHeaderAddress(),
                    packet.payloadOffset() - packet.transportOffset() + packet.payloadLengthBytes(), false);
            return query != null && query.isValidDestination(IpAddress.destinationOf(packet)) ? query : null;
        }
        return null;
    }

    private static GroupQuery igmp(long message, int lengthBytes) {
        if (lengthBytes < GroupMessage.REPORT_HEADER_BYTES || IcmpHeader.type(message) != GroupMessage.IGMP_QUERY
                || !InternetChecksum.isValid(InternetChecksum.sum(message, lengthBytes))) {
            return null;
        }
        return read(message, lengthBytes, true);
    }

    private static GroupQuery read(long message, int lengthBytes, boolean ipv4) {
        int version = GroupMessage.queryVersion(message, lengthBytes, ipv4);
        if (version == 0) {
            return null;
        }
        IpAddress group = address(GroupMessage.groupFieldAddress(message, ipv4), ipv4);
        if (!group.isAny() && !group.isMulticast()) {
            return null;
        }
        boolean newest = version == (ipv4 ? NEWEST_IGMP : NEWEST_MLD);
        Set<IpAddress> sources = new HashSet<>();
        for (int i = newest ? GroupMessage.sourceCount(message, ipv4) : 0; i > 0; i--) {
            sources.add(address(GroupMessage.sourceFieldAddress(message, ipv4, i - 1), ipv4));
        }
        return new GroupQuery(ipv4, version, group, sources, ipv4 && version == 1 ? VERSION_1_RESPONSE_MILLIS
                : GroupMessage.maximumResponseMillis(message, ipv4, newest),
                newest ? GroupMessage.robustness(message, ipv4) : 0);
    }

    /**
     * Returns whether the destination is valid for this kind of query (RFC 3376 section 4.1.12, RFC 3810 section
     * 5.1.15): all hosts or the queried group. A unicast address of this host is also valid, for diagnostics.
     */
    private boolean isValidDestination(IpAddress destination) {
        return !destination.isMulticast() || destination.equals(isGeneral() ? ipv4 ? ALL_SYSTEMS : ALL_NODES : group)
                || !isGeneral() && destination.equals(ipv4 ? ALL_SYSTEMS : ALL_NODES);
    }

    private static IpAddress address(long at, boolean ipv4) {
        return ipv4 ? IpAddress.ipv4(NetworkOrder.getInt(at))
                : new IpAddress(NetworkOrder.getLong(at), NetworkOrder.getLong(at + Long.BYTES));
    }

    boolean isNewestVersion() {
        return version == (ipv4 ? NEWEST_IGMP : NEWEST_MLD);
    }

    boolean isGeneral() {
        return group.isAny();
    }
}
