package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.wire.SipHash;

/**
 * TCP Fast Open (RFC 7413): cookies received from servers, and cookies issued to clients. A client that has a
 * cookie for the server's address may send data in the SYN. A server that receives its own cookie may deliver
 * that data before the handshake is complete.
 */
final class FastOpen {
    /** Length of the cookies issued here. Cookies of other servers have 4 to 16 bytes (section 4.1.1). */
    static final int COOKIE_BYTES = 8;
    private static final int MIN_COOKIE_BYTES = 4;
    private static final int MAX_COOKIE_BYTES = 16;
    /** Time for which Fast Open is not used on a path that has lost a SYN with data (section 4.1.3.1). */
    private static final long BLOCKED_NANOS = 3_600_000_000_000L;
    /** Size of the client's cookie cache. A new server replaces the one with the same index. */
    private static final int CACHE_SIZE = 1024;
    private static final long HASH_DOMAIN = 4;

    /** Cache entry of a server. */
    private static final class Server {
        long high;
        long low;
        long cookieHigh;
        long cookieLow;
        int cookieLengthBytes;
        int mss;
        long blockedUntilNanos = Long.MIN_VALUE;
    }

    private final SipHash hash;
    private final Server[] servers = new Server[CACHE_SIZE];

    FastOpen(SipHash hash) {
        this.hash = hash;
    }

    // ---- client ----

    /** Returns whether a SYN sent now may carry data. */
    boolean hasUsableCookie(TcpConnection c) {
        Server server = find(c.remoteHigh, c.remoteLow);
        return server != null && server.cookieLengthBytes > 0 && c.engine.now() >= server.blockedUntilNanos;
    }

    /**
     * Adds the cookie option to a SYN: the cached cookie, or a request for one. Adds nothing while the path is
     * blocked (section 4.2.1 step 1).
     */
    void offer(TcpConnection c, Segment syn, long now) {
        Server server = find(c.remoteHigh, c.remoteLow);
        if (server != null && now < server.blockedUntilNanos) {
            return;
        }
        if (server == null || server.cookieLengthBytes == 0) {
            syn.fastOpenCookie(0, 0, 0);
            return;
        }
        syn.fastOpenCookie(server.cookieLengthBytes, server.cookieHigh, server.cookieLow);
        c.peerMss = (char) server.mss;
    }

    /** Stores the cookie of a SYN-ACK (section 4.2.1 step 3). */
    void storeCookie(TcpConnection c, Segment synAck) {
        if (synAck.fastOpenCookieLengthBytes < MIN_COOKIE_BYTES
                || synAck.fastOpenCookieLengthBytes > MAX_COOKIE_BYTES) {
            return;
        }
        Server server = findOrAdd(c.remoteHigh, c.remoteLow);
        server.cookieLengthBytes = synAck.fastOpenCookieLengthBytes;
        server.cookieHigh = synAck.fastOpenCookieHigh;
        server.cookieLow = synAck.fastOpenCookieLow;
        server.mss = c.peerMss;
    }

    /**
     * Stops using Fast Open with a server for a while. Called if a SYN with the option was lost and one without
     * it was answered, as a middlebox may drop the option.
     */
    void blockServer(TcpConnection c, long now) {
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

    /**
     * Adds a cookie for the client's address to a SYN-ACK (section 4.1.2). Only engines with the same key can
     * compute it.
     */
    void addCookie(TcpConnection c, Segment synAck) {
        synAck.fastOpenCookie(COOKIE_BYTES, cookie(c.remoteHigh, c.remoteLow, c.localHigh, c.localLow), 0);
    }

    boolean isCookieValid(Segment syn) {
        return syn.fastOpenCookieLengthBytes == COOKIE_BYTES && syn.fastOpenCookieHigh == cookie(syn.sourceHigh,
                syn.sourceLow, syn.destinationHigh, syn.destinationLow);
    }

    private long cookie(long clientHigh, long clientLow, long ourHigh, long ourLow) {
        return hash.hash(clientHigh, clientLow, ourHigh, ourLow, HASH_DOMAIN, HASH_DOMAIN);
    }
}
