package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.wire.SipHash;

/**
 * TCP Fast Open (RFC 7413): the cookies that servers gave us, and those that we give. A client that has the cookie of a
 * server's address may send data with its SYN; a server that gets its own cookie back may hand that data to the user
 * before the handshake is complete.
 */
final class FastOpen {
    /** Length of the cookies made here; those of others are 4 to 16 bytes (section 4.1.1). */
    static final int COOKIE_BYTES = 8;
    private static final int MIN_COOKIE_BYTES = 4;
    private static final int MAX_COOKIE_BYTES = 16;
    /** A path on which a SYN with data was lost gets none for so long (section 4.1.3.1). */
    private static final long BLOCKED_NANOS = 3_600_000_000_000L;
    /** Servers remembered; a newer one takes the place of one with the same index. */
    private static final int SERVERS = 1024;
    private static final long LABEL = 4;

    /** What is known of a server. */
    private static final class Server {
        long high;
        long low;
        long cookieHigh;
        long cookieLow;
        int cookieBytes;
        int mss;
        long blockedUntilNanos = Long.MIN_VALUE;
    }

    private final SipHash hash;
    private final Server[] servers = new Server[SERVERS];

    FastOpen(SipHash hash) {
        this.hash = hash;
    }

    // ---- client ----

    /** Whether data would go with a SYN now. */
    boolean hasCookie(TcpConnection c) {
        Server server = find(c.remoteHigh, c.remoteLow);
        return server != null && server.cookieBytes > 0 && c.engine.now() >= server.blockedUntilNanos;
    }

    /**
     * Section 4.2.1 step 1: the cookie if there is one, else the request for one; nothing while the path is blocked.
     */
    void offer(TcpConnection c, Segment syn, long now) {
        Server server = find(c.remoteHigh, c.remoteLow);
        if (server != null && now < server.blockedUntilNanos) {
            return;
        }
        if (server == null || server.cookieBytes == 0) {
            syn.fastOpenCookie(0, 0, 0);
            return;
        }
        syn.fastOpenCookie(server.cookieBytes, server.cookieHigh, server.cookieLow);
        c.peerMss = (char) server.mss;
    }

    /** Section 4.2.1 step 3: the SYN-ACK brings a cookie, perhaps a new one. */
    void remember(TcpConnection c, Segment synAck) {
        if (synAck.fastOpenCookieBytes < MIN_COOKIE_BYTES || synAck.fastOpenCookieBytes > MAX_COOKIE_BYTES) {
            return;
        }
        Server server = findOrAdd(c.remoteHigh, c.remoteLow);
        server.cookieBytes = synAck.fastOpenCookieBytes;
        server.cookieHigh = synAck.fastOpenCookieHigh;
        server.cookieLow = synAck.fastOpenCookieLow;
        server.mss = c.peerMss;
    }

    /** A SYN with the option was lost and one without it came through: a middlebox may be in the way. */
    void block(TcpConnection c, long now) {
        findOrAdd(c.remoteHigh, c.remoteLow).blockedUntilNanos = now + BLOCKED_NANOS;
    }

    private static int index(long high, long low) {
        return (int) ((high * 31 + low) * 0x9E37_79B9_7F4A_7C15L >>> 54);
    }

    private Server find(long high, long low) {
        Server server = servers[index(high, low)];
        return server != null && server.high == high && server.low == low ? server : null;
    }

    private Server findOrAdd(long high, long low) {
        Server server = find(high, low);
        if (server == null) {
            server = new Server();
            server.high = high;
            server.low = low;
            servers[index(high, low)] = server;
        }
        return server;
    }

    // ---- server ----

    /** Section 4.1.2: a cookie that only this engine, or one with the same key, can make for the client's address. */
    void giveCookie(TcpConnection c, Segment synAck) {
        synAck.fastOpenCookie(COOKIE_BYTES, cookie(c.remoteHigh, c.remoteLow, c.localHigh, c.localLow), 0);
    }

    boolean isOurs(Segment syn) {
        return syn.fastOpenCookieBytes == COOKIE_BYTES && syn.fastOpenCookieHigh == cookie(syn.sourceHigh,
                syn.sourceLow, syn.destinationHigh, syn.destinationLow);
    }

    private long cookie(long clientHigh, long clientLow, long ourHigh, long ourLow) {
        return hash.hash(clientHigh, clientLow, ourHigh, ourLow, LABEL, LABEL);
    }
}
