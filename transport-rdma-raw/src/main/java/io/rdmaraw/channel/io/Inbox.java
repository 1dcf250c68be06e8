package io.rdmaraw.channel.io;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AbstractChannel;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.UncheckedBooleanSupplier;

import java.util.ArrayDeque;
import java.util.function.Consumer;

/**
 * Fires received messages into the pipeline while the user reads, and queues them otherwise. Messages that find no room
 * in the queue are dropped and counted. Used on the loop's thread only.
 *
 * @param <M> the type of a message
 */
@SuppressWarnings("deprecation") // RecvByteBufAllocator.Handle is replaced in Netty 5 only
public abstract class Inbox<M> {
    private final AbstractChannel channel;
    private final ReadSettings settings;
    /** Created on first use, because most channels read messages immediately. */
    private ArrayDeque<M> backlog;
    private long backlogBytes;
    private boolean readPending;
    /** Whether {@link #leaveLoop} found a pending read. */
    private boolean readSuspended;
    private boolean backlogScheduled;
    private boolean inBurst;
    private int burstMessages;
    private int burstBytes;
    /** Whether the user's handle limits the burst. */
    private boolean userLimitsBurst;
    /** Exception thrown by the user's allocator or handle in this burst; null if there is none. */
    private Throwable allocatorFailure;

    protected Inbox(AbstractChannel channel, ReadSettings settings) {
        this.channel = channel;
        this.settings = settings;
    }

    protected abstract int bytesOf(M message);

    /** Returns whether another message may be queued. */
    protected abstract boolean hasRoom(M message, int queuedMessages, long queuedBytes);

    /** Counts a message that was dropped because the queue was full or the channel closed. */
    protected abstract void countDropped();

    /** Counts the messages of a burst. */
    protected abstract void countReceived(int messages, int bytes);

    /**
     * Returns a copy of a message in a buffer of the channel's allocator and releases the original. Called if that
     * allocator is not this transport's.
     */
    protected M copyForUser(M message) {
        return message;
    }

    /** Counts a message that was dropped because the user's allocator had no buffer. */
    protected void countAllocationFailure() {
    }

    /**
     * Returns content in a buffer of the channel's allocator, and takes over the reference to the given content. A new
     * buffer has the size that the user's handle proposes, but at least that of the content, which must not be
     * truncated.
     */
    protected final ByteBuf copyContentForUser(ByteBuf content) {
        ByteBufAllocator allocator = settings.allocator();
        if (content.alloc() == allocator) {
            return content;
        }
        int minBytes = userLimitsBurst ? channel.unsafe().recvBufAllocHandle().guess() : 1;
        ByteBuf copy = allocator.ioBuffer(Math.max(minBytes, content.readableBytes()));
        try {
            copy.writeBytes(content);
        } catch (Throwable e) {
            copy.release();
            throw e;
        }
        content.release();
        return copy;
    }

    /** Fires a message. Returns false if no further message may be added to this burst. */
    protected boolean deliver(M message) {
        completeReadRequest();
        channel.pipeline().fireChannelRead(message);
        return true;
    }

    /** Called before a message is fired. Without auto-read, the message completes the pending read. */
    protected final void completeReadRequest() {
        if (!settings.isAutoRead()) {
            readPending = false;
        }
    }

    /** Called at the end of a burst, before {@code channelReadComplete}. */
    protected void beforeReadComplete() {
    }

    /** Called when the user reads and the queue is empty. */
    protected void reportPendingError() {
    }

    /** Returns whether {@link #reportPendingError} has work. */
    protected boolean hasPendingError() {
        return false;
    }

    /** Returns whether a message received now is fired immediately instead of queued. */
    public final boolean firesImmediately() {
        return readPending && !hasBacklog() && (!backlogScheduled || inBurst);
    }

    /** Returns whether messages received now can be fired without per-message checks. */
    public final boolean allowsUncheckedReads() {
        return firesImmediately() && settings.allowsUncheckedReads() && settings.isAutoRead();
    }

    /**
     * Begins a burst, which lasts until {@link #endBurst()}. The caller fires messages itself and counts them with
     * {@link #countInBurst}.
     */
    public final void beginBurst() {
        inBurst = true;
    }

    /** Adds messages that the caller has fired itself to the counters of the burst. Negative numbers remove some. */
    public final void countInBurst(int messages, int bytes) {
        burstMessages += messages;
        burstBytes += bytes;
    }

    /** Fires, queues or drops a message. Returns true for the first message of a burst that is still open. */
    public final boolean receive(M message) {
        if (firesImmediately()) {
            boolean first = !inBurst;
            fireMessage(message);
            if (userLimitsBurst && !continueReading()) {
                endBurst();
            }
            return first && inBurst;
        }
        if (channel.isOpen() && hasRoom(message, queuedMessages(), backlogBytes)) {
            enqueue(message);
        } else {
            countDropped();
            discard(message);
        }
        return false;
    }

    private void enqueue(M message) {
        if (backlog == null) {
            backlog = new ArrayDeque<>();
        }
        backlog.add(message);
        backlogBytes += bytesOf(message);
    }

    /** Releases a message that will not be read. */
    protected void discard(M message) {
        ReferenceCountUtil.release(message);
    }

    /**
     * Fires a message. Kept short, so that the JIT compiler can inline it up to the handler. A message that does not
     * escape needs no allocation then.
     */
    private boolean fireMessage(M message) {
        if (!inBurst) {
            beginLimitedBurst();
        }
        int bytes = bytesOf(message);
        if (userLimitsBurst || settings.isCopying()) {
            return readMessage(message, bytes);
        }
        burstMessages++;
        burstBytes += bytes;
        return deliver(message);
    }

