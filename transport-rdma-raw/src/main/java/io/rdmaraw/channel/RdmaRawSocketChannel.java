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
import io.rdmaraw.channel.io.StreamInbox;
import io.rdmaraw.channel.stream.CaptureStarter;
import io.rdmaraw.channel.stream.ConnectionCapture;
import io.rdmaraw.channel.stream.LingeringClose;
import io.rdmaraw.kernel.KernelTransport;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.stack.StreamTransport;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpTransport;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.nio.file.Path;
import java.util.concurrent.Executor;
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

    private final RdmaRawSocketChannelConfig config = new RdmaRawSocketChannelConfig(this);
    private final StreamConnection connection = new StreamConnection(this);
    private final StreamInbox inbox = connection.inbox();
    private volatile boolean outputShutdown;
    /** The latest capture; null if there was none. */
    private ConnectionCapture capture;

    /** Creates an open, unregistered channel. */
    public RdmaRawSocketChannel() {
        super(null);
    }

    /** Creates the channel of an accepted connection. */
    RdmaRawSocketChannel(RdmaRawServerSocketChannel parent, TcpTransport accepted) {
        super(parent);
        connection.setAccepted(accepted);
        parent.config().applyTo(config);
        connection.establish();
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
        return isOpen() && connection.isEstablished();
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
        return connection.localAddress();
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return connection.remoteAddress();
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
        StreamTransport transport = transport();
        if (transport == null) {
            return promise.setFailure(new NotYetConnectedException());
        }
        transport.info(promise);
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
        return new CaptureStarter(this, connection, file, maxBytes, started -> capture = started).begin();
    }

    /** Returns the connection; null before connect or accept. */
    StreamTransport transport() {
        return connection.transport();
    }

    @Override
    String carrierOrNull() {
        return connection.isOfKernel() ? "kernel" : super.carrierOrNull();
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
        StreamTransport transport = transport();
        if (transport != null) {
            transport.applyChange(change, ifMoved);
        }
    }

    @Override
    void kernelOptionChanged(NumberedOptions.Key key, byte[] value) throws IOException {
        if (transport() instanceof KernelTransport kernel) {
            kernel.setKernelOption(key, value);
        }
    }

    // ---- event loop ----

    @Override
    Future<?> prepareToJoin(RdmaRawIoHandler handler) throws IOException {
        return connection.prepareToJoin(handler);
    }

    @Override
    void joinLoop(RdmaRawIoHandler handler) throws IOException {
        inbox.joinLoop();
        connection.joinLoop(handler);
    }

    @Override
    void leaveLoop() {
        if (capture != null && isOpen()) {
            capture.end();
        }
        connection.leaveLoop();
    }

    StreamConnection connection() {
        return connection;
    }

    /** Returns the TCP stack of the channel's loop; null while the channel is on no loop. */
    TcpStack tcpStack() {
        return connection.tcpStack();
    }

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        connection.bind(requireResolved(address));
    }

    /** Sends the flushed messages. Called when there is room again, or when the connection has changed. */
    void resumeFlush() {
        ((StreamUnsafe) unsafe()).resumeFlush();
    }

    /** Closes the channel; the flushed messages fail with the cause. */
    void closeNow(Throwable cause) {
        ((StreamUnsafe) unsafe()).closeNow(cause);
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
        StreamTransport transport = transport();
        // While the connection moves between loops, writes stay in the outbound buffer. Attaching resumes them.
        if (transport.isAttached()) {
            // Data that must be copied is copied to registered memory, regardless of the user's allocator.
            transport.write(in, RdmaRawByteBufAllocator.DEFAULT);
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
        transport().shutdownOutput();
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
        connection.close();
    }

    /** Implements Netty's channel life cycle and connecting. */
    private final class StreamUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            if (promise.isDone() || !ensureOpen(promise)) {
                return;
            }
            try {
                connection.connect(requireResolved(remote), local, promise);
            } catch (Throwable t) {
                promise.tryFailure(annotateConnectException(t, remote));
                closeIfClosed();
            }
        }

        @Override
        protected Executor prepareToClose() {
            StreamTransport transport = transport();
            if (config.getSoLinger() <= 0 || !isActive() || !transport.isAttached()) {
                return null;
            }
            try {
                doClose();
            } catch (RuntimeException e) {
                // Netty calls doClose() again, and fails the promise if that fails too.
                return null;
            }
            return new LingeringClose(transport, eventLoop(), config.getSoLinger());
        }

        void closeNow(Throwable cause) {
            ClosedChannelException closed = new ClosedChannelException();
            closed.initCause(cause);
            close(voidPromise(), cause, closed);
        }

        void resumeFlush() {
            flush0();
        }
    }
}
