package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;

import java.util.function.Consumer;

/**
 * The host whose addresses the channels of a device have: the one the process runs on, by the kernel's knowledge
 * ({@link KernelIpHost}), or one of our own. Thread-safe.
 */
public interface IpHost {
    /** Returns the links, addresses, routes and neighbours as they are now. */
    NetworkSnapshot snapshot();

    /**
     * Returns the way to a destination, or null when there is none.
     *
     * @param sourceOrNull the address that will be sent from, when it is known: routes may depend on it
     * @param mark what {@code SO_MARK} says of the sender, 0 for nothing: routes may depend on it too
     */
    default NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress destination, IpAddress sourceOrNull,
            int mark) {
        return snapshot.path(destination, destination.hashCode());
    }

    /** Adds someone to tell of each new snapshot, on the thread that makes them. */
    void addListener(Consumer<NetworkSnapshot> listener);

    /** Tells this one no more; it may hear of a snapshot that is being handed out. */
    void removeListener(Consumer<NetworkSnapshot> listener);

    /**
     * Has a neighbour's address found out or confirmed; the answer comes in a snapshot.
     *
     * @param refused called when the host cannot ask for it, on any thread
     */
    void solicit(int linkIndex, IpAddress hop, Runnable refused);

    /** Returns how often the host changed so fast that changes were lost, and all was read anew. */
    default long lostNotifications() {
        return 0;
    }
}
