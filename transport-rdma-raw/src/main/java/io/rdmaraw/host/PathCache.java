package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;

import java.net.Inet6Address;
import java.net.InetSocketAddress;

/**
 * Cache of the paths to recent peers of one channel. A path can be in one of two places. If entries displace each
 * other, the cache doubles up to a limit. A client thus uses little memory, and a server with thousands of peers finds
 * each path in the cache. Used on one loop only.
 */
public final class PathCache {
    static final int MIN_PATHS = 64;
    static final int MAX_PATHS = 1 << 16;
    /** Denominator of the share of displaced entries at which the cache grows. */
    private static final int GROWTH_DIVISOR = 8;
    /** The golden ratio as a fraction of 2^32. Distributes hash codes that differ in few bits. */
    private static final int HASH_MULTIPLIER = 0x9e37_79b9;

    private DatagramPath[] paths = new DatagramPath[MIN_PATHS];
    private int shift = Integer.SIZE - Integer.numberOfTrailingZeros(MIN_PATHS);
    private int evicted;

    private int bucketOf(InetSocketAddress destination) {
        return destination.hashCode() * HASH_MULTIPLIER >>> shift;
    }

    /** Returns the path to a destination if the cache has one of this generation, else null. */
    public DatagramPath find(InetSocketAddress destination, long generation) {
        int index = bucketOf(destination);
        DatagramPath path = paths[index];
        if (path != null && matches(path, destination, generation)) {
            return path;
        }
        path = paths[index ^ 1];
        return path != null && matches(path, destination, generation) ? path : null;
    }

    private static boolean matches(DatagramPath path, InetSocketAddress destination, long generation) {
        return path.generation() == generation
                && (path.destination() == destination || path.destination().equals(destination)
                        && scopeOf(path.destination()) == scopeOf(destination));
    }

    /** Returns the scope id, which {@code equals} of the JDK ignores. */
    private static int scopeOf(InetSocketAddress address) {
        return address.getAddress() instanceof Inet6Address ipv6 ? ipv6.getScopeId() : 0;
    }

    /** Adds a path that {@link #find} did not find. */
    public void add(DatagramPath path, long generation) {
        int index = bucketOf(path.destination());
        if (isOccupied(index, generation)) {
            if (!isOccupied(index ^ 1, generation)) {
                index ^= 1;
            } else if (++evicted > paths.length / GROWTH_DIVISOR && paths.length < MAX_PATHS) {
                grow(generation);
                add(path, generation);
                return;
            } else {
                // The newest entry has the first place, so the entry in the second one is replaced.
                paths[index ^ 1] = paths[index];
            }
        }
        paths[index] = path;
    }

    private boolean isOccupied(int index, long generation) {
        return paths[index] != null && paths[index].generation() == generation;
    }

    private void grow(long generation) {
        DatagramPath[] old = paths;
        paths = new DatagramPath[2 * old.length];
        shift--;
        evicted = 0;
        for (DatagramPath path : old) {
            if (path != null && path.generation() == generation) {
                int index = bucketOf(path.destination());
                paths[paths[index] == null ? index : index ^ 1] = path;
            }
        }
    }

    /** Removes the paths to a host. */
    public void forget(IpAddress target) {
        for (int i = 0; i < paths.length; i++) {
            if (paths[i] != null && paths[i].target().equals(target)) {
                paths[i] = null;
            }
        }
    }

    boolean isSameBucket(InetSocketAddress first, InetSocketAddress second) {
        return bucketOf(first) == bucketOf(second);
    }

    int capacity() {
        return paths.length;
    }
}
