package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.SourceFilter;
import io.rdmaraw.wire.ArpPacket;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.GroupMessage;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.NeighborDiscovery;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * A userspace host on a link. It claims and defends its addresses, resolves neighbours by ARP and neighbour discovery,
 * answers pings and learns routers. Never reads the clock; callers pass the current time in nanoseconds. Not
 * thread-safe.
 *
 * <p>It publishes its state as a {@link NetworkSnapshot} with a single link. So the senders of packets do not depend on
 * the kind of host.
 */
public final class UserspaceHostEngine {
    /** Index of the only link in snapshots. */
    public static final int LINK_INDEX = 1;
    /** RFC 4861 section 10. */
    private static final int MAX_ROUTER_SOLICITATIONS = 3;
    private static final long ROUTER_SOLICITATION_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(4);
    private static final IpAddress ALL_NODES = new IpAddress(0xff02L << 48, 1);

    private final UserspaceHostConfig config;
    private final String linkName;
    private final int linkMtuBytes;
    private final ControlFrames frames;
    private ControlOutput output;
    private final List<AddressClaim> claims = new ArrayList<>();
    private final NeighborCache neighbors;
    private final LearnedRouters routers = new LearnedRouters();
    private final GroupMemberships memberships;
    private final IcmpErrorReplies errors;
    private final UserspaceHostCounters counters = new UserspaceHostCounters();
    private int routerSolicitations;
    private long nextRouterSolicitationNanos;
    private boolean addressesChanged = true;
    private long generation;

    /** @param linkMtuBytes maximum length of an IP packet on the link */
    public UserspaceHostEngine(UserspaceHostConfig config, String linkName, int linkMtuBytes, ControlOutput output,
                   RandomGenerator random) {
        this.config = config;
        this.linkName = linkName;
        this.linkMtuBytes = linkMtuBytes;
        this.output = output;
        ControlOutput current = new ControlOutput() {
            @Override
            public long allocate() {
                return UserspaceHostEngine.this.output.allocate();
            }

            @Override
            public void send(int lengthBytes) {
                UserspaceHostEngine.this.output.send(lengthBytes);
            }
        };
        frames = new ControlFrames(config.mac(), current);
        memberships = new GroupMemberships(new GroupReports(config.mac(), linkMtuBytes, current, this::reportSource),
                counters, random);
        neighbors = new NeighborCache(this::sendAddressRequest, this::isRouter, random);
        errors = new IcmpErrorReplies(frames, config.mac(), this::owns, counters, random);
        boolean ipv6 = false;
        boolean linkLocal = false;
        for (UserspaceAddress address : config.addresses()) {
            claims.add(new AddressClaim(address, frames, random));
            ipv6 |= !address.address().isIpv4();
            linkLocal |= address.isLinkLocal();
        }
        if (ipv6 && !linkLocal) {
            // RFC 4291 section 2.8: every host has a link-local address.
            claims.add(new AddressClaim(UserspaceAddress.linkLocal(config.mac()), frames, random));
        }
        routerSolicitations = ipv6 ? 0 : MAX_ROUTER_SOLICITATIONS;
    }

    /** Starts to claim the addresses and joins their solicited-node groups (RFC 4862 section 5.4.2). */
    public void start(long nowNanos) {
        for (AddressClaim claim : claims) {
            IpAddress address = claim.own().address();
            if (!address.isIpv4()) {
                memberships.set(claim, address.solicitedNode(), SourceFilter.EVERYTHING, nowNanos);
            }
        }
        claims.forEach(claim -> claim.start(config.detectDuplicates(), nowNanos));
        nextRouterSolicitationNanos = nowNanos;
        addressesChanged = true;
    }

    /** Sets the output for frames sent from now on. */
    public void setOutput(ControlOutput newOutput) {
        output = newOutput;
    }

    public UserspaceHostCounters counters() {
        return counters;
    }

    private boolean owns(IpAddress address) {
        AddressClaim claim = claim(address);
        return claim != null && claim.state() == AddressClaim.State.OWNED;
    }

    private AddressClaim claim(IpAddress address) {
        for (AddressClaim claim : claims) {
            if (claim.own().address().equals(address)) {
                return claim;
            }
        }
        return null;
    }

    /** Returns the addresses, including the link-local one, for flow rules. */
    public List<IpAddress> addresses() {
        return claims.stream().map(claim -> claim.own().address()).toList();
    }

    /**
     * Sets the sources that a member accepts from a group. The change is reported on the link.
     *
     * @param member identifies the member; several members on the host may accept the same sources
     */
    public void setGroup(Object member, IpAddress group, SourceFilter filter, long nowNanos) {
        memberships.set(member, group, filter, nowNanos);
    }

