/**
 * The IP networks under the channels: which address and port a channel has, which rules steer to it, and which way its
 * packets go. A network tells rules ({@link io.rdmaraw.verbs.FlowSpec}) and paths; who has queues and sends is the
 * layer above.
 *
 * <dl>
 * <dt>Networks, one for a datagram channel or for a loop's TCP</dt>
 * <dd>{@link io.rdmaraw.host.DatagramNetwork}: LoopNetwork, and LinkNetwork with SharedNetwork.
 * {@link io.rdmaraw.host.TcpNetwork}: LoopTcpNetwork, and LinkTcpNetwork with SharedTcpNetwork. Loop devices have the
 * first, links the second (LinkErrors: when there is none). What they find: DatagramPath, TcpPath, NextHop; the
 * rules: FlowMatches, OwnHostRules; and what they let through by mistake: OurAddresses</dd>
 *
 * <dt>The host whose addresses they are: {@link io.rdmaraw.host.IpHost}</dt>
 * <dd>The kernel's: HostNetwork, HostIcmp, HostSegments, OutboundPorts, NetworkDevices. A host of our own is driven by
 * a queue, so it is in {@code io.rdmaraw.channel}: OwnNetworkHost, with OwnNetwork and OwnTcpNetwork; whom it hands
 * packets is a PortOwner. SnapshotBudget is for either: how much time new pictures of the network may take</dd>
 *
 * <dt>What the channels of one loop know of their host</dt>
 * <dd>HostView; LoopNeighbors and WaitingPacket, PathMtus, PathCache, RouteCache, SocketAddressCache; packets put
 * together from fragments: PacketReassembly, PartialPacket, ReassemblyLimits, ReassemblyCounters</dd>
 *
 * <dt>The kernel's socket beside a datagram channel</dt>
 * <dd>KernelSocket, KernelBuffer, GroupChange</dd>
 * </dl>
 */
package io.rdmaraw.host;
