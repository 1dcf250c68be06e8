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
import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.kernel.KernelListener;
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
import io.rdmaraw.tcp.stack.TcpStackStatistics;
import io.rdmaraw.tcp.stack.TcpTransport;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

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
 * or only the channel's loop if {@link RdmaRawChannelOption#SO_REUSEPORT} is set. Use the same group for server and
 * child channels, or set {@link RdmaRawChannelOption#ACCEPT_GROUP}. Otherwise the first connections are passed between
 * loops.
 */
public final class RdmaRawServerSocketChannel extends AbstractRdmaRawChannel implements ServerSocketChannel {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RdmaRawServerSocketChannel.class);
    private static final int MAX_MESSAGES_PER_READ = 16;
    private static final ChannelMetadata METADATA = new ChannelMetadata(false, MAX_MESSAGES_PER_READ);

    private final RdmaRawServerSocketChannelConfig config = new RdmaRawServerSocketChannelConfig(this);
    private final AcceptInbox inbox = new AcceptInbox(this);
    private volatile InetSocketAddress localAddress;
    private volatile boolean hasJoinedLoop;
    /** Stacks of the loops that serve the port. */
    private List<TcpStack> stacks;
    private final Set<ChannelOption<?>> ignoredOptions = ConcurrentHashMap.newKeySet();
    private boolean readsWhenRegistered;
    private final ConnectionAcceptor acceptor = new Acceptor();
    private final KernelListener.Server kernelServer = new KernelServer();
    private volatile ListeningPort listeningPort;
    /** The group that opened {@link #listeningPort}, and its settings. */
    private EventLoopGroup portGroup;
    private RdmaRawIoHandlerConfig portConfig;
    /** Whether the channel has left a loop and joined no other. */
    private volatile boolean offLoop;
    /** Connections that were accepted while the channel was {@link #offLoop}. */
    private final Queue<Channel> acceptedOffLoop = new ConcurrentLinkedQueue<>();
    /** Number of connections in the backlog: accepted by a loop or the kernel, but not yet fired into the pipeline. */
    private final AtomicInteger backlogSize = new AtomicInteger();
    /** Whether the user reads. Read by the thread that accepts from the kernel. */
    private volatile boolean reading;
    /** Kernel listener on the same port, if the kernel has the same addresses. */
    private volatile KernelListener kernelListener;
    /**
     * Descriptor of the kernel socket while another process accepts from it; otherwise -1. Used on the loop's thread
     * only.
     */
    private int suspendedKernelFd = -1;
    /** Number of open connections that the kernel carries. */
    private final AtomicInteger kernelConnections = new AtomicInteger();
    /** The port as offered to a successor process; null if it is not offered. */
    private TakeoverPort takeoverPort;
    /** Failure to keep the kernel socket from answering when the port was opened; null if that succeeded. */
    private volatile IOException kernelFilterFailure;
    /** Null before the first call of {@link #listen}. */
    private Boolean listensByDevice;
    /** Whether the first connection has determined which group serves the port. */
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

    /**
     * Reserves a place in the backlog of connections that the user has not accepted. Returns false if the backlog is
     * full. Can be called on any thread.
     */
    private boolean reserveBacklogPlace() {
        if (!isOpen()) {
            return false;
        }
        if (backlogSize.incrementAndGet() <= config.getBacklog()) {
            return true;
        }
        backlogSize.decrementAndGet();
        wakeKernelListener();
        return false;
    }

    private boolean hasAcceptQueueRoom() {
        return backlogSize.get() < config.getBacklog();
    }

    /**
     * Returns whether a connection may be accepted from the kernel: the user reads and the backlog has a free place.
     */
    private boolean mayAcceptFromKernel() {
        return reading && hasAcceptQueueRoom();
    }

    /** Releases the place of a connection that leaves the backlog. */
    void releaseBacklogPlace() {
        backlogSize.decrementAndGet();
        reading = inbox.isReadPending() || config.isAutoRead();
        wakeKernelListener();
    }

    private void wakeKernelListener() {
        KernelListener listener = kernelListener;
        if (listener != null && mayAcceptFromKernel()) {
            listener.wakeup();
        }
    }

    /** Creates the channel of an accepted connection, which has a place in the backlog. Can be called on any loop. */
    void accepted(TcpTransport transport) {
        runOnLoop(() -> createChannel(transport), () -> transport.closeByChannel(true));
    }

    /**
     * Runs an action on the channel's loop. The channel may move while the task is queued, so the task checks the loop
     * again.
     */
    private void runOnLoop(Runnable action, Runnable onLoopEnded) {
        if (eventLoop().inEventLoop()) {
            action.run();
        } else {
            LoopTasks.executeOrElse(eventLoop(), () -> runOnLoop(action, onLoopEnded), onLoopEnded);
        }
    }

    private void createChannel(TcpTransport transport) {
        if (!isOpen()) {
            transport.closeByChannel(true);
            return;
        }
        fire(new RdmaRawSocketChannel(this, transport));
    }

    private void fire(Channel child) {
        if (offLoop) {
            acceptedOffLoop.add(child);
            if (!offLoop) {
                fireAcceptedOffLoop();
            }
        } else if (!eventLoop().inEventLoop()) {
            // The channel has joined another loop after the check of the caller.
            runOnLoop(() -> fire(child), () -> inbox.discard(child));
        } else if (inbox.receive(child)) {
            inbox.endBurst();
        }
    }

    private void fireAcceptedOffLoop() {
        for (Channel child = acceptedOffLoop.poll(); child != null; child = acceptedOffLoop.poll()) {
            fire(child);
        }
    }

    /** All loops of a group serve its ports; each needs a queue for it. */
    @Override
    Future<?> prepareToJoin(RdmaRawIoHandler handler) throws IOException {
        // If bind is called directly after the registration, only this loop serves the port until the others are ready.
        stacks = List.of(handler.openTcpStack());
        EventLoopGroup group = config.getAcceptGroup() != null ? config.getAcceptGroup() : eventLoop().parent();
        if (!LoopGroups.isRdmaRaw(group) || config.isReusePort()) {
            return null;
        }
        Future<List<TcpStack>> made = LoopGroups.openTcpStacks(group, eventLoop());
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
     * <p>If the first connection is registered with another group, as with a {@link io.netty.bootstrap.ServerBootstrap}
     * with two groups, the loops of that group serve the port from then on. Each segment then arrives on the loop of
     * its connection and need not be forwarded.
     */
    void onConnectionRegistered(EventLoop loop) {
        if (servingGroupDecided) {
            return;
        }
        servingGroupDecided = true;
        EventLoopGroup group = loop.parent();
        if (LoopGroups.isRdmaRaw(group)) {
            runOnLoop(() -> serveByGroup(group), () -> { });
        }
    }

    private void serveByGroup(EventLoopGroup group) {
        ListeningPort served = listeningPort;
        if (served == null || offLoop) {
            // A server that the kernel alone serves has no port.
            servingGroupDecided = !isOpen() || !Boolean.TRUE.equals(listensByDevice);
            return;
        }
        if (config.getAcceptGroup() != null || config.isReusePort() || !stacks.getFirst().network().hasRulesPerBinding()
                || !LoopGroups.canServe(group, ioHandler().config())
                || LoopGroups.size(group) > 1 && !stacks.getFirst().deviceQueue().device().rssFlows().isSupported()) {
            return;
        }
        LoopGroups.openTcpStacks(group, eventLoop()).addListener((Future<List<TcpStack>> made) -> {
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
        if (localAddress != null && listeningPort == null && kernelListener == null) {
            servingGroupDecided = false;
            try {
                listen(localAddress);
            } catch (IOException e) {
                throw new IllegalStateException("the channel cannot listen on its new loop: " + e.getMessage(), e);
            }
        }
        inbox.joinLoop();
        reading = inbox.isReadPending();
    }

    /**
     * Moves the open port to the loops of the channel's group. If the loops of the port cannot change, they keep it as
     * long as the group is the same. Otherwise the port is closed, and the caller opens it again.
     */
    private void movePort(RdmaRawIoHandler handler) {
        if (LoopGroups.haveSameHost(portConfig, handler.config()) && !config.isReusePort()
                && isShareable(stacks.getFirst())) {
            servingGroupDecided = false;
            listeningPort.onServerMoved(stacks);
        } else if (portGroup != eventLoop().parent()) {
            stopListening();
        }
    }

    @Override
    void kernelOptionChanged(NumberedOptions.Key key, byte[] value) throws IOException {
        KernelListener listener = kernelListener;
        if (listener != null) {
            listener.setOption(key, value);
        }
    }

    /** Keeps the port open, as a kernel socket does. New connections wait until the channel joins another loop. */
    @Override
    void leaveLoop() {
        offLoop = isOpen();
        reading = false;
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
        }
    }

    private InetSocketAddress listen(InetSocketAddress address) throws IOException {
        if (listensByDevice == null) {
            // Decided once, by the address passed to bind. Another loop must not decide again by the assigned port.
            listensByDevice = requireIoHandler().config().listensByDevice(address);
        }
        if (!listensByDevice) {
            kernelListener = new KernelListener(kernelServer, address, 0);
            return new InetSocketAddress(address.getAddress(), kernelListener.port());
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
            kernelListener = predecessorFd < 0
                    ? new KernelListener(kernelServer, address, network.linkIndex())
                    : adoptKernelSocket(takeover, predecessorFd, address.getPort());
            wanted = new InetSocketAddress(address.getAddress(), kernelListener.port());
        }
        try {
            kernelFilterFailure = null;
            portGroup = eventLoop().parent();
            portConfig = ioHandler().config();
            listeningPort = open(network.listen(wanted,
                    new PortSharing(false, config.isReusePort(), config.bindsForeignAddress())));
            requireSilentKernelSocket();
            if (takeover != null) {
                takeoverPort = takeover.offer(new TakeoverServer(), device, listeningPort, predecessorFd >= 0);
            }
        } catch (IOException | RuntimeException e) {
            stopListening();
            throw e;
        }
        return new InetSocketAddress(address.getAddress(), listeningPort.binding().port());
    }

    /**
     * Adopts the kernel socket of the previous process. That process continues to accept until this one serves:
     * connections accepted earlier would be lost if this process failed to start.
     */
    private KernelListener adoptKernelSocket(Takeover takeover, int listeningFd, int portNumber) throws IOException {
        try {
            KernelListener adopted = new KernelListener(kernelServer, listeningFd, portNumber, true);
            takeover.whenServing(adopted::resume);
            return adopted;
        } finally {
            Libc.close(listeningFd);
        }
    }

    /**
     * Checks that the kernel's listening socket does not answer segments for the device. A kernel that sees each frame
     * would complete handshakes itself and send resets.
     */
    private void requireSilentKernelSocket() throws BindException {
        IOException reason = kernelFilterFailure;
        if (reason == null) {
            return;
        }
        if (listeningPort.isVisibleToKernel()) {
            throw new BindException("port " + listeningPort.binding().port()
                    + " is not served: the kernel sees what comes by "
                    + stacks.getFirst().deviceQueue().device().name()
                    + ", and its socket of the port cannot be kept quiet: "
                    + reason.getMessage());
        }
        warnOfKernelAnswers(listeningPort.binding().port(), reason);
    }

    private static void warnOfKernelAnswers(int portNumber, IOException reason) {
        LOGGER.warn("port {}: the kernel's socket may answer what is for the device: {}", portNumber,
                reason.getMessage());
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

    private void fireAcceptedFromKernel(Channel child) {
        TcpStackStatistics statistics = stacks.getFirst().statistics();
        boolean listens = kernelListener != null || suspendedKernelFd >= 0;
        if (listens && isOpen()) {
            statistics.kernelConnections++;
            kernelConnections.incrementAndGet();
            child.closeFuture().addListener(closed -> kernelConnections.decrementAndGet());
            fire(child);
            return;
        }
        backlogSize.decrementAndGet();
        child.unsafe().closeForcibly();
    }

    private void closeKernelListener() {
        KernelListener listener = kernelListener;
        if (listener != null) {
            kernelListener = null;
            listener.close();
        }
        if (suspendedKernelFd >= 0) {
            Libc.close(suspendedKernelFd);
            suspendedKernelFd = -1;
        }
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
        closeKernelListener();
    }

    @Override
    protected void doClose() {
        markClosed();
        stopListening();
        inbox.close();
        offLoop = false;
        for (Channel child = acceptedOffLoop.poll(); child != null; child = acceptedOffLoop.poll()) {
            inbox.discard(child);
        }
    }

    @Override
    protected void doBeginRead() {
        if (isRegistered()) {
            inbox.beginRead();
            reading = true;
            wakeKernelListener();
        } else {
            // Bind was called directly after the registration. Netty calls no handler before the registration is
            // complete.
            readsWhenRegistered = true;
        }
    }

    @Override
    void registrationDone() {
        if (readsWhenRegistered) {
            readsWhenRegistered = false;
            inbox.beginRead();
            reading = true;
            wakeKernelListener();
        }
        offLoop = false;
        fireAcceptedOffLoop();
    }

    @Override
    void stopReading() {
        inbox.stopReading();
        reading = false;
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
            return RdmaRawServerSocketChannel.this.hasAcceptQueueRoom();
        }

        @Override
        public boolean reserveAcceptPlace() {
            return RdmaRawServerSocketChannel.this.reserveBacklogPlace();
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
            KernelListener listener = kernelListener;
            if (listener == null) {
                return;
            }
            try {
                listener.ignoreSteered(steered);
            } catch (IOException e) {
                if (listeningPort == null) {
                    kernelFilterFailure = e;
                } else {
                    warnOfKernelAnswers(listener.port(), e);
                }
            }
        }
    }

    /** Connects the channel to the kernel's socket on its port. */
    private final class KernelServer implements KernelListener.Server {
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
            return mayAcceptFromKernel();
        }

        @Override
        public void accepted(Channel child) {
            // Counted on the listener's thread, because it checks the count before it accepts the next connection.
            backlogSize.incrementAndGet();
            reading = config.isAutoRead();
            runOnLoop(() -> fireAcceptedFromKernel(child), () -> child.unsafe().closeForcibly());
        }

        @Override
        public void acceptFailed(Exception cause) {
            runOnLoop(() -> {
                if (isOpen()) {
                    pipeline().fireExceptionCaught(cause);
                }
            }, () -> { });
        }

        /** Returns whether an option is ignored for connections of the kernel. Logs each option once. */
        @Override
        public boolean ignoresOption(ChannelOption<?> option) {
            if (!RdmaRawSocketChannelConfig.hasOption(option)) {
                return false;
            }
            if (ignoredOptions.add(option)) {
                LOGGER.warn("{}: connections that the kernel carries, for example from this host, ignore the option {}:"
                        + " the JDK's sockets do not support it", localAddress, option);
            }
            return true;
        }
    }

    /** Connects the channel to its takeover. */
    private final class TakeoverServer implements TakeoverPort.Server {
        @Override
        public void runOnLoop(Runnable action, Runnable onLoopEnded) {
            RdmaRawServerSocketChannel.this.runOnLoop(action, onLoopEnded);
        }

        @Override
        public int duplicateKernelSocket() throws IOException {
            KernelListener listener = kernelListener;
            if (listener == null) {
                throw new IOException("the server is closed");
            }
            return listener.duplicate();
        }

        @Override
        public void suspendKernelListener() throws IOException {
            KernelListener listener = kernelListener;
            if (listener != null) {
                suspendedKernelFd = listener.duplicate();
                kernelListener = null;
                listener.close();
            }
        }

        @Override
        public void resumeKernelListener() throws IOException {
            int listeningFd = suspendedKernelFd;
            if (listeningFd >= 0) {
                suspendedKernelFd = -1;
                try {
                    kernelListener = new KernelListener(kernelServer, listeningFd, localAddress.getPort(), false);
                } finally {
                    Libc.close(listeningFd);
                }
            }
        }

        @Override
        public int kernelConnections() {
            return kernelConnections.get();
        }
    }

    private final class ServerUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remoteAddress, SocketAddress local, ChannelPromise promise) {
            promise.tryFailure(new UnsupportedOperationException("a server channel does not connect"));
        }
    }
}
