package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;

/**
 * Checks whether a destination is a unicast address of this host that other hosts may use. Caches recent results, so
 * that a flood to a few addresses causes neither route lookups nor allocations. Used on the loop's thread only.
 */
final class LocalAddressCache {
    private static final int ENTRIES = 64;

    private final long[] highs = new long[ENTRIES];
    private final long[] lows = new long[ENTRIES];
    /** Generations of the snapshots that the results were computed from. No snapshot has generation 0. */
    private final long[] generations = new long[ENTRIES];
    private final boolean[] results = new boolean[ENTRIES];

    boolean contains(NetworkSnapshot snapshot, long high, long low) {
        int i = Long.hashCode((high * 31 + low) * 0x9e37_79b9_7f4a_7c15L) & ENTRIES - 1;
        if (generations[i] != snapshot.generation() || highs[i] != high || lows[i] != low) {
            IpAddress address = new IpAddress(high, low);
            results[i] = isLocalUnicast(snapshot, address);
            highs[i] = high;
            lows[i] = low;
            generations[i] = snapshot.generation();
        }
        return results[i];
    }

    /**
     * Returns whether an address belongs to this host. Also checks the list of addresses, because the local routes of a
     * VRF are in a separate table.
     */
    private static boolean isLocalUnicast(NetworkSnapshot snapshot, IpAddress address) {
        return !address.isLoopback() && !address.isAny() && (snapshot.isLocal(address)
                || snapshot.addresses().stream().anyMatch(each -> each.address().equals(address)));
    }
}
