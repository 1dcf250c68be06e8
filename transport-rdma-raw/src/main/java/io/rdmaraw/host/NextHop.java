package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NeighborTable;

/**
 * The host on the link that frames go to.
 *
 * @param linkIndex the kernel's number of the link
 * @param address the host
 * @param mac its MAC address, or {@link Neighbor#NO_MAC}
 * @param use tells that it is being sent to; null while its MAC address is not known
 */
public record NextHop(int linkIndex, IpAddress address, long mac, NeighborTable.Use use) {
    /** Keeps the neighbour fresh: a packet goes to it. */
    void touch() {
        if (use != null) {
            use.touch();
        }
    }

    boolean isResolved() {
        return mac != Neighbor.NO_MAC;
    }
}
