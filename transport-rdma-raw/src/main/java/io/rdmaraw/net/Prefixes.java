package io.rdmaraw.net;

/** Arithmetic on address prefixes. IPv4 addresses are IPv4-mapped, so their prefixes are 96 bits longer. */
final class Prefixes {
    static final int BITS = 2 * Long.SIZE;
    private static final int MAPPED_BITS = 96;

    private Prefixes() {
    }

    /** Returns a prefix length in terms of the IPv4-mapped form. */
    static int mappedBits(IpAddress address, int bits) {
        return address.isIpv4() ? MAPPED_BITS + bits : bits;
    }

    static long highMask(int bits) {
        return bits >= Long.SIZE ? -1 : bits == 0 ? 0 : -1L << Long.SIZE - bits;
    }

    static long lowMask(int bits) {
        return bits <= Long.SIZE ? 0 : bits == BITS ? -1 : -1L << BITS - bits;
    }

    static IpAddress masked(IpAddress address, int bits) {
        return new IpAddress(address.high() & highMask(bits), address.low() & lowMask(bits));
    }

    /** Returns a bit of an address. Index 0 is the first bit on the wire. */
    static boolean bit(long high, long low, int index) {
        return index < Long.SIZE ? (high << index) < 0 : (low << index) < 0;
    }

    static int commonBits(long firstHigh, long firstLow, long secondHigh, long secondLow) {
        int high = Long.numberOfLeadingZeros(firstHigh ^ secondHigh);
        return high < Long.SIZE ? high : high + Long.numberOfLeadingZeros(firstLow ^ secondLow);
    }
}
