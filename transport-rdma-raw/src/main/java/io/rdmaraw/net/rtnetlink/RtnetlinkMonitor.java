package io.rdmaraw.net.rtnetlink;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.BrokerConnection;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;
import io.rdmaraw.netlink.NetlinkReader;
import io.rdmaraw.netlink.NetlinkSocket;
import io.rdmaraw.netlink.NetlinkWriter;

import java.io.IOException;

/**
 * Tracks the kernel's links, addresses, routes and neighbours in the network namespace of the thread that opens
 * it. {@link #snapshot()} is thread-safe. All other methods are for one thread at a time, which waits on
 * {@link #fd()} and calls {@link #poll()}.
 */
public final class RtnetlinkMonitor implements AutoCloseable {
    private static final int RTMGRP_LINK = 0x1;
    private static final int RTMGRP_NEIGH = 0x4;
    private static final int RTMGRP_IPV4_IFADDR = 0x10;
    private static final int RTMGRP_IPV4_ROUTE = 0x40;
    private static final int RTMGRP_IPV6_IFADDR = 0x100;
    private static final int RTMGRP_IPV6_ROUTE = 0x400;
    private static final int RTMGRP_IPV4_RULE = 0x80;
    private static final int RTMGRP_IPV6_RULE = 1 << 18;
    private static final int RTNLGRP_IPV4_NETCONF = 24;
    private static final int RTNLGRP_NEXTHOP = 32;
    private static final int RTM_NEWLINK = 16;
    private static final int RTM_DELLINK = 17;
    private static final int RTM_GETLINK = 18;
    private static final int RTM_NEWADDR = 20;
    private static final int RTM_DELADDR = 21;
    private static final int RTM_GETADDR = 22;
    private static final int RTM_NEWROUTE = 24;
    private static final int RTM_DELROUTE = 25;
    private static final int RTM_GETROUTE = 26;
    private static final int RTM_NEWNEIGH = 28;
    private static final int RTM_DELNEIGH = 29;
    private static final int RTM_GETNEIGH = 30;
    private static final int RTM_NEWRULE = 32;
    private static final int RTM_DELRULE = 33;
    private static final int RTM_GETRULE = 34;
    private static final int RTM_NEWNETCONF = 80;
    private static final int RTM_GETNETCONF = 82;
    private static final int RTM_NEWNEXTHOP = 104;
    private static final int RTM_DELNEXTHOP = 105;
    private static final int NTF_USE = 0x01;
    /** Maximum number of datagrams per poll, since notifications may arrive faster than they are read. */
    private static final int MAX_NOTIFICATIONS = 1024;
    /** Larger than the capacity of the socket's queue. */
    private static final int MAX_QUEUED_NOTIFICATIONS = 1 << 16;

    private final NetlinkSocket notifications;
    private final NetlinkSocket requests;
    private final NetlinkWriter writer = new NetlinkWriter();
    private final NetlinkReader reader = new NetlinkReader();
    private final RtnetlinkState state = new RtnetlinkState();
    private int sequence;
    private long generation;
    /** Set if the state may be incorrect because notifications were lost or the kernel did not answer. */
    private boolean outdated;
    /** Set if the kernel has refused this process, so a broker is used. */
    private boolean usesBroker;
    private BrokerConnection broker;
    private volatile NetworkSnapshot snapshot;
    private volatile long overflows;

    private RtnetlinkMonitor() throws IOException {
        notifications = new NetlinkSocket(NetlinkSocket.NETLINK_ROUTE, RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_IFADDR
                | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE | RTMGRP_IPV6_RULE
                | 1 << RTNLGRP_IPV4_NETCONF - 1 | 1 << RTNLGRP_NEXTHOP - 1);
        try {
            requests = new NetlinkSocket(NetlinkSocket.NETLINK_ROUTE, 0);
        } catch (IOException e) {
            notifications.close();
            throw e;
        }
    }

    /** Opens the sockets and reads the current state. Needs no privilege. */
    public static RtnetlinkMonitor open() throws IOException {
        RtnetlinkMonitor monitor = new RtnetlinkMonitor();
        try {
            monitor.synchronize();
            monitor.publishIfChanged();
            return monitor;
        } catch (IOException e) {
            monitor.close();
            throw e;
        }
    }

    /** Returns the descriptor that is readable when {@link #poll()} has work to do. */
    public int fd() {
        return notifications.fd();
    }

    /** Returns the latest snapshot. */
    public NetworkSnapshot snapshot() {
        return snapshot;
    }

    /** Returns the number of times the kernel dropped notifications because the queue was full. Thread-safe. */
    public long overflows() {
        return overflows;
    }