    /** Ends all group memberships of a member. */
    public void leaveGroups(Object member, long nowNanos) {
        memberships.leaveAll(member, nowNanos);
    }

    /** Returns the joined groups, including those of the host's addresses. */
    public List<IpAddress> groups() {
        return memberships.groups();
    }

    /**
     * Returns the source address for membership reports. For IPv6 it must be link-local (RFC 3810 section 5.2.13, RFC
     * 3590).
     */
    private IpAddress reportSource(boolean ipv4) {
        for (AddressClaim claim : claims) {
            UserspaceAddress own = claim.own();
            if (claim.state() == AddressClaim.State.OWNED && own.address().isIpv4() == ipv4
                    && (ipv4 || own.isLinkLocal())) {
                return own.address();
            }
        }
        return ipv4 ? IpAddress.ANY_IPV4 : IpAddress.ANY_IPV6;
    }

    /**
     * Processes a frame.
     *
     * @return true if the frame was processed here, false if it is for a socket
     */
    public boolean receive(ParsedFrame frame, ParseVerdict verdict, long nowNanos) {
        if (EthernetHeader.source(frame.frameAddress()) == config.mac()) {
            // A multicast frame of this host that was looped back.
            return true;
        }
        return switch (verdict) {
            case ARP -> {
                receiveArp(frame.networkHeaderAddress(), nowNanos);
                yield true;
            }
            case ICMPV6 -> receiveIcmpv6(frame, nowNanos);
            case ICMP -> receiveIcmp(frame);
            case OTHER_PROTOCOL -> receiveIgmp(frame, nowNanos);
            default -> false;
        };
    }

    private boolean receiveIgmp(ParsedFrame frame, long nowNanos) {
        if (frame.ipVersion() != 4 || frame.protocol() != IpProtocol.IGMP) {
            return false;
        }
        GroupQuery query = GroupQuery.of(frame, ParseVerdict.OTHER_PROTOCOL);
        if (query != null && (IpAddress.destinationOf(frame).isMulticast() || isNeighbor(IpAddress.sourceOf(frame)))) {
            memberships.onQuery(query, nowNanos);
        }
        return true;
    }

    /**
     * Returns whether an address is on one of the subnets. Used for queries to a unicast address, which a router may
     * have forwarded even with a hop limit of 1.
     */
    private boolean isNeighbor(IpAddress address) {
        for (AddressClaim claim : claims) {
            if (claim.own().contains(address)) {
                return true;
            }
        }
        return false;
    }

    private void receiveArp(long arp, long nowNanos) {
        long senderMac = ArpPacket.senderMac(arp);
        IpAddress sender = IpAddress.ipv4(ArpPacket.senderIp(arp));
        IpAddress target = IpAddress.ipv4(ArpPacket.targetIp(arp));
        counters.arpReceived++;
        if (senderMac == config.mac() || EthernetHeader.isGroup(senderMac) || sender.isMulticast()) {
            return;
        }
        AddressClaim claimed = claim(sender);
        if (claimed != null) {
            onConflict(claimed, nowNanos);
            return;
        }
        boolean probe = sender.isAny();
        AddressClaim wanted = claim(target);
        if (probe && wanted != null && wanted.state() == AddressClaim.State.TENTATIVE) {
            // RFC 5227 section 2.1.1: two hosts probe for the same address.
            onConflict(wanted, nowNanos);
            return;
        }
        boolean forUs = owns(target);
        if (ArpPacket.operation(arp) == ArpPacket.REPLY) {
            neighbors.onAdvertisement(sender, senderMac, neighbors.isAwaited(sender), true, nowNanos);
        } else if (forUs) {
            if (!probe) {
                neighbors.learn(sender, senderMac);
            }
            counters.arpAnswered++;
            frames.sendArp(ArpPacket.REPLY, senderMac, target, senderMac, sender);
        } else if (sender.equals(target)) {
            neighbors.onAdvertisement(sender, senderMac, false, true, nowNanos);
        }
    }

    private void onConflict(AddressClaim claim, long nowNanos) {
        counters.addressConflicts++;
        claim.onConflict(nowNanos);
        addressesChanged |= claim.state() == AddressClaim.State.DUPLICATE;
    }

