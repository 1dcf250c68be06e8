package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;

import java.net.InetSocketAddress;

/**
 * The paths to the peers that a channel sent to last. A peer has two places; the cache doubles when peers take each
 * other's, up to a limit, so that a client costs a few places and a server of thousands finds each of its peers again.
 * For one loop.
 */
public final class PathCache {
    static final int MIN_PATHS = 64;
    static final int MAX_PATHS = 1 << 16;
    /** So many paths of the same generation pushed out, as a share of all places, make the cache grow. */
    private static final int PUSHED_OUT_SHARE = 8;
    /** The golden ratio as a fraction of 2^32: spreads hash codes that differ in few bits. */
    private static final int SPREAD = 0x9e37_79b9;

    private DatagramPath[] paths = new DatagramPath[MIN_PATHS];
    private int shift = Integer.SIZE - Integer.numberOfTrailingZeros(MIN_PATHS);
    private int pushedOut;

    private int placeOf(InetSocketAddress destination) {
        return destination.hashCode() * SPREAD >>> shift;
    }

    /** Returns the path to a destination if one of this generation is known, else null. */
    public DatagramPath find(InetSocketAddress destination, long generation) {
        int place = placeOf(destination);
        DatagramPath path = paths[place];
        if (path != null && leadsTo(path, destination, generation)) {
            return path;
        }
        path = paths[place ^ 1];
        return path != null && leadsTo(path, destination, generation) ? path : null;
    }

    private static boolean leadsTo(DatagramPath path, InetSocketAddress destination, long generation) {
        return path.generation() == generation
                && (path.destination() == destination || path.destination().equals(destination));
    }

    /** Keeps a path that {@link #find} did not find. */
    public void add(DatagramPath path, long generation) {
        int place = placeOf(path.destination());
        if (isTaken(place, generation)) {
            if (!isTaken(place ^ 1, generation)) {
                place ^= 1;
            } else if (++pushedOut > paths.length / PUSHED_OUT_SHARE && paths.length < MAX_PATHS) {
                grow(generation);
                add(path, generation);
                return;
            } else {
                // What came last has the first place, so the other one goes.
                paths[place ^ 1] = paths[place];
            }
        }
        paths[place] = path;
    }

    private boolean isTaken(int place, long generation) {
        return paths[place] != null && paths[place].generation() == generation;
    }

    private void grow(long generation) {
        DatagramPath[] old = paths;
        paths = new DatagramPath[2 * old.length];
        shift--;
        pushedOut = 0;
        for (DatagramPath path : old) {
            if (path != null && path.generation() == generation) {
                int place = placeOf(path.destination());
                paths[paths[place] == null ? place : place ^ 1] = path;
            }
        }
    }

    /** Forgets the paths to a host. */
    public void forget(IpAddress target) {
        for (int i = 0; i < paths.length; i++) {
            if (paths[i] != null && paths[i].target().equals(target)) {
                paths[i] = null;
            }
        }
    }

    boolean samePlace(InetSocketAddress first, InetSocketAddress second) {
        return placeOf(first) == placeOf(second);
    }

    int places() {
        return paths.length;
    }
}
