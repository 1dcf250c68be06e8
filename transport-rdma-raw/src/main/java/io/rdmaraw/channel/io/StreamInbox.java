package io.rdmaraw.channel.io;

import io.netty.buffer.ByteBuf;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.channel.socket.SocketChannel;
import io.rdmaraw.tcp.stack.receive.StreamReceiveQueue;
import io.rdmaraw.tcp.stack.StreamTransport;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpStackStatistics;

import java.io.IOException;

/**
 * Fires the bytes that a socket channel's transport has received. It fires them only while a {@code read()} is pending.
 * After the last byte it reports the end of the stream: the peer's FIN or the error that ended the connection. The end
 * needs no pending read. Bytes count as read, and open the receive window, just before they are fired. Used on the
 * loop's thread only, except {@link #isShutdown()}.
 */
public final class StreamInbox {
    /** The connection of the channel. */
    public interface Connection {
        /** Returns the transport; null before connect or accept. */
        StreamTransport transport();

        /** Returns the stack of the channel's loop; null while the channel is on no loop. */
        TcpStack tcpStack();
    }

    private final SocketChannel channel;
    private final ReadSettings settings;
    private final Connection connection;
    private boolean readPending;
    private boolean reading;
    private boolean scheduled;
    private boolean inputFinished;
    private IOException failure;
    private volatile boolean shutdown;
    private boolean endReported;
    /** Set by a failed read and cleared just before the next message is fired. */
    private boolean readFailed;
    /**
     * Set while bytes have left the receive queue and are not in a complete message yet. If copying fails, it remains
     * set, and these bytes are lost.
     */
    private boolean copyInProgress;

    public StreamInbox(SocketChannel channel, ReadSettings settings, Connection connection) {
        this.channel = channel;
        this.settings = settings;
        this.connection = connection;
    }

    /** Fires received bytes if a read is pending, and then the end of the stream. */
    public void transportChanged(StreamTransport transport) {
        if (shutdown) {
            transport.shutdownInput();
            drop(transport);
        }
        if (transport.isPeerFinished()) {
            inputFinished = true;
        }
        // As on Linux, a reset after the peer's FIN fails writes only; reads find the end of the stream.
        if (!endReported && !transport.isPeerFinished()) {
            failure = transport.failure();
        }
        read();
    }

    private static void drop(StreamTransport transport) {
        if (!transport.received().isEmpty()) {
            transport.reportRead(transport.received().drop());
        }
    }

    private boolean hasBytes() {
        return !connection.transport().received().isEmpty();
    }

    /** Handles {@code read()}. Outside a read, schedules a task that fires waiting bytes or the end of the stream. */
    public void beginRead() {
        readPending = true;
        if (!reading && (hasEnd() || isAttached() && hasBytes())) {
            schedule();
        }
    }

    /**
     * Called when the channel has moved to another loop. A task that is scheduled on the former loop will do nothing,
     * so another one may be scheduled here. The transport reports waiting bytes on the new loop.
     */
    public void joinLoop() {
        scheduled = false;
    }

    /**
     * Returns whether the transport is on this loop. While the channel moves, received bytes belong to another loop.
     */
    private boolean isAttached() {
        StreamTransport transport = connection.transport();
        return transport != null && transport.isAttached();
    }

    private void runScheduledRead() {
        if (!channel.isRegistered() || !channel.eventLoop().inEventLoop()) {
            // The channel has left this loop. Its state belongs to the new loop.
            return;
        }
        scheduled = false;
        read();
    }

    private void read() {
        if (reading || !channel.isOpen() || !isAttached()) {
            return;
        }
        StreamTransport transport = connection.transport();
        boolean outer = transport.beginReading();
        reading = true;
        try {
            StreamReceiveQueue received = transport.received();
            // If a handler fills the send buffer, its flush receives frames. If these concern this connection,
            // isQueuedForDelivery() becomes true, and reading stops here. The next step "deliver" reads the remaining
            // bytes, so that other channels are served first.
            while (readPending && !received.isEmpty() && channel.isOpen() && !transport.isQueuedForDelivery()) {
                readOnce(transport, received);
            }
        } catch (Throwable e) {
            handleReadFailure(e);
        } finally {
            reading = false;
            transport.endReading(outer);
        }
        if (!hasBytes() && channel.isOpen()) {
            reportEnd();
        }
    }

    /**
     * Reports an exception thrown by the user's allocator or handle. As with NIO, the channel stays open, and a task
     * reads again. The channel is closed if that read fails before it fires a message, if memory is exhausted, or if
     * bytes of the stream are lost.
     */
    private void handleReadFailure(Throwable cause) {
        channel.pipeline().fireChannelReadComplete();
        channel.pipeline().fireExceptionCaught(cause);
        if (copyInProgress /* its bytes are lost */ || readFailed || cause instanceof OutOfMemoryError) {
            closeChannel();
        } else {
            readFailed = true;
            if (isAttached() && hasBytes()) {
                schedule();
            }
        }
    }

