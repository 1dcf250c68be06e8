package io.rdmaraw.testsuite.sim;

/** What equipment on the path does to a packet. Results are new arrays; packets are never changed in place. */
final class Middlebox {
    private Middlebox() {
    }

    /** Returns the packet without the options that the path strips. */
    static byte[] pass(byte[] bytes, LinkPlan plan) {
        boolean strips = plan.stripTimestamps || plan.stripSack || plan.stripWindowScale || plan.stripMss;
        Packet packet = strips ? Packet.decode(bytes) : null;
        if (packet == null) {
            return bytes;
        }
        packet.timestamps &= !plan.stripTimestamps;
        if (plan.stripSack) {
            packet.sackPermitted = false;
            packet.sack = new int[0];
        }
        packet.windowScale = plan.stripWindowScale ? -1 : packet.windowScale;
        packet.mss = plan.stripMss ? 0 : packet.mss;
        return packet.encode();
    }

    /** Returns the packet with "congestion experienced", if its sender takes marks (RFC 3168). */
    static byte[] mark(byte[] bytes) {
        Packet packet = Packet.decode(bytes);
        if (packet == null || packet.ecn == 0) {
            return bytes;
        }
        packet.ecn = 3;
        return packet.encode();
    }

    /** Returns the packet with up to 15 neighbouring bits changed: damage that the checksum is sure to see. */
    static byte[] corrupt(byte[] bytes, SplitMix random) {
        byte[] damaged = bytes.clone();
        // Behind the fields that decide whose packet it is and how long: those have no checksum in IPv6.
        int from = bytes[0] >> 4 == 6 ? 40 : 20;
        int first = from * 8 + random.below((bytes.length - from) * 8);
        int last = Math.min(first + random.below(15), bytes.length * 8 - 1);
        for (int bit = first; bit <= last; bit++) {
            if (bit == first || random.chance(0.5)) {
                damaged[bit >> 3] ^= (byte) (0x80 >> (bit & 7));
            }
        }
        return damaged;
    }
}