    /**
     * Processes pending notifications, up to a limit. Does not wait for notifications. If the kernel has dropped
     * some, reads the whole state again, and waits for the kernel's replies.
     *
     * @return whether there is a new snapshot
     * @throws IOException if the kernel does not answer; the next call tries again
     */
    public boolean poll() throws IOException {
        boolean mustQuery = outdated;
        outdated = true;
        mustQuery |= !processNotifications();
        if (mustQuery) {
            synchronize();
        } else if (state.areRoutesOutdated()) {
            rereadRoutes();
        }
        outdated = false;
        return publishIfChanged();
    }

    /** Makes the next {@link #poll()} read the whole state again. */
    public void rereadAll() {
        outdated = true;
    }

    /** Processes notifications. Returns false if some were lost. */
    private boolean processNotifications() throws IOException {
        for (int i = 0; i < MAX_NOTIFICATIONS; i++) {
            try {
                if (!notifications.receive(reader)) {
                    return true;
                }
                applyAll();
            } catch (NetlinkSocket.OverflowException e) {
                overflows++;
                drainNotifications();
                return false;
            }
        }
        return true;
    }

    /**
     * Empties the queue of the socket. After the kernel had to drop a notification, it silently drops all
     * further ones until the queue has been empty (NETLINK_S_CONGESTED in net/netlink). A state read before
     * that would soon be out of date.
     */
    private void drainNotifications() throws IOException {
        boolean more = true;
        for (int i = 0; more && i < MAX_QUEUED_NOTIFICATIONS; i++) {
            try {
                more = notifications.receive(reader);
            } catch (NetlinkSocket.OverflowException e) {
                overflows++;
            }
        }
    }

    private boolean publishIfChanged() {
        if (!state.testAndClearChanged()) {
            return false;
        }
        snapshot = state.snapshot(++generation);
        return true;
    }

    /**
     * Reads the whole state. Notifications that arrive in the meantime repeat it or are newer. If the kernel
     * drops some of these, the next call of {@link #poll} detects it.
     */
    private void synchronize() throws IOException {
        state.clear();
        dump(RTM_GETLINK, RtnetlinkDecoder.IFINFOMSG_BYTES);
        dump(RTM_GETADDR, RtnetlinkDecoder.IFADDRMSG_BYTES);
        dump(RTM_GETROUTE, RtnetlinkDecoder.RTMSG_BYTES);
        dump(RTM_GETNEIGH, RtnetlinkDecoder.NDMSG_BYTES);
        dump(RTM_GETRULE, RtnetlinkDecoder.RULE_BYTES);
        dump(RTM_GETNETCONF, RtnetlinkDecoder.NETCONFMSG_BYTES);
    }

    /**
     * Reads links, then routes. The kernel reports a link change before it removes the link's routes, under a
     * lock. A dump of links waits for this lock, but a dump of routes does not.
     */
    private void rereadRoutes() throws IOException {
        dump(RTM_GETLINK, RtnetlinkDecoder.IFINFOMSG_BYTES);
        state.clearRoutes();
        dump(RTM_GETROUTE, RtnetlinkDecoder.RTMSG_BYTES);
    }

    private void dump(int type, int fixedBytes) throws IOException {
        int requestSequence = ++sequence;
        requests.send(writer.begin(type, NetlinkWriter.NLM_F_REQUEST | NetlinkWriter.NLM_F_DUMP, requestSequence,
                fixedBytes));
        boolean more = true;
        while (more) {
            requests.awaitDatagram(reader);
            while (more && reader.nextMessage()) {
                if (reader.sequence() != requestSequence) {
                    continue;
                }
                more = reader.type() != NetlinkReader.NLMSG_DONE;
                if (reader.type() == NetlinkReader.NLMSG_ERROR) {
                    throw new IOException("rtnetlink refused request " + type + ": " + Errno.describe(reader.errno()));
                }
                apply();
            }
        }
    }

    private void applyAll() {
        while (reader.nextMessage()) {
            apply();
        }
    }

    private void apply() {
        switch (reader.type()) {
            case RTM_NEWLINK, RTM_DELLINK -> applyLink(reader.type() == RTM_NEWLINK);
            case RTM_NEWADDR, RTM_DELADDR -> applyAddress(reader.type() == RTM_NEWADDR);
            case RTM_NEWROUTE, RTM_DELROUTE -> applyRoute(reader.type() == RTM_NEWROUTE);
            case RTM_NEWNEIGH, RTM_DELNEIGH -> applyNeighbor(reader.type() == RTM_NEWNEIGH);
            case RTM_NEWRULE, RTM_DELRULE -> applyRule(reader.type() == RTM_NEWRULE);
            case RTM_NEWNETCONF -> applyNetconf();
            // Routes that refer to a next hop object change or disappear with it.
            case RTM_NEWNEXTHOP, RTM_DELNEXTHOP -> state.setRoutesOutdated();
            default -> {
                // Acknowledgements and the end of a dump contain no state.
            }
        }
    }

