package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.netty.util.internal.StringUtil;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.stack.ConnectionListener;
import io.rdmaraw.tcp.stack.StreamTransport;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpTransport;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * A TCP connection. Takes the place of Netty's other socket channels without a change to handlers. Received bytes are
 * fired where the device wrote them; written ones are sent from where they lie when that is registered memory, and
 * copied once otherwise.
 *
 * <p>The device is the one that {@link RdmaRawIoHandlerConfig.Builder#device(String)} names. With the kernel's own
 * addresses, a connection that the device's link does not lead to, to this host or by another interface, is carried by
 * the kernel, by a NIO channel on the same loop. A write promise completes when
 * the send buffer ({@code SO_SNDBUF}) has taken the bytes. What it has no room for, because the peer has not
 * acknowledged enough, counts against the channel's write buffer water marks.
 */
public final class RdmaRawSocketChannel extends AbstractRdmaRawChannel implements SocketChannel {
    private static final int MAX_MESSAGES_PER_READ = 16;
    private static final ChannelMetadata METADATA = new ChannelMetadata(false, MAX_MESSAGES_PER_READ);

    private final RdmaRawSocketChannelConfig config = new RdmaRawSocketChannelConfig(this);
    private final StreamInbox inbox = new StreamInbox(this);
    private final ConnectionListener connectionListener = new Listener();
    /** The connection, from the call of connect or from the accepting on; kept when the channel is closed. */
    private volatile StreamTransport transport;
    private volatile TcpStack loopStack;
    private volatile boolean established;
    private volatile boolean outputShutdown;
    private volatile InetSocketAddress localAddress;
    private volatile InetSocketAddress remoteAddress;
    private InetSocketAddress requestedLocal;
    /** The last one; null when there was none. */
    private ConnectionCapture capture;

    /** Makes an open, unregistered channel. */
    public RdmaRawSocketChannel() {
        super(null);
    }

    /** Makes the channel of an accepted connection. */
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
            // Made on demand: with all their parts the two are a tenth of a short connection's garbage.
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
     * Asks where the connection stands, as {@code TCP_INFO} of Linux tells. Any thread.
     *
     * @return a future of it, which fails when there is no connection, or the kernel carries it
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
     * Writes what the connection sends and receives from now on to a pcap file, for Wireshark and tcpdump: until so
     * many bytes are written, a second has passed since the channel was closed, or it leaves its loop. The loop writes,
     * so this is for finding faults; one connection of a loop is captured at a time. Any thread.
     *
     * @param maxBytes the most that the file becomes, 1 KiB or more
     * @return a future of its beginning, which fails when there is no connection, the kernel carries it, or the file
     *         cannot be made
     */
    public Future<Void> capture(Path file, long maxBytes) {
        return new CaptureBegin(this, file, maxBytes).begin();
    }

    /** A capture has begun; on the loop. */
    void captured(ConnectionCapture begun) {
        capture = begun;
    }

    /** Returns the connection; null before there is one. */
    StreamTransport transport() {
        return transport;
    }

    @Override
    String carrierOrNull() {
        return transport instanceof KernelTransport ? "kernel" : super.carrierOrNull();
    }

    /** A setting has changed, which the connection, if there is one, is told on its loop. */
    void settingChanged(Consumer<TcpConnection> change) {
        settingChanged(change, change);
    }

    /** @param late takes the place of the change when others may have overtaken it: tells what is set by then */
    void settingChanged(Consumer<TcpConnection> change, Consumer<TcpConnection> late) {
        StreamTransport current = transport;
        if (current != null) {
            current.settingChanged(change, late);
        }
    }

    // ---- its loop ----

    @Override
    void joinLoop(RdmaRawIoHandler loop) {
        inbox.joinedLoop();
        ((StreamUnsafe) unsafe()).connector.joinLoop();
        if (transport != null) {
            loopStack = loop.tcp();
            transport.attach(connectionListener, loopStack);
            if (parent() != null) {
                parent().connectionOn(eventLoop());
            }
        }
    }

    @Override
    void leaveLoop() {
        if (capture != null && isOpen()) {
            capture.end();
        }
        loopStack = null;
        ((StreamUnsafe) unsafe()).connector.leaveLoop();
        if (transport != null) {
            transport.detach();
        }
    }

    /** Returns the stack of the loop that the channel is on, null while it is on none. */
    TcpStack loopStack() {
        return loopStack;
    }

    // ---- opening ----

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        if (transport != null || requestedLocal != null) {
            throw new BindException("the channel is bound already, to " + localAddress);
        }
        requestedLocal = checked(address);
        ioHandler().tcp().opener().checkLocal(requestedLocal);
        localAddress = requestedLocal;
    }

    private void startConnecting(InetSocketAddress remote, SocketAddress localOrNull) throws IOException {
        if (localOrNull != null) {
            doBind(localOrNull);
        }
        loopStack = ioHandler().tcp();
        int mark = config.mark();
        if (!ioHandler().config().connectsByDevice(remote)
                || loopStack.opener().isForKernel(requestedLocal, remote, mark)) {
            refuse(mark, remote);
            KernelTransport opening = new KernelTransport(this, loopStack.counters());
            transport = opening;
            if (config.isTcpFastOpenConnect()) {
                flushed();
            }
            opening.connect(requestedLocal, remote);
        } else {
            TcpTransport opening = loopStack.opener().connect(requestedLocal, remote, mark, connectionListener);
            transport = opening;
            // The port of an address that the user chose may be the system's choice.
            localAddress = null;
            if (config.isTcpFastOpenConnect()) {
                opening.openFast(flushed(), RdmaRawByteBufAllocator.DEFAULT);
            }
        }
    }

    /** Its packets would go another way than they are meant to. */
    private static void refuse(int mark, InetSocketAddress remote) throws IOException {
        if (mark != 0) {
            throw new IOException("SO_MARK is " + mark + ", but the kernel has to carry the connection to "
                    + remote + ", and the JDK's sockets cannot be marked: have its route lead to the device's"
                    + " interface, or leave the option out");
        }
    }

    /** What was written before connecting goes out with the SYN, or as soon as the connection is open. */
    private ChannelOutboundBuffer flushed() {
        ChannelOutboundBuffer written = unsafe().outboundBuffer();
        written.addFlush();
        return written;
    }

    private void establish() {
        localAddress = null;
        established = true;
    }

    // ---- what the transport reports ----

    /** Something happened to the connection. */
    void transportChanged() {
        if (!isOpen()) {
            // The transport has not heard of it yet; then it drops what came in.
            return;
        }
        StreamTransport current = transport;
        StreamUnsafe unsafe = (StreamUnsafe) unsafe();
        if (current.isConnected() && !established) {
            establish();
            remoteAddress = unsafe.connector.peer();
            unsafe.connector.succeed();
            if (config.isTcpFastOpenConnect()) {
                // What the SYN did not take.
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
        if (current.takeSendRoom()) {
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
        return inbox.isShutdown();
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
            onItsLoop(() -> shutdownInput(promise), promise);
        }
        return promise;
    }

    /** A channel whose loop has ended is closed. */
    private void onItsLoop(Runnable task, ChannelPromise promise) {
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
        // While the connection moves between loops, what is written waits; attaching resumes it.
        if (current.isAttached()) {
            // What has to be copied goes to memory that the device reads, whatever the user allocates from.
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
            onItsLoop(() -> shutdownOutput(promise), promise);
        }
        return promise;
    }

    /**
     * Netty takes the outbound buffer away, with an exception that tells those whose writes are in it. Its stack trace
     * costs as much as a fifth of a short connection, so it is not made when no write is pending.
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

    /** As that of Netty's channels, whose outbound buffer is gone after they have ended their output. */
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
        input.addListener(done -> {
            Throwable cause = output.cause() != null ? output.cause() : input.cause();
            if (cause != null) {
                promise.setFailure(cause);
            } else {
                promise.setSuccess();
            }
        });
    }

    // ---- the end ----

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
        StreamTransport current = transport;
        if (current != null) {
            current.closeByChannel(config.getSoLinger() == 0);
        }
    }

    /** Keeps the transport's calls out of what users of the channel see. */
    private final class Listener implements ConnectionListener {
        @Override
        public void transportChanged() {
            RdmaRawSocketChannel.this.transportChanged();
        }

        @Override
        public TcpStack loopStack() {
            return loopStack;
        }

        @Override
        public int sendBufferBytes(TcpConnection connection) {
            return config.sendBufferBytes(connection);
        }

        @Override
        public boolean sharesFlushes() {
            return config.sharesFlushes();
        }

        @Override
        public void applyOptions(TcpConnection connection) {
            config.applyTo(connection);
        }
    }

    /** Netty's part of the channel's life, and the opening of connections. */
    private final class StreamUnsafe extends AbstractUnsafe {
        private final StreamConnector connector = new StreamConnector(RdmaRawSocketChannel.this, this::closeNow);

        @Override
        public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            if (promise.isDone() || !ensureOpen(promise)) {
                return;
            }
            try {
                connect(checked(remote), local, promise);
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

        private void closeNow() {
            close(voidPromise());
        }

        void resumeFlush() {
            flush0();
        }
    }
}
