package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;

/**
 * Which destinations are unicast addresses of this host that others may send to. Remembers the last answers, so that
 * floods to a few addresses cost no look at the routes and no objects. For the loop's thread.
 */
final class OurAddresses {
    private static final int ENTRIES = 64;

    private final long[] highs = new long[ENTRIES];
    private final long[] lows = new long[ENTRIES];
    /** Of the snapshot that the answer is from; no snapshot has 0. */
    private final long[] generations = new long[ENTRIES];
    private final boolean[] answers = new boolean[ENTRIES];

    boolean contains(NetworkSnapshot snapshot, long high, long low) {
        int i = Long.hashCode((high * 31 + low) * 0x9e37_79b9_7f4a_7c15L) & ENTRIES - 1;
        if (generations[i] != snapshot.generation() || highs[i] != high || lows[i] != low) {
            IpAddress address = new IpAddress(high, low);
            answers[i] = isOurs(snapshot, address);
            highs[i] = high;
            lows[i] = low;
            generations[i] = snapshot.generation();
        }
        return answers[i];
    }

    /** A VRF has its local routes in a table of its own, so the addresses count too. */
    private static boolean isOurs(NetworkSnapshot snapshot, IpAddress address) {
        return !address.isLoopback() && !address.isAny() && (snapshot.isLocal(address)
                || snapshot.addresses().stream().anyMatch(each -> each.address().equals(address)));
    }
}