    private void applyLink(boolean exists) {
        Link link = RtnetlinkDecoder.link(reader);
        if (link != null && exists) {
            state.add(link);
        } else if (link != null) {
            state.remove(link);
        }
    }

    private void applyAddress(boolean exists) {
        LocalAddress address = RtnetlinkDecoder.localAddress(reader);
        if (address != null && exists) {
            state.add(address, (reader.flags() & NetlinkWriter.NLM_F_MULTI) != 0);
        } else if (address != null) {
            state.remove(address);
        }
    }

    private void applyRoute(boolean exists) {
        Route route = RtnetlinkDecoder.route(reader);
        if (route == null || RtnetlinkDecoder.isCached(reader)) {
            return;
        }
        if (exists) {
            state.add(route, placement(reader.flags()));
        } else {
            state.remove(route);
        }
    }

    /** Returns the placement of a route. A dump lists routes in the kernel's order. */
    private static Route.Placement placement(int flags) {
        if ((flags & (NetlinkWriter.NLM_F_MULTI | NetlinkWriter.NLM_F_APPEND)) != 0) {
            return Route.Placement.APPEND;
        }
        return (flags & NetlinkWriter.NLM_F_REPLACE) != 0 ? Route.Placement.REPLACE : Route.Placement.CREATE;
    }

    private void applyNetconf() {
        RtnetlinkDecoder.ReversePathFilter filter = RtnetlinkDecoder.reversePathFilter(reader);
        if (filter != null) {
            state.filter(filter.linkIndex(), filter.mode());
        }
    }

    private void applyNeighbor(boolean exists) {
        Neighbor neighbor = RtnetlinkDecoder.neighbor(reader);
        if (neighbor != null && exists) {
            state.add(neighbor);
        } else if (neighbor != null) {
            state.remove(neighbor);
        }
    }

    private void applyRule(boolean exists) {
        PolicyRule rule = RtnetlinkDecoder.rule(reader);
        if (rule != null && exists) {
            state.add(rule);
        } else if (rule != null) {
            state.remove(rule);
        }
    }

    /**
     * Makes the kernel resolve a neighbour or confirm its MAC address. NTF_USE starts ARP or neighbour
     * discovery without a packet to send. The result is reported by a notification. Needs CAP_NET_ADMIN.
     *
     * <p>Permanent entries are skipped: the kernel would make them temporary (NEIGH_UPDATE_F_USE) and lose the
     * address.
     *
     * @throws IOException if the kernel refuses
     */
    public void solicit(int linkIndex, IpAddress neighbor) throws IOException {
        Neighbor known = snapshot().neighbor(linkIndex, neighbor);
        if (known != null && (known.state() & Neighbor.PERMANENT) != 0) {
            return;
        }
        if (usesBroker) {
            solicitByBroker(linkIndex, neighbor);
            return;
        }
        int requestSequence = ++sequence;
        writer.begin(RTM_NEWNEIGH, NetlinkWriter.NLM_F_REQUEST | NetlinkWriter.NLM_F_ACK
                        | NetlinkWriter.NLM_F_CREATE, requestSequence, RtnetlinkDecoder.NDMSG_BYTES)
                .fixedByte(0, family(neighbor)).fixedInt(4, linkIndex).fixedByte(10, NTF_USE);
        requests.send(RtnetlinkDecoder.addAddress(writer, RtnetlinkDecoder.NDA_DST, neighbor));
        requests.awaitReply(reader, requestSequence);
        int errno = reader.errno();
        if (errno == Errno.EPERM && BrokerConnection.isConfigured()) {
            usesBroker = true;
            solicitByBroker(linkIndex, neighbor);
        } else if (errno != 0) {
            throw new IOException("the kernel does not resolve " + neighbor + ": " + Errno.describe(errno)
                    + (errno == Errno.EPERM ? "; run with CAP_NET_ADMIN, or with a broker (SOFTVERBS_BROKER)" : ""));
        }
    }

    /** The broker closes idle connections, so retry once with a new connection. */
    private void solicitByBroker(int linkIndex, IpAddress neighbor) throws IOException {
        boolean isNew = broker == null;
        if (isNew) {
            broker = BrokerConnection.connect();
        }
        try {
            broker.solicit(linkIndex, neighbor);
        } catch (IOException e) {
            broker.close();
            broker = null;
            if (isNew) {
                throw e;
            }
            solicitByBroker(linkIndex, neighbor);
        }
    }

    static int family(IpAddress address) {
        return address.isIpv4() ? NativeSocket.AF_INET : NativeSocket.AF_INET6;
    }

    @Override
    public void close() {
        notifications.close();
        requests.close();
        writer.close();
        if (broker != null) {
            broker.close();
        }
    }
}
