package io.rdmaraw.verbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.CqLayout;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A completion queue ({@code struct ibv_cq}). Polling from several threads is safe in the provider, but each gets some
 * of the completions; normally one thread owns it.
 */
public final class CompletionQueue extends VerbsObject {
    /** How many events may stay unacknowledged: an acknowledgement takes a mutex, so it is done in batches. */
    private static final int MAX_UNACKNOWLEDGED_EVENTS = 1024;

    final VerbsContext context;
    private final CompletionChannel channel;
    private final MemorySegment pollFunction;
    private int unacknowledgedEvents;
    private int eventsTaken;

    CompletionQueue(VerbsContext context, CompletionChannel channelOrNull, long cq, VerbsObject... alsoUses) {
        super(context.lifecycle, cq, uses(context, channelOrNull, alsoUses));
        this.context = context;
        channel = channelOrNull;
        pollFunction = context.pollCqFunction;
        context.eventSources.put(cq, this);
        if (channelOrNull != null) {
            channelOrNull.add(this);
        }
    }

    private static VerbsObject[] uses(VerbsContext context, CompletionChannel channelOrNull, VerbsObject[] others) {
        VerbsObject[] uses = Arrays.copyOf(others, others.length + (channelOrNull == null ? 1 : 2));
        uses[others.length] = context;
        if (channelOrNull != null) {
            uses[others.length + 1] = channelOrNull;
        }
        return uses;
    }

    /**
     * Takes completions. Hot: allocates nothing, does not block.
     *
     * @param wcArrayAddress room for {@code maxEntries} {@link Wc} structures
     * @return how many were taken; less than {@code maxEntries} says that the queue is now empty
     * @throws VerbsException when the queue has overrun or the device has failed
     */
    public int poll(int maxEntries, long wcArrayAddress) {
        long cq = address;
        if (cq == 0) {
            throw closed();
        }
        int count = HotCalls.poll(pollFunction, cq, maxEntries, wcArrayAddress);
        if (count < 0 || count > maxEntries) {
            throw pollFailed(count);
        }
        return count;
    }

    /**
     * Arms the queue: the next completion sends one event to the channel. Completions that are there already need not
     * send one, so poll once more before sleeping. Hot.
     *
     * @param solicitedOnly only for solicited completions and errors
     */
    public void requestNotification(boolean solicitedOnly) {
        long cq = address;
        if (cq == 0) {
            throw closed();
        }
        int errno = HotCalls.requestNotification(context.requestNotificationFunction, cq, solicitedOnly ? 1 : 0);
        if (errno != 0) {
            throw VerbsException.of("ibv_req_notify_cq", Math.abs(errno), "");
        }
    }

    /** Returns how many completions the queue holds, at least what was asked for. */
    public int capacity() {
        return NativeMemory.getInt(openAddress() + CqLayout.CQE_OFFSET);
    }

    /** Changes the capacity; completions in the queue are kept. */
    public void resize(int minEntries) {
        VerbsException.check("ibv_resize_cq", NativeCall.status(context.library.resizeCq, openAddress(), minEntries),
                minEntries + " entries");
    }

    /** Counts an event taken from the channel; see {@link CompletionChannel#pollEvent}. */
    void countEvent() {
        eventsTaken++;
        if (++unacknowledgedEvents == MAX_UNACKNOWLEDGED_EVENTS) {
            acknowledgeEvents(address);
        }
    }

    /**
     * Returns how many events of this queue were taken from its channel, modulo 2^32; needed by code that arms the
     * queue itself.
     */
    public int eventsTaken() {
        return eventsTaken;
    }

    private void acknowledgeEvents(long cq) {
        int count = unacknowledgedEvents;
        unacknowledgedEvents = 0;
        if (count > 0) {
            NativeCall.status(context.library.ackCqEvents, cq, count);
        }
    }

    private static VerbsException pollFailed(int result) {
        // The call promises no more than a negative number; providers do not put an error number there. One whose
        // queues cannot be polled so (libibverbs' dummy_ops.c) returns EOPNOTSUPP as a positive one.
        return VerbsException.of("ibv_poll_cq", Errno.EIO, "result " + result);
    }

    @Override
    int destroy(long cq) {
        // Otherwise the destroy call would wait for the acknowledgement forever.
        acknowledgeEvents(cq);
        return NativeCall.status(context.library.destroyCq, cq);
    }

    @Override
    void released(long cq) {
        context.eventSources.remove(cq, this);
        if (channel != null) {
            channel.remove(this);
        }
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_cq";
    }
}
