package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The paths that carry less than their first link, as routers on them have said (RFC 8201, RFC 1191). Forgotten after a
 * while, as a path may have changed for the better. For one loop; time is given.
 */
public final class PathMtus {
    /** RFC 8201 section 4: no less than 5 minutes, 10 recommended. */
    private static final long LIFETIME_NANOS = TimeUnit.MINUTES.toNanos(10);
    /** What every IPv6 link carries (RFC 8200 section 5), and what Linux takes for the least of IPv4. */
    private static final int MIN_BYTES_IPV6 = 1280;
    private static final int MIN_BYTES_IPV4 = 552;
    private static final int MAX_PATHS = 4096;

    private record Limit(int mtuBytes, long untilNanos) {
    }

    /** In the order they were learned: the oldest makes room. */
    private final Map<IpAddress, Limit> limits = new LinkedHashMap<>();

    /** A router says that packets to a destination can only be so long. A larger figure than is known is ignored. */
    public void learned(IpAddress destination, int mtuBytes, long nowNanos) {
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

    /** Returns the longest IP packet for a destination, Integer.MAX_VALUE when no limit is known. */
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
