package io.rdmaraw.tcp;

import io.rdmaraw.wire.SipHash;

import java.util.random.RandomGenerator;

/**
 * Keys for initial sequence numbers, timestamps and SYN cookies. They belong to a host rather than to an engine.
 * RFC 6528 and RFC 7323 assume one clock per host. Moreover, the next connection between two ends, or the ACK
 * that returns a cookie, may reach another engine. All engines of a host share an instance. Thread-safe.
 */
public final class TcpSecrets {
    /** Resolution of {@link #lastCookieNanos}. It avoids contention for the cache line if several loops are flooded. */
    private static final long COOKIE_STAMP_NANOS = 1_000_000_000L;
    private static final long NO_COOKIE = Long.MIN_VALUE;

    final SipHash hash;
    private final long key0;
    private final long key1;
    private volatile long lastCookieNanos = NO_COOKIE;

    /** @param random source of the keys: a {@code SecureRandom} in production, a seeded generator in tests */
    public TcpSecrets(RandomGenerator random) {
        this(random.nextLong(), random.nextLong());
    }

    /** Creates the secrets of the process that hands over its ports, so that its cookies remain valid. */
    public TcpSecrets(long key0, long key1) {
        this.key0 = key0;
        this.key1 = key1;
        hash = new SipHash(key0, key1);
    }

    /** Returns the first half of the key. */
    public long key0() {
        return key0;
    }

    /** Returns the second half of the key. */
    public long key1() {
        return key1;
    }

    /** Records that a SYN was answered with a cookie. */
    public void onCookieSent(long now) {
        long last = lastCookieNanos;
        if (last == NO_COOKIE || now - last >= COOKIE_STAMP_NANOS) {
            lastCookieNanos = now;
        }
    }

    /**
     * Returns whether a cookie that is still valid may have been sent. If not, ACKs need not be checked for
     * cookies.
     */
    public boolean mayExpectCookie(long now) {
        long last = lastCookieNanos;
        return last != NO_COOKIE && now - last <= SynCookies.lifetimeNanos() + COOKIE_STAMP_NANOS;
    }
}
