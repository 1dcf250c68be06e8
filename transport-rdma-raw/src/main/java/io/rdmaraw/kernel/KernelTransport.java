package io.rdmaraw.kernel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.channel.FileRegion;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.loop.OutboundMessages;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.stack.ConnectionOwner;
import io.rdmaraw.tcp.stack.StreamErrors;
import io.rdmaraw.tcp.stack.receive.StreamReceiveQueue;
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
 * The transport of a socket channel to a peer that the device cannot reach. It uses an NIO channel on the same event
 * loop, and passes on that channel's bytes and events to the socket channel. Used on the loop's thread only, except
 * for the methods that {@link StreamTransport} documents as thread-safe.
 */
public final class KernelTransport extends ChannelInboundHandlerAdapter implements StreamTransport {
    /** The socket channel of a connection that the kernel carries. */
    public interface Owner extends ConnectionOwner {
        SocketChannel channel();

        /** Returns whether the channel is on a loop. May be called on any thread. */
        boolean isOnLoop();

        /** Applies the channel's options to the kernel's socket. */
        void applyOptions(SocketChannelConfig socket);

        /** Returns the options of the kernel's socket that are given by number. */
        NumberedOptions kernelOptions();

        /** Closes the channel after its socket has failed a write; the flushed messages fail with the cause. */
        void closeAfterFailedWrite(Throwable cause);
    }

    private final KernelStreamSocket socket = KernelStreamSocket.open();
    private final StreamReceiveQueue received = new StreamReceiveQueue();
    private final Owner owner;
    private final SocketChannel channel;
    private final TcpStackStatistics counters;
    /** False while the channel and the socket are on different loops. */
    private boolean attached = true;
    /** Set while the socket moves to the channel's loop. The destination is read again on arrival. */
    private final AtomicBoolean moving = new AtomicBoolean();
    private IOException failure;
    /** Number of bytes received and not yet read by the channel's handlers. */
    private int unreadBytes;
    /** Number of messages written to the socket and not yet sent. They are first in the channel's outbound buffer. */
    private int pendingWrites;
    /** Messages sent while the channel moved between loops. They are still in its outbound buffer. */
    private final Queue<Object> completedWhileDetached = new ArrayDeque<>(0);
    private boolean writing;
    private boolean connected;
    private InetSocketAddress localAddress;
    private InetSocketAddress remoteAddress;
    private boolean peerFinished;
    private boolean closed;
    private boolean hasSendRoom;

    public KernelTransport(Owner owner, TcpStackStatistics counters) {
        this.owner = owner;
        this.counters = counters;
        channel = owner.channel();
        // The socket channel handles timeouts and half-closure, and decides when to read.
        socket.config().setAutoRead(false).setAllowHalfClosure(true).setConnectTimeoutMillis(0)
                .setAllocator(channel.config().getAllocator());
        socket.pipeline().addLast(this);
    }

    /**
     * Connects. The owner is notified of the result, possibly before this method returns.
     *
     * @param localOrNull local address chosen by the user, or null
     */
    public void connect(InetSocketAddress localOrNull, InetSocketAddress remote) {
        owner.applyOptions(socket.config());
        channel.eventLoop().register(socket);
        try {
            socket.setOptions(owner.kernelOptions());
        } catch (IOException e) {
            storeFailure(e);
            close();
            return;
        }
        socket.connect(remote, localOrNull).addListener(this::connectDone);
    }

    /**
     * Rejects a mark on a connection of the kernel. Its packets would be routed without the mark.
     *
     * @param mark {@code SO_MARK}; 0 if it is not set
     */
    public static void requireNoMark(int mark, InetSocketAddress remote) throws IOException {
        if (mark != 0) {
            throw new IOException("SO_MARK is " + mark + ", but the kernel has to carry the connection to "
                    + remote + ", and the JDK's sockets cannot be marked: have its route lead to the device's"
                    + " interface, or leave the option out");
        }
    }

