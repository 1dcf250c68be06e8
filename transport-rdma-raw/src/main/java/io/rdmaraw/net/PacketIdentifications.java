package io.rdmaraw.net;

import io.rdmaraw.wire.SipHash;

import java.security.SecureRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.random.RandomGenerator;

/**
 * Generates identifications of packets that may be fragmented.
 *
 * <p>A keyed hash of the addresses and the protocol selects one of many counters (RFC 7739 section 5.3, as in
 * Linux). A peer therefore learns nothing about the identifications sent to others, and identifications to one
 * peer repeat as late as possible (RFC 6864 section 4.3). Counters start at random values and advance in random
 * steps, so that a peer that shares a counter cannot count another peer's packets.
 *
 * <p>All channels of the process share one table, since they may send to the same peer. Thread-safe and
 * lock-free.
 */
public final class PacketIdentifications {
    /** The instance shared by all channels of the process. */
    public static final PacketIdentifications SHARED = new PacketIdentifications(new SecureRandom());

    /** Number of counters: four times the minimum of Linux. */
    private static final int COUNTERS = 1 << 13;
    /** Small, because an IPv4 identification has only 16 bits: on average it repeats after 26,000 packets. */
    private static final int MAX_STEP_IPV4 = 4;
    private static final int MAX_STEP_IPV6 = 1 << 10;
    /** Distinguishes these hashes from other hashes with the same key. */
    private static final long DOMAIN = 7;

    private final SipHash hash;
    private final AtomicIntegerArray counters;

    /**
     * @param random source of the key and the initial values
     */
    PacketIdentifications(RandomGenerator random) {
        hash = new SipHash(random.nextLong(), random.nextLong());
        int[] first = new int[COUNTERS];
        for (int i = 0; i < first.length; i++) {
            first[i] = random.nextInt();
        }
        counters = new AtomicIntegerArray(first);
    }

    /** Returns the counter for a pair of addresses and a protocol. */
    public int counterOf(IpAddress source, IpAddress destination, int protocol) {
        return (int) hash.hash(source.high(), source.low(), destination.high(), destination.low(), protocol, DOMAIN)
                & COUNTERS - 1;
    }

    /** Returns the next IPv4 identification (16 bits) of a counter. */
    public int nextIpv4(int counter) {
        return next(counter, MAX_STEP_IPV4) & 0xffff;
    }

    /** Returns the next IPv6 identification (32 bits) of a counter. */
    public int nextIpv6(int counter) {
        return next(counter, MAX_STEP_IPV6);
    }

    /** Advances a counter. Only the counter must be unpredictable, not its steps, so a fast generator suffices. */
    private int next(int counter, int maxStep) {
        return counters.addAndGet(counter, 1 + ThreadLocalRandom.current().nextInt(maxStep));
    }
}
