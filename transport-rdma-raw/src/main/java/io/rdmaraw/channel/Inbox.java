package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.UncheckedBooleanSupplier;

import java.util.ArrayDeque;
import java.util.function.Consumer;

/**
 * Hands what was received to the pipeline while the user reads, and keeps it otherwise. For the loop's thread.
 *
 * @param <M> what one read is of
 */
@SuppressWarnings("deprecation") // RecvByteBufAllocator.Handle is replaced in Netty 5 only
abstract class Inbox<M> {
    private final AbstractRdmaRawChannel channel;
    /** Made when first needed: most channels read what comes at once. */
    private ArrayDeque<M> backlog;
    private long backlogBytes;
    private boolean readPending;
    private boolean backlogScheduled;
    private boolean inBurst;
    private int burstMessages;
    private int burstBytes;
    /** Whether the user's handle says when the burst ends. */
    private boolean burstAsSet;
    /** What the allocator, which is the user's, threw in this burst; or null. */
    private Throwable handleFailure;

    Inbox(AbstractRdmaRawChannel channel) {
        this.channel = channel;
    }

    abstract int bytesOf(M message);

    /** Tells whether one more message may be queued until a read. */
    abstract boolean hasRoom(M message, int keptMessages, long keptBytes);

    /** Notes that there was no room for a message, or no open channel any more. */
    abstract void countDropped();

    /** Notes what one burst brought. */
    abstract void count(int messages, int bytes);

    /**
     * Returns what the pipeline gets in a message's place, with its reference, where the channel's allocator is not of
     * this transport: a copy in a buffer of that.
     */
    M copied(M message) {
        return message;
    }

    /** Notes a message that the user's allocator had no buffer for. */
    void countUnallocated() {
    }

    /**
     * Copies content, whose reference it takes, into a buffer of the channel's allocator if it is not in one. The
     * buffer is as large as the user's handle wants it; never smaller than the content, which would be cut.
     */
    final ByteBuf copiedContent(ByteBuf content) {
        ByteBufAllocator allocator = channel.config().getAllocator();
        if (content.alloc() == allocator) {
            return content;
        }
        int leastBytes = burstAsSet ? channel.unsafe().recvBufAllocHandle().guess() : 1;
        ByteBuf copy = allocator.ioBuffer(Math.max(leastBytes, content.readableBytes()));
        try {
            copy.writeBytes(content);
        } catch (RuntimeException e) {
            copy.release();
            throw e;
        }
        content.release();
        return copy;
    }

    /** Takes a message that is read; false if no further one can be before the burst ends. */
    boolean deliver(M message) {
        oneRead();
        channel.pipeline().fireChannelRead(message);
        return true;
    }

    /** The pipeline is about to get a message: without auto-read it is the only one until the user reads again. */
    final void oneRead() {
        if (!channel.config().isAutoRead()) {
            readPending = false;
        }
    }

    /** Called at a burst's end before {@code channelReadComplete}. */
    void finishBurst() {
    }

    /** Called when the user reads and everything kept has been handed on. */
    void backlogRead() {
    }

    /** Tells whether {@link #backlogRead} has something to do. */
    boolean hasMore() {
        return false;
    }

    /** Tells whether what is received now goes on to the pipeline and is not kept. */
    final boolean takesNow() {
        return readPending && !hasBacklog() && (!backlogScheduled || inBurst);
    }

    /** Tells whether what is received now goes on to the pipeline as it came, without a look at each message. */
    final boolean takesRuns() {
        return takesNow() && channel.config().takesRuns() && channel.config().isAutoRead();
    }

    /** Messages are handed on until {@link #endBurst()}; {@link #taken} counts them. */
    final void beginBurst() {
        inBurst = true;
    }

    final void taken(int messages, int bytes) {
        burstMessages += messages;
        burstBytes += bytes;
    }

    /** Takes a message; returns true for the first that is handed on since {@link #endBurst()}. */
    final boolean receive(M message) {
        if (takesNow()) {
            boolean first = !inBurst;
            take(message);
            if (burstAsSet && !continueReading()) {
                endBurst();
            }
            return first && inBurst;
        }
        if (channel.isOpen() && hasRoom(message, keptMessages(), backlogBytes)) {
            keep(message);
        } else {
            countDropped();
            discard(message);
        }
        return false;
    }

    private void keep(M message) {
        if (backlog == null) {
            backlog = new ArrayDeque<>();
        }
        backlog.add(message);
        backlogBytes += bytesOf(message);
    }

    /** Releases a message that will not be read. */
    void discard(M message) {
        ReferenceCountUtil.release(message);
    }

    /** Short, so that the compiler sees through it to the pipeline: a message that ends there needs no memory then. */
    private boolean take(M message) {
        if (!inBurst) {
            startBurst();
        }
        int bytes = bytesOf(message);
        if (burstAsSet || channel.config().copiesReceived()) {
            return takeAsUserHasSet(message, bytes);
        }
        burstMessages++;
        burstBytes += bytes;
        return deliver(message);
    }

