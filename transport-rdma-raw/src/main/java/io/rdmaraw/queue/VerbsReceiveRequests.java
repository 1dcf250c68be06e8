package io.rdmaraw.queue;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.objects.ReceiveWr;

/**
 * Receive requests posted through libibverbs. Several queues share a completion queue and are distinguished by
 * the work request IDs.
 */
final class VerbsReceiveRequests extends SlotReceiveRequests {
    /** The queue that requests are posted to. */
    interface Target {
        /** Posts a linked list of {@link ReceiveWr} structures and returns 0 or the error number. */
        int postReceive(long firstWrAddress, long badWrPointerAddress);
    }

    private static final int WR_ID_PREFIX_SHIFT = 32;
    private static final int RESET_COUNT_SHIFT = 2;
    private static final int WR_ID_PREFIX_MASK = 0x7fffffff;
    private static final int REQUEST_WORDS = ReceiveWr.SIZE_BYTES / Long.BYTES;
    private static final int ID_WORD = ReceiveWr.WR_ID_OFFSET / Long.BYTES;
    private static final int ELEMENT_WORDS = Sge.SIZE_BYTES / Long.BYTES;
    private static final int ADDRESS_WORD = Sge.ADDR_OFFSET / Long.BYTES;

    private final Target target;
    private final long workRequests;
    private final long scatterList;
    /** Copies of {@link #workRequests} and {@link #scatterList} on the heap, transferred when a batch is posted. */
    private final long[] requestWords = new long[MAX_BATCH * REQUEST_WORDS];
    private final long[] elementWords = new long[MAX_BATCH * ELEMENT_WORDS];
    private final long badWorkRequest;
    /** The posted slots, so that they can be taken back after a reset. */
    private final boolean[] postedSlots;
    /**
     * Upper half of each work request ID: the queue number and the number of resets. It identifies completions
     * of requests posted before a reset.
     */
    private long wrIdPrefix;

    /**
     * @param queueNumber 0 to 3, different for each receive queue of the frame queue
     */
    VerbsReceiveRequests(int queueNumber, Target target, SlotPool slots, QueueCounters counters, int depth,
                        NativeArena arena) {
        this(queueNumber, target, slots, counters, depth, false, arena);
    }

    /** Creates requests of the pool's chunks, for GSO frames. */
    static VerbsReceiveRequests ofGso(int queueNumber, Target target, SlotPool slots, QueueCounters counters,
                                         NativeArena arena) {
        return new VerbsReceiveRequests(queueNumber, target, slots, counters, GsoReception.DEPTH, true, arena);
    }

    private VerbsReceiveRequests(int queueNumber, Target target, SlotPool slots, QueueCounters counters, int depth,
                                 boolean isGso, NativeArena arena) {
        super(slots, counters, depth, isGso);
        wrIdPrefix = queueNumber;
        this.target = target;
        postedSlots = new boolean[slots.bufferCount()];
        workRequests = arena.allocate(MAX_BATCH * ReceiveWr.SIZE_BYTES);
        scatterList = arena.allocate(MAX_BATCH * Sge.SIZE_BYTES);
        badWorkRequest = arena.allocate(Long.BYTES);
        int receiveBytes = isGso ? slots.strideLayout().chunkBytes() : slots.slotCapacityBytes();
        for (int i = 0; i < MAX_BATCH; i++) {
            long wr = workRequest(i);
            long sge = scatterList + (long) i * Sge.SIZE_BYTES;
            ReceiveWr.sgList(wr, sge);
            ReceiveWr.numSge(wr, 1);
            ReceiveWr.next(wr, nextOf(i));
            Sge.length(sge, receiveBytes);
            Sge.lkey(sge, slots.lkey());
        }
        NativeMemory.getLongs(workRequests, requestWords);
        NativeMemory.getLongs(scatterList, elementWords);
    }

    /** Returns the native memory that an instance allocates from its {@link NativeArena}. */
    static long nativeBytes() {
        // With space for alignment to cache lines.
        return MAX_BATCH * (ReceiveWr.SIZE_BYTES + Sge.SIZE_BYTES) + 256L;
    }

    private long workRequest(int index) {
        return workRequests + (long) index * ReceiveWr.SIZE_BYTES;
    }

    private long nextOf(int index) {
        return index + 1 == MAX_BATCH ? 0 : workRequest(index + 1);
    }

    /** Returns whether a completion belongs to these requests. */
    boolean ownsRequest(long wrId) {
        return wrId >>> WR_ID_PREFIX_SHIFT == wrIdPrefix;
    }

    /** Handles a completion of one of these requests and returns its slot. */
    int complete(long wrId) {
        int slotIndex = (int) wrId;
        postedSlots[slotIndex] = false;
        recordCompletion();
        return slotIndex;
    }

    @Override
    protected void describe(int index, FrameBuf slot) {
        requestWords[index * REQUEST_WORDS + ID_WORD] = wrIdPrefix << WR_ID_PREFIX_SHIFT | slot.slotIndex();
        elementWords[index * ELEMENT_WORDS + ADDRESS_WORD] = slot.slotAddress();
        postedSlots[slot.slotIndex()] = true;
    }

    @Override
    protected int postDescribed(int count) {
        NativeMemory.putLongs(workRequests, requestWords, count * REQUEST_WORDS);
        NativeMemory.putLongs(scatterList, elementWords, count * ELEMENT_WORDS);
        ReceiveWr.next(workRequest(count - 1), 0);
        int errno = target.postReceive(workRequests, badWorkRequest);
        if (errno == 0) {
            return count;
        }
        int bad = (int) ((NativeMemory.getLong(badWorkRequest) - workRequests) / ReceiveWr.SIZE_BYTES);
        for (int i = bad; i < count; i++) {
            reclaimPosted((int) ReceiveWr.wrId(workRequest(i)));
        }
        return bad;
    }

    private void reclaimPosted(int slotIndex) {
        postedSlots[slotIndex] = false;
        reclaim(slotIndex);
    }

    @Override
    protected void reclaimAll() {
        for (int i = 0; i < postedSlots.length; i++) {
            if (postedSlots[i]) {
                reclaimPosted(i);
            }
        }
        wrIdPrefix = wrIdPrefix + (1L << RESET_COUNT_SHIFT) & WR_ID_PREFIX_MASK;
    }
}