    private boolean receiveIcmpv6(ParsedFrame frame, long nowNanos) {
        long message = frame.transportHeaderAddress();
        int lengthBytes = frame.payloadOffset() - frame.transportOffset() + frame.payloadLengthBytes();
        switch (IcmpHeader.type(message)) {
            case NeighborDiscovery.NEIGHBOR_SOLICITATION -> receiveSolicitation(frame, message, lengthBytes, nowNanos);
            case NeighborDiscovery.NEIGHBOR_ADVERTISEMENT -> receiveAdvertisement(message, lengthBytes, nowNanos);
            case NeighborDiscovery.ROUTER_ADVERTISEMENT -> {
                IpAddress router = IpAddress.sourceOf(frame);
                if (router.isLinkLocal()) {
                    routers.onAdvertisement(router, message, lengthBytes, nowNanos);
                    long mac = NeighborDiscovery.linkLayerOption(message, lengthBytes, 16,
                            NeighborDiscovery.OPTION_SOURCE_LINK_LAYER);
                    if (mac != NeighborDiscovery.ABSENT) {
                        neighbors.learn(router, mac);
                    }
                }
            }
            case IcmpHeader.V6_ECHO_REQUEST -> answerEcho(frame);
            case GroupMessage.MLD_QUERY -> {
                GroupQuery query = GroupQuery.of(frame, ParseVerdict.ICMPV6);
                if (query != null) {
                    memberships.onQuery(query, nowNanos);
                }
            }
            default -> {
                return !IcmpHeader.isErrorV6(IcmpHeader.type(message));
            }
        }
        return true;
    }

    private void receiveSolicitation(ParsedFrame frame, long message, int lengthBytes, long nowNanos) {
        IpAddress source = IpAddress.sourceOf(frame);
        IpAddress target = new IpAddress(NeighborDiscovery.targetHigh(message), NeighborDiscovery.targetLow(message));
        AddressClaim claim = claim(target);
        counters.solicitationsReceived++;
        if (claim == null || claim.state() == AddressClaim.State.DUPLICATE) {
            return;
        }
        if (claim.state() == AddressClaim.State.TENTATIVE) {
            if (source.isAny()) {
                onConflict(claim, nowNanos);
            }
            return;
        }
        long mac = NeighborDiscovery.linkLayerOption(message, lengthBytes,
                NeighborDiscovery.NEIGHBOR_FIXED_LENGTH_BYTES, NeighborDiscovery.OPTION_SOURCE_LINK_LAYER);
        counters.solicitationsAnswered++;
        if (source.isAny()) {
            // RFC 4861 section 7.2.4: response to duplicate address detection.
            frames.sendAdvertisement(target, ALL_NODES, EthernetHeader.multicastOfIpv6(ALL_NODES.low()),
                    NeighborDiscovery.FLAG_OVERRIDE);
            return;
        }
        if (mac != NeighborDiscovery.ABSENT) {
            neighbors.learn(source, mac);
        }
        frames.sendAdvertisement(target, source, EthernetHeader.source(frame.frameAddress()),
                NeighborDiscovery.FLAG_SOLICITED | NeighborDiscovery.FLAG_OVERRIDE);
    }

    private void receiveAdvertisement(long message, int lengthBytes, long nowNanos) {
        IpAddress target = new IpAddress(NeighborDiscovery.targetHigh(message), NeighborDiscovery.targetLow(message));
        AddressClaim claim = claim(target);
        if (claim != null) {
            onConflict(claim, nowNanos);
            return;
        }
        long mac = NeighborDiscovery.linkLayerOption(message, lengthBytes,
                NeighborDiscovery.NEIGHBOR_FIXED_LENGTH_BYTES, NeighborDiscovery.OPTION_TARGET_LINK_LAYER);
        int flags = NeighborDiscovery.flags(message);
        neighbors.onAdvertisement(target, mac == NeighborDiscovery.ABSENT ? Neighbor.NO_MAC : mac,
                (flags & NeighborDiscovery.FLAG_SOLICITED) != 0, (flags & NeighborDiscovery.FLAG_OVERRIDE) != 0,
                nowNanos);
    }

    private boolean receiveIcmp(ParsedFrame frame) {
        int type = IcmpHeader.type(frame.transportHeaderAddress());
        if (type == IcmpHeader.ECHO_REQUEST) {
            answerEcho(frame);
        }
        return !IcmpHeader.isError(type);
    }

    private void answerEcho(ParsedFrame frame) {
        IpAddress destination = IpAddress.destinationOf(frame);
        // RFC 1122 section 3.2.2.6 permits ignoring pings to broadcast addresses.
        if (owns(destination) && !IpAddress.sourceOf(frame).isAny() && !IpAddress.sourceOf(frame).isMulticast()) {
            counters.echoesAnswered++;
            frames.sendEchoReply(frame, destination, linkMtuBytes);
        }
    }

