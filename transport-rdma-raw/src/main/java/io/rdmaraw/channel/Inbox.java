package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.ReferenceCountUtil;

import java.util.ArrayDeque;

/**
 * Hands what was received to the pipeline while the user reads, and keeps it otherwise. For the loop's thread.
 *
 * @param <M> what one read is of
 */
abstract class Inbox<M> {
    private final Channel channel;
    /** Made when first needed: most channels read what comes at once. */
    private ArrayDeque<M> backlog;
    private long backlogBytes;
    private boolean readPending;
    private boolean backlogScheduled;
    private boolean inBurst;
    private int burstMessages;
    private int burstBytes;

    Inbox(Channel channel) {
        this.channel = channel;
    }

    abstract int bytesOf(M message);

    /** Tells whether one more message may be queued until a read. */
    abstract boolean hasRoom(M message, int keptMessages, long keptBytes);

    /** Notes that there was no room for a message, or no open channel any more. */
    abstract void countDropped();

    /** Notes what one burst brought. */
    abstract void count(int messages, int bytes);

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
        return readPending && (!backlogScheduled || inBurst);
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
            return first;
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

    private boolean take(M message) {
        inBurst = true;
        burstMessages++;
        burstBytes += bytesOf(message);
        return deliver(message);
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

    final void endBurst() {
        inBurst = false;
        finishBurst();
        int messages = burstMessages;
        int bytes = burstBytes;
        burstMessages = 0;
        burstBytes = 0;
        count(messages, bytes);
        RuntimeException failure = reportRead(messages, bytes);
        channel.pipeline().fireChannelReadComplete();
        if (failure != null) {
            channel.pipeline().fireExceptionCaught(failure);
        }
    }

    /**
     * Receive buffers are posted beforehand, so the allocator's handle is only told what came.
     *
     * @return what the allocator, which is the user's, threw; or null
     */
    @SuppressWarnings("deprecation") // RecvByteBufAllocator is replaced in Netty 5 only
    private RuntimeException reportRead(int messages, int bytes) {
        try {
            RecvByteBufAllocator.Handle handle = channel.unsafe().recvBufAllocHandle();
            handle.reset(channel.config());
            handle.incMessagesRead(messages);
            handle.lastBytesRead(bytes);
            handle.readComplete();
            return null;
        } catch (RuntimeException e) {
            return e;
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
            more = take(message);
        }
        if (inBurst) {
            endBurst();
        }
        if (readPending && !hasBacklog()) {
            backlogRead();
        }
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