    private void startBurst() {
        inBurst = true;
        burstAsSet = channel.config().readsAsSet();
        if (burstAsSet) {
            tellHandle(handle -> handle.reset(channel.config()));
        }
    }

    @SuppressWarnings("deprecation") // the handle's type, which Channel.Unsafe returns
    private boolean takeAsUserHasSet(M message, int bytes) {
        M given = message;
        if (channel.config().copiesReceived()) {
            try {
                given = copied(message);
            } catch (RuntimeException | OutOfMemoryError e) {
                countUnallocated();
                discard(message);
                // Told once, when the burst ends: a sender must not choose how often.
                handleFailure = e;
                return true;
            }
        }
        burstMessages++;
        burstBytes += bytes;
        if (burstAsSet) {
            tellHandle(handle -> {
                handle.attemptedBytesRead(bytes);
                handle.lastBytesRead(bytes);
                handle.incMessagesRead(1);
            });
        }
        return deliver(given);
    }

    private void tellHandle(Consumer<RecvByteBufAllocator.Handle> event) {
        try {
            event.accept(channel.unsafe().recvBufAllocHandle());
        } catch (RuntimeException e) {
            handleFailure = e;
        }
    }

    /** Asks the user's handle whether more may come before {@code channelReadComplete}. */
    private boolean continueReading() {
        try {
            RecvByteBufAllocator.Handle handle = channel.unsafe().recvBufAllocHandle();
            // A message says nothing about whether there is another, however short it is.
            return handle instanceof RecvByteBufAllocator.ExtendedHandle extended
                    ? extended.continueReading(UncheckedBooleanSupplier.TRUE_SUPPLIER) : handle.continueReading();
        } catch (RuntimeException e) {
            handleFailure = e;
            return false;
        }
    }

    final boolean isInBurst() {
        return inBurst;
    }

    final boolean isReadPending() {
        return readPending;
    }

    final int keptMessages() {
        return backlog == null ? 0 : backlog.size();
    }

    final boolean hasBacklog() {
        return backlog != null && !backlog.isEmpty();
    }

    /** The burst is over, unless the user's handle has ended it before. */
    final void endBurst() {
        if (!inBurst) {
            return;
        }
        inBurst = false;
        finishBurst();
        int messages = burstMessages;
        int bytes = burstBytes;
        burstMessages = 0;
        burstBytes = 0;
        count(messages, bytes);
        reportRead(messages, bytes);
        Throwable failure = handleFailure;
        handleFailure = null;
        channel.pipeline().fireChannelReadComplete();
        if (failure != null) {
            channel.pipeline().fireExceptionCaught(failure);
        }
    }

    /** Unless the user has said how much is read at a time, the handle is only told what came. */
    @SuppressWarnings("deprecation") // as above
    private void reportRead(int messages, int bytes) {
        boolean told = burstAsSet;
        burstAsSet = false;
        try {
            RecvByteBufAllocator.Handle handle = channel.unsafe().recvBufAllocHandle();
            if (!told) {
                handle.reset(channel.config());
                handle.incMessagesRead(messages);
                handle.lastBytesRead(bytes);
            }
            handle.readComplete();
        } catch (RuntimeException e) {
            handleFailure = e;
        }
    }

    /** The user reads. */
    final void beginRead() {
        readPending = true;
        schedule();
    }

    /** Has what is kept handed on soon if the user reads. */
    final void schedule() {
        if (readPending && (hasBacklog() || hasMore()) && !backlogScheduled) {
            backlogScheduled = true;
            channel.eventLoop().execute(this::readBacklog);
        }
    }

    /** The channel is on another loop now: what was to be read is read there. */
    final void joinedLoop() {
        backlogScheduled = false;
        schedule();
    }

    private void readBacklog() {
        if (!channel.isRegistered() || !channel.eventLoop().inEventLoop()) {
            // The channel has left this loop since; nothing of it may be touched here.
            return;
        }
        backlogScheduled = false;
        boolean more = true;
        while (more && readPending && hasBacklog()) {
            M message = backlog.poll();
            backlogBytes -= bytesOf(message);
            more = take(message) && (!burstAsSet || continueReading());
        }
        if (inBurst) {
            endBurst();
        }
        if (readPending && !hasBacklog()) {
            backlogRead();
        }
        // The user's limit may have ended this turn, and a handler that keeps back its read() asks for no other.
        schedule();
    }

    /** The user reads no more. */
    final void stopReading() {
        readPending = false;
    }

    /** Drops what is kept; returns how many messages that were. */
    int close() {
        readPending = false;
        int dropped = keptMessages();
        dropBacklog();
        return dropped;
    }

    /** Drops what is kept; returns how many bytes that were. */
    final long dropBacklog() {
        long bytes = backlogBytes;
        while (hasBacklog()) {
            discard(backlog.poll());
        }
        backlogBytes = 0;
        return bytes;
    }
}
