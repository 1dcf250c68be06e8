package io.rdmaraw.microbench.tcp;

import io.rdmaraw.testsuite.sim.Packet;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Opens a number of connections, and another one for each that the server resets. What the server has not answered is
 * sent again each second, as a client would do it: a server whose backlog is full accepts no first SYN.
 */
final class HostileConnections {
    private static final long REPEAT_NANOS = 1_000_000_000;
    /** A place whose SYN, or what follows it, has been sent this often without an answer is given to another peer. */
    private static final int MOST_SENT = 8;

    private final int wanted;
    private final Consumer<Packet> output;
    private final Map<Long, Opening> openings = new HashMap<>();
    private final Map<Long, Packet> open = new HashMap<>();
    /** In the order of their next repetition, those with an answer among them. */
    private final ArrayDeque<Opening> repetitions = new ArrayDeque<>();

    /** A connection until the server has shown that it has it. */
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
     * @param wanted number of connections
     * @param output takes what is to be sent
     */
    HostileConnections(int wanted, Consumer<Packet> output) {
        this.wanted = wanted;
        this.output = output;
    }

    /** Returns whether connections are missing that have not been begun. */
    boolean wantsMore() {
        return open.size() + openings.size() < wanted;
    }

    /** Sends a SYN, and repeats it. */
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

    /** Sends again what is due. */
    void repeat(long nowNanos) {
        while (!repetitions.isEmpty() && nowNanos - repetitions.peek().dueNanos >= 0) {
            Opening opening = repetitions.remove();
            if (openings.get(opening.key) != opening) {
                continue;
            }
            if (opening.sent == MOST_SENT) {
                openings.remove(opening.key);
            } else {
                send(opening, nowNanos);
            }
        }
    }

    /**
     * Sends what a peer answers to a SYN-ACK, and repeats it instead of the SYN.
     *
     * @return whether the answer was the first one
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
     * Notes a segment of the server that is no SYN-ACK.
     *
     * @return what {@link #answer} was given last on a connection that has just been found open, or null
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

    /** Returns the answer that opened a connection, or null if there is no such connection. */
    Packet openedBy(Packet packet) {
        return open.get(key(packet));
    }

    /** Returns the number of connections that the server has, as far as it has said. */
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
