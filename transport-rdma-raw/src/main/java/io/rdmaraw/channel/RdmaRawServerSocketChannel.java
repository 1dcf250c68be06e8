package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.util.concurrent.Future;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.channel.io.AcceptInbox;
import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.kernel.KernelPort;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.takeover.Takeover;
import io.rdmaraw.takeover.TakeoverPort;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.stack.ConnectionAcceptor;
import io.rdmaraw.tcp.stack.ListeningPort;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpTransport;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;

/**
 * A TCP server channel. Fires an {@link RdmaRawSocketChannel} for each accepted connection.
 *
 * {@snippet :
 * EventLoopGroup group = new RdmaRawEventLoopGroup(2,
 *         RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0").build());
 * new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class).childHandler(handlers).bind(8080);
 * }
 *
 * <p>{@link RdmaRawIoHandlerConfig.Builder#device(String)} selects the device. All loops of the group serve the port,
 * or only the channel's loop if {@link RdmaRawChannelOption#SO_REUSEPORT} is set. If a {@code ServerBootstrap} has
 * another group for the child channels, the port moves to the loops of that group after bind. A connection that is
 * opened before the end of the move can be on another loop than its segments, which are then passed between loops. If
 * this matters, use one group, or set {@link RdmaRawChannelOption#ACCEPT_GROUP}.
 */