    private void connectDone(Future<?> attempt) {
        if (attempt.isSuccess()) {
            // Kept for calls after the socket is closed.
            localAddress = socket.localAddress();
            remoteAddress = socket.remoteAddress();
            connected = true;
            counters.kernelConnections++;
            notifyChannel();
            readMore();
        } else {
            storeFailure(attempt.cause());
            close();
        }
    }

    private void storeFailure(Throwable cause) {
        // Netty's exception has the peer's address in its message, and the socket channel adds it too.
        failure = cause.getCause() instanceof IOException original ? original : StreamErrors.toIOException(cause);
    }

    private void close() {
        closed = true;
        socket.close();
        notifyChannel();
    }

    private void notifyChannel() {
        if (attached && channel.isOpen()) {
            owner.transportChanged();
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
        notifyChannel();
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event == ChannelInputShutdownEvent.INSTANCE) {
            peerFinished = true;
            notifyChannel();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure = StreamErrors.toIOException(cause);
        close();
    }

    /** Netty closes the socket if a write fails; the promise of the write has the cause. */
    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (!closed) {
            closed = true;
            channel.close();
        }
    }

    // ---- the channel's loop ----

    @Override
    public void attach(ConnectionOwner attaching, TcpStack stack) {
        beginMove();
    }

    /** Moves the socket to the channel's loop. A socket that already moves checks the destination on arrival. */
    private void beginMove() {
        if (moving.compareAndSet(false, true)) {
            moveSocket();
        }
    }

    private void moveSocket() {
        EventLoop destination = channel.eventLoop();
        EventLoop current = socket.eventLoop();
        if (current == destination) {
            // Runs after the registration, because handlers must not read before it is complete.
            LoopTasks.executeOrElse(destination, this::onArrival, () -> { });
        } else {
            current.execute(() -> socket.deregister().addListener(left ->
                    destination.register(socket).addListener(joined -> onArrival())));
        }
    }

