package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.VerbsLayouts.CqLayout;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A completion queue ({@code struct ibv_cq}). Usually one thread owns a queue. Concurrent polling is safe, but
 * each thread then receives only a part of the completions.
 */
public final class CompletionQueue extends VerbsObject {
    /**
     * Maximum number of unacknowledged events. {@code ibv_ack_cq_events} locks a mutex, so events are
     * acknowledged in batches.
     */
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
     * Polls for completions. Hot path: does not allocate and does not wait for completions.
     *
     * @param maxEntries     maximum number of completions to return
     * @param wcArrayAddress address of an array of {@code maxEntries} {@link Wc} structures
     * @return the number of completions written; if less than {@code maxEntries}, the queue is empty
     * @throws VerbsException if the queue has overrun or the device has failed
     */
    public int poll(int maxEntries, long wcArrayAddress) {
        long cq = address;
        if (cq == 0) {
            throw closedException();
        }
        int count = HotCalls.poll(pollFunction, cq, maxEntries, wcArrayAddress);
        if (count < 0 || count > maxEntries) {
            throw pollFailed(count);
        }
        return count;
    }

    /**
     * Arms the queue: the next completion sends one event to the channel. Hot path.
     *
     * <p>Completions that are already in the queue may not send an event. Therefore poll once more after
     * arming, and sleep only if the queue is still empty.
     *
     * @param solicitedOnly whether only solicited completions and errors send the event
     */
    public void requestNotification(boolean solicitedOnly) {
        long cq = address;
        if (cq == 0) {
            throw closedException();
        }
        int errno = HotCalls.requestNotification(context.requestNotificationFunction, cq, solicitedOnly ? 1 : 0);
        if (errno != 0) {
            throw VerbsException.of("ibv_req_notify_cq", Math.abs(errno), "");
        }
    }

    /** Returns the capacity in completions. It may exceed the requested number. */
    public int capacity() {
        return NativeMemory.getInt(nativeAddress() + CqLayout.CQE_OFFSET);
    }

    /**
     * Changes the capacity. Completions in the queue are preserved.
     *
     * @param minEntries the new capacity; the device may round it up
     */
    public void resize(int minEntries) {
        VerbsException.check("ibv_resize_cq", NativeCall.status(context.library.resizeCq, nativeAddress(), minEntries),
                minEntries + " entries");
    }

    /** Counts an event that {@link CompletionChannel#pollEvent} took for this queue. */
    void countEvent() {
        eventsTaken++;
        if (++unacknowledgedEvents == MAX_UNACKNOWLEDGED_EVENTS) {
            acknowledgeEvents(address);
        }
    }

    /**
     * Returns the number of events taken for this queue, modulo 2^32. Code that arms the queue without
     * libibverbs writes this number to the doorbell.
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
        // ibv_poll_cq guarantees only a negative result, not an error number. libibverbs' stub for providers
        // without polling (dummy_ops.c) returns a positive EOPNOTSUPP.
        return VerbsException.of("ibv_poll_cq", Errno.EIO, "result " + result);
    }

    @Override
    int destroy(long cq) {
        // ibv_destroy_cq blocks until all events are acknowledged.
        acknowledgeEvents(cq);
        return NativeCall.status(context.library.destroyCq, cq);
    }

    @Override
    void afterDestroy(long cq) {
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
