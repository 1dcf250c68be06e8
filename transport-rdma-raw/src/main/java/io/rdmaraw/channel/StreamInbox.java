package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.rdmaraw.tcp.stack.ReceivedPieces;
import io.rdmaraw.tcp.stack.StreamTransport;
import io.rdmaraw.tcp.stack.TcpStackStatistics;

import java.io.IOException;

/**
 * Hands the bytes that a socket channel's transport has received to the pipeline while the user reads, and then their
 * end: the peer's FIN or the error that ended the connection. Bytes count as read, and open the receive window, when
 * the pipeline gets them. For the loop's thread, except {@link #isShutdown()}.
 */
final class StreamInbox {
    private final RdmaRawSocketChannel channel;
    private boolean readPending;
    private boolean reading;
    private boolean scheduled;
    private boolean finished;
    private IOException failure;
    private volatile boolean shutdown;
    private boolean endReported;

    StreamInbox(RdmaRawSocketChannel channel) {
        this.channel = channel;
    }

    /** Hands on what came in if the user reads, and then the end if there is one. */
    void transportChanged(StreamTransport transport) {
        if (shutdown) {
            drop(transport);
        }
        if (transport.isPeerFinished()) {
            finished = true;
        }
        if (!endReported) {
            failure = transport.failure();
        }
        read();
    }

    private static void drop(StreamTransport transport) {
        if (!transport.received().isEmpty()) {
            transport.read(transport.received().drop());
        }
    }

    private boolean hasBytes() {
        return !channel.transport().received().isEmpty();
    }

    /** The user reads. */
    void beginRead() {
        readPending = true;
        if (!reading && (hasEnd() || isAttached() && hasBytes())) {
            schedule();
        }
    }

    /** The channel is on another loop now, and will hear there of what was to be read. */
    void joinedLoop() {
        scheduled = false;
    }

    /** Tells whether the transport is on this loop: while the channel moves, what was received belongs to another. */
    private boolean isAttached() {
        StreamTransport transport = channel.transport();
        return transport != null && transport.isAttached();
    }

    private void readScheduled() {
        if (!channel.isRegistered() || !channel.eventLoop().inEventLoop()) {
            // The channel has left this loop since; nothing of it may be touched here.
            return;
        }
        scheduled = false;
        read();
    }

    private void read() {
        if (reading || !channel.isOpen() || !isAttached()) {
            return;
        }
        StreamTransport transport = channel.transport();
        boolean outer = transport.beginReading();
        reading = true;
        try {
            ReceivedPieces received = transport.received();
            while (readPending && !received.isEmpty() && channel.isOpen()) {
                readOnce(transport, received);
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            // The user's allocator or handle. Bytes may be lost, so the stream cannot go on.
            channel.pipeline().fireChannelReadComplete();
            channel.pipeline().fireExceptionCaught(e);
            closeChannel();
        } finally {
            reading = false;
            transport.endReading(outer);
        }
        if (!hasBytes() && channel.isOpen()) {
            reportEnd();
        }
    }

    /** As many messages as the user's allocator wants to have between two {@code channelReadComplete}s. */
    @SuppressWarnings("deprecation") // RecvByteBufAllocator is replaced in Netty 5 only
    private void readOnce(StreamTransport transport, ReceivedPieces received) {
        RecvByteBufAllocator.Handle handle = channel.unsafe().recvBufAllocHandle();
        handle.reset(channel.config());
        // Buffers are posted beforehand and not allocated here; a size that the user has set still holds.
        boolean anySize = channel.config().getRecvByteBufAllocator() instanceof AdaptiveRecvByteBufAllocator;
        boolean copies = channel.config().copiesReceived() && transport.lendsSlots();
        TcpStackStatistics counters = channel.loopStack().counters();
        do {
            ByteBuf piece;
            if (copies) {
                piece = copied(received, handle);
                counters.copiedForAllocator++;
            } else {
                piece = anySize ? received.takeMerged(channel.alloc()) : received.take(Math.max(1, handle.guess()));
            }
            int bytes = piece.readableBytes();
            readPending = false;
            tell(handle, piece, copies);
            // Before the handler sees it: it may close the channel, and unread bytes would then reset the connection.
            transport.read(bytes);
            channel.pipeline().fireChannelRead(piece);
        } while (!received.isEmpty() && channel.isOpen() && handle.continueReading());
        handle.readComplete();
        channel.pipeline().fireChannelReadComplete();
    }

    /** The handle is the user's: what it throws must not cost a buffer. */
    @SuppressWarnings("deprecation") // as above
    private static void tell(RecvByteBufAllocator.Handle handle, ByteBuf piece, boolean attempted) {
        try {
            if (!attempted) {
                handle.attemptedBytesRead(piece.readableBytes());
            }
            handle.lastBytesRead(piece.readableBytes());
            handle.incMessagesRead(1);
        } catch (RuntimeException e) {
            piece.release();
            throw e;
        }
    }

    /** As much as one buffer holds, of the allocator and the size that a NIO channel would read into. */
    @SuppressWarnings("deprecation") // as above
    private ByteBuf copied(ReceivedPieces received, RecvByteBufAllocator.Handle handle) {
        ByteBuf copy = handle.allocate(channel.alloc());
        try {
            copy.ensureWritable(1);
            handle.attemptedBytesRead(copy.writableBytes());
            while (copy.isWritable() && !received.isEmpty()) {
                ByteBuf piece = received.take(copy.writableBytes());
                try {
                    copy.writeBytes(piece);
                } finally {
                    piece.release();
                }
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            copy.release();
            throw e;
        }
        return copy;
    }

    private boolean hasEnd() {
        return finished && !endReported || failure != null;
    }

    private void reportEnd() {
        if (failure != null) {
            // As epoll does: an error is reported even while reads are paused.
            IOException cause = failure;
            failure = null;
            endReported = true;
            channel.pipeline().fireExceptionCaught(cause);
            closeChannel();
        } else if (finished && !endReported) {
            reportFinished();
        }
    }

    /**
     * Everything was read, and there is no more: as with epoll, that is reported even while reads are paused. Counts as
     * a read without a message.
     */
    private void reportFinished() {
        readPending = false;
        boolean again = shutdown;
        if (again) {
            endReported = true;
        } else {
            shutdown = channel.config().isAllowHalfClosure();
        }
        channel.pipeline().fireChannelReadComplete();
        if (again) {
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
            channel.eventLoop().execute(this::readScheduled);
        }
    }

    private void closeChannel() {
        channel.unsafe().close(channel.unsafe().voidPromise());
    }

    boolean isShutdown() {
        return shutdown;
    }

    /** The user wants no more bytes: what is there and what comes is dropped. */
    void shutdown() {
        shutdown = true;
        finished = true;
        if (isAttached()) {
            drop(channel.transport());
        }
        schedule();
    }

    /** The user reads no more, or the channel is closed; then its transport drops what was not read. */
    void stopReading() {
        readPending = false;
    }
}