    private void onArrival() {
        if (!channel.isOpen()) {
            // The task of closeByChannel() follows and finds the socket closed.
            closeNow(channel.config().getSoLinger() == 0);
            return;
        }
        // Read before eventLoop(): if the channel joins a loop in between, that loop differs from this one.
        boolean joined = owner.isOnLoop();
        if (!channel.eventLoop().inEventLoop()) {
            // The channel has moved on. The socket follows; this loop must not access either of them.
            moveSocket();
            return;
        }
        if (!joined) {
            // The channel has left this loop and is on none. It calls attach() when it joins the next one.
            moving.set(false);
            if (!channel.eventLoop().inEventLoop()) {
                // The channel has just joined a loop, and its attach() found the socket still moving.
                beginMove();
            }
            return;
        }
        moving.set(false);
        attached = true;
        ChannelOutboundBuffer written = channel.unsafe().outboundBuffer();
        while (!completedWhileDetached.isEmpty() && written != null) {
            OutboundMessages.complete(written, completedWhileDetached.poll(), null);
        }
        hasSendRoom = true;
        // Deregistration has cleared the interest in reads and writes.
        socket.flush();
        readMore();
        notifyChannel();
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

    // ---- state ----

    @Override
    public boolean isQueuedForDelivery() {
        return false;
    }

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
    public void applyChange(Consumer<TcpConnection> change, Consumer<TcpConnection> ifMoved) {
        if (socket.isOpen()) {
            owner.applyOptions(socket.config());
        }
    }

    /**
     * Sets an option by number on the open socket. May be called on any thread.
     *
     * @throws IOException if the kernel rejects it
     */
    public void setKernelOption(NumberedOptions.Key key, byte[] value) throws IOException {
        if (socket.isOpen()) {
            socket.setOption(key, value);
        }
    }

    // ---- reading ----

    @Override
    public StreamReceiveQueue received() {
        return received;
    }

    @Override
    public boolean receivesIntoSlots() {
        return false;
    }

    @Override
    public void reportRead(int bytes) {
        unreadBytes -= bytes;
        readMore();
    }

    /** Reads ahead even while reads are paused, so that the end of the stream is detected, as with epoll. */
    private void readMore() {
        if (unreadBytes == 0 && !closed && !peerFinished) {
            socket.config().setAllocator(channel.config().getAllocator());
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
        // Nothing to do: the kernel sends the acknowledgements.
    }

    // ---- writing ----

    /** Writes flushed messages. They stay in the channel's outbound buffer until the kernel has accepted them. */
    @Override
    public void write(ChannelOutboundBuffer in, ByteBufAllocator allocator) throws IOException {
        if (closed) {
            throw failure != null ? failure : new SocketException("Broken pipe: the connection is closed");
        }
        writing = true;
        try {
            // Listeners of completed writes may have written more.
            while (pendingWrites == 0 && !in.isEmpty()) {
                if (!writeFlushed(in)) {
                    removeCancelled(in);
                }
                socket.flush();
            }
        } catch (Exception e) {
            throw StreamErrors.toIOException(e);
        } finally {
            writing = false;
        }
    }

    /**
     * Writes the flushed messages to the socket. The buffer must not change during the iteration, but a write to a
     * closed socket fails at once. Listeners are therefore added after the iteration.
     *
     * @return whether there was a message
     */
    private boolean writeFlushed(ChannelOutboundBuffer in) throws Exception {
        List<Runnable> addListeners = new ArrayList<>();
        try {
            in.forEachFlushedMessage(msg -> {
                Object part = msg instanceof ByteBuf data ? data.retainedDuplicate() : ReferenceCountUtil.retain(msg);
                pendingWrites++;
                ChannelFuture write = socket.write(part);
                addListeners.add(() -> write.addListener(written -> writeCompleted(in, msg, written)));
                return true;
            });
        } finally {
            addListeners.forEach(Runnable::run);
        }
        return !addListeners.isEmpty();
    }

    /** Removes the flushed messages, which are all cancelled. */
    private static void removeCancelled(ChannelOutboundBuffer in) {
        while (!in.isEmpty()) {
            in.remove();
        }
    }

    private void writeCompleted(ChannelOutboundBuffer in, Object msg, Future<?> written) {
        pendingWrites--;
        if (!channel.isOpen()) {
            // Closing the channel fails the messages in its buffer.
            return;
        }
        if (!attached) {
            completedWhileDetached.add(msg);
            return;
        }
        if (!written.isSuccess() && !socket.isOpen()) {
            // As on NIO, the channel is closed when the promises of its messages fail.
            owner.closeAfterFailedWrite(written.cause());
            return;
        }
        if (written.isSuccess() && in.current() == msg) {
            long bytes = msg instanceof ByteBuf data ? data.readableBytes() : ((FileRegion) msg).count();
            if (bytes > 0 || in.size() > 1) {
                // See StreamSender.
                in.progress(bytes);
            }
        }
        OutboundMessages.complete(in, msg, written.cause());
        if (pendingWrites == 0 && !writing) {
            hasSendRoom = true;
            notifyChannel();
        }
    }

    @Override
    public boolean pollSendRoom() {
        boolean room = hasSendRoom;
        hasSendRoom = false;
        return room;
    }

    // ---- closing ----

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
            // Check again on that loop: the socket may have moved. A loop that ends closes the socket itself.
            LoopTasks.executeOrElse(loop, () -> closeByChannel(reset), received::drop);
        }
    }

    @Override
    public boolean isDelivered() {
        return socket.closeFuture().isDone();
    }

    private void closeNow(boolean reset) {
        attached = false;
        received.drop();
        if (!socket.isOpen()) {
            return;
        }
        if (reset || unreadBytes > 0) {
            // Unread bytes cause a reset, as they would in the kernel's receive buffer.
            socket.config().setSoLinger(0);
        }
        closed = true;
        socket.close();
    }
}
