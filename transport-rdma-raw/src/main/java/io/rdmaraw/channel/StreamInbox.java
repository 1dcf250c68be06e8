package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;

import java.io.IOException;
import java.util.ArrayDeque;

/**
 * The bytes that a socket channel received and their end: the peer's FIN or the error that ended the connection. Bytes
 * count as read, and open the receive window, when the pipeline gets them. For the loop's thread, except
 * {@link #isShutdown()} and {@link #autoReadCleared()}.
 */
final class StreamInbox {
    private static final int MAX_MERGED_BYTES = 1 << 16;
    private static final int MAX_COPIED_BYTES = 1024;
    /** Behind so many pieces that nobody reads, small ones share memory. */
    private static final int MOST_SEPARATE_PIECES = 32;
    private static final int SHARED_BYTES = 4096;

    private final RdmaRawSocketChannel channel;
    /** What the user has not read; made when first needed. */
    private ArrayDeque<ByteBuf> pieces;
    /** Where small pieces share memory, as long as it is the last of all. */
    private ByteBuf shared;
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

    /** Takes what came in, hands it on if the user reads, and then the end if there is one. */
    void receiveFrom(StreamCarrier carrier) {
        ByteBuf piece;
        while ((piece = carrier.poll()) != null) {
            if (shutdown) {
                carrier.read(piece.readableBytes());
                piece.release();
            } else {
                add(piece);
            }
        }
        if (carrier.isPeerFinished()) {
            finished = true;
        }
        if (!endReported) {
            failure = carrier.failure();
        }
        read();
    }

    private void add(ByteBuf piece) {
        if (pieces == null) {
            pieces = new ArrayDeque<>(4);
        }
        if (pieces.size() < MOST_SEPARATE_PIECES || piece.readableBytes() >= MAX_COPIED_BYTES) {
            pieces.add(piece);
        } else {
            addToShared(piece);
        }
    }

    /**
     * A peer may send many tiny segments to a reader who is behind. Each would hold more than it brings, and the window
     * counts bytes: so what the window has promised to take would not be taken.
     */
    private void addToShared(ByteBuf piece) {
        if (shared == null || shared != pieces.peekLast() || shared.writableBytes() < piece.readableBytes()) {
            shared = ByteBufAllocator.DEFAULT.directBuffer(SHARED_BYTES, SHARED_BYTES);
            pieces.add(shared);
        } else {
            channel.carrier().pieceJoined();
        }
        shared.writeBytes(piece);
        piece.release();
    }

    private boolean hasBytes() {
        return pieces != null && !pieces.isEmpty();
    }

    /** The user reads. */
    void beginRead() {
        readPending = true;
        if (!reading && (hasBytes() || hasEnd())) {
            schedule();
        }
    }

    /** The channel is on another loop now, and will hear there of what was to be read. */
    void joinedLoop() {
        scheduled = false;
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
        if (reading || !channel.isOpen() || !channel.carrier().isAttached()) {
            return;
        }
        StreamCarrier carrier = channel.carrier();
        boolean outer = carrier.beginReading();
        reading = true;
        try {
            while (readPending && hasBytes() && channel.isOpen()) {
                readOnce();
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            // An allocator, which is the user's. Bytes may be lost, so the stream cannot go on.
            channel.pipeline().fireExceptionCaught(e);
            closeChannel();
        } finally {
            reading = false;
            carrier.endReading(outer);
        }
        if (!hasBytes() && channel.isOpen()) {
            reportEnd();
        }
    }

    /** As many messages as the user's allocator wants to have between two {@code channelReadComplete}s. */
    @SuppressWarnings("deprecation") // RecvByteBufAllocator is replaced in Netty 5 only
    private void readOnce() {
        RecvByteBufAllocator.Handle handle = channel.unsafe().recvBufAllocHandle();
        handle.reset(channel.config());
        // Buffers are posted beforehand and not allocated here; a size that the user has set still holds.
        boolean anySize = channel.config().getRecvByteBufAllocator() instanceof AdaptiveRecvByteBufAllocator;
        do {
            ByteBuf piece = anySize ? takeMerged() : take(Math.max(1, handle.guess()));
            int bytes = piece.readableBytes();
            readPending = false;
            handle.attemptedBytesRead(bytes);
            handle.lastBytesRead(bytes);
            handle.incMessagesRead(1);
            // Before the handler sees it: it may close the channel, and unread bytes would then reset the connection.
            channel.carrier().read(bytes);
            channel.pipeline().fireChannelRead(piece);
        } while (hasBytes() && channel.isOpen() && handle.continueReading());
        handle.readComplete();
        channel.pipeline().fireChannelReadComplete();
    }

    private ByteBuf take(int limitBytes) {
        ByteBuf piece = pieces.peek();
        return piece.readableBytes() <= limitBytes ? pieces.poll() : piece.readRetainedSlice(limitBytes);
    }

    /** What has come in so far as one message: handlers are called once for it. */
    private ByteBuf takeMerged() {
        ByteBuf first = pieces.poll();
        if (pieces.isEmpty()) {
            return first;
        }
        int bytes = first.readableBytes();
        int count = 1;
        for (ByteBuf piece : pieces) {
            if (bytes + piece.readableBytes() > MAX_MERGED_BYTES) {
                break;
            }
            bytes += piece.readableBytes();
            count++;
        }
        return bytes <= MAX_COPIED_BYTES ? copied(first, count, bytes) : composed(first, count);
    }

    /** Small pieces are put together in one buffer, which also gives their slots back. */
    private ByteBuf copied(ByteBuf first, int count, int bytes) {
        ByteBuf merged = channel.alloc().directBuffer(bytes).writeBytes(first);
        first.release();
        for (int i = 1; i < count; i++) {
            ByteBuf piece = pieces.poll();
            merged.writeBytes(piece);
            piece.release();
        }
        return merged;
    }

    private ByteBuf composed(ByteBuf first, int count) {
        if (count == 1) {
            return first;
        }
        CompositeByteBuf merged = channel.alloc().compositeBuffer(count).addComponent(true, first);
        for (int i = 1; i < count; i++) {
            merged.addComponent(true, pieces.poll());
        }
        return merged;
    }

    private boolean hasEnd() {
        return finished && !endReported || failure != null;
    }

    private void reportEnd() {
        if (failure != null) {
            // As epoll does: an error is told even when nobody reads.
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
     * Everything was read, and there is no more: as epoll does, that is told even when nobody reads. Counts as a read
     * without a message.
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
        while (hasBytes()) {
            ByteBuf piece = pieces.poll();
            channel.carrier().read(piece.readableBytes());
            piece.release();
        }
        schedule();
    }

    /** Auto-read was switched off; any thread. */
    void autoReadCleared() {
        if (!channel.isRegistered() || channel.eventLoop().inEventLoop()) {
            readPending = false;
        } else {
            channel.eventLoop().execute(() -> {
                if (!channel.config().isAutoRead()) {
                    readPending = false;
                }
            });
        }
    }

    /** Drops what nobody has read. */
    void close() {
        readPending = false;
        while (hasBytes()) {
            pieces.poll().release();
        }
    }
}
