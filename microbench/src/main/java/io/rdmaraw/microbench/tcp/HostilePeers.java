package io.rdmaraw.microbench.tcp;

import io.rdmaraw.testsuite.sim.Packet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The peers of one {@link HostileKind}: they act at a steady rate, and receive what the server sends to their
 * addresses.
 */
abstract class HostilePeers {
    /** The range for benchmarks of networks (RFC 2544), which nothing else in the bench uses. */
    private static final long PEERS = 0xFFFF_C612_0000L;
    private static final int PEER_BITS = 17;
    private static final int MSS = 1460;

    private final HostileWire wire;
    /** Different addresses each time, because the server still has connections to those of the previous case. */
    final SplittableRandom random = new SplittableRandom(System.nanoTime());

    HostilePeers(HostileWire wire) {
        this.wire = wire;
    }

    /** Performs the next action. */
    abstract void act();

    /** Receives a segment that the server has sent to one of the peers. */
    abstract void hears(Packet packet);

    long newPeer() {
        return PEERS + random.nextInt(1, 1 << PEER_BITS);
    }

    /** Builds a segment to one of the ports of the server. */
    Packet packet(long from, int port, int service, int flags) {
        Packet packet = new Packet().route(0, from, port, 0, wire.server(), wire.firstPort() + service);
        packet.flags = flags;
        packet.window = 65_535;
        return packet;
    }

    /** Builds the answer to a segment of the server: next in order, everything acknowledged. */
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

    HostileWire wire() {
        return wire;
    }

    static boolean isSynAck(Packet packet) {
        return packet.has(Packet.SYN) && packet.has(Packet.ACK);
    }

    static long key(Packet packet) {
        return packet.destinationLow << Character.SIZE | packet.destinationPort;
    }

    /** Peers that return SYN cookies with a timestamp that was never sent. */
    static final class CookieEcho extends HostilePeers {
        /** SYNs that fill the backlog: only then does the server send cookies. */
        private static final int UNANSWERED = 5_000;
        private static final int OLD = 1 << 30;

        private int heard;

        CookieEcho(HostileWire wire) {
            super(wire);
        }

        @Override
        void act() {
            Packet syn = syn(newPeer(), StreamServer.ECHO);
            syn.timestamps = true;
            syn.tsValue = random.nextInt();
            syn.sackPermitted = true;
            send(syn);
        }

        @Override
        void hears(Packet packet) {
            if (isSynAck(packet) && heard++ >= UNANSWERED) {
                Packet ack = answer(packet, Packet.ACK);
                ack.tsEcho -= OLD;
                send(ack);
            }
        }
    }

    /** Peers that send requests and do not take the answers. */
    static final class ZeroWindow extends HostilePeers {
        private static final int REQUEST_BYTES = 1_000;
        /** The acknowledgment number of each connection, which is repeated for ever. */
        private final Map<Long, Packet> acks = new HashMap<>();

        ZeroWindow(HostileWire wire) {
            super(wire);
        }

        @Override
        void act() {
            send(syn(newPeer(), StreamServer.ECHO));
        }

        @Override
        void hears(Packet packet) {
            if (packet.has(Packet.RST)) {
                acks.remove(key(packet));
            } else if (isSynAck(packet)) {
                Packet request = answer(packet, Packet.ACK | Packet.PSH | Packet.FIN);
                request.window = 0;
                request.payload = new byte[REQUEST_BYTES];
                send(request);
                Packet ack = answer(packet, Packet.ACK);
                ack.window = 0;
                ack.seq = request.end();
                acks.put(key(packet), ack);
            } else if (acks.containsKey(key(packet))) {
                send(acks.get(key(packet)));
            }
        }
    }

    /** Peers with unused addresses of the link, to which the answers cannot be sent. */
    static final class Neighbors extends HostilePeers {
        private static final int FIRST = 20;
        private static final int LAST = 250;
        private static final long HOST_BITS = 0xFF;

        Neighbors(HostileWire wire) {
            super(wire);
        }

        @Override
        void act() {
            send(syn(wire().server() & ~HOST_BITS | random.nextInt(FIRST, LAST), StreamServer.ECHO));
        }

        @Override
        void hears(Packet packet) {
            // Nothing can come.
        }
    }

    /** Peers that send single bytes with gaps between them. */
    static final class TinySegments extends HostilePeers {
        private static final int CONNECTIONS = 64;
        private static final int PIECES = 30_000;

        private final List<Packet> open = new ArrayList<>();
        private int next;

        TinySegments(HostileWire wire) {
            super(wire);
        }

        @Override
        void act() {
            if (next < CONNECTIONS) {
                send(syn(newPeer(), StreamServer.ECHO));
            } else if (!open.isEmpty()) {
                Packet ack = open.get(next % open.size());
                int first = ack.seq;
                ack.seq += 2 * (1 + next / open.size() % PIECES);
                ack.payload = new byte[1];
                send(ack);
                ack.seq = first;
            }
            next++;
        }

        @Override
        void hears(Packet packet) {
            if (isSynAck(packet)) {
                Packet ack = answer(packet, Packet.ACK);
                open.add(ack);
                send(ack);
            }
        }
    }

    /** Peers that make the server keep many small segments in flight, and send two SACK reports of them in turns. */
    static final class SackBlocks extends HostilePeers {
        private static final int SMALL_MSS = 88;
        private static final int WINDOW_SHIFT = 8;
        private static final int ACKNOWLEDGED_BYTES = 4 << 20;
        /** The connection starts again before a timeout of the sender ends it. */
        private static final int REPORTS = 2_000;

        private Packet last;
        private boolean asked;
        private int begun;
        private int una;
        private int highest;
        private int reports;

        SackBlocks(HostileWire wire) {
            super(wire);
        }

        @Override
        void act() {
            if (!asked) {
                asked = true;
                Packet syn = syn(newPeer(), StreamServer.SOURCE);
                syn.mss = SMALL_MSS;
                syn.windowScale = WINDOW_SHIFT;
                syn.sackPermitted = true;
                send(syn);
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
            if (packet.has(Packet.RST)) {
                asked = false;
                last = null;
                return;
            }
            if (isSynAck(packet)) {
                begun = packet.end();
                una = begun;
                highest = begun;
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