    /** Sends an ICMP error for a UDP datagram to a closed port, within the rate limit (RFC 1812 section 4.3.2.8). */
    public void refuse(ParsedFrame datagram, long nowNanos) {
        errors.sendPortUnreachable(datagram, nowNanos);
    }

    /** Sends an ICMP error for a packet that the host cannot process, if one is permitted and within the rate limit. */
    public void refuse(ParsedFrame packet, ParseVerdict verdict, long nowNanos) {
        errors.sendUnknownHeaderError(packet, verdict, source(IpAddress.sourceOf(packet)), nowNanos);
    }

    /** Sends an ICMP error for a packet that was not completely reassembled in time, given its first fragment. */
    public void onReassemblyExpired(ParsedFrame firstFragment, long nowNanos) {
        errors.sendReassemblyTimeExceeded(firstFragment, nowNanos);
    }

    /** Resolves the MAC address of a host on the link, or keeps it reachable, because packets are sent to it. */
    public void solicit(IpAddress hop, long nowNanos) {
        neighbors.recordUse(hop, nowNanos);
    }

    private boolean isRouter(IpAddress host) {
        return config.gateways().contains(host) || routers.knows(host);
    }

    private void sendAddressRequest(IpAddress target, long mac) {
        IpAddress source = source(target);
        if (source == null) {
            // No address has been confirmed yet. The cache repeats the solicitation.
            return;
        }
        counters.addressRequestsSent++;
        if (target.isIpv4()) {
            long destinationMac = mac == Neighbor.NO_MAC ? EthernetHeader.BROADCAST : mac;
            frames.sendArp(ArpPacket.REQUEST, destinationMac, source, 0, target);
        } else {
            frames.sendSolicitation(source, target, mac);
        }
    }

    /** Returns a confirmed address of the target's IP version, preferably on its subnet; null if there is none. */
    private IpAddress source(IpAddress target) {
        IpAddress found = null;
        for (AddressClaim claim : claims) {
            UserspaceAddress own = claim.own();
            if (claim.state() != AddressClaim.State.OWNED || own.address().version() != target.version()) {
                continue;
            }
            if (NetworkSnapshot.samePrefix(own.address(), target, own.prefixLength())) {
                return own.address();
            }
            found = found == null ? own.address() : found;
        }
        return found;
    }

    /** Performs the actions that are due. */
    public void poll(long nowNanos) {
        for (AddressClaim claim : claims) {
            AddressClaim.State before = claim.state();
            claim.poll(nowNanos);
            addressesChanged |= claim.state() != before;
        }
        neighbors.poll(nowNanos);
        routers.poll(nowNanos);
        memberships.poll(nowNanos);
        if (needsRouters() && nowNanos - nextRouterSolicitationNanos >= 0) {
            IpAddress source = source(ALL_NODES);
            if (source != null) {
                routerSolicitations++;
                frames.sendRouterSolicitation(source);
            }
            nextRouterSolicitationNanos = nowNanos + ROUTER_SOLICITATION_INTERVAL_NANOS;
        }
    }

    private boolean needsRouters() {
        return routerSolicitations < MAX_ROUTER_SOLICITATIONS && !routers.hasReceivedAdvertisement();
    }

    /** Returns when {@link #poll} must be called next, or Long.MAX_VALUE. */
    public long deadlineNanos() {
        long next = Math.min(memberships.deadlineNanos(),
                Math.min(neighbors.deadlineNanos(), routers.deadlineNanos()));
        for (AddressClaim claim : claims) {
            next = Math.min(next, claim.deadlineNanos());
        }
        return needsRouters() ? Math.min(next, nextRouterSolicitationNanos) : next;
    }

    /** Returns a snapshot of the network if it has changed since the last one, else null. */
    public NetworkSnapshot snapshotIfChanged() {
        boolean changed = addressesChanged | neighbors.testAndClearChanged() | routers.testAndClearChanged();
        addressesChanged = false;
        return changed ? snapshot() : null;
    }

    private NetworkSnapshot snapshot() {
        List<UserspaceAddress> usable = claims.stream().filter(claim -> claim.state() != AddressClaim.State.DUPLICATE)
                .map(AddressClaim::own).toList();
        int mtuBytes = routers.mtuBytes() == 0 ? linkMtuBytes : Math.min(routers.mtuBytes(), linkMtuBytes);
        return UserspaceSnapshots.snapshot(++generation, new Link(LINK_INDEX, linkName, config.mac(), mtuBytes,
                UserspaceSnapshots.LINK_FLAGS), usable, config.gateways(), routers, neighbors);
    }
}