public final class RdmaRawServerSocketChannel extends AbstractRdmaRawChannel implements ServerSocketChannel {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RdmaRawServerSocketChannel.class);
    private static final int MAX_MESSAGES_PER_READ = 16;
    private static final ChannelMetadata METADATA = new ChannelMetadata(false, MAX_MESSAGES_PER_READ);

    private final RdmaRawServerSocketChannelConfig config = new RdmaRawServerSocketChannelConfig(this);
    /** The kernel listens on the same port if it has the same addresses. */
    private final KernelPort kernelPort = new KernelPort(new KernelServer());
    private final AcceptInbox inbox = new AcceptInbox(this, config, config.readSettings(), kernelPort::wakeup);
    private volatile InetSocketAddress localAddress;
    private volatile boolean hasJoinedLoop;
    /** Stacks of the loops that serve the port. */
    private List<TcpStack> stacks;
    private final ConnectionAcceptor acceptor = new Acceptor();
    private volatile ListeningPort listeningPort;
    /** The group that opened {@link #listeningPort}, and its settings. */
    private EventLoopGroup portGroup;
    private RdmaRawIoHandlerConfig portConfig;
    /** The port as offered to a successor process; null if it is not offered. */
    private TakeoverPort takeoverPort;
    /** Null before the first call of {@link #listen}. */
    private Boolean listensByDevice;
    /**
     * Whether it is known which group serves the port: {@link ChildGroups} or the first connection has shown the group
     * of the child channels.
     */
    private volatile boolean servingGroupDecided;

    /** Creates an open, unregistered channel. */
    public RdmaRawServerSocketChannel() {
        super(null);
    }

    @Override
    protected AbstractUnsafe newUnsafe() {
        return new ServerUnsafe();
    }

    @Override
    public RdmaRawServerSocketChannelConfig config() {
        return config;
    }

    /**
     * Returns whether the channel is bound and registered. If bind overtakes the registration, the registration fires
     * {@code channelActive}.
     */
    @Override
    public boolean isActive() {
        return isOpen() && localAddress != null && hasJoinedLoop;
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return null;
    }

    @Override
    protected SocketAddress localAddress0() {
        return localAddress;
    }

    @Override
    protected SocketAddress remoteAddress0() {
        return null;
    }

    private void runOnLoop(Runnable action, Runnable onLoopEnded) {
        LoopTasks.runOnLoopOf(this, action, onLoopEnded);
    }

    /** Creates the channel of an accepted connection, which has a place in the backlog. Can be called on any loop. */
    void accepted(TcpTransport transport) {
        runOnLoop(() -> createChannel(transport), () -> transport.closeByChannel(true));
    }

    private void createChannel(TcpTransport transport) {
        if (isOpen()) {
            inbox.add(new RdmaRawSocketChannel(this, transport));
        } else {
            transport.closeByChannel(true);
        }
    }

    /** All loops of a group serve its ports; each needs a queue for it. */
    @Override
    Future<?> prepareToJoin(RdmaRawIoHandler handler) throws IOException {
        // If bind is called directly after the registration, only this loop serves the port until the others are ready.
        stacks = List.of(handler.openTcpStack());
        EventLoopGroup group = config.getAcceptGroup() != null ? config.getAcceptGroup() : eventLoop().parent();
        if (!RdmaRawEventLoopGroup.isRdmaRaw(group) || config.isReusePort()) {
            return null;
        }
        Future<List<TcpStack>> made = RdmaRawEventLoopGroup.openTcpStacks(group, eventLoop());
        return made.addListener(done -> useStacks(made.getNow()));
    }

    /**
     * Starts to serve the port with the stacks of all loops.
     *
     * @param all stacks of all loops; null if one could not be opened, which fails the registration
     */
    private void useStacks(List<TcpStack> all) {
        if (all != null) {
            stacks = all;
        }
    }

    private static boolean isShareable(TcpStack stack) {
        return stack.network().hasRulesPerBinding() && stack.deviceQueue().device().rssFlows().isSupported();
    }

    /**
     * Handles the registration of an accepted connection with a loop. Called on that loop.
     *
     * <p>If the first connection is registered with another group, the loops of that group serve the port from then on.
     * Each segment then arrives on the loop of its connection and need not be forwarded. Does nothing if
     * {@link #serveByChildGroupIfKnown} has moved the port before.
     */
    void onConnectionRegistered(EventLoop loop) {
        if (servingGroupDecided) {
            return;
        }
        servingGroupDecided = true;
        EventLoopGroup group = loop.parent();
        if (RdmaRawEventLoopGroup.isRdmaRaw(group)) {
            runOnLoop(() -> serveByGroup(group), () -> { });
        }
    }

    /**
     * Moves the port to the loops of the child group, if that is known before the first connection. Until the end of
     * the move, connections can open on other loops than those that receive their segments later, and these segments
     * are forwarded until the connection ends. Therefore the move does not wait for a connection.
     */
    private void serveByChildGroupIfKnown() {
        EventLoopGroup childGroup = ChildGroups.findOrNull(pipeline());
        if (listeningPort != null && childGroup != eventLoop().parent()
                && RdmaRawEventLoopGroup.isRdmaRaw(childGroup)) {
            // The first connection has nothing to decide. serveByGroup() clears this if it cannot move the port yet.
            servingGroupDecided = true;
            serveByGroup(childGroup);
        }
    }

    private void serveByGroup(EventLoopGroup group) {
        ListeningPort served = listeningPort;
        if (served == null || inbox.isOffLoop()) {
            // A server that the kernel alone serves has no port.
            servingGroupDecided = !isOpen() || !Boolean.TRUE.equals(listensByDevice);
            return;
        }
        if (config.getAcceptGroup() != null || config.isReusePort() || !stacks.getFirst().network().hasRulesPerBinding()
                || !RdmaRawEventLoopGroup.canServe(group, ioHandler().config())
                || RdmaRawEventLoopGroup.size(group) > 1
                && !stacks.getFirst().deviceQueue().device().rssFlows().isSupported()) {
            return;
        }
        RdmaRawEventLoopGroup.openTcpStacks(group, eventLoop()).addListener((Future<List<TcpStack>> made) -> {
            if (made.isSuccess() && served == listeningPort) {
                served.moveTo(made.getNow());
            } else if (!made.isSuccess()) {
                LOGGER.warn("port {}: cannot open a queue on each loop of the child group; the loops of the server"
                        + " receive its frames and forward them", served.binding().port(), made.cause());
            }
        });
    }

    @Override
    void joinLoop(RdmaRawIoHandler handler) {
        hasJoinedLoop = true;
        if (listeningPort != null) {
            movePort(handler);
        }
        if (localAddress != null && listeningPort == null && !kernelPort.isOpen()) {
            servingGroupDecided = false;
            try {
                listen(localAddress);
            } catch (IOException e) {
                throw new IllegalStateException("the channel cannot listen on its new loop: " + e.getMessage(), e);
            }
        }
        inbox.joinLoop();
    }

    /**
     * Moves the open port to the loops of the channel's group. If the loops of the port cannot change, they keep it as
     * long as the group is the same. Otherwise the port is closed, and the caller opens it again.
     */
    private void movePort(RdmaRawIoHandler handler) {
        if (RdmaRawEventLoopGroup.haveSameHost(portConfig, handler.config()) && !config.isReusePort()
                && isShareable(stacks.getFirst())) {
            servingGroupDecided = false;
            listeningPort.onServerMoved(stacks);
        } else if (portGroup != eventLoop().parent()) {
            stopListening();
        }
    }

    @Override
    void kernelOptionChanged(NumberedOptions.Key key, byte[] value) throws IOException {
        kernelPort.setOption(key, value);
    }

    /** Keeps the port open, as a kernel socket does. New connections wait until the channel joins another loop. */
    @Override
    void leaveLoop() {
        inbox.leaveLoop();
    }

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        if (localAddress != null) {
            throw new BindException("the channel is bound already, to " + localAddress);
        }
        localAddress = listen(requireResolved(address));
        if (listensByDevice) {
            ioHandler().config().missingDeviceWarning().warnIfDeviceMissing(localAddress);
            serveByChildGroupIfKnown();
        }
    }

    private InetSocketAddress listen(InetSocketAddress address) throws IOException {
        if (listensByDevice == null) {
            // Decided once, by the address passed to bind. Another loop must not decide again by the assigned port.
            listensByDevice = requireIoHandler().config().listensByDevice(address);
        }
        if (!listensByDevice) {
            return new InetSocketAddress(address.getAddress(), kernelPort.open(address, 0));
        }
        TcpNetwork network = stacks.getFirst().network();
        Takeover takeover = ioHandler().config().takeoverOrNull();
        String device = ioHandler().config().device();
        InetSocketAddress wanted = address;
        int predecessorFd = -1;
        if (takeover != null) {
            TakeoverPort.requireSharable(device, network, config.isReusePort());
            predecessorFd = takeover.duplicateSocketOf(device, address);
        }
        if (network.isKernelServed()) {
            int portNumber = address.getPort();
            if (predecessorFd < 0) {
                portNumber = kernelPort.open(address, network.linkIndex());
            } else {
                takeover.whenServing(kernelPort.adopt(predecessorFd, portNumber));
            }
            wanted = new InetSocketAddress(address.getAddress(), portNumber);
        }
        try {
            portGroup = eventLoop().parent();
            portConfig = ioHandler().config();
            listeningPort = open(network.listen(wanted,
                    new PortSharing(false, config.isReusePort(), config.bindsForeignAddress())));
            kernelPort.requireSilent(listeningPort, device);
            if (takeover != null) {
                takeoverPort = takeover.offer(this::runOnLoop, kernelPort, device, listeningPort,
                        predecessorFd >= 0);
            }
        } catch (IOException | RuntimeException e) {
            stopListening();
            throw e;
        }
        return new InetSocketAddress(address.getAddress(), listeningPort.binding().port());
    }

    private ListeningPort open(TcpNetwork.Binding binding) throws BindException {
        IpAddress local = binding.local();
        boolean any = local.isAny();
        if (config.isReusePort() && stacks.getFirst().engine().isListening(any ? 0 : local.high(),
                any ? 0 : local.low(), binding.port())) {
            binding.close();
            throw new BindException("Address already in use: another server channel of this event loop listens on port "
                    + binding.port() + ". With SO_REUSEPORT, register each of them with another event loop");
        }
        ListeningPort existing = ListeningPort.find(stacks.getFirst(), binding.flows());
        if (existing == null || config.isReusePort() && existing.releaseRulesToReusePortServers()) {
            return ListeningPort.open(binding, stacks, acceptor);
        }
        binding.close();
        if (!existing.reopen(stacks, acceptor)) {
            throw new BindException("Address already in use: connections to port " + binding.port()
                    + " are open on loops of another group; close them first");
        }
        return existing;
    }

    private void stopListening() {
        if (takeoverPort != null) {
            takeoverPort.withdraw();
            takeoverPort = null;
        }
        ListeningPort oldPort = listeningPort;
        if (oldPort != null) {
            listeningPort = null;
            oldPort.stopListening();
        }
        kernelPort.close();
    }

    @Override
    protected void doClose() {
        markClosed();
        stopListening();
        inbox.close();
    }

    @Override
    protected void doBeginRead() {
        inbox.beginRead();
    }

    @Override
    void registrationDone() {
        inbox.registrationDone();
        // Not in joinLoop(): the inbox is off the loop until now, and the port does not move then.
        serveByChildGroupIfKnown();
    }

    @Override
    void stopReading() {
        inbox.stopReading();
    }

    @Override
    protected void doDisconnect() {
        throw new UnsupportedOperationException("a server channel is not connected");
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer in) {
        throw new UnsupportedOperationException("a server channel does not send");
    }

    @Override
    protected Object filterOutboundMessage(Object msg) {
        throw new UnsupportedOperationException("a server channel does not send");
    }

    /** Connects the channel to the TCP stacks of the loops that serve the port. */
    private final class Acceptor implements ConnectionAcceptor {
        @Override
        public boolean hasAcceptQueueRoom() {
            return inbox.hasFreePlace();
        }

        @Override
        public boolean reserveAcceptPlace() {
            return inbox.reservePlace();
        }

        @Override
        public void accepted(TcpTransport transport) {
            RdmaRawServerSocketChannel.this.accepted(transport);
        }

        @Override
        public int backlog() {
            return config.getBacklog();
        }

        @Override
        public void applyOptions(TcpListener listener) {
            config.applyTo(listener);
        }

        @Override
        public boolean isReusePort() {
            return config.isReusePort();
        }

        /**
         * Handles an event of one loop's queue. Each loop reports the removal of the device; the first report closes
         * the channel.
         */
        @Override
        public void onQueueEvent(QueueEvent event) {
            runOnLoop(() -> {
                if (isOpen()) {
                    pipeline().fireUserEventTriggered(RdmaRawQueueEvent.of(event));
                    if (event.kind() == QueueEvent.Kind.DEVICE_REMOVED) {
                        unsafe().close(unsafe().voidPromise());
                    }
                }
            }, () -> { });
        }

        @Override
        public void filterKernelSocket(TcpNetwork.SteeredAddresses steered) {
            kernelPort.ignoreSteered(steered);
        }
    }

    /** Connects the channel to the kernel's socket on its port. */
    private final class KernelServer implements KernelPort.Server {
        @Override
        public Channel channel() {
            return RdmaRawServerSocketChannel.this;
        }

        @Override
        public int backlog() {
            return config.getBacklog();
        }

        @Override
        public int mark() {
            return config.mark();
        }

        @Override
        public NumberedOptions kernelOptions() {
            return config.kernelOptions();
        }

        @Override
        public boolean isReusePort() {
            return config.isReusePort();
        }

        @Override
        public boolean mayAccept() {
            return inbox.acceptsNow();
        }

        @Override
        public void accepted(Channel child) {
            // Counted on the listener's thread, because it checks the count before it accepts the next connection.
            inbox.reservePlaceOfKernel();
            runOnLoop(() -> {
                if (isOpen() && kernelPort.countAccepted(child, stacks.getFirst().statistics())) {
                    inbox.add(child);
                } else {
                    inbox.discard(child);
                }
            }, () -> child.unsafe().closeForcibly());
        }

        @Override
        public void acceptFailed(Exception cause) {
            runOnLoop(() -> {
                if (isOpen()) {
                    pipeline().fireExceptionCaught(cause);
                }
            }, () -> { });
        }

        @Override
        public boolean supportsOption(ChannelOption<?> option) {
            return RdmaRawSocketChannelConfig.hasOption(option);
        }
    }

    private final class ServerUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remoteAddress, SocketAddress local, ChannelPromise promise) {
            promise.tryFailure(new UnsupportedOperationException("a server channel does not connect"));
        }
    }
}
