package io.rdmaraw.net;

import java.util.List;

/** Creates network snapshots for tests of higher layers. */
public final class Snapshots {
    private Snapshots() {
    }

    /** Returns a snapshot that contains only neighbours. */
    public static NetworkSnapshot of(long generation, Neighbor... neighbors) {
        return new NetworkSnapshot(generation, List.of(), List.of(), List.of(), List.of(neighbors), false);
    }

    /** Returns a snapshot that contains only addresses and neighbours. */
    public static NetworkSnapshot of(long generation, List<LocalAddress> addresses, Neighbor... neighbors) {
        return new NetworkSnapshot(generation, List.of(), addresses, List.of(), List.of(neighbors), false);
    }

    /** Returns a snapshot of a host with policy rules and nothing else. */
    public static NetworkSnapshot withPolicyRules(long generation) {
        return new NetworkSnapshot(generation, List.of(), List.of(), List.of(), List.of(), true);
    }
}
