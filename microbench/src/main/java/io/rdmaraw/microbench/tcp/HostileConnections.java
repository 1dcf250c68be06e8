package io.rdmaraw.microbench.tcp;

import io.rdmaraw.testsuite.sim.Packet;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Keeps a number of connections open and replaces each connection that the server resets. It retransmits unanswered
 * segments every second as a TCP client does, because a server with a full backlog ignores the first SYN.
 */
final class HostileConnections {
    private static final long REPEAT_NANOS = 1_000_000_000;
    /**
     * Maximum number of transmissions of a segment. If the last one is not answered, another peer replaces this one.
     */
    private static final int MAX_SENT = 8;

    private final int wanted;
    private final Consumer<Packet> output;
    private final Map<Long, Opening> openings = new HashMap<>();
    private final Map<Long, Packet> open = new HashMap<>();
    /** Connections in the order of their next retransmission. Some of them may have been answered already. */
    private final ArrayDeque<Opening> repetitions = new ArrayDeque<>();

    /** A connection that the server has not confirmed as open yet. */
    private static final class Opening {
        private final long key;
        private Packet packet;
        private long dueNanos;
        private int sent;

        Opening(long key, Packet packet) {
            this.key = key;
            this.packet = packet;
        }
    }

    /**
     * Creates an empty set.
     *
     * @param wanted number of connections to keep open
     * @param output transmits a segment
     */
    HostileConnections(int wanted, Consumer<Packet> output) {
        this.wanted = wanted;
        this.output = output;
    }

    /** Returns whether another connection must be started to reach the wanted number. */
    boolean wantsMore() {
        return open.size() + openings.size() < wanted;
    }

    /** Sends a SYN and schedules its retransmission. */
    void begin(Packet syn, long nowNanos) {
        Opening opening = new Opening(key(syn.sourceLow, syn.sourcePort), syn);
        if (openings.putIfAbsent(opening.key, opening) == null) {
            send(opening, nowNanos);
        }
    }

    private void send(Opening opening, long nowNanos) {
        opening.dueNanos = nowNanos + REPEAT_NANOS;
        opening.sent++;
        repetitions.add(opening);
        output.accept(opening.packet);
    }

    /** Retransmits all segments with an expired timer. */
    void repeat(long nowNanos) {
        while (!repetitions.isEmpty() && nowNanos - repetitions.peek().dueNanos >= 0) {
            Opening opening = repetitions.remove();
            if (openings.get(opening.key) != opening) {
                continue;
            }
            if (opening.sent == MAX_SENT) {
                openings.remove(opening.key);
            } else {
                send(opening, nowNanos);
            }
        }
    }

    /**
     * Sends the answer of a peer to a SYN-ACK. From now on the answer is retransmitted instead of the SYN.
     *
     * @return whether this is the first answer on the connection
     */
    boolean answer(Packet synAck, Packet answer) {
        Opening opening = openings.get(key(synAck));
        boolean isFirst = opening != null && opening.packet.has(Packet.SYN);
        if (isFirst) {
            opening.packet = answer;
        }
        output.accept(answer);
        return isFirst;
    }

    /**
     * Processes a segment of the server other than a SYN-ACK.
     *
     * @return the last answer passed to {@link #answer} if the segment shows that the connection is open, or null
     */
    Packet onSegment(Packet packet) {
        long key = key(packet);
        if (packet.has(Packet.RST)) {
            openings.remove(key);
            open.remove(key);
            return null;
        }
        Opening opening = openings.get(key);
        if (opening == null || opening.packet.has(Packet.SYN)) {
            return null;
        }
        openings.remove(key);
        open.put(key, opening.packet);
        return opening.packet;
    }

    /** Returns the answer that opened the connection of a segment, or null if the connection is not open. */
    Packet openedBy(Packet packet) {
        return open.get(key(packet));
    }

    /** Returns the number of connections that the server has confirmed as open. */
    int open() {
        return open.size();
    }

    private static long key(Packet fromServer) {
        return key(fromServer.destinationLow, fromServer.destinationPort);
    }

    private static long key(long address, int port) {
        return address << Character.SIZE | port;
    }
}