    /** Fires as many messages as the receive allocator permits, followed by {@code channelReadComplete}. */
    @SuppressWarnings("deprecation") // RecvByteBufAllocator is replaced in Netty 5 only
    private void readOnce(StreamTransport transport, StreamReceiveQueue received) {
        RecvByteBufAllocator.Handle handle = channel.unsafe().recvBufAllocHandle();
        handle.reset(channel.config());
        // If the payload is not copied, the handle allocates no buffer: the payload already is in buffers. A size set
        // by the user still limits each message.
        boolean adaptiveSize = channel.config().getRecvByteBufAllocator() instanceof AdaptiveRecvByteBufAllocator;
        boolean copiesPayload = settings.isCopying() && transport.receivesIntoSlots();
        TcpStackStatistics statistics = connection.tcpStack().statistics();
        do {
            ByteBuf piece;
            if (copiesPayload) {
                piece = copyForUser(received, handle);
                statistics.copiedForAllocator++;
            } else {
                piece = adaptiveSize ? received.pollMerged(channel.alloc(), limitBytes(handle))
                        : received.poll(Math.max(1, handle.guess()));
            }
            int bytes = piece.readableBytes();
            readPending = false;
            try {
                report(handle, bytes, copiesPayload);
            } finally {
                // Must precede the handler call: the handler may close the channel, and unread bytes would reset the
                // connection.
                transport.reportRead(bytes);
                readFailed = false;
                channel.pipeline().fireChannelRead(piece);
            }
        } while (handle.continueReading() && !received.isEmpty() && channel.isOpen());
        handle.readComplete();
        channel.pipeline().fireChannelReadComplete();
    }

    /**
     * Returns the maximum size of a merged message. The handle's guess limits it only if the user has set a receive
     * allocator or a number of messages per read.
     */
    @SuppressWarnings("deprecation") // as above
    private int limitBytes(RecvByteBufAllocator.Handle handle) {
        return settings.isLimited() ? Math.max(1, handle.guess()) : Integer.MAX_VALUE;
    }

    @SuppressWarnings("deprecation") // as above
    private static void report(RecvByteBufAllocator.Handle handle, int bytes,
                               boolean attemptReported) {
        if (!attemptReported) {
            handle.attemptedBytesRead(bytes);
        }
        handle.lastBytesRead(bytes);
        handle.incMessagesRead(1);
    }

    /** Copies received bytes into one buffer. The buffer has the allocator and size that a NIO channel would use. */
    @SuppressWarnings("deprecation") // as above
    private ByteBuf copyForUser(StreamReceiveQueue received, RecvByteBufAllocator.Handle handle) {
        ByteBuf copy = handle.allocate(channel.alloc());
        try {
            copy.ensureWritable(1);
            handle.attemptedBytesRead(copy.writableBytes());
            while (copy.isWritable() && !received.isEmpty()) {
                copyInProgress = true;
                ByteBuf piece = received.poll(copy.writableBytes());
                try {
                    copy.writeBytes(piece);
                } finally {
                    piece.release();
                }
            }
        } catch (Throwable e) {
            copy.release();
            throw e;
        }
        copyInProgress = false;
        return copy;
    }

    private boolean hasEnd() {
        return inputFinished && !endReported || failure != null;
    }

    private void reportEnd() {
        if (failure != null) {
            // As with epoll, an error is reported even while reads are paused.
            IOException cause = failure;
            failure = null;
            endReported = true;
            channel.pipeline().fireChannelReadComplete();
            channel.pipeline().fireExceptionCaught(cause);
            if (!shutdown && channel.isOpen() && channel.config().isAllowHalfClosure()) {
                // As with NIO and epoll, the channel stays open until the user closes it or a write fails.
                shutdown = true;
                channel.pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
                channel.pipeline().fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
            } else {
                closeChannel();
            }
        } else if (inputFinished && !endReported) {
            reportFinished();
        }
    }

    /**
     * Reports the end of the stream after all bytes were read. As with epoll, it is reported even while reads are
     * paused. It completes the pending read without a message.
     */
    private void reportFinished() {
        readPending = false;
        boolean alreadyShutdown = shutdown;
        if (alreadyShutdown) {
            endReported = true;
            if (!channel.config().isAllowHalfClosure()) {
                // The user has shut down the input. NIO and epoll stop reading then, so they do not report an end.
                return;
            }
        } else {
            shutdown = channel.config().isAllowHalfClosure();
        }
        channel.pipeline().fireChannelReadComplete();
        if (alreadyShutdown) {
            channel.pipeline().fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
        } else if (shutdown) {
            channel.pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
            schedule();
        } else {
            closeChannel();
        }
    }

    private void schedule() {
        if (!scheduled) {
            scheduled = true;
            channel.eventLoop().execute(this::runScheduledRead);
        }
    }

    private void closeChannel() {
        channel.unsafe().close(channel.unsafe().voidPromise());
    }

    public boolean isShutdown() {
        return shutdown;
    }

    /** Shuts down the input. Queued and later bytes are dropped. */
    public void shutdown() {
        shutdown = true;
        inputFinished = true;
        if (isAttached()) {
            connection.transport().shutdownInput();
            drop(connection.transport());
        }
        schedule();
    }

    /** Withdraws the pending read. Also called when the channel closes; its transport then drops unread bytes. */
    public void stopReading() {
        readPending = false;
    }
}
