/**
 * The Netty transport: channels of frames, datagrams and streams, and the loops that drive their queues. One flat
 * package, as Netty's own transports are, so that what users need not see is package-private: channels, queues and what
 * is counted of them know each other. What does not need to know them is below, in {@code io.rdmaraw.host} and
 * {@code io.rdmaraw.loop}. It falls into these groups; {@link io.rdmaraw.channel.RdmaRawIoHandler} and
 * {@link io.rdmaraw.channel.RdmaRawChannel} are the two to read
 * first.
 *
 * <dl>
 * <dt>Loops: poll, dispatch; how they wait is io.rdmaraw.loop</dt>
 * <dd>RdmaRawIoHandler, RdmaRawIoHandlerConfig, RdmaRawTcpLimits, RdmaRawIoHandle, RdmaRawEventLoop,
 * RdmaRawEventLoopGroup, LoopFailures</dd>
 *
 * <dt>Queues: one per loop and port; which channel a frame is for</dt>
 * <dd>PortQueue, PortLimits, FlowTags, FlowHash, SpreadOwner, RecoveryPace, QueueChannel</dd>
 *
 * <dt>What all channels have in common</dt>
 * <dd>AbstractRdmaRawChannel, AbstractRdmaRawChannelConfig, OptionTable, RdmaRawChannelOption,
 * RdmaRawByteBufAllocator, Inbox, RdmaRaw, RdmaRawQueueEvent, SendRefusedException</dd>
 *
 * <dt>Frames</dt>
 * <dd>RdmaRawChannel, RdmaRawChannelConfig, RdmaRawAddress, FrameBurst, FrameBurstPool, FrameInbox, DirectSends,
 * DirectUnsafe, PcapFrameHandler</dd>
 *
 * <dt>A host of our own, driven by one of the loops; the kernel's is in io.rdmaraw.host</dt>
 * <dd>OwnNetworkHost, OwnHostReceiver, OwnHostGroupRules; its networks: OwnNetwork,
 * OwnTcpNetwork</dd>
 *
 * <dt>Datagrams</dt>
 * <dd>RdmaRawDatagramChannel, RdmaRawDatagramChannelConfig, MulticastDatagramChannel, DatagramOptions, DatagramInbox,
 * DatagramReceiver, DatagramSender, DatagramWriter, DatagramSegments, DatagramMemberships,
 * DatagramSteering, WaitingDatagram; the networks under them are in io.rdmaraw.host</dd>
 *
 * <dt>Streams: the channels</dt>
 * <dd>RdmaRawSocketChannel, RdmaRawSocketChannelConfig, RdmaRawServerSocketChannel, RdmaRawServerSocketChannelConfig,
 * RdmaRawTcpInfo, AcceptInbox, StreamInbox, StreamSender, StreamConnector, StreamCarrier, StreamErrors,
 * KernelListener, KernelConnection</dd>
 *
 * <dt>Streams: one loop's TCP, between the core in io.rdmaraw.tcp and the queue</dt>
 * <dd>TcpStack, TcpStacks, TcpOpener, DeviceStacks, TcpFlow, TouchedFlows, TcpPort, ListeningPort, ConnectedPort,
 * TcpSteering, TcpForwards, HandOverLimit, StraySegments, StrayBudget, KernelSegments, TcpIcmp, SegmentReceiver,
 * SegmentSender, SegmentWriter, WaitingSegment; the networks under them are in io.rdmaraw.host</dd>
 *
 * <dt>What can be seen of it</dt>
 * <dd>RdmaRawMetrics, RdmaRawMetric, RdmaRawMetered, MetricTable, RdmaRawLoopStatistics, RdmaRawPortStatistics,
 * RdmaRawChannelStatistics, RdmaRawDatagramStatistics, RdmaRawTcpStatistics, RdmaRawTcpSockets, OwnHostStatistics,
 * SocketRows, TransportMBean, RdmaRawMeterBinder, FlightRecorderEvents, PortEvents, Observers</dd>
 * </dl>
 */
package io.rdmaraw.channel;
