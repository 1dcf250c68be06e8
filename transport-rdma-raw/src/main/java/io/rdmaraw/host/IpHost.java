package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.NetworkSnapshot;

import java.io.IOException;
import java.util.function.Consumer;

/**
 * The host that the addresses of a device's channels belong to. It is either the host of the process, with the kernel's
 * network ({@code host.kernel}), or a userspace host. Thread-safe.
 */
public interface IpHost {
    /** Returns the present links, addresses, routes and neighbours. */
    NetworkSnapshot snapshot();

    /**
     * Returns the link of this name in the namespace of the calling thread; null if there is none. May wait for a link
     * that was created a moment ago.
     */
    default Link link(String name) throws IOException {
        return snapshot().link(name);
    }

    /**
     * Returns the path to a destination; null if there is no route.
     *
     * @param sourceOrNull the source address if it is known, because routes may depend on it
     * @param mark {@code SO_MARK} of the sender, because routes may depend on it; 0 if unset
     * @param preferredLink the link to prefer if a route has several next hops; for link-local destinations the only
     *                      link that may be used, since they exist on every link
     */
    default NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress destination, IpAddress sourceOrNull,
            int mark, int preferredLink) {
        return destination.isLinkLocal() ? snapshot.pathOnLink(preferredLink, destination)
                : snapshot.path(destination, destination.hashCode(), preferredLink);
    }

    /** Starts to log when the link of a device goes down, comes up, is renamed or is removed. */
    default void logLinkChanges(int linkIndex, String deviceName) {
    }

    /** Adds a listener for new snapshots. It is called on the thread that creates them. */
    void addListener(Consumer<NetworkSnapshot> listener);

    /** Removes a listener. It may still be called for a snapshot that is being published. */
    void removeListener(Consumer<NetworkSnapshot> listener);

    /**
     * Resolves the MAC address of a neighbour or confirms it. The result is published in a snapshot.
     *
     * @param onRefused called on any thread if the host cannot send a solicitation
     */
    void solicit(int linkIndex, IpAddress hop, Runnable onRefused);

    /** Reads the complete network state again, for tests that reuse a host. The result is published in a snapshot. */
    default void rereadAll() {
        throw new UnsupportedOperationException("only the kernel's network can be read again");
    }

    /** Returns how often notifications of changes were lost and the network was read again. */
    default long lostNotifications() {
        return 0;
    }
}
