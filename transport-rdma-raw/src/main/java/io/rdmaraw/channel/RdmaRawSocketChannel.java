package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.netty.util.internal.StringUtil;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.kernel.KernelTransport;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.stack.ConnectionOwner;
import io.rdmaraw.tcp.stack.StreamTransport;
import io.rdmaraw.tcp.stack.TcpOpener;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpStackStatistics;
import io.rdmaraw.tcp.stack.TcpTransport;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.nio.file.Path;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A TCP connection. Handlers for Netty's other socket channels work unchanged.
 *
 * {@snippet :
 * new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).handler(handler).connect("10.0.0.2", 8080);
 * }
 *
 * <p>Most received buffers refer to the memory that the device wrote. Received data is copied if it is short, if it
 * arrived out of order, if handlers hold too many buffers, or if the user has set another allocator. Written buffers in
 * registered memory are sent without a copy if the write has their only reference; see {@link RdmaRawByteBufAllocator}.
 * Other written buffers are copied once.
 *
 * <p>A write promise completes when the send buffer ({@code SO_SNDBUF}) has accepted the bytes. If the send buffer is
 * full because the peer has not acknowledged enough, the rest counts against the channel's write buffer water marks.
 *
 * <p>{@link RdmaRawIoHandlerConfig.Builder#device(String)} selects the device. If the channels use the kernel's
 * addresses, some peers cannot be reached over the device's link: peers on this host or behind another interface. The
 * kernel carries connections to these peers, with a NIO channel on the same loop.
 */
public final class RdmaRawSocketChannel extends AbstractRdmaRawChannel implements SocketChannel {
    private static final int MAX_MESSAGES_PER_READ = 16;
    private static final ChannelMetadata METADATA = new ChannelMetadata(false, MAX_MESSAGES_PER_READ);
    private static final long ARRIVAL_TIMEOUT_MILLIS = 100;

    private final RdmaRawSocketChannelConfig config = new RdmaRawSocketChannelConfig(this);
    private final StreamInbox inbox = new StreamInbox(this);
    private final TransportOwner transportOwner = new TransportOwner();
    /** The connection, from connect or accept on. Kept after the channel is closed. */
    private volatile StreamTransport transport;
    private volatile TcpStack tcpStack;
    private volatile boolean established;
    private volatile boolean outputShutdown;
    private volatile InetSocketAddress localAddress;
    private volatile InetSocketAddress remoteAddress;
    private InetSocketAddress requestedLocal;
    /** The port that {@code bind} has reserved, until the channel connects or closes; null if there is none. */
    private TcpNetwork.Binding reservedPort;
    private boolean hasJoinedLoop;
    /** Completes when an accepted connection arrives from its server's loop; null unless the registration waits. */
    private Promise<Void> arrival;
    /** The latest capture; null if there was none. */
    private ConnectionCapture capture;

    /** Creates an open, unregistered channel. */
    public RdmaRawSocketChannel() {
        super(null);
    }

    /** Creates the channel of an accepted connection. */
    RdmaRawSocketChannel(RdmaRawServerSocketChannel parent, TcpTransport accepted) {
        super(parent);
        transport = accepted;
        parent.config().applyTo(config);
        establish();
    }

    @Override
    protected AbstractUnsafe newUnsafe() {
        return new StreamUnsafe();
    }

    @Override
    public RdmaRawSocketChannelConfig config() {
        return config;
    }

    @Override
    public boolean isActive() {
        return isOpen() && established;
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public RdmaRawServerSocketChannel parent() {
        return (RdmaRawServerSocketChannel) super.parent();
    }

    @Override
    public InetSocketAddress localAddress() {
        StreamTransport current = transport;
        if (localAddress == null && current != null) {
            // Created on demand, because the two addresses are a tenth of the garbage of a short connection.
            localAddress = current.localAddress();
        }
        return localAddress;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        if (remoteAddress == null && established) {
            remoteAddress = transport.remoteAddress();
        }
        return remoteAddress;
    }

    @Override
    protected SocketAddress localAddress0() {
        return localAddress();
    }

    @Override
    protected SocketAddress remoteAddress0() {
        return remoteAddress();
    }

    /**
     * Returns the state of the connection, like {@code TCP_INFO} of Linux. Can be called on any thread.
     *
     * @return a future of the state; it fails if there is no connection or if the kernel carries it
     */
    public Future<RdmaRawTcpInfo> tcpInfo() {
        Promise<RdmaRawTcpInfo> promise = eventLoop().newPromise();
        StreamTransport current = transport;
        if (current == null) {
            return promise.setFailure(new NotYetConnectedException());
        }
        current.info(promise);
        return promise;
    }

    /**
     * Captures the connection to a pcap file for Wireshark and tcpdump. The capture starts now. It ends when
     * {@code maxBytes} are written, one second after the channel is closed, or when the channel leaves its loop.
     *
     * <p>The loop itself writes the file, so use this for debugging only. One connection per loop can be captured at a
     * time. Can be called on any thread.
     *
     * @param file file to write; an existing file is replaced
     * @param maxBytes maximum size of the file, at least 1024
     * @return a future that completes when the capture has started; it fails if there is no connection, the kernel
     *         carries it, another capture is running on the loop, or the file cannot be created
     */
    public Future<Void> capture(Path file, long maxBytes) {
        return new CaptureStarter(this, file, maxBytes).begin();
    }

    /** Stores a capture that has started. Called on the loop. */
    void setCapture(ConnectionCapture startedCapture) {
        capture = startedCapture;
    }

    /** Returns the connection; null before connect or accept. */
    StreamTransport transport() {
        return transport;
    }

    @Override
    String carrierOrNull() {
        return transport instanceof KernelTransport ? "kernel" : super.carrierOrNull();
    }

    /** Applies a changed option to the connection, if there is one, on its loop. */
    void applyChange(Consumer<TcpConnection> change) {
        applyChange(change, change);
    }

    /**
     * Applies a changed option to the connection.
     *
     * @param ifMoved replaces the change if the connection moves and other changes may have overtaken this one; it
     *         applies the current value
     */
    void applyChange(Consumer<TcpConnection> change, Consumer<TcpConnection> ifMoved) {
        StreamTransport current = transport;
        if (current != null) {
            current.applyChange(change, ifMoved);
        }
    }

    @Override
    void kernelOptionChanged(NumberedOptions.Key key, byte[] value) throws IOException {
        if (transport instanceof KernelTransport kernel) {
            kernel.setKernelOption(key, value);
        }
    }

    // ---- event loop ----

    /**
     * Moves an accepted connection from its server's loop to the loop that the channel registers with. The registration
     * waits for the connection, so that {@code channelActive} can write. The wait is bounded: a handler of the server's
     * loop may block until the channel is registered, and the connection stays there until that handler returns.
     */
    @Override
    Future<?> prepareToJoin(RdmaRawIoHandler handler) throws IOException {
        if (transport instanceof TcpTransport connection) {
            requireDevice(handler, connection.stack().deviceQueue().device().name());
        }
        if (parent() == null || hasJoinedLoop || transport.loop() == eventLoop()) {
            return null;
        }
        tcpStack = handler.openTcpStack();
        Promise<Void> arrived = eventLoop().newPromise();
        Future<?> timeout = eventLoop().schedule(() -> arrived.trySuccess(null), ARRIVAL_TIMEOUT_MILLIS,
                TimeUnit.MILLISECONDS);
        arrived.addListener(done -> timeout.cancel(false));
        arrival = arrived;
        transport.attach(transportOwner, tcpStack);
        return arrived;
    }

    /** Checks that a loop can carry the connection. Another device may lead to another network. */
    private static void requireDevice(RdmaRawIoHandler loop, String device) {
        if (!device.equals(loop.config().device())) {
            throw new IllegalStateException("the connection is on " + device + ", but the group uses "
                    + loop.config().device() + ": register the channel with a group for " + device);
        }
    }

    @Override
    void joinLoop(RdmaRawIoHandler handler) throws IOException {
        inbox.joinLoop();
        ((StreamUnsafe) unsafe()).connector.joinLoop();
        hasJoinedLoop = true;
        if (transport != null) {
            if (arrival == null) {
                tcpStack = handler.openTcpStack();
                transport.attach(transportOwner, tcpStack);
            }
            arrival = null;
            if (parent() != null) {
                parent().onConnectionRegistered(eventLoop());
            }
        }
    }

    @Override
    void leaveLoop() {
        if (capture != null && isOpen()) {
            capture.end();
        }
        tcpStack = null;
        ((StreamUnsafe) unsafe()).connector.leaveLoop();
        if (transport != null) {
            transport.detach();
        }
    }

    /** Returns the TCP stack of the channel's loop; null while the channel is on no loop. */
    TcpStack tcpStack() {
        return tcpStack;
    }

    // ---- connecting ----

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        requireUnbound();
        InetSocketAddress local = requireResolved(address);
        TcpOpener opener = requireIoHandler().openTcpStack().opener();
        if (isForeign(opener, local) || config.bindsWithoutPort() && local.getPort() == 0) {
            requestedLocal = local;
        } else {
            reservedPort = opener.reserve(local);
            requestedLocal = new InetSocketAddress(local.getAddress(), reservedPort.port());
        }
        localAddress = requestedLocal;
    }

    /**
     * Returns whether this host does not have a local address and the options permit the kernel's socket to use it.
     *
     * @throws IOException if this host does not have the address and the options do not permit to use it
     */
    private boolean isForeign(TcpOpener opener, InetSocketAddress local) throws IOException {
        try {
            opener.checkLocal(local);
            return false;
        } catch (IOException e) {
            if (!config.bindsForeignAddress()) {
                throw e;
            }
            return true;
        }
    }

    private void requireUnbound() throws BindException {
        if (transport != null || requestedLocal != null) {
            throw new BindException("the channel is bound already, to " + localAddress);
        }
    }

    private void releaseReservedPort() {
        if (reservedPort != null) {
            reservedPort.close();
            reservedPort = null;
        }
    }

    private void startConnecting(InetSocketAddress remote, SocketAddress localOrNull) throws IOException {
        tcpStack = requireIoHandler().openTcpStack();
        if (localOrNull != null) {
            requireUnbound();
            InetSocketAddress local = requireResolved(localOrNull);
            isForeign(tcpStack.opener(), local);
            requestedLocal = local;
            localAddress = requestedLocal;
        }
        releaseReservedPort();
        int mark = config.mark();
        if (!ioHandler().config().connectsByDevice(remote)
                || requestedLocal != null && isForeign(tcpStack.opener(), requestedLocal)
                || tcpStack.opener().isForKernel(requestedLocal, remote, mark)) {
            requireNoMark(mark, remote);
            KernelTransport opening = newKernelTransport(tcpStack.statistics());
            transport = opening;
            if (config.isTcpFastOpenConnect()) {
                flushEarlyData();
            }
            opening.connect(requestedLocal, remote);
        } else {
            TcpTransport opening = tcpStack.opener().connect(requestedLocal, remote, mark, transportOwner);
            transport = opening;
            // Cleared, because the requested address may have port 0. The actual port is read from the transport.
            localAddress = null;
            if (config.isTcpFastOpenConnect()) {
                opening.sendWithSyn(flushEarlyData(), RdmaRawByteBufAllocator.DEFAULT);
            }
        }
    }

    KernelTransport newKernelTransport(TcpStackStatistics statistics) {
        return new KernelTransport(transportOwner, statistics);
    }

    /** Rejects a mark on a connection of the kernel. Its packets would be routed without the mark. */
    private static void requireNoMark(int mark, InetSocketAddress remote) throws IOException {
        if (mark != 0) {
            throw new IOException("SO_MARK is " + mark + ", but the kernel has to carry the connection to "
                    + remote + ", and the JDK's sockets cannot be marked: have its route lead to the device's"
                    + " interface, or leave the option out");
        }
    }

    /** Flushes messages written before connecting. They are sent with the SYN or as soon as the connection is open. */
    private ChannelOutboundBuffer flushEarlyData() {
        ChannelOutboundBuffer written = unsafe().outboundBuffer();
        written.addFlush();
        return written;
    }

    private void establish() {
        localAddress = null;
        established = true;
    }

    // ---- events of the transport ----

    /** Handles a change of the connection: it is established, received data, has send room, or has ended. */
    void transportChanged() {
        if (!isOpen()) {
            // The transport is notified of the close later and drops received data then.
            return;
        }
        if (arrival != null) {
            // This completes the registration. Handlers called by it may close the channel.
            arrival.trySuccess(null);
            if (!isOpen()) {
                return;
            }
        }
        StreamTransport current = transport;
        StreamUnsafe unsafe = (StreamUnsafe) unsafe();
        if (current.isConnected() && !established) {
            establish();
            remoteAddress = unsafe.connector.peer();
            unsafe.connector.succeed();
            if (config.isTcpFastOpenConnect()) {
                // Sends the data that did not fit into the SYN.
                unsafe.resumeFlush();
            }
        }
        if (!established) {
            if (current.isClosed()) {
                unsafe.connector.fail(current.connectFailure());
            }
            return;
        }
        inbox.transportChanged(current);
        // If the connection is closed, the flush fails the pending writes.
        if (current.pollSendRoom() || current.isClosed() && isOpen()) {
            unsafe.resumeFlush();
        }
    }

    // ---- reading ----

    @Override
    protected void doBeginRead() {
        inbox.beginRead();
    }

    @Override
    void stopReading() {
        inbox.stopReading();
    }

    @Override
    public boolean isInputShutdown() {
        return inbox.isShutdown() || !isOpen();
    }

    @Override
    public ChannelFuture shutdownInput() {
        return shutdownInput(newPromise());
    }

    @Override
    public ChannelFuture shutdownInput(ChannelPromise promise) {
        if (eventLoop().inEventLoop()) {
            shutdownInputNow(promise);
        } else {
            executeOnLoop(() -> shutdownInput(promise), promise);
        }
        return promise;
    }

    /** Runs a task on the channel's loop. If the loop has ended, the channel is closed and the promise fails. */
    private void executeOnLoop(Runnable task, ChannelPromise promise) {
        LoopTasks.executeOrElse(eventLoop(), task, () -> promise.tryFailure(new ClosedChannelException()));
    }

    private void shutdownInputNow(ChannelPromise promise) {
        if (isActive()) {
            inbox.shutdown();
            promise.setSuccess();
        } else {
            promise.setFailure(isOpen() ? new NotYetConnectedException() : new ClosedChannelException());
        }
    }

    // ---- writing ----

    @Override
    protected Object filterOutboundMessage(Object msg) throws ClosedChannelException {
        if (outputShutdown) {
            throw new ClosedChannelException();
        }
        if (msg instanceof ByteBuf || msg instanceof FileRegion) {
            return msg;
        }
        throw new UnsupportedOperationException("unsupported message type: " + StringUtil.simpleClassName(msg)
                + " (expected: ByteBuf, FileRegion)");
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer in) throws Exception {
        StreamTransport current = transport;
        // While the connection moves between loops, writes stay in the outbound buffer. Attaching resumes them.
        if (current.isAttached()) {
            // Data that must be copied is copied to registered memory, regardless of the user's allocator.
            current.write(in, RdmaRawByteBufAllocator.DEFAULT);
        }
    }

    @Override
    public boolean isOutputShutdown() {
        return outputShutdown || !isActive();
    }

    @Override
    public ChannelFuture shutdownOutput() {
        return shutdownOutput(newPromise());
    }

    @Override
    public ChannelFuture shutdownOutput(ChannelPromise promise) {
        if (eventLoop().inEventLoop()) {
            shutdownOutputNow(promise);
        } else {
            executeOnLoop(() -> shutdownOutput(promise), promise);
        }
        return promise;
    }

    /**
     * Shuts down the output. If no write is pending, it does so directly: Netty's own method creates an exception for
     * the pending writes, and its stack trace costs a fifth of a short connection.
     */
    private void shutdownOutputNow(ChannelPromise promise) {
        ChannelOutboundBuffer written = unsafe().outboundBuffer();
        if (written == null || !isActive() || !written.isEmpty() || written.totalPendingWriteBytes() > 0) {
            ((AbstractUnsafe) unsafe()).shutdownOutput(promise);
        } else if (promise.setUncancellable()) {
            endOutput(promise);
        }
    }

    private void endOutput(ChannelPromise promise) {
        if (outputShutdown) {
            promise.setFailure(new ClosedChannelException());
            return;
        }
        try {
            doShutdownOutput();
            promise.setSuccess();
        } catch (RuntimeException e) {
            promise.setFailure(e);
        }
        pipeline().fireUserEventTriggered(ChannelOutputShutdownEvent.INSTANCE);
    }

    /** Returns false after the output was shut down, like Netty's channels, which have no outbound buffer then. */
    @Override
    public boolean isWritable() {
        return !outputShutdown && super.isWritable();
    }

    @Override
    public long bytesBeforeUnwritable() {
        return outputShutdown ? 0 : super.bytesBeforeUnwritable();
    }

    @Override
    public long bytesBeforeWritable() {
        return outputShutdown ? Long.MAX_VALUE : super.bytesBeforeWritable();
    }

    @Override
    protected void doShutdownOutput() {
        if (!isActive()) {
            throw new NotYetConnectedException();
        }
        outputShutdown = true;
        transport.shutdownOutput();
    }

    @Override
    public boolean isShutdown() {
        return isInputShutdown() && isOutputShutdown();
    }

    @Override
    public ChannelFuture shutdown() {
        return shutdown(newPromise());
    }

    @Override
    public ChannelFuture shutdown(ChannelPromise promise) {
        ChannelFuture output = shutdownOutput();
        if (output.isDone()) {
            shutdownInput(output, promise);
        } else {
            output.addListener(done -> shutdownInput(output, promise));
        }
        return promise;
    }

    private void shutdownInput(ChannelFuture output, ChannelPromise promise) {
        ChannelFuture input = shutdownInput();
        if (input.isDone()) {
            // A loop that has ended calls no listener.
            completeShutdown(output, input, promise);
        } else {
            input.addListener(done -> completeShutdown(output, input, promise));
        }
    }

    private static void completeShutdown(ChannelFuture output, ChannelFuture input, ChannelPromise promise) {
        Throwable cause = output.cause() != null ? output.cause() : input.cause();
        if (cause != null) {
            promise.setFailure(cause);
        } else {
            promise.setSuccess();
        }
    }

    // ---- closing ----

    @Override
    protected void doDisconnect() {
        doClose();
    }

    @Override
    protected void doClose() {
        markClosed();
        StreamUnsafe unsafe = (StreamUnsafe) unsafe();
        unsafe.connector.close();
        inbox.stopReading();
        releaseReservedPort();
        StreamTransport current = transport;
        if (current != null) {
            current.closeByChannel(config.getSoLinger() == 0);
        }
        if (arrival != null) {
            arrival.tryFailure(new ClosedChannelException());
        }
    }

    /** Receives the transport's calls, so that these methods are not visible to users of the channel. */
    private final class TransportOwner implements ConnectionOwner, KernelTransport.Owner {
        @Override
        public void transportChanged() {
            RdmaRawSocketChannel.this.transportChanged();
        }

        @Override
        public TcpStack tcpStack() {
            return tcpStack;
        }

        @Override
        public int sendBufferBytes(TcpConnection connection) {
            return config.sendBufferBytes(connection);
        }

        @Override
        public boolean consolidatesFlushes() {
            return config.consolidatesFlushes();
        }

        @Override
        public void applyOptions(TcpConnection connection) {
            config.applyTo(connection);
        }

        @Override
        public SocketChannel channel() {
            return RdmaRawSocketChannel.this;
        }

        @Override
        public boolean isOnLoop() {
            return ioHandler() != null;
        }

        @Override
        public void applyOptions(SocketChannelConfig socket) {
            config.applyTo(socket);
        }

        @Override
        public NumberedOptions kernelOptions() {
            return config.kernelOptions();
        }

        @Override
        public void closeAfterFailedWrite(Throwable cause) {
            ((StreamUnsafe) unsafe()).closeNow(cause);
        }
    }

    /** Implements Netty's channel life cycle and connecting. */
    private final class StreamUnsafe extends AbstractUnsafe {
        private final StreamConnector connector = new StreamConnector(RdmaRawSocketChannel.this, this::closeNow);

        @Override
        public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            if (promise.isDone() || !ensureOpen(promise)) {
                return;
            }
            try {
                connect(requireResolved(remote), local, promise);
            } catch (Throwable t) {
                promise.tryFailure(annotateConnectException(t, remote));
                closeIfClosed();
            }
        }

        private void connect(InetSocketAddress remote, SocketAddress local, ChannelPromise promise)
                throws IOException {
            connector.begin(remote, promise);
            try {
                startConnecting(remote, local);
            } catch (IOException | RuntimeException e) {
                connector.end();
                throw e;
            }
        }

        @Override
        protected Executor prepareToClose() {
            StreamTransport current = transport;
            if (config.getSoLinger() <= 0 || !isActive() || !current.isAttached()) {
                return null;
            }
            try {
                doClose();
            } catch (RuntimeException e) {
                // Netty calls doClose() again, and fails the promise if that fails too.
                return null;
            }
            return new LingeringClose(current, eventLoop(), config.getSoLinger());
        }

        private void closeNow() {
            close(voidPromise());
        }

        private void closeNow(Throwable cause) {
            ClosedChannelException closed = new ClosedChannelException();
            closed.initCause(cause);
            close(voidPromise(), cause, closed);
        }

        void resumeFlush() {
            flush0();
        }
    }
}
