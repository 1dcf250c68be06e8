package io.rdmaraw.testsuite.sim;

/**
 * The changes that network equipment makes to a packet. Results are new arrays; packets are never changed in
 * place.
 */
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

    /** Returns the packet with the CE mark if it is ECN-capable (RFC 3168). */
    static byte[] mark(byte[] bytes) {
        Packet packet = Packet.decode(bytes);
        if (packet == null || packet.ecn == 0) {
            return bytes;
        }
        packet.ecn = 3;
        return packet.encode();
    }

    /** Returns the packet with up to 15 neighbouring bits changed, which the checksum always detects. */
    static byte[] corrupt(byte[] bytes, SplitMix random) {
        byte[] damaged = bytes.clone();
        // Only bits behind the IP header change. IPv6 has no checksum for its addresses and length.
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
