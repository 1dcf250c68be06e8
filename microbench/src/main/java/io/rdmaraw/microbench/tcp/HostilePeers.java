package io.rdmaraw.microbench.tcp;

import io.rdmaraw.testsuite.sim.Packet;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * The peers of one {@link HostileKind}. They perform actions at a constant rate and receive the segments of the server.
 */
abstract class HostilePeers {
    /**
     * Addresses of the peers, from the range for network benchmarks (RFC 2544). The bench uses them for nothing else.
     */
    private static final long PEERS = 0xFFFF_C612_0000L;
    private static final int PEER_BITS = 17;
    /**
     * A documentation range (RFC 5737). The server has a route for it to its link, but no host there uses these
     * addresses.
     */
    static final String UNUSED_PREFIX = "203.0.113.0/24";
    private static final long UNUSED = 0xFFFF_CB00_7100L;
    private static final int UNUSED_BITS = 8;
    private static final int MSS = 1460;

    private final HostileWire wire;
    /**
     * The seed differs each time, because the server may still have connections to the addresses of the previous case.
     */
    final SplittableRandom random = new SplittableRandom(System.nanoTime());

    HostilePeers(HostileWire wire) {
        this.wire = wire;
    }

    /** Performs the next action. */
    abstract void act(long nowNanos);

    /** Retransmits all segments with an expired timer. */
    void tend(long nowNanos) {
        // Most peers have no connections and therefore no segments to retransmit.
    }

    /** Handles a segment that the server has sent to one of the peers. */
    abstract void hears(Packet packet);

    /** Returns the number of peers with state at the server. Its upper limit is the same for every server. */
    abstract int count();

    long newPeer() {
        return PEERS + random.nextInt(1, 1 << PEER_BITS);
    }

    /** Creates a segment to one of the ports of the server. */
    Packet packet(long from, int port, int service, int flags) {
        Packet packet = new Packet().route(0, from, port, 0, wire.server(), wire.firstPort() + service);
        packet.flags = flags;
        packet.window = 65_535;
        return packet;
    }

    /** Creates the answer to a segment of the server. It is next in sequence and acknowledges everything. */
    static Packet answer(Packet to, int flags) {
        Packet packet = new Packet().route(0, to.destinationLow, to.destinationPort, 0, to.sourceLow, to.sourcePort);
        packet.flags = flags;
        packet.seq = to.ack;
        packet.ack = to.end();
        packet.window = 65_535;
        if (to.timestamps) {
            packet.timestamps = true;
            packet.tsValue = to.tsEcho + 1;
            packet.tsEcho = to.tsValue;
        }
        return packet;
    }

    Packet syn(long from, int service) {
        Packet syn = packet(from, random.nextInt(1024, 65536), service, Packet.SYN);
        syn.seq = random.nextInt();
        syn.mss = MSS;
        return syn;
    }

    void send(Packet packet) {
        wire.send(packet);
    }

    static boolean isSynAck(Packet packet) {
        return packet.has(Packet.SYN) && packet.has(Packet.ACK);
    }

    static long key(Packet packet) {
        return packet.destinationLow << Character.SIZE | packet.destinationPort;
    }

    /** Peers that need connections. A connection that the server resets is replaced. */
    private abstract static class Connected extends HostilePeers {
        final HostileConnections connections;

        Connected(HostileWire wire, int wanted) {
            super(wire);
            connections = new HostileConnections(wanted, this::send);
        }

        @Override
        void tend(long nowNanos) {
            connections.repeat(nowNanos);
        }

        @Override
        int count() {
            return connections.open();
        }
    }

    /**
     * Peers that return SYN cookies with a timestamp that the server never sent. After all peers have sent a SYN, they
     * start again.
     */
    static final class CookieEcho extends HostilePeers {
        /**
         * Number of peers that never answer. They fill the backlog, because the server sends cookies only if it is
         * full.
         */
        private static final int UNANSWERED = 5_000;
        private static final int ECHOING = 8_000;
        private static final int OLD = 1 << 30;

        private final List<Packet> syns = new ArrayList<>();
        private final Set<Long> echoing = new HashSet<>();
        private final Set<Long> heard = new HashSet<>();
        private int next;

        CookieEcho(HostileWire wire) {
            super(wire);
            for (int i = 0; i < UNANSWERED + ECHOING; i++) {
                Packet syn = syn(newPeer(), StreamServer.ECHO);
                syn.timestamps = true;
                syn.tsValue = random.nextInt();
                syn.sackPermitted = true;
                syns.add(syn);
                if (i >= UNANSWERED) {
                    echoing.add(syn.sourceLow << Character.SIZE | syn.sourcePort);
                }
            }
        }

        @Override
        void act(long nowNanos) {
            send(syns.get(next));
            next = (next + 1) % syns.size();
        }

        @Override
        void hears(Packet packet) {
            if (isSynAck(packet) && echoing.contains(key(packet))) {
                Packet ack = answer(packet, Packet.ACK);
                ack.tsEcho -= OLD;
                send(ack);
                heard.add(key(packet));
            }
        }

        @Override
        int count() {
            return heard.size();
        }
    }

