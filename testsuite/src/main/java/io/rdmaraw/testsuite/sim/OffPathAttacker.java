package io.rdmaraw.testsuite.sim;

/**
 * Creates packets of an off-path attacker that knows the addresses and ports and guesses the sequence numbers
 * well (RFC 5961). None of these packets may harm a connection.
 */
final class OffPathAttacker {
    private final SplitMix random;
    /** The last packets that passed towards the victim and away from it. */
    private Packet forward;
    private Packet backward;
    private int highestForward;

    OffPathAttacker(SplitMix random) {
        this.random = random;
    }

    boolean chance(double probability) {
        return random.chance(probability);
    }

    void sawForward(byte[] bytes) {
        Packet packet = Packet.decode(bytes);
        if (packet == null) {
            return;
        }
        boolean other = forward == null || packet.sourcePort != forward.sourcePort
                || packet.destinationPort != forward.destinationPort;
        if (other || packet.has(Packet.SYN) || packet.end() - highestForward > 0) {
            highestForward = packet.end();
        }
        backward = other ? null : backward;
        forward = packet;
    }

    void sawBackward(byte[] bytes) {
        Packet packet = Packet.decode(bytes);
        if (packet != null && forward != null && packet.sourcePort == forward.destinationPort
                && packet.destinationPort == forward.sourcePort) {
            backward = packet;
        }
    }

    /** Returns a packet towards the victim, or null if the attacker does not know enough yet. */
    byte[] forge() {
        if (forward == null || backward == null || forward.has(Packet.SYN) || backward.has(Packet.SYN)
                || forward.has(Packet.RST) || backward.has(Packet.RST)) {
            return null;
        }
        Packet packet = new Packet().route(forward.sourceHigh, forward.sourceLow, forward.sourcePort,
                forward.destinationHigh, forward.destinationLow, forward.destinationPort);
        packet.window = random.below(65536);
        // A number above everything the real peer has sent: possibly within the window, but never the next
        // expected one.
        packet.seq = highestForward + 1 + (int) random.magnitude(1, 30_000);
        switch (random.below(5)) {
            case 0 -> packet.flags = Packet.RST;
            case 1 -> packet.flags = Packet.SYN;
            case 2 -> {
                // An acknowledgment of data that was never sent (RFC 5961 section 5).
                packet.flags = Packet.ACK;
                packet.seq = highestForward;
                packet.ack = backward.end() + (1 << 28) + random.below(1 << 28);
            }
            case 3 -> {
                packet.flags = Packet.RST;
                packet.seq = highestForward - (1 << 28) - random.below(1 << 28);
            }
            default -> {
                // Data from far outside the window.
                packet.flags = Packet.ACK | Packet.PSH;
                packet.seq = highestForward - (1 << 28);
                packet.ack = backward.seq;
                packet.payload = new byte[1 + random.below(100)];
            }
        }
        return packet.encode();
    }
}
