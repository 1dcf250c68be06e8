package io.rdmaraw.net;

import java.util.List;

/** Makes pictures of the network for tests of what is above. */
public final class Snapshots {
    private Snapshots() {
    }

    /** Returns a picture with neighbours and nothing else. */
    public static NetworkSnapshot of(long generation, Neighbor... neighbors) {
        return new NetworkSnapshot(generation, List.of(), List.of(), List.of(), List.of(neighbors), false);
    }

    /** Returns a picture of a host that chooses routing tables by rules of its own, and nothing else. */
    public static NetworkSnapshot withPolicyRules(long generation) {
        return new NetworkSnapshot(generation, List.of(), List.of(), List.of(), List.of(), true);
    }
}