    /** Begins a burst of messages that are checked one by one. The user's handle limits it if a read limit is set. */
    private void beginLimitedBurst() {
        inBurst = true;
        userLimitsBurst = settings.isLimited();
        if (userLimitsBurst) {
            callHandle(handle -> handle.reset(channel.config()));
        }
    }

    @SuppressWarnings("deprecation") // RecvByteBufAllocator.Handle, as above
    private boolean readMessage(M message, int bytes) {
        M delivered = message;
        if (settings.isCopying()) {
            try {
                delivered = copyForUser(message);
            } catch (Throwable e) {
                countAllocationFailure();
                discard(message);
                // Reported once at the end of the burst, so that a sender cannot determine the number of reports.
                allocatorFailure = e;
                return true;
            }
        }
        burstMessages++;
        burstBytes += bytes;
        if (userLimitsBurst) {
            callHandle(handle -> {
                handle.attemptedBytesRead(bytes);
                handle.lastBytesRead(bytes);
                handle.incMessagesRead(1);
            });
        }
        return deliver(delivered);
    }

    private void callHandle(Consumer<RecvByteBufAllocator.Handle> event) {
        try {
            event.accept(channel.unsafe().recvBufAllocHandle());
        } catch (Throwable e) {
            allocatorFailure = e;
        }
    }

    /** Returns whether the user's handle permits another message before {@code channelReadComplete}. */
    private boolean continueReading() {
        try {
            RecvByteBufAllocator.Handle handle = channel.unsafe().recvBufAllocHandle();
            // The size of a message does not indicate whether another one follows, so the handle must not conclude
            // that.
            return handle instanceof RecvByteBufAllocator.ExtendedHandle extended
                    ? extended.continueReading(UncheckedBooleanSupplier.TRUE_SUPPLIER) : handle.continueReading();
        } catch (Throwable e) {
            allocatorFailure = e;
            return false;
        }
    }

    public final boolean isInBurst() {
        return inBurst;
    }

    protected final boolean isReadPending() {
        return readPending;
    }

    protected final int queuedMessages() {
        return backlog == null ? 0 : backlog.size();
    }

    protected final boolean hasBacklog() {
        return backlog != null && !backlog.isEmpty();
    }

    /** Ends the burst. Has no effect if the user's handle has ended it. */
    public final void endBurst() {
        if (!inBurst) {
            return;
        }
        inBurst = false;
        beforeReadComplete();
        int messages = burstMessages;
        int bytes = burstBytes;
        burstMessages = 0;
        burstBytes = 0;
        countReceived(messages, bytes);
        reportRead(messages, bytes);
        Throwable failure = allocatorFailure;
        allocatorFailure = null;
        channel.pipeline().fireChannelReadComplete();
        if (failure != null) {
            channel.pipeline().fireExceptionCaught(failure);
        }
    }

    /**
     * Reports the burst to the user's handle. If the user has not limited reads, the handle only receives the totals.
     */
    @SuppressWarnings("deprecation") // as above
    private void reportRead(int messages, int bytes) {
        boolean limited = userLimitsBurst;
        userLimitsBurst = false;
        try {
            RecvByteBufAllocator.Handle handle = channel.unsafe().recvBufAllocHandle();
            if (!limited) {
                handle.reset(channel.config());
                handle.incMessagesRead(messages);
                handle.lastBytesRead(bytes);
            }
            handle.readComplete();
        } catch (Throwable e) {
            allocatorFailure = e;
        }
    }

    /** Starts a read. */
    public void beginRead() {
        readPending = true;
        scheduleDelivery();
    }

    /** Schedules the delivery of queued messages if a read is pending. */
    protected final void scheduleDelivery() {
        if (readPending && (hasBacklog() || hasPendingError()) && !backlogScheduled) {
            backlogScheduled = true;
            channel.eventLoop().execute(this::readBacklog);
        }
    }

    /** Suspends reads because the channel leaves its loop. Messages are queued until it joins another loop. */
    public void leaveLoop() {
        readSuspended |= readPending;
        readPending = false;
    }

    /** Resumes the suspended reads on the loop that the channel has joined. */
    public void joinLoop() {
        backlogScheduled = false;
        readPending |= readSuspended;
        readSuspended = false;
        scheduleDelivery();
    }

    private void readBacklog() {
        if (!channel.isRegistered() || !channel.eventLoop().inEventLoop()) {
            // The channel has left this loop. Its state belongs to the new loop.
            return;
        }
        backlogScheduled = false;
        boolean more = true;
        while (more && readPending && hasBacklog()) {
            M message = backlog.poll();
            backlogBytes -= bytesOf(message);
            more = fireMessage(message) && (!userLimitsBurst || continueReading());
        }
        if (inBurst) {
            endBurst();
        }
        if (readPending && !hasBacklog()) {
            reportPendingError();
        }
        // The user's limit may have ended this turn early. A handler that does not call read() itself would not
        // continue.
        scheduleDelivery();
    }

    /** Withdraws the pending read. */
    public void stopReading() {
        readPending = false;
        readSuspended = false;
    }

    /** Drops all queued messages. Returns their number. */
    public int close() {
        readPending = false;
        int dropped = queuedMessages();
        dropBacklog();
        return dropped;
    }

    /** Drops all queued messages. Returns the number of their bytes. */
    protected final long dropBacklog() {
        long bytes = backlogBytes;
        while (hasBacklog()) {
            discard(backlog.poll());
        }
        backlogBytes = 0;
        return bytes;
    }
}
