package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.VerbsLayouts.CqLayout;
import java.util.Arrays;

/**
 * A completion event channel ({@code struct ibv_comp_channel}). Its descriptor becomes readable when an armed
 * completion queue receives a completion, so that a thread can sleep instead of polling:
 * <pre>{@code
 * queue.requestNotification(false);
 * if (queue.poll(64, wcArray) == 0) {
 *     // wait until channel.fd() is readable, for example with epoll
 *     while (channel.pollEvent()) { }
 * }
 * }</pre>
 *
 * <p>Only one thread may take events. Stop that thread before you close the channel or one of its queues.
 */
public final class CompletionChannel extends VerbsObject {
    private final VerbsContext context;
    private final int fd;
    /** Output buffer of {@code ibv_get_cq_event}: the completion queue and its cookie, 8 bytes each. */
    private final long eventOut;
    /**
     * The queues of this channel. Copied on write under the lifecycle lock, so that {@link #pollEvent} needs no
     * lock.
     */
    private volatile CompletionQueue[] queues = {};

    CompletionChannel(VerbsContext context, long channel) {
        super(context.lifecycle, channel, context);
        this.context = context;
        fd = NativeMemory.getInt(channel + CqLayout.COMP_CHANNEL_FD_OFFSET);
        eventOut = Libc.allocateZeroed(2 * Long.BYTES);
        VerbsException.check("fcntl", Libc.setNonBlocking(fd), "O_NONBLOCK on the completion channel");
    }

    /** Returns the descriptor that becomes readable when an event is pending. The descriptor is non-blocking. */
    public int fd() {
        return fd;
    }

    /**
     * Takes one pending event and counts it on its completion queue, which acknowledges events in batches.
     *
     * <p>An event disarms its queue and carries no other information: poll all queues of the channel after it.
     *
     * @return false if no event is pending
     */
    public boolean pollEvent() {
        int errno = NativeCall.status(context.library.getCqEvent, nativeAddress(), eventOut, eventOut + Long.BYTES);
        if (errno != 0) {
            if (errno == Errno.EAGAIN || errno == Errno.EINTR) {
                return false;
            }
            throw VerbsException.of("ibv_get_cq_event", errno, context.deviceName());
        }
        long cq = NativeMemory.getLong(eventOut);
        for (CompletionQueue queue : queues) {
            if (queue.address == cq) {
                queue.countEvent();
                return true;
            }
        }
        throw new IllegalStateException("the completion channel of " + context.deviceName()
                + " reported a completion queue that was not created on it");
    }

    void add(CompletionQueue queue) {
        CompletionQueue[] next = Arrays.copyOf(queues, queues.length + 1);
        next[queues.length] = queue;
        queues = next;
    }

    void remove(CompletionQueue queue) {
        queues = Arrays.stream(queues).filter(q -> q != queue).toArray(CompletionQueue[]::new);
    }

    @Override
    int destroy(long channel) {
        return NativeCall.status(context.library.destroyCompChannel, channel);
    }

    @Override
    void afterDestroy(long channel) {
        Libc.free(eventOut);
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_comp_channel";
    }
}
