package io.rdmaraw.verbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.CqLayout;
import java.util.Arrays;

/**
 * A completion event channel ({@code struct ibv_comp_channel}): its descriptor becomes readable when an armed
 * completion queue gets a completion. One thread takes the events; it must be stopped before the channel or its queues
 * are closed.
 */
public final class CompletionChannel extends VerbsObject {
    private final VerbsContext context;
    private final int fd;
    /** Where ibv_get_cq_event puts the completion queue and its cookie. */
    private final long eventOut;
    /** Replaced, never changed, under the lifecycle lock. */
    private volatile CompletionQueue[] queues = {};

    CompletionChannel(VerbsContext context, long channel) {
        super(context.lifecycle, channel, context);
        this.context = context;
        fd = NativeMemory.getInt(channel + CqLayout.COMP_CHANNEL_FD_OFFSET);
        eventOut = Libc.allocateZeroed(2 * Long.BYTES);
        VerbsException.check("fcntl", Libc.setNonBlocking(fd), "O_NONBLOCK on the completion channel");
    }

    /** Returns the descriptor to wait on; it does not block. */
    public int fd() {
        return fd;
    }

    /**
     * Takes one event, when there is one. The queue that sent it acknowledges it later, in batches. An event says no
     * more than: poll. It disarms its queue.
     *
     * @return whether there was an event
     */
    public boolean pollEvent() {
        int errno = NativeCall.status(context.library.getCqEvent, openAddress(), eventOut, eventOut + Long.BYTES);
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
    void released(long channel) {
        Libc.free(eventOut);
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_comp_channel";
    }
}
