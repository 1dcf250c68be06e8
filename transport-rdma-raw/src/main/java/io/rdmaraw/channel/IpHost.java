package io.rdmaraw.channel;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.NetworkSnapshot;

import java.util.function.Consumer;

/**
 * The host whose addresses the channels of a device have: the one the process runs on, by the kernel's knowledge
 * ({@link HostNetwork}), or one of our own ({@link OwnNetworkHost}). Thread-safe.
 */
interface IpHost {
    /** Returns the links, addresses, routes and neighbours as they are now. */
    NetworkSnapshot snapshot();

    /** Adds someone to tell of each new snapshot, on the thread that makes them. */
    void addListener(Consumer<NetworkSnapshot> listener);

    /** Has a neighbour's address found out or confirmed; the answer comes in a snapshot. */
    void solicit(int linkIndex, IpAddress hop);
}
