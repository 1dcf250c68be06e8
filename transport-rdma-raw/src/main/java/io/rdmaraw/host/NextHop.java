package io.rdmaraw.host;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.NeighborTable;

/**
 * The host on the link that frames go to.
 *
 * @param linkIndex the kernel's number of the link
 * @param address the host
 * @param use tells that it is being sent to
 */
public record NextHop(int linkIndex, IpAddress address, NeighborTable.Use use) {
}
