package io.rdmaraw.testsuite.sim;

import java.util.function.Consumer;

/**
 * One connection in the view of the hostile peer: the sequence numbers of both sides and the reaction to received
 * packets.
 */
final class HostileFlow {
    private static final int WINDOW_SHIFT = 8;

    private final AttackScenario attack;
    private final HostilePlan plan;
    private final int port;
    private final int hostPort;
    int sndNxt;
    /** All data before this sequence number has been received. */
    int rcvNxt;
    /** End of the highest sequence number received. */
    int highest;
    int window = 65_535;
    int tsEcho;
    boolean knowsHost;
    Packet last;
    private boolean timestamps;
    private Consumer<Packet> reaction = packet -> { };

    HostileFlow(AttackScenario attack, int port, int hostPort) {
        this.attack = attack;
        this.port = port;
        this.hostPort = hostPort;
        plan = attack.plan();
        timestamps = plan.timestamps;
        sndNxt = plan.random.split(port).pick(0, -100, 1 << 30, Integer.MIN_VALUE - 50);
    }

    int port() {
        return port;
    }

    int hostPort() {
        return hostPort;
    }

    /** Sets the reaction to each packet received from now on. */
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
        Packet packet = new Packet().route(attack.high(), attack.peerLow(), port, attack.high(), attack.hostLow(),
                hostPort);
        packet.flags = flags;
        packet.seq = sndNxt;
        packet.ack = (flags & Packet.ACK) != 0 ? rcvNxt : 0;
        packet.window = window;
        if (timestamps) {
            packet.timestamps = true;
            packet.tsValue = (int) (attack.now() / LinkPlan.MILLI);
            packet.tsEcho = (flags & Packet.ACK) != 0 ? tsEcho : 0;
        }
        return packet;
    }

    Packet syn() {
        Packet packet = withSynOptions(packet(Packet.SYN));
        sndNxt++;
        return packet;
    }

    /** Returns the answer to the host's SYN. */
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

    /** Returns a packet with {@code length} bytes that begin {@code ahead} bytes after the data sent so far. */
    Packet data(int ahead, int length) {
        Packet packet = ack();
        packet.seq = sndNxt + ahead;
        packet.payload = new byte[length];
        return packet;
    }

    /** Performs the handshake: sends a SYN, waits one round trip and acknowledges the SYN-ACK. */
    HostileFlow open() {
        attack.send(syn());
        attack.pass(plan.rttNanos);
        attack.send(ack());
        return this;
    }
}
