package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelMetadata;
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
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
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
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A listening TCP port. Takes the place of Netty's other server channels: it fires a {@link RdmaRawSocketChannel} for
 * each connection that was accepted.
 *
 * {@snippet :
 * EventLoopGroup group = new RdmaRawEventLoopGroup(2,
 *         RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0").build());
 * new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class).childHandler(handlers).bind(8080);
 * }
 *
 * <p>The device is the one that {@link RdmaRawIoHandlerConfig.Builder#device(String)} names. One group in both of its
 * roles saves passing connections between loops.
 */
public final class RdmaRawServerSocketChannel extends AbstractRdmaRawChannel implements ServerSocketChannel {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RdmaRawServerSocketChannel.class);
    private static final int MAX_MESSAGES_PER_READ = 16;
    private static final ChannelMetadata METADATA = new ChannelMetadata(false, MAX_MESSAGES_PER_READ);

    private final RdmaRawServerSocketChannelConfig config = new RdmaRawServerSocketChannelConfig(this);
    private final AcceptInbox inbox = new AcceptInbox(this);
    private volatile InetSocketAddress localAddress;
    /** Of the loops that serve the port. */
    private List<TcpStack> stacks;
    private final ConnectionAcceptor acceptor = new Acceptor();
    private volatile ListeningPort port;
    /** Connections that are on their way to the pipeline, or wait there to be read. */
    private final AtomicInteger waiting = new AtomicInteger();
    /** The kernel's socket on the same port, where the kernel has the same addresses. */
    private volatile KernelListener kernel;
    /** The descriptor of that socket while another process accepts by it, else -1. For the loop's thread. */
    private int suspendedKernel = -1;
    /** Open connections that the kernel carries. */
    private final AtomicInteger kernelConnections = new AtomicInteger();
    /** The port as successors are offered it; null where none is. */
    private TakeoverPort offered;
    /** Why the kernel did not let that socket be kept quiet when the port was opened; null when it did. */
    private volatile IOException kernelNotQuiet;
    /** Null before the first {@link #listen}. */
    private Boolean listensByDevice;
    /** The first connection has told whether the port is to be served by the loops of another group. */
    private volatile boolean decided;

    /** Makes an open, unregistered channel. */
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

    @Override
    public boolean isActive() {
        return isOpen() && localAddress != null;
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

    /** Takes a place in the queue of connections that the user has not accepted yet, if there is one. Any thread. */
    private boolean mayAccept() {
        if (isOpen() && waiting.incrementAndGet() <= config.getBacklog()) {
            return true;
        }
        waiting.decrementAndGet();
        return false;
    }

    /** A connection that had a place leaves the queue. */
    void accepted() {
        waiting.decrementAndGet();
    }

    /** A connection, which has a place in the queue, was opened by a peer: makes it a channel. On any loop. */
    void accepted(TcpTransport transport) {
        onLoop(() -> makeChannel(transport), () -> transport.closeByChannel(true));
    }

    /** Does something on the loop that the channel is on by then: it may move while a task of the old one waits. */
    void onLoop(Runnable action, Runnable ended) {
        if (eventLoop().inEventLoop()) {
            action.run();
        } else {
            LoopTasks.executeOrElse(eventLoop(), () -> onLoop(action, ended), ended);
        }
    }

    private void makeChannel(TcpTransport transport) {
        if (!isOpen()) {
            transport.closeByChannel(true);
            return;
        }
        fire(new RdmaRawSocketChannel(this, transport));
    }

    private void fire(Channel child) {
        if (inbox.receive(child)) {
            inbox.endBurst();
        }
    }

    /** All loops of a group serve its ports; each needs a queue for it. */
    @Override
    Future<?> prepareToJoin(RdmaRawIoHandler loop) {
        EventLoopGroup group = config.getAcceptGroup() != null ? config.getAcceptGroup() : eventLoop().parent();
        if (!(group instanceof RdmaRawEventLoopGroup ours) || config.isReusePort()) {
            stacks = List.of(loop.tcp());
            return null;
        }
        Future<List<TcpStack>> made = ours.tcpStacks(eventLoop());
        return made.addListener(done -> stacks = made.getNow());
    }

    /**
     * A connection of the server has come to a loop; on that loop. Where the first one is registered with another group
     * than the server channel, as those of a {@link io.netty.bootstrap.ServerBootstrap} with two groups are, the loops
     * of that group serve the port from then on: what comes for a connection comes to its loop, and is not passed on.
     */
    void connectionOn(EventLoop loop) {
        if (decided) {
            return;
        }
        decided = true;
        if (loop.parent() instanceof RdmaRawEventLoopGroup group) {
            onLoop(() -> follow(group), () -> { });
        }
    }

    private void follow(RdmaRawEventLoopGroup group) {
        ListeningPort served = port;
        if (served == null) {
            // Between two loops; one that the kernel serves has no port.
            decided = !isOpen() || !Boolean.TRUE.equals(listensByDevice);
            return;
        }
        if (config.getAcceptGroup() != null || config.isReusePort() || !stacks.getFirst().network().isSteered()
                || !group.canServe(ioHandler().config())
                || group.executorCount() > 1 && !stacks.getFirst().port().device().rssFlows().isSupported()) {
            return;
        }
        group.tcpStacks(eventLoop()).addListener((Future<List<TcpStack>> made) -> {
            if (made.isSuccess() && served == port) {
                served.moveTo(made.getNow());
            } else if (!made.isSuccess()) {
                LOGGER.warn("port {}: loops of the group of the connections have no queue, so its frames are passed on"
                        + " to them", served.binding().port(), made.cause());
            }
        });
    }

    @Override
    void joinLoop(RdmaRawIoHandler loop) {
        if (localAddress != null) {
            decided = false;
            try {
                listen(localAddress);
            } catch (IOException e) {
                throw new IllegalStateException("the channel cannot listen on its new loop: " + e.getMessage(), e);
            }
        }
        inbox.joinedLoop();
    }

    @Override
    void leaveLoop() {
        stopListening();
    }

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        if (localAddress != null) {
            throw new BindException("the channel is bound already, to " + localAddress);
        }
        localAddress = listen(checked(address));
        if (listensByDevice) {
            ioHandler().config().unnamedDevice().bound(localAddress);
        }
    }

    private InetSocketAddress listen(InetSocketAddress address) throws IOException {
        if (listensByDevice == null) {
            // As it was given to bind: a loop that the channel moves to must not decide anew, by the port it got.
            listensByDevice = ioHandler().config().listensByDevice(address);
        }
        if (!listensByDevice) {
            kernel = new KernelListener(this, address, 0, this::acceptedByKernel);
            return new InetSocketAddress(address.getAddress(), kernel.port());
        }
        TcpNetwork network = stacks.getFirst().network();
        RdmaRawTakeover takeover = ioHandler().config().takeoverOrNull();
        InetSocketAddress wanted = address;
        int claimed = -1;
        if (takeover != null) {
            String device = ioHandler().config().ipDevice();
            TakeoverPort.requireSharable(device, network, config);
            claimed = takeover.claim(TakeoverPort.describe(device, address));
        }
        if (network.isKernelServed()) {
            kernel = claimed < 0
                    ? new KernelListener(this, address, network.linkIndex(), this::acceptedByKernel)
                    : takeKernel(takeover, claimed, address.getPort());
            wanted = new InetSocketAddress(address.getAddress(), kernel.port());
        }
        try {
            kernelNotQuiet = null;
            port = open(network.listen(wanted, new PortSharing(false, config.isReusePort())));
            requireQuietKernel();
            if (takeover != null) {
                offered = new TakeoverPort(takeover, this, port);
                takeover.add(offered, claimed >= 0);
            }
        } catch (IOException | RuntimeException e) {
            stopListening();
            throw e;
        }
        return new InetSocketAddress(address.getAddress(), port.binding().port());
    }

    /** Until this process serves, the one before accepts: what this one took would be lost if it came to nothing. */
    private KernelListener takeKernel(RdmaRawTakeover takeover, int listening, int portNumber) throws IOException {
        try {
            KernelListener made = new KernelListener(this, listening, portNumber, this::acceptedByKernel, true);
            takeover.onceServing(made::release);
            return made;
        } finally {
            Libc.close(listening);
        }
    }

    /** Another process accepts what the kernel has for the port. */
    void suspendKernel() throws IOException {
        KernelListener open = kernel;
        if (open != null) {
            suspendedKernel = open.duplicate();
            kernel = null;
            open.close();
        }
    }

    /** The channel accepts what the kernel has again. */
    void resumeKernel() throws IOException {
        int listening = suspendedKernel;
        if (listening >= 0) {
            suspendedKernel = -1;
            try {
                kernel = new KernelListener(this, listening, localAddress.getPort(), this::acceptedByKernel,
                        false);
            } finally {
                Libc.close(listening);
            }
        }
    }

    /** Returns a descriptor of the kernel's socket, which is the caller's. */
    int kernelDescriptor() throws IOException {
        KernelListener open = kernel;
        if (open == null) {
            throw new IOException("the server is closed");
        }
        return open.duplicate();
    }

    /** Counts open connections that the kernel carries. Any thread. */
    int kernelConnections() {
        return kernelConnections.get();
    }

    /** A kernel that sees each frame and has a listening socket of the port shakes hands beside us, and resets. */
    private void requireQuietKernel() throws BindException {
        IOException reason = kernelNotQuiet;
        if (reason == null) {
            return;
        }
        if (port.isSeenByKernel()) {
            throw new BindException("port " + port.binding().port() + " is not served: the kernel sees what comes by "
                    + stacks.getFirst().port().device().name() + ", and its socket of the port cannot be kept quiet: "
                    + reason.getMessage());
        }
        warnOfKernel(port.binding().port(), reason);
    }

    private static void warnOfKernel(int port, IOException reason) {
        LOGGER.warn("port {}: the kernel's socket may answer what is for the device: {}", port, reason.getMessage());
    }

    private ListeningPort open(TcpNetwork.Binding binding) throws BindException {
        IpAddress local = binding.local();
        boolean any = local.isAny();
        if (config.isReusePort() && stacks.getFirst().engine().isListening(any ? 0 : local.high(),
                any ? 0 : local.low(), binding.port())) {
            binding.close();
            throw new BindException("Address already in use: another server channel of this event loop listens on port "
                    + binding.port() + "; with SO_REUSEPORT each has to be registered on an event loop of its own");
        }
        ListeningPort kept = ListeningPort.find(stacks.getFirst(), binding.flows());
        if (kept == null) {
            return ListeningPort.open(binding, stacks, acceptor);
        }
        binding.close();
        if (!kept.reopen(stacks, acceptor)) {
            throw new BindException("Address already in use: connections to port " + binding.port()
                    + " are open on loops of another group; close them first");
        }
        return kept;
    }

    /** A connection was opened that the kernel carries. On any thread. */
    private void acceptedByKernel(Channel child) {
        onLoop(() -> takeFromKernel(child), () -> child.unsafe().closeForcibly());
    }

    private void takeFromKernel(Channel child) {
        TcpStackStatistics counters = stacks.getFirst().counters();
        boolean listens = kernel != null || suspendedKernel >= 0;
        if (listens && mayAccept()) {
            counters.kernelConnections++;
            kernelConnections.incrementAndGet();
            child.closeFuture().addListener(closed -> kernelConnections.decrementAndGet());
            fire(child);
            return;
        }
        if (listens) {
            counters.refusedByBacklog++;
        }
        child.unsafe().closeForcibly();
    }

    private void closeKernel() {
        KernelListener open = kernel;
        if (open != null) {
            kernel = null;
            open.close();
        }
        if (suspendedKernel >= 0) {
            Libc.close(suspendedKernel);
            suspendedKernel = -1;
        }
    }

    private void stopListening() {
        if (offered != null) {
            offered.withdraw();
            offered = null;
        }
        ListeningPort held = port;
        if (held != null) {
            port = null;
            held.stopListening();
        }
        closeKernel();
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

    /** What the stacks of the loops that serve the port see of the channel. */
    private final class Acceptor implements ConnectionAcceptor {
        @Override
        public boolean mayAccept() {
            return RdmaRawServerSocketChannel.this.mayAccept();
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

        /** Each loop tells of the device's end. */
        @Override
        public void queueEvent(QueueEvent event) {
            onLoop(() -> {
                if (isOpen()) {
                    pipeline().fireUserEventTriggered(RdmaRawQueueEvent.of(event));
                    if (event.kind() == QueueEvent.Kind.DEVICE_REMOVED) {
                        unsafe().close(unsafe().voidPromise());
                    }
                }
            }, () -> { });
        }

        @Override
        public void keepFromKernel(TcpNetwork.Steered steered) {
            KernelListener open = kernel;
            if (open == null) {
                return;
            }
            try {
                open.refuse(steered);
            } catch (IOException e) {
                if (port == null) {
                    kernelNotQuiet = e;
                } else {
                    warnOfKernel(open.port(), e);
                }
            }
        }
    }

    private final class ServerUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remoteAddress, SocketAddress local, ChannelPromise promise) {
            promise.tryFailure(new UnsupportedOperationException("a server channel does not connect"));
        }
    }
}
