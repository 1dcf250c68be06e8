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
 * A userspace host on a link: claims and defends its addresses, answers and asks ARP and neighbour discovery, answers
 * pings, learns routers. Frames go in, frames come out. Never reads the clock; callers pass the current time in
 * nanoseconds. For one thread.
 *
 * <p>What it knows it shows as a {@link NetworkSnapshot} with a single link, so that senders do not depend on
 * whose network it is.
 */
public final class UserspaceHost {
    /** The number of the one link in snapshots. */
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

    /** @param linkMtuBytes the largest IP packet of the link */
    public UserspaceHost(UserspaceHostConfig config, String linkName, int linkMtuBytes, ControlOutput output,
                   RandomGenerator random) {
        this.config = config;
        this.linkName = linkName;
        this.linkMtuBytes = linkMtuBytes;
        this.output = output;
        ControlOutput current = new ControlOutput() {
            @Override
            public long allocate() {
                return UserspaceHost.this.output.allocate();
            }

            @Override
            public void send(int lengthBytes) {
                UserspaceHost.this.output.send(lengthBytes);
            }
        };
        frames = new ControlFrames(config.mac(), current);
        memberships = new GroupMemberships(new GroupReports(config.mac(), linkMtuBytes, current, this::reportSource),
                counters, random);
        neighbors = new NeighborCache(this::ask, this::isRouter, random);
        errors = new IcmpErrorReplies(frames, config.mac(), this::owns, counters, random);
        boolean ipv6 = false;
        boolean linkLocal = false;
        for (UserspaceAddress address : config.addresses()) {
            claims.add(new AddressClaim(address, frames, random));
            ipv6 |= !address.address().isIpv4();
            linkLocal |= address.isLinkLocal();
        }
        if (ipv6 && !linkLocal) {
            // RFC 4291 section 2.8: every host has one.
            claims.add(new AddressClaim(UserspaceAddress.linkLocal(config.mac()), frames, random));
        }
        routerSolicitations = ipv6 ? 0 : MAX_ROUTER_SOLICITATIONS;
    }

    /** Begins to claim the addresses, and joins the groups that come with them (RFC 4862 section 5.4.2). */
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

    /** Sends by another output from now on. */
    public void moveTo(ControlOutput newOutput) {
        output = newOutput;
    }

    /** Returns what was counted. */
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

    /** Returns the addresses, the link-local one included, for rules that bring frames to them. */
    public List<IpAddress> addresses() {
        return claims.stream().map(claim -> claim.own().address()).toList();
    }

    /**
     * Sets what a member wants of a group from now on; routers and switches on the link hear of it.
     *
     * @param member who wants it; several on the host may want the same
     */
    public void setGroup(Object member, IpAddress group, SourceFilter filter, long nowNanos) {
        memberships.set(member, group, filter, nowNanos);
    }

    /** Takes back all that a member wanted of groups. */
    public void leaveGroups(Object member, long nowNanos) {
        memberships.leaveAll(member, nowNanos);
    }

    /** Returns the groups that are joined, those of the host's own addresses included. */
    public List<IpAddress> groups() {
        return memberships.groups();
    }

