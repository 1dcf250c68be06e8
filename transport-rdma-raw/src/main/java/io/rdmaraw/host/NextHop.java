package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NeighborTable;

/**
 * The host on the link that frames are sent to.
 *
 * @param linkIndex the kernel's index of the link
 * @param address IP address of the host
 * @param mac its MAC address, or {@link Neighbor#NO_MAC}
 * @param use records that packets are sent to the host; null while the MAC address is unknown
 */
public record NextHop(int linkIndex, IpAddress address, long mac, NeighborTable.Use use) {
    /** Records that a packet is sent to the host, so that it is kept reachable. */
    void touch() {
        if (use != null) {
            use.touch();
        }
    }

    boolean isResolved() {
        return mac != Neighbor.NO_MAC;
    }
}
