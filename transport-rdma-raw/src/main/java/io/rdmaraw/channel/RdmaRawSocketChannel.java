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
import io.rdmaraw.tcp.TcpConnection;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.UnresolvedAddressException;
import java.util.function.Consumer;

/**
 * A TCP connection. Takes the place of Netty's other socket channels without a change to handlers. Received bytes are
 * fired where the device wrote them; written ones are sent from where they lie when that is registered memory, and
 * copied once otherwise.
 *
 * <p>The device is the one that {@link RdmaRawIoHandlerConfig.Builder#ipDevice} names. With the kernel's own addresses,
 * a connection that the device's link does not lead to, to this host or by another interface, is carried by the kernel,
 * by a NIO channel on the same loop. A write promise completes when
 * the send buffer ({@code SO_SNDBUF}) has taken the bytes. What it has no room for, because the peer has not
 * acknowledged enough, counts against the channel's write buffer water marks.
 */
public final class RdmaRawSocketChannel extends AbstractRdmaRawChannel implements SocketChannel {
    private static final int MAX_MESSAGES_PER_READ = 16;
    private static final ChannelMetadata METADATA = new ChannelMetadata(false, MAX_MESSAGES_PER_READ);

    private final RdmaRawSocketChannelConfig config = new RdmaRawSocketChannelConfig(this);
    private final StreamInbox inbox = new StreamInbox(this);
    private final StreamSender sender = new StreamSender(this);
    /** The connection, from the call of connect or from the accepting on; kept when the channel is closed. */
    private volatile StreamCarrier carrier;
    private volatile TcpStack loopStack;
    private volatile boolean established;
    private volatile boolean outputShutdown;
    private volatile InetSocketAddress localAddress;
    private volatile InetSocketAddress remoteAddress;
    private InetSocketAddress requestedLocal;

    /** Makes an open, unregistered channel. */
    public RdmaRawSocketChannel() {
        super(null);
    }

    /** Makes the channel of an accepted connection. */
    RdmaRawSocketChannel(RdmaRawServerSocketChannel parent, TcpFlow accepted) {
        super(parent);
        carrier = accepted;
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
        StreamCarrier current = carrier;
        if (localAddress == null && current != null) {
            // Made when somebody asks: with all their parts the two are a tenth of a short connection's garbage.
            localAddress = current.localAddress();
        }
        return localAddress;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        if (remoteAddress == null && established) {
            remoteAddress = carrier.remoteAddress();
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
        StreamCarrier current = carrier;
        if (current == null) {
            return promise.setFailure(new NotYetConnectedException());
        }
        current.info(promise);
        return promise;
    }

    /** Returns the connection; null before there is one. */
    StreamCarrier carrier() {
        return carrier;
    }

    /** A setting has changed, which the connection, if there is one, is told on its loop. */
    void settingChanged(Consumer<TcpConnection> change) {
        StreamCarrier current = carrier;
        if (current != null) {
            current.settingChanged(change);
        }
    }

    StreamSender sender() {
        return sender;
    }

    // ---- its loop ----

    @Override
    void joinLoop(RdmaRawIoHandler loop) {
        inbox.joinedLoop();
        if (carrier != null) {
            loopStack = loop.tcp();
            carrier.attach(this, loop);
        }
    }

    @Override
    void leaveLoop() {
        loopStack = null;
        if (carrier != null) {
            carrier.detach();
        }
    }

    /** Returns the stack of the loop that the channel is on, null while it is on none. */
    TcpStack loopStack() {
        return loopStack;
    }

    // ---- opening ----

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        if (carrier != null || requestedLocal != null) {
            throw new BindException("the channel is bound already, to " + localAddress);
        }
        requestedLocal = checked(address);
        ioHandler().tcp().opener().checkLocal(requestedLocal);
        localAddress = requestedLocal;
    }

    static InetSocketAddress checked(SocketAddress address) {
        if (!(address instanceof InetSocketAddress inet)) {
            throw new IllegalArgumentException("a socket channel has InetSocketAddresses, not a "
                    + StringUtil.simpleClassName(address));
        }
        if (inet.isUnresolved()) {
            throw new UnresolvedAddressException();
        }
        return inet;
    }

    private void startConnecting(InetSocketAddress remote, SocketAddress localOrNull) throws IOException {
        if (localOrNull != null) {
            doBind(localOrNull);
        }
        loopStack = ioHandler().tcp();
        if (loopStack.opener().isForKernel(requestedLocal, remote)) {
            KernelConnection opening = new KernelConnection(this, loopStack.counters());
            carrier = opening;
            if (config.isTcpFastOpenConnect()) {
                flushed();
            }
            opening.connect(requestedLocal, remote);
        } else {
            TcpFlow opening = loopStack.opener().connect(requestedLocal, remote, this);
            carrier = opening;
            // The port of an address that the user chose may be the system's choice.
            localAddress = null;
            if (config.isTcpFastOpenConnect()) {
                opening.openFast(flushed());
            }
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

    // ---- what the carrier reports ----

    /** Something happened to the connection. */
    void carrierChanged() {
        if (!isOpen()) {
            // The carrier has not heard of it yet; then it drops what came in.
            return;
        }
        StreamCarrier current = carrier;
        StreamUnsafe unsafe = (StreamUnsafe) unsafe();
        if (current.isConnected() && !established) {
            establish();
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
        inbox.receiveFrom(current);
        if (current.takeSendRoom()) {
            unsafe.resumeFlush();
        }
    }

    // ---- reading ----

    @Override
    protected void doBeginRead() {
        inbox.beginRead();
    }

    /** Auto-read was switched off, on any thread. */
    @Override
    void stopReading() {
        inbox.autoReadCleared();
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
            eventLoop().execute(() -> shutdownInput(promise));
        }
        return promise;
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
        StreamCarrier current = carrier;
        // While the connection moves between loops, what is written waits; attaching resumes it.
        if (current.isAttached()) {
            current.write(in);
        }
    }

    /** The flow has reached the channel's loop: what was written meanwhile goes out. */
    void resumeWriting() {
        ((StreamUnsafe) unsafe()).resumeFlush();
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
            eventLoop().execute(() -> shutdownOutputNow(promise));
        }
        return promise;
    }

    /**
     * Netty takes the outbound buffer away, with an exception that tells those whose writes are in it. Its stack trace
     * costs as much as a fifth of a short connection, so it is not made when there is nobody to tell.
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
        carrier.shutdownOutput();
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
        // First, since a carrier whose loop has ended refuses.
        inbox.close();
        StreamCarrier current = carrier;
        if (current != null) {
            current.closeByChannel(config.getSoLinger() == 0);
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
