/**
 * The Netty transport: channels of frames, datagrams and streams, and the loops that drive their queues. One flat
 * package, as Netty's own transports are, so that what users need not see is package-private. It falls into these
 * groups; {@link io.rdmaraw.channel.RdmaRawIoHandler} and {@link io.rdmaraw.channel.RdmaRawChannel} are the two to read
 * first.
 *
 * <dl>
 * <dt>Loops: poll, dispatch; how they wait is io.rdmaraw.loop</dt>
 * <dd>RdmaRawIoHandler, RdmaRawIoHandlerConfig, RdmaRawIoHandle, RdmaRawEventLoop, RdmaRawEventLoopGroup,
 * LoopFailures</dd>
 *
 * <dt>Queues: one per loop and port; which channel a frame is for</dt>
 * <dd>PortQueue, PortLimits, FlowTags, FlowHash, SpreadOwner, RecoveryPace, QueueChannel</dd>
 *
 * <dt>What all channels have in common</dt>
 * <dd>AbstractRdmaRawChannel, AbstractRdmaRawChannelConfig, OptionTable, RdmaRawChannelOption,
 * RdmaRawByteBufAllocator, Inbox, NetworkDevices, RdmaRaw, RdmaRawQueueEvent, SendRefusedException</dd>
 *
 * <dt>Frames</dt>
 * <dd>RdmaRawChannel, RdmaRawChannelConfig, RdmaRawAddress, FrameBurst, FrameBurstPool, FrameInbox, DirectSends,
 * DirectUnsafe, PcapFrameHandler</dd>
 *
 * <dt>Hosts: whose addresses, and who has the next hop</dt>
 * <dd>The kernel's: IpHost, HostNetwork, HostIcmp, KernelSocket, KernelBuffer, LoopNeighbors, PathMtus, FlowMatches,
 * WaitingPacket. One of our own: OwnNetworkHost, OwnHostReceiver, OwnHostRules, OwnHostGroupRules, OwnPort,
 * SnapshotBudget</dd>
 *
 * <dt>Datagrams</dt>
 * <dd>RdmaRawDatagramChannel, RdmaRawDatagramChannelConfig, MulticastDatagramChannel, DatagramLoop, DatagramInbox,
 * DatagramReceiver, DatagramSender, DatagramWriter, DatagramFragments, DatagramSegments, DatagramMemberships,
 * DatagramSteering, DatagramPath, PathCache, GroupChange, SocketAddressCache, WaitingDatagram; the networks under
 * them: DatagramNetwork, LoopNetwork, LinkNetwork, SharedNetwork, OwnNetwork</dd>
 *
 * <dt>Streams: the channels</dt>
 * <dd>RdmaRawSocketChannel, RdmaRawSocketChannelConfig, RdmaRawServerSocketChannel, RdmaRawServerSocketChannelConfig,
 * RdmaRawTcpInfo, AcceptInbox, StreamInbox, StreamSender, StreamConnector, StreamCarrier, StreamErrors,
 * KernelListener, KernelConnection</dd>
 *
 * <dt>Streams: one loop's TCP, between the core in io.rdmaraw.tcp and the queue</dt>
 * <dd>TcpStack, TcpStacks, TcpOpener, DeviceStacks, TcpFlow, TouchedFlows, TcpPath, TcpPort, ListeningPort,
 * ConnectedPort, TcpSteering, TcpForwards, HandOverLimit, StraySegments, TcpIcmp, SegmentReceiver, SegmentSender,
 * SegmentWriter, WaitingSegment; the networks under them: TcpNetwork, LoopTcpNetwork, LinkTcpNetwork,
 * SharedTcpNetwork, OwnTcpNetwork</dd>
 *
 * <dt>What can be seen of it</dt>
 * <dd>RdmaRawMetrics, RdmaRawMetric, RdmaRawMetered, MetricTable, RdmaRawLoopStatistics, RdmaRawPortStatistics,
 * RdmaRawChannelStatistics, RdmaRawDatagramStatistics, RdmaRawTcpStatistics, RdmaRawTcpSockets, OwnHostStatistics,
 * SocketRows, TransportMBean, RdmaRawMeterBinder, FlightRecorderEvents, PortEvents, Observers</dd>
 * </dl>
 */
package io.rdmaraw.channel;
