package io.rdmaraw.net;

import io.rdmaraw.wire.SipHash;

import java.security.SecureRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.random.RandomGenerator;

/**
 * The identifications of packets that may come in fragments. A keyed hash of both ends and the protocol chooses one of
 * many counters (RFC 7739 section 5.3, as Linux does): the numbers that one peer sees say nothing of those that others
 * get, and a peer's come again as late as they can (RFC 6864 section 4.3). Counters start anywhere and go on by random
 * steps, so that who shares one cannot count another's packets either. One table serves all channels of the process, as
 * they may send to the same peer. Any thread; no lock.
 */
public final class PacketIdentifications {
    /** Those of the process. */
    public static final PacketIdentifications SHARED = new PacketIdentifications(new SecureRandom());

    /** Four times as many as Linux has at least. */
    private static final int COUNTERS = 1 << 13;
    /** Small, as IPv4 has only 16 bits: on average they last for 26,000 packets. */
    private static final int MAX_STEP_IPV4 = 4;
    private static final int MAX_STEP_IPV6 = 1 << 10;
    /** Tells these hashes from others of the same key. */
    private static final long DOMAIN = 7;

    private final SipHash hash;
    private final AtomicIntegerArray counters;

    /** @param random the source of the key and of the counters' first values */
    PacketIdentifications(RandomGenerator random) {
        hash = new SipHash(random.nextLong(), random.nextLong());
        int[] first = new int[COUNTERS];
        for (int i = 0; i < first.length; i++) {
            first[i] = random.nextInt();
        }
        counters = new AtomicIntegerArray(first);
    }

    /** Returns which counter two ends have, for {@link #next}. */
    public int counterOf(IpAddress source, IpAddress destination, int protocol) {
        return (int) hash.hash(source.high(), source.low(), destination.high(), destination.low(), protocol, DOMAIN)
                & COUNTERS - 1;
    }

    /** Returns the next identification of IPv4, of 16 bits. */
    public int nextIpv4(int counter) {
        return next(counter, MAX_STEP_IPV4) & 0xffff;
    }

    /** Returns the next identification of IPv6, of 32 bits. */
    public int nextIpv6(int counter) {
        return next(counter, MAX_STEP_IPV6);
    }

    /** The counter is the secret; its steps need not be, so that a quick generator will do. */
    private int next(int counter, int maxStep) {
        return counters.addAndGet(counter, 1 + ThreadLocalRandom.current().nextInt(maxStep));
    }
}
