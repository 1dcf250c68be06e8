package io.rdmaraw.net.netlink;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.CapabilityBroker;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;

import java.io.IOException;

/**
 * The kernel's links, addresses, routes and neighbours, kept up to date by its notifications, for the network namespace
 * of the thread that opens it. {@link #snapshot()} is for any thread; everything else is for one thread at a time,
 * which waits on {@link #fd()} and calls {@link #poll()}.
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
    private static final int NTF_USE = 0x01;
    /** Datagrams of notifications taken at once: more may come than one thread reads. */
    private static final int MAX_NOTIFICATIONS = 1024;
    /** More than the socket's queue has room for. */
    private static final int MAX_QUEUED_NOTIFICATIONS = 1 << 16;

    private final NetlinkSocket notifications;
    private final NetlinkSocket requests;
    private final NetlinkWriter writer = new NetlinkWriter();
    private final NetlinkReader reader = new NetlinkReader();
    private final RtnetlinkState state = new RtnetlinkState();
    private int sequence;
    private long generation;
    /** Notifications were lost, or the kernel did not answer: what is known is not what is. */
    private boolean outdated;
    /** The kernel has refused this process, so a broker is asked. */
    private boolean brokered;
    private CapabilityBroker broker;
    private volatile NetworkSnapshot snapshot;
    private volatile long overflows;

    private RtnetlinkMonitor() throws IOException {
        notifications = new NetlinkSocket(NetlinkSocket.NETLINK_ROUTE, RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_IFADDR
                | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE | RTMGRP_IPV6_RULE);
        try {
            requests = new NetlinkSocket(NetlinkSocket.NETLINK_ROUTE, 0);
        } catch (IOException e) {
            notifications.close();
            throw e;
        }
    }

    /** Opens the sockets and reads what there is. Needs no privilege. */
    public static RtnetlinkMonitor open() throws IOException {
        RtnetlinkMonitor network = new RtnetlinkMonitor();
        try {
            network.synchronize();
            network.publishIfChanged();
            return network;
        } catch (IOException e) {
            network.close();
            throw e;
        }
    }

    /** Returns the descriptor that is readable when {@link #poll()} has something to do. */
    public int fd() {
        return notifications.fd();
    }

    /** Returns the latest picture. */
    public NetworkSnapshot snapshot() {
        return snapshot;
    }

    /** Returns how many times the kernel had to drop notifications, for want of room. Any thread. */
    public long overflows() {
        return overflows;
    }

    /**
     * Takes notifications that have come, a bounded number; does not block. Where the kernel had to drop some, asks for
     * everything anew.
     *
     * @return whether there is a new snapshot
     * @throws IOException when the kernel does not answer; the next call asks again
     */
    public boolean poll() throws IOException {
        boolean mustAsk = outdated;
        outdated = true;
        mustAsk |= !takeNotifications();
        if (mustAsk) {
            synchronize();
        }
        outdated = false;
        return publishIfChanged();
    }

    /** Returns whether none was lost. */
    private boolean takeNotifications() throws IOException {
        for (int i = 0; i < MAX_NOTIFICATIONS; i++) {
            try {
                if (!notifications.receive(reader)) {
                    return true;
                }
                applyAll();
            } catch (NetlinkOverflowException e) {
                overflows++;
                emptyQueue();
                return false;
            }
        }
        return true;
    }

    /**
     * Once it had to drop a notification the kernel drops all of them, and does not say so again, until the socket's
     * queue has been empty (NETLINK_S_CONGESTED of net/netlink): what is asked for before that is soon out of date.
     */
    private void emptyQueue() throws IOException {
        boolean more = true;
        for (int i = 0; more && i < MAX_QUEUED_NOTIFICATIONS; i++) {
            try {
                more = notifications.receive(reader);
            } catch (NetlinkOverflowException e) {
                overflows++;
            }
        }
    }

    private boolean publishIfChanged() {
        if (!state.takeChanged()) {
            return false;
        }
        snapshot = state.snapshot(++generation);
        return true;
    }

    /**
     * Asks for everything anew. Notifications that come meanwhile say the same again or what is newer; if the kernel
     * has to drop some of those too, the next call finds out.
     */
    private void synchronize() throws IOException {
        state.clear();
        dump(RTM_GETLINK, RtnetlinkDecoder.IFINFOMSG_BYTES);
        dump(RTM_GETADDR, RtnetlinkDecoder.IFADDRMSG_BYTES);
        dump(RTM_GETROUTE, RtnetlinkDecoder.RTMSG_BYTES);
        dump(RTM_GETNEIGH, RtnetlinkDecoder.NDMSG_BYTES);
        dump(RTM_GETRULE, RtnetlinkDecoder.RULE_BYTES);
    }

    private void dump(int type, int fixedBytes) throws IOException {
        int asked = ++sequence;
        requests.send(writer.begin(type, NetlinkWriter.NLM_F_REQUEST | NetlinkWriter.NLM_F_DUMP, asked, fixedBytes));
        boolean more = true;
        while (more) {
            requests.receiveAnswer(reader);
            while (more && reader.nextMessage()) {
                if (reader.sequence() != asked) {
                    continue;
                }
                more = reader.type() != NetlinkReader.NLMSG_DONE;
                if (reader.type() == NetlinkReader.NLMSG_ERROR) {
                    throw new IOException("rtnetlink refused request " + type + ": " + Errno.describe(reader.error()));
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
            default -> {
                // Acknowledgements and the end of a dump say nothing of the network.
            }
        }
    }

    private void applyLink(boolean there) {
        Link link = RtnetlinkDecoder.link(reader);
        if (link != null && there) {
            state.add(link);
        } else if (link != null) {
            state.remove(link);
        }
    }

    private void applyAddress(boolean there) {
        LocalAddress address = RtnetlinkDecoder.localAddress(reader);
        if (address != null && there) {
            state.add(address);
        } else if (address != null) {
            state.remove(address);
        }
    }

    private void applyRoute(boolean there) {
        Route route = RtnetlinkDecoder.route(reader);
        if (route != null && there) {
            state.add(route);
        } else if (route != null) {
            state.remove(route);
        }
    }

    private void applyNeighbor(boolean there) {
        Neighbor neighbor = RtnetlinkDecoder.neighbor(reader);
        if (neighbor != null && there) {
            state.add(neighbor);
        } else if (neighbor != null) {
            state.remove(neighbor);
        }
    }

    private void applyRule(boolean there) {
        PolicyRule rule = RtnetlinkDecoder.rule(reader);
        if (rule != null && there) {
            state.add(rule);
        } else if (rule != null) {
            state.remove(rule);
        }
    }

    /**
     * Makes the kernel find out a neighbour's MAC address, or confirm the one it has: NTF_USE starts ARP or neighbour
     * discovery without a packet to send. Needs CAP_NET_ADMIN; the answer comes as a notification. An entry made by
     * hand is left alone: the kernel would forget that it is permanent (NEIGH_UPDATE_F_USE), and the address with it.
     *
     * @throws IOException when the kernel refuses
     */
    public void solicit(int linkIndex, IpAddress neighbor) throws IOException {
        Neighbor known = snapshot().neighbor(linkIndex, neighbor);
        if (known != null && (known.state() & Neighbor.PERMANENT) != 0) {
            return;
        }
        if (brokered) {
            solicitByBroker(linkIndex, neighbor);
            return;
        }
        int asked = ++sequence;
        requests.send(writer.begin(RTM_NEWNEIGH, NetlinkWriter.NLM_F_REQUEST | NetlinkWriter.NLM_F_ACK
                        | NetlinkWriter.NLM_F_CREATE, asked, RtnetlinkDecoder.NDMSG_BYTES)
                .fixedByte(0, family(neighbor)).fixedInt(4, linkIndex).fixedByte(10, NTF_USE)
                .address(RtnetlinkDecoder.NDA_DST, neighbor));
        requests.awaitAnswer(reader, asked);
        int errno = reader.error();
        if (errno == Errno.EPERM && CapabilityBroker.isNamed()) {
            brokered = true;
            solicitByBroker(linkIndex, neighbor);
        } else if (errno != 0) {
            throw new IOException("the kernel does not resolve " + neighbor + ": " + Errno.describe(errno)
                    + (errno == Errno.EPERM ? "; run with CAP_NET_ADMIN, or with a broker (SOFTVERBS_BROKER)" : ""));
        }
    }

    /** The broker ends connections that are of no use to it for long, so the next call may need another one. */
    private void solicitByBroker(int linkIndex, IpAddress neighbor) throws IOException {
        boolean isNew = broker == null;
        if (isNew) {
            broker = CapabilityBroker.connect();
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
