package io.rdmaraw.host;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.Neighbor;
import io.rdmaraw.route.NeighborTable;

/**
 * The host on the link that frames go to.
 *
 * @param linkIndex the kernel's number of the link
 * @param address the host
 * @param mac its MAC address, or {@link Neighbor#NO_MAC}
 * @param use tells that it is being sent to; null while its MAC address is not known
 */
public record NextHop(int linkIndex, IpAddress address, long mac, NeighborTable.Use use) {
    boolean isResolved() {
        return mac != Neighbor.NO_MAC;
    }
}
