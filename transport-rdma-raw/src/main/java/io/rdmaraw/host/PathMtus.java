package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * MTUs of paths that are smaller than the MTU of their first link, as reported by routers (RFC 8201, RFC 1191). Entries
 * expire, because a path may change. Used on one loop only. Never reads the clock; callers pass the current time in
 * nanoseconds.
 */
public final class PathMtus {
    /** RFC 8201 section 4: at least 5 minutes, 10 recommended. */
    private static final long LIFETIME_NANOS = TimeUnit.MINUTES.toNanos(10);
    /** Minimum IPv6 MTU (RFC 8200 section 5), and below it the minimum that Linux accepts for IPv4. */
    private static final int MIN_BYTES_IPV6 = 1280;
    private static final int MIN_BYTES_IPV4 = 552;
    private static final int MAX_PATHS = 4096;

    private record Limit(int mtuBytes, long untilNanos) {
    }

    /** Entries in the order of insertion; the oldest one is removed first. */
    private final Map<IpAddress, Limit> limits = new LinkedHashMap<>();

    /** Records an MTU reported by a router. It is ignored if it is not smaller than the known MTU. */
    public void recordMtu(IpAddress destination, int mtuBytes, long nowNanos) {
        int mtu = Math.max(mtuBytes, destination.isIpv4() ? MIN_BYTES_IPV4 : MIN_BYTES_IPV6);
        if (mtu >= limit(destination, nowNanos)) {
            return;
        }
        limits.remove(destination);
        if (limits.size() == MAX_PATHS) {
            limits.remove(limits.keySet().iterator().next());
        }
        limits.put(destination, new Limit(mtu, nowNanos + LIFETIME_NANOS));
    }

    /** Returns the maximum length of an IP packet to a destination; Integer.MAX_VALUE if no limit is known. */
    int limit(IpAddress destination, long nowNanos) {
        Limit limit = limits.get(destination);
        if (limit == null) {
            return Integer.MAX_VALUE;
        }
        if (nowNanos - limit.untilNanos >= 0) {
            limits.remove(destination);
            return Integer.MAX_VALUE;
        }
        return limit.mtuBytes;
    }
}