    /** Peers that send requests and never accept the answers. */
    static final class ZeroWindow extends Connected {
        private static final int CONNECTIONS = 4_000;
        private static final byte[] REQUEST = new byte[1_000];

        ZeroWindow(HostileWire wire) {
            super(wire, CONNECTIONS);
        }

        @Override
        void act(long nowNanos) {
            if (connections.wantsMore()) {
                connections.begin(syn(newPeer(), StreamServer.ECHO), nowNanos);
            }
        }

        @Override
        void hears(Packet packet) {
            if (isSynAck(packet)) {
                Packet request = answer(packet, Packet.ACK | Packet.PSH | Packet.FIN);
                request.window = 0;
                request.payload = REQUEST;
                connections.answer(packet, request);
                return;
            }
            connections.onSegment(packet);
            Packet request = connections.openedBy(packet);
            if (request != null) {
                // The segment repeats the acknowledgment number of the request, so that no data of the server is ever
                // acknowledged.
                Packet ack = answer(packet, Packet.ACK);
                ack.seq = request.end();
                ack.ack = request.ack;
                ack.window = 0;
                send(ack);
            }
        }
    }

    /** Peers with unused addresses of the link. The server cannot resolve them, so it cannot send the answers. */
    static final class Neighbors extends HostilePeers {
        private final BitSet used = new BitSet(1 << UNUSED_BITS);

        Neighbors(HostileWire wire) {
            super(wire);
        }

        @Override
        void act(long nowNanos) {
            int host = random.nextInt(1, (1 << UNUSED_BITS) - 1);
            used.set(host);
            send(syn(UNUSED + host, StreamServer.ECHO));
        }

        @Override
        void hears(Packet packet) {
            // The server cannot reach these peers.
        }

        @Override
        int count() {
            return used.cardinality();
        }
    }

    /** Peers that send single bytes with gaps between them. */
    static final class TinySegments extends Connected {
        private static final int CONNECTIONS = 64;
        private static final int PIECES = 30_000;

        private final List<Packet> open = new ArrayList<>();
        private int next;

        TinySegments(HostileWire wire) {
            super(wire, CONNECTIONS);
        }

        @Override
        void act(long nowNanos) {
            if (connections.wantsMore()) {
                connections.begin(syn(newPeer(), StreamServer.ECHO), nowNanos);
            } else if (!open.isEmpty()) {
                Packet piece = open.get(next % open.size());
                int first = piece.seq;
                piece.seq += 2 * (next / open.size() % PIECES);
                send(piece);
                piece.seq = first;
                next++;
            }
        }

        @Override
        void hears(Packet packet) {
            if (isSynAck(packet)) {
                Packet piece = answer(packet, Packet.ACK);
                piece.seq++;
                piece.payload = new byte[1];
                connections.answer(packet, piece);
                return;
            }
            if (packet.has(Packet.RST)) {
                Packet ended = connections.openedBy(packet);
                open.remove(ended);
            }
            Packet opened = connections.onSegment(packet);
            if (opened != null) {
                open.add(opened);
            }
        }
    }

    /**
     * A peer that makes the server keep many small segments in flight, and alternates between two SACK reports about
     * them.
     */
    static final class SackBlocks extends Connected {
        private static final int SMALL_MSS = 88;
        private static final int WINDOW_SHIFT = 8;
        private static final int ACKNOWLEDGED_BYTES = 4 << 20;
        /**
         * Number of reports before everything is acknowledged and the pattern starts again, before a timeout of the
         * sender could end the connection.
         */
        private static final int REPORTS = 2_000;

        private Packet last;
        private int begun;
        private int una;
        private int highest;
        private int reports;

        SackBlocks(HostileWire wire) {
            super(wire, 1);
        }

        @Override
        void act(long nowNanos) {
            if (connections.wantsMore()) {
                last = null;
                Packet syn = syn(newPeer(), StreamServer.SOURCE);
                syn.mss = SMALL_MSS;
                syn.windowScale = WINDOW_SHIFT;
                syn.sackPermitted = true;
                connections.begin(syn, nowNanos);
            }
            if (last == null || una - begun < ACKNOWLEDGED_BYTES || highest - una < 4 * SMALL_MSS) {
                return;
            }
            Packet report = answer(last, Packet.ACK);
            report.ack = una;
            boolean all = (reports++ & 1) == 0;
            report.sack = new int[] {una + SMALL_MSS, all ? highest : una + SMALL_MSS + 1};
            if (reports == REPORTS) {
                reports = 0;
                report.sack = new int[0];
                report.ack = highest;
                una = highest;
                begun = una;
            }
            send(report);
        }

        @Override
        void hears(Packet packet) {
            if (isSynAck(packet)) {
                if (connections.answer(packet, answer(packet, Packet.ACK))) {
                    begun = packet.end();
                    una = begun;
                    highest = begun;
                }
                return;
            }
            connections.onSegment(packet);
            if (connections.openedBy(packet) == null) {
                return;
            }
            last = packet;
            if (packet.end() - highest > 0) {
                highest = packet.end();
            }
            if (una - begun < ACKNOWLEDGED_BYTES) {
                una = highest;
                Packet ack = answer(packet, Packet.ACK);
                ack.ack = una;
                send(ack);
            }
        }
    }
}
