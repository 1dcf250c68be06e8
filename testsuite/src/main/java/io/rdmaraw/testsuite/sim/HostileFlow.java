package io.rdmaraw.testsuite.sim;

import java.util.function.Consumer;

/** One connection as the hostile peer keeps it: numbers of both sides, and what it does when a packet comes. */
final class HostileFlow {
    private static final int WINDOW_SHIFT = 8;

    private final Siege siege;
    private final HostilePlan plan;
    private final int port;
    private final int hostPort;
    int sndNxt;
    /** All before it has come. */
    int rcvNxt;
    /** Behind the highest that has come. */
    int highest;
    int window = 65_535;
    int tsEcho;
    boolean knowsHost;
    Packet last;
    private boolean timestamps;
    private Consumer<Packet> reaction = packet -> { };

    HostileFlow(Siege siege, int port, int hostPort) {
        this.siege = siege;
        this.port = port;
        this.hostPort = hostPort;
        plan = siege.plan();
        timestamps = plan.timestamps;
        sndNxt = plan.random.split(port).pick(0, -100, 1 << 30, Integer.MIN_VALUE - 50);
    }

    int port() {
        return port;
    }

    int hostPort() {
        return hostPort;
    }

    /** What happens with each packet that comes from now on. */
    void reacts(Consumer<Packet> with) {
        reaction = with;
    }

    void sees(Packet packet) {
        last = packet;
        if (packet.has(Packet.SYN)) {
            rcvNxt = packet.end();
            highest = rcvNxt;
            knowsHost = true;
            timestamps &= packet.timestamps;
        }
        if (packet.timestamps) {
            tsEcho = packet.tsValue;
        }
        if (packet.seq - rcvNxt <= 0 && packet.end() - rcvNxt > 0) {
            rcvNxt = packet.end();
        }
        highest = packet.end() - highest > 0 ? packet.end() : highest;
        reaction.accept(packet);
    }

    Packet packet(int flags) {
        Packet packet = new Packet().route(siege.high(), siege.peerLow(), port, siege.high(), siege.hostLow(),
                hostPort);
        packet.flags = flags;
        packet.seq = sndNxt;
        packet.ack = (flags & Packet.ACK) != 0 ? rcvNxt : 0;
        packet.window = window;
        if (timestamps) {
            packet.timestamps = true;
            packet.tsValue = (int) (siege.now() / LinkPlan.MILLI);
            packet.tsEcho = (flags & Packet.ACK) != 0 ? tsEcho : 0;
        }
        return packet;
    }

    Packet syn() {
        Packet packet = withSynOptions(packet(Packet.SYN));
        sndNxt++;
        return packet;
    }

    /** The answer to the host's SYN. */
    Packet synAck() {
        Packet packet = withSynOptions(packet(Packet.SYN | Packet.ACK));
        sndNxt++;
        return packet;
    }

    private Packet withSynOptions(Packet packet) {
        packet.mss = plan.mss;
        packet.windowScale = WINDOW_SHIFT;
        packet.sackPermitted = plan.sack;
        return packet;
    }

    Packet ack() {
        return packet(Packet.ACK);
    }

    Packet ack(int... sack) {
        Packet packet = ack();
        packet.sack = sack;
        return packet;
    }

    /** So many bytes, so far ahead of what the host has from us. */
    Packet data(int ahead, int length) {
        Packet packet = ack();
        packet.seq = sndNxt + ahead;
        packet.payload = new byte[length];
        return packet;
    }

    /** SYN, a round trip, and the ACK of the SYN-ACK. */
    HostileFlow open() {
        siege.send(syn());
        siege.pass(plan.rttNanos);
        siege.send(ack());
        return this;
    }
}