    /** Returns the address to report groups from: IPv6 wants a link-local one (RFC 3810 section 5.2.13, RFC 3590). */
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
     * Takes a frame.
     *
     * @return true when it was about the host itself, false when it is for a socket
     */
    public boolean receive(ParsedFrame frame, ParseVerdict verdict, long nowNanos) {
        if (EthernetHeader.source(frame.frameAddress()) == config.mac()) {
            // Our own multicast that came back.
            return true;
        }
        return switch (verdict) {
            case ARP -> {
                receiveArp(frame.networkAddress(), nowNanos);
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
            memberships.asked(query, nowNanos);
        }
        return true;
    }

    /** What is sent to the host alone can come by a router, however few hops it has left. */
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
            conflict(claimed, nowNanos);
            return;
        }
        boolean probe = sender.isAny();
        AddressClaim wanted = claim(target);
        if (probe && wanted != null && wanted.state() == AddressClaim.State.TENTATIVE) {
            // RFC 5227 section 2.1.1: two hosts probe for the same address.
            conflict(wanted, nowNanos);
            return;
        }
        boolean forUs = owns(target);
        if (ArpPacket.operation(arp) == ArpPacket.REPLY) {
            neighbors.advertised(sender, senderMac, neighbors.isAwaited(sender), true, nowNanos);
        } else if (forUs) {
            if (!probe) {
                neighbors.heardFrom(sender, senderMac);
            }
            counters.arpAnswered++;
            frames.arp(ArpPacket.REPLY, senderMac, target, senderMac, sender);
        } else if (sender.equals(target)) {
            neighbors.advertised(sender, senderMac, false, true, nowNanos);
        }
    }

    private void conflict(AddressClaim claim, long nowNanos) {
        counters.addressConflicts++;
        claim.conflict(nowNanos);
        addressesChanged |= claim.state() == AddressClaim.State.DUPLICATE;
    }

    private boolean receiveIcmpv6(ParsedFrame frame, long nowNanos) {
        long message = frame.transportAddress();
        int lengthBytes = frame.payloadOffset() - frame.transportOffset() + frame.payloadLengthBytes();
        switch (IcmpHeader.type(message)) {
            case NeighborDiscovery.NEIGHBOR_SOLICITATION -> receiveSolicitation(frame, message, lengthBytes, nowNanos);
            case NeighborDiscovery.NEIGHBOR_ADVERTISEMENT -> receiveAdvertisement(message, lengthBytes, nowNanos);
            case NeighborDiscovery.ROUTER_ADVERTISEMENT -> {
                IpAddress router = IpAddress.sourceOf(frame);
                if (router.isLinkLocal()) {
                    routers.advertised(router, message, lengthBytes, nowNanos);
                    long mac = NeighborDiscovery.linkLayerOption(message, lengthBytes, 16,
                            NeighborDiscovery.OPTION_SOURCE_LINK_LAYER);
                    if (mac != NeighborDiscovery.ABSENT) {
                        neighbors.heardFrom(router, mac);
                    }
                }
            }
            case IcmpHeader.V6_ECHO_REQUEST -> answerEcho(frame);
            case GroupMessage.MLD_QUERY -> {
                GroupQuery query = GroupQuery.of(frame, ParseVerdict.ICMPV6);
                if (query != null) {
                    memberships.asked(query, nowNanos);
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
                conflict(claim, nowNanos);
            }
            return;
        }
        long mac = NeighborDiscovery.linkLayerOption(message, lengthBytes, NeighborDiscovery.NEIGHBOR_LENGTH_BYTES,
                NeighborDiscovery.OPTION_SOURCE_LINK_LAYER);
        counters.solicitationsAnswered++;
        if (source.isAny()) {
            // RFC 4861 section 7.2.4: a host asks whether the address is taken.
            frames.advertisement(target, ALL_NODES, EthernetHeader.multicastOfIpv6(ALL_NODES.low()),
                    NeighborDiscovery.FLAG_OVERRIDE);
            return;
        }
        if (mac != NeighborDiscovery.ABSENT) {
            neighbors.heardFrom(source, mac);
        }
        frames.advertisement(target, source, EthernetHeader.source(frame.frameAddress()),
                NeighborDiscovery.FLAG_SOLICITED | NeighborDiscovery.FLAG_OVERRIDE);
    }

    private void receiveAdvertisement(long message, int lengthBytes, long nowNanos) {
        IpAddress target = new IpAddress(NeighborDiscovery.targetHigh(message), NeighborDiscovery.targetLow(message));
        AddressClaim claim = claim(target);
        if (claim != null) {
            conflict(claim, nowNanos);
            return;
        }
        long mac = NeighborDiscovery.linkLayerOption(message, lengthBytes, NeighborDiscovery.NEIGHBOR_LENGTH_BYTES,
                NeighborDiscovery.OPTION_TARGET_LINK_LAYER);
        int flags = NeighborDiscovery.flags(message);
        neighbors.advertised(target, mac == NeighborDiscovery.ABSENT ? Neighbor.NO_MAC : mac,
                (flags & NeighborDiscovery.FLAG_SOLICITED) != 0, (flags & NeighborDiscovery.FLAG_OVERRIDE) != 0,
                nowNanos);
    }

    private boolean receiveIcmp(ParsedFrame frame) {
        int type = IcmpHeader.type(frame.transportAddress());
        if (type == IcmpHeader.ECHO_REQUEST) {
            answerEcho(frame);
        }
        return !IcmpHeader.isError(type);
    }

    private void answerEcho(ParsedFrame frame) {
        IpAddress destination = IpAddress.destinationOf(frame);
        // RFC 1122 section 3.2.2.6 lets a host ignore pings to broadcast addresses.
        if (owns(destination) && !IpAddress.sourceOf(frame).isAny() && !IpAddress.sourceOf(frame).isMulticast()) {
            counters.echoesAnswered++;
            frames.echoReply(frame, destination, linkMtuBytes);
        }
    }

    /** Tells the sender of a UDP datagram that the port is closed; at a bounded rate (RFC 1812 section 4.3.2.8). */
    public void refuse(ParsedFrame datagram, long nowNanos) {
        errors.portUnreachable(datagram, nowNanos);
    }

    /** Tells the sender of a packet which the host cannot use, if it is to be told; at a bounded rate. */
    public void refuse(ParsedFrame packet, ParseVerdict verdict, long nowNanos) {
        errors.unusable(packet, verdict, source(IpAddress.sourceOf(packet)), nowNanos);
    }

    /** Tells the sender of a packet that it did not become whole in time, by its first fragment. */
    public void reassemblyExpired(ParsedFrame firstFragment, long nowNanos) {
        errors.reassemblyTimeExceeded(firstFragment, nowNanos);
    }

    /** Resolves the MAC address of a host on the link, or keeps it fresh, for packets that are sent to it. */
    public void solicit(IpAddress hop, long nowNanos) {
        neighbors.use(hop, nowNanos);
    }

    private boolean isRouter(IpAddress host) {
        return config.gateways().contains(host) || routers.knows(host);
    }

    private void ask(IpAddress target, long mac) {
        IpAddress source = source(target);
        if (source == null) {
            // No address of ours is confirmed yet; the cache asks again.
            return;
        }
        counters.asked++;
        if (target.isIpv4()) {
            frames.arp(ArpPacket.REQUEST, mac == Neighbor.NO_MAC ? EthernetHeader.BROADCAST : mac, source, 0, target);
        } else {
            frames.solicitation(source, target, mac);
        }
    }

    /** Returns a confirmed address of the right version, best one of the target's subnet; or null. */
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

    /** Does what is due. */
    public void poll(long nowNanos) {
        for (AddressClaim claim : claims) {
            AddressClaim.State before = claim.state();
            claim.poll(nowNanos);
            addressesChanged |= claim.state() != before;
        }
        neighbors.poll(nowNanos);
        routers.poll(nowNanos);
        memberships.poll(nowNanos);
        if (wantsRouters() && nowNanos - nextRouterSolicitationNanos >= 0) {
            IpAddress source = source(ALL_NODES);
            if (source != null) {
                routerSolicitations++;
                frames.routerSolicitation(source);
            }
            nextRouterSolicitationNanos = nowNanos + ROUTER_SOLICITATION_INTERVAL_NANOS;
        }
    }

    private boolean wantsRouters() {
        return routerSolicitations < MAX_ROUTER_SOLICITATIONS && !routers.isHeard();
    }

    /** Returns when {@link #poll} has something to do next, or Long.MAX_VALUE. */
    public long deadlineNanos() {
        long next = Math.min(memberships.deadlineNanos(),
                Math.min(neighbors.deadlineNanos(), routers.deadlineNanos()));
        for (AddressClaim claim : claims) {
            next = Math.min(next, claim.deadlineNanos());
        }
        return wantsRouters() ? Math.min(next, nextRouterSolicitationNanos) : next;
    }

    /** Returns a new picture of the network when something has changed since the last one, else null. */
    public NetworkSnapshot snapshotIfChanged() {
        boolean changed = addressesChanged | neighbors.takeChanged() | routers.takeChanged();
        addressesChanged = false;
        return changed ? snapshot() : null;
    }

    private NetworkSnapshot snapshot() {
        List<UserspaceAddress> usable = claims.stream().filter(claim -> claim.state() != AddressClaim.State.DUPLICATE)
                .map(AddressClaim::own).toList();
        int mtuBytes = routers.mtuBytes() == 0 ? linkMtuBytes : Math.min(routers.mtuBytes(), linkMtuBytes);
        return UserspaceRoutes.snapshot(++generation, new Link(LINK_INDEX, linkName, config.mac(), mtuBytes,
                UserspaceRoutes.LINK_FLAGS), usable, config.gateways(), routers, neighbors);
    }
}
