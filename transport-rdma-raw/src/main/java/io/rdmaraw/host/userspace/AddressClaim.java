package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.wire.ArpPacket;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.NeighborDiscovery;

import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * Claims an address on the link. First it checks that no other host has the address (RFC 5227 for IPv4, RFC 4862
 * section 5.4 for IPv6). Then it announces the address and later defends it. Never reads the clock; callers pass the
 * current time in nanoseconds.
 */
final class AddressClaim {
    /** State of the claim. */
    enum State {
        /** Duplicate address detection is in progress; the address is not used yet. */
        TENTATIVE,
        /** The address belongs to this host. */
        OWNED,
        /** Another host has the address. */
        DUPLICATE
    }

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    /** RFC 5227 section 1.1. */
    private static final int PROBE_NUM = 3;
    private static final long PROBE_MIN_NANOS = SECOND;
    private static final long PROBE_MAX_NANOS = 2 * SECOND;
    private static final long ANNOUNCE_WAIT_NANOS = 2 * SECOND;
    private static final int ANNOUNCE_NUM = 2;
    private static final long ANNOUNCE_INTERVAL_NANOS = 2 * SECOND;
    private static final long DEFEND_INTERVAL_NANOS = 10 * SECOND;
    /** DupAddrDetectTransmits (RFC 4862 section 5.1) and RetransTimer (RFC 4861 section 10). */
    private static final int DUP_ADDR_DETECT_TRANSMITS = 1;
    private static final long RETRANS_NANOS = SECOND;
    private static final IpAddress ALL_NODES = new IpAddress(0xff02L << 48, 1);

    private final UserspaceAddress own;
    private final ControlFrames frames;
    private final RandomGenerator random;
    private State state = State.TENTATIVE;
    private int probes;
    private int announcements;
    private long deadlineNanos;
    private boolean defended;
    private long defendedNanos;

    AddressClaim(UserspaceAddress own, ControlFrames frames, RandomGenerator random) {
        this.own = own;
        this.frames = frames;
        this.random = random;
    }

    /**
     * Starts the claim.
     *
     * @param detectDuplicates false to use the address at once
     */
    void start(boolean detectDuplicates, long nowNanos) {
        if (detectDuplicates) {
            // PROBE_WAIT (RFC 5227) and MAX_RTR_SOLICITATION_DELAY (RFC 4861) are both one second.
            deadlineNanos = nowNanos + random.nextLong(SECOND);
        } else {
            becomeOwned(nowNanos);
        }
    }

    UserspaceAddress own() {
        return own;
    }

    State state() {
        return state;
    }

    long deadlineNanos() {
        return state == State.DUPLICATE || state == State.OWNED && announcements == maxAnnouncements()
                ? Long.MAX_VALUE : deadlineNanos;
    }

    void poll(long nowNanos) {
        if (deadlineNanos() == Long.MAX_VALUE || nowNanos - deadlineNanos < 0) {
            return;
        }
        if (state == State.OWNED) {
            announce(nowNanos);
        } else if (probes == (isIpv4() ? PROBE_NUM : DUP_ADDR_DETECT_TRANSMITS)) {
            becomeOwned(nowNanos);
        } else {
            probe(nowNanos);
        }
    }

    private boolean isIpv4() {
        return own.address().isIpv4();
    }

    private int maxAnnouncements() {
        return isIpv4() ? ANNOUNCE_NUM : 1;
    }

    private void probe(long nowNanos) {
        probes++;
        if (!isIpv4()) {
            frames.sendSolicitation(IpAddress.ANY_IPV6, own.address(), Neighbor.NO_MAC);
            deadlineNanos = nowNanos + RETRANS_NANOS;
            return;
        }
        frames.sendArp(ArpPacket.REQUEST, EthernetHeader.BROADCAST, IpAddress.ANY_IPV4, 0, own.address());
        deadlineNanos = nowNanos + (probes == PROBE_NUM ? ANNOUNCE_WAIT_NANOS
                : random.nextLong(PROBE_MIN_NANOS, PROBE_MAX_NANOS));
    }

    private void becomeOwned(long nowNanos) {
        state = State.OWNED;
        announce(nowNanos);
    }

    /**
     * Announces the address by gratuitous ARP (RFC 5227 section 2.3) or an unsolicited advertisement (RFC 4861 section
     * 7.2.6).
     */
    private void announce(long nowNanos) {
        announcements++;
        deadlineNanos = nowNanos + ANNOUNCE_INTERVAL_NANOS;
        announceAddress();
    }

    private void announceAddress() {
        if (isIpv4()) {
            frames.sendArp(ArpPacket.REQUEST, EthernetHeader.BROADCAST, own.address(), 0, own.address());
        } else {
            frames.sendAdvertisement(own.address(), ALL_NODES, EthernetHeader.multicastOfIpv6(ALL_NODES.low()),
                    NeighborDiscovery.FLAG_OVERRIDE);
        }
    }

    /**
     * Handles a packet of another host that uses the address or probes for it. A tentative address is given up. An
     * owned address is defended, because this host may be a server (RFC 5227 section 2.4 (c)).
     */
    void onConflict(long nowNanos) {
        if (state == State.TENTATIVE) {
            state = State.DUPLICATE;
        } else if (state == State.OWNED && (!defended || nowNanos - defendedNanos >= DEFEND_INTERVAL_NANOS)) {
            defended = true;
            defendedNanos = nowNanos;
            announceAddress();
        }
    }
}
