package io.rdmaraw.tcp;

import io.rdmaraw.wire.SipHash;

import java.util.random.RandomGenerator;

/**
 * The keys behind initial sequence numbers, timestamps and SYN cookies. They belong to a host, not to an engine: RFC
 * 6528 and RFC 7323 know one clock per host, and the next connection between two ends, or the ACK that returns a
 * cookie, may be another engine's. The engines of a host share an object of this class; any thread may use it.
 */
public final class TcpSecrets {
    /** How exactly it is remembered when a cookie was sent: floods on several loops must not fight for one line. */
    private static final long COOKIE_STAMP_NANOS = 1_000_000_000L;
    private static final long NO_COOKIE = Long.MIN_VALUE;

    final SipHash hash;
    private final long key0;
    private final long key1;
    private volatile long lastCookieNanos = NO_COOKIE;

    /**
     * @param random source of the keys: a {@code SecureRandom} in production; tests pass a seeded one
     */
    public TcpSecrets(RandomGenerator random) {
        this(random.nextLong(), random.nextLong());
    }

    /** Makes those of a process whose ports this one takes over: cookies of its are taken here. */
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

    /** A SYN is answered by a cookie. */
    public void onCookieSent(long now) {
        long last = lastCookieNanos;
        if (last == NO_COOKIE || now - last >= COOKIE_STAMP_NANOS) {
            lastCookieNanos = now;
        }
    }

    /** Whether a cookie that is still valid may be out: without one no ACK returns one. */
    public boolean mayExpectCookie(long now) {
        long last = lastCookieNanos;
        return last != NO_COOKIE && now - last <= SynCookies.lifetimeNanos() + COOKIE_STAMP_NANOS;
    }
}
