package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.stack.ConnectionListener;
import io.rdmaraw.tcp.stack.ReceivedPieces;
import io.rdmaraw.tcp.stack.StreamErrors;
import io.rdmaraw.tcp.stack.StreamTransport;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpStackStatistics;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * A connection that the kernel carries, because the device's link does not lead to the peer: a NIO channel on the
 * socket channel's loop, whose bytes and events become the socket channel's. For the loop's thread, except where
 * {@link StreamTransport} says otherwise.
 */
final class KernelTransport extends ChannelInboundHandlerAdapter implements StreamTransport {
    private final KernelSocket socket = new KernelSocket();
    private final ReceivedPieces received = new ReceivedPieces();
    private final RdmaRawSocketChannel channel;
    private final RdmaRawSocketChannelConfig settings;
    private final TcpStackStatistics counters;
    /** Whether the channel and the socket are on the same loop. */
    private boolean attached = true;
    /** The socket is on its way to the channel's loop: where that is by then is looked at when it arrives. */
    private final AtomicBoolean following = new AtomicBoolean();
    private IOException failure;
    /** Received, and not yet read by the channel's handlers. */
    private int unreadBytes;
    /** Written to the socket and not yet taken by the kernel; they are the first in the channel's outbound buffer. */
    private int handedOver;
    /** Taken while the channel moved between loops; they are still in its buffer. */
    private final Queue<Object> takenMeanwhile = new ArrayDeque<>(0);
    private boolean writing;
    private boolean connected;
    private InetSocketAddress localAddress;
    private InetSocketAddress remoteAddress;
    private boolean peerFinished;
    private boolean closed;
    private boolean hasSendRoom;

    KernelTransport(RdmaRawSocketChannel channel, TcpStackStatistics counters) {
        this.channel = channel;
        this.counters = counters;
        settings = channel.config();
        // Timeouts and half-closure are the channel's business; so is when to read.
        socket.config().setAutoRead(false).setAllowHalfClosure(true).setConnectTimeoutMillis(0)
                .setAllocator(settings.getAllocator());
        socket.pipeline().addLast(this);
    }

    /**
     * Opens the connection; the channel is told how it went, perhaps before this returns.
     *
     * @param localOrNull what the user chose
     */
    void connect(InetSocketAddress localOrNull, InetSocketAddress remote) {
        settings.applyTo(socket.config());
        channel.eventLoop().register(socket);
        socket.connect(remote, localOrNull).addListener(this::connectDone);
    }

    private void connectDone(Future<?> attempt) {
        if (attempt.isSuccess()) {
            // They are asked for later too, when the socket is closed perhaps.
            localAddress = socket.localAddress();
            remoteAddress = socket.remoteAddress();
            connected = true;
            counters.kernelConnections++;
            tellChannel();
            readMore();
        } else {
            fail(attempt.cause());
            close();
        }
    }

    private void fail(Throwable cause) {
        // Netty puts the peer's address into the message; so does the channel.
        failure = cause.getCause() instanceof IOException original ? original : StreamErrors.of(cause);
    }

    private void close() {
        closed = true;
        socket.close();
        tellChannel();
    }

    private void tellChannel() {
        if (attached && channel.isOpen()) {
            channel.transportChanged();
        }
    }

    // ---- events of the socket ----

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        ByteBuf piece = (ByteBuf) msg;
        unreadBytes += piece.readableBytes();
        received.add(piece);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        tellChannel();
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event == ChannelInputShutdownEvent.INSTANCE) {
            peerFinished = true;
            tellChannel();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure = StreamErrors.of(cause);
        close();
    }

    /** The socket has closed itself, as it does when a write fails; the write's promise tells why. */
    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (!closed) {
            closed = true;
            channel.close();
        }
    }

    // ---- the channel's loop ----

    @Override
    public void attach(ConnectionListener attaching, TcpStack stack) {
        beginToFollow();
    }

    /** A socket that is on its way already goes on to where the channel is by then. */
    private void beginToFollow() {
        if (following.compareAndSet(false, true)) {
            follow();
        }
    }

    private void follow() {
        EventLoop destination = channel.eventLoop();
        EventLoop current = socket.eventLoop();
        if (current == destination) {
            arrive();
        } else {
            current.execute(() -> socket.deregister().addListener(left ->
                    destination.register(socket).addListener(joined -> arrive())));
        }
    }

    private void arrive() {
        if (!channel.isOpen()) {
            // What its closing has asked for comes behind.
            closeNow(settings.getSoLinger() == 0);
            return;
        }
        // Asked before the loop: if the channel joins another one in between, that is another one than this.
        boolean joined = channel.ioHandler() != null;
        if (!channel.eventLoop().inEventLoop()) {
            // The channel has gone on meanwhile: the socket follows it, and nothing of it may be touched here.
            follow();
            return;
        }
        if (!joined) {
            // The channel has left this loop too, and is on none: it attaches where it joins next.
            following.set(false);
            if (!channel.eventLoop().inEventLoop()) {
                // Or it just has, and has found the socket on its way.
                beginToFollow();
            }
            return;
        }
        following.set(false);
        attached = true;
        ChannelOutboundBuffer written = channel.unsafe().outboundBuffer();
        while (!takenMeanwhile.isEmpty() && written != null) {
            AbstractRdmaRawChannel.complete(written, takenMeanwhile.poll(), null);
        }
        hasSendRoom = true;
        // A socket that changes its loop forgets what it was waiting for.
        socket.flush();
        readMore();
        tellChannel();
    }

    @Override
    public void detach() {
        attached = false;
    }

    @Override
    public boolean isAttached() {
        return attached;
    }

    @Override
    public EventLoop loop() {
        return socket.eventLoop();
    }

    // ---- how the connection stands ----

    @Override
    public boolean isConnected() {
        return connected;
    }

    @Override
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remoteAddress;
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    @Override
    public IOException connectFailure() {
        return failure;
    }

    @Override
    public IOException failure() {
        return connected ? failure : null;
    }

    @Override
    public void info(Promise<RdmaRawTcpInfo> promise) {
        promise.setFailure(new UnsupportedOperationException("the kernel carries the connection: see `ss -ti`"));
    }

    @Override
    public void settingChanged(Consumer<TcpConnection> change, Consumer<TcpConnection> late) {
        if (socket.isOpen()) {
            settings.applyTo(socket.config());
        }
    }

    // ---- reading ----

    @Override
    public ReceivedPieces received() {
        return received;
    }

    @Override
    public boolean lendsSlots() {
        return false;
    }

    @Override
    public void read(int bytes) {
        unreadBytes -= bytes;
        readMore();
    }

    /** Called even while reads are paused: so the end that follows what was read is seen, as it is with epoll. */
    private void readMore() {
        if (unreadBytes == 0 && !closed && !peerFinished) {
            socket.config().setAllocator(settings.getAllocator());
            socket.read();
        }
    }

    @Override
    public boolean isPeerFinished() {
        return peerFinished;
    }

    @Override
    public boolean beginReading() {
        return false;
    }

    @Override
    public void endReading(boolean outer) {
        // The kernel acknowledges by itself.
    }

    // ---- writing ----

    /** A message stays in the channel's outbound buffer until the kernel has taken it, and counts there till then. */
    @Override
    public void write(ChannelOutboundBuffer in, ByteBufAllocator allocator) throws IOException {
        if (closed) {
            throw failure != null ? failure : new SocketException("Broken pipe: the connection is closed");
        }
        writing = true;
        try {
            // Those who are told that a message was taken may have written more.
            while (handedOver == 0 && !in.isEmpty()) {
                if (!handOver(in)) {
                    removeCancelled(in);
                }
                socket.flush();
            }
        } catch (Exception e) {
            throw StreamErrors.of(e);
        } finally {
            writing = false;
        }
    }

    /**
     * A socket that is closed refuses at once; the buffer may not change before all its messages were shown.
     *
     * @return whether there was any
     */
    private boolean handOver(ChannelOutboundBuffer in) throws Exception {
        List<Runnable> follow = new ArrayList<>();
        try {
            in.forEachFlushedMessage(msg -> {
                Object part = msg instanceof ByteBuf data ? data.retainedDuplicate() : ReferenceCountUtil.retain(msg);
                handedOver++;
                ChannelFuture write = socket.write(part);
                follow.add(() -> write.addListener(written -> taken(in, msg, written)));
                return true;
            });
        } finally {
            follow.forEach(Runnable::run);
        }
        return !follow.isEmpty();
    }

    /** Nothing else was flushed. */
    private static void removeCancelled(ChannelOutboundBuffer in) {
        while (!in.isEmpty()) {
            in.remove();
        }
    }

    private void taken(ChannelOutboundBuffer in, Object msg, Future<?> written) {
        handedOver--;
        if (!channel.isOpen()) {
            // Closing fails what is in the buffer.
            return;
        }
        if (!attached) {
            takenMeanwhile.add(msg);
            return;
        }
        AbstractRdmaRawChannel.complete(in, msg, written.cause());
        if (handedOver == 0 && !writing) {
            hasSendRoom = true;
            tellChannel();
        }
    }

    @Override
    public boolean takeSendRoom() {
        boolean room = hasSendRoom;
        hasSendRoom = false;
        return room;
    }

    // ---- the end ----

    @Override
    public void shutdownOutput() {
        socket.shutdownOutput();
    }

    @Override
    public void closeByChannel(boolean reset) {
        EventLoop loop = socket.eventLoop();
        if (loop.inEventLoop()) {
            closeNow(reset);
        } else {
            // The socket may have left that loop by then. A loop that ends closes the socket itself.
            LoopTasks.executeOrElse(loop, () -> closeByChannel(reset), received::drop);
        }
    }

    private void closeNow(boolean reset) {
        attached = false;
        received.drop();
        if (!socket.isOpen()) {
            return;
        }
        if (reset || unreadBytes > 0) {
            // Bytes that were received and not read count as if they lay in the kernel's buffer.
            socket.config().setSoLinger(0);
        }
        closed = true;
        socket.close();
    }
}
