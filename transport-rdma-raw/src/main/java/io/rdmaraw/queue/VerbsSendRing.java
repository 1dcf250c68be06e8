package io.rdmaraw.queue;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.SendWr;
import io.rdmaraw.verbs.Wc;
import io.rdmaraw.verbs.abi.Sge;

/**
 * Sending by the calls of libibverbs. The work requests of a burst lie in native memory for ever, linked to one
 * another; sending a frame writes its address, length and key.
 */
final class VerbsSendRing extends SendRing {
    private static final int POLL_ENTRIES = 32;
    private static final int ELEMENT_WORDS = Sge.SIZE_BYTES / Long.BYTES;
    private static final int ADDRESS_WORD = Sge.ADDR_OFFSET / Long.BYTES;
    private static final int LENGTH_AND_LKEY_WORD = Sge.LENGTH_OFFSET / Long.BYTES;

    private final QueuePair queuePair;
    private final Runnable endOfCalls;
    private final CompletionQueue completions;
    private final long workRequests;
    /** One element for each request: all that most frames need, side by side so that they share cache lines. */
    private final long singleElements;
    /** What {@link #singleElements} are to hold, copied there when a burst is posted. */
    private final long[] elementWords = new long[FrameQueue.BURST_FRAMES * ELEMENT_WORDS];
    /** As many elements as a frame may have for each request, used where one does not do. */
    private final long elementLists;
    private final long badWorkRequest;
    private final long workCompletions;
    /** A bit for each described request that does not have the one element of its own. */
    private long inParts;
    /** A bit for each of those that are segmented. */
    private long segmented;
    /** A bit for each described request whose checksums the device is to fill in. */
    private long toFill;
    /**
     * The device has frames behind the last one that asked for a completion, since those that were to ask were refused.
     */
    private boolean completionOwed;
    /** A bit for each request that says so: it goes on saying so until it is used for another frame that does not. */
    private long filling;

    VerbsSendRing(QueuePairResources queues) {
        super(queues);
        queuePair = queues.queuePair();
        endOfCalls = DirectRingsRegistry.noteCalls(queues.setup().device().context(), queuePair);
        completions = queues.sendCompletions();
        NativeArena arrays = queues.arrays();
        int maxSge = maxSge();
        workRequests = arrays.allocate(FrameQueue.BURST_FRAMES * SendWr.SIZE_BYTES);
        singleElements = arrays.allocate(FrameQueue.BURST_FRAMES * Sge.SIZE_BYTES);
        elementLists = arrays.allocate((long) FrameQueue.BURST_FRAMES * maxSge * Sge.SIZE_BYTES);
        badWorkRequest = arrays.allocate(Long.BYTES);
        workCompletions = arrays.allocate(POLL_ENTRIES * Wc.SIZE_BYTES);
        for (int i = 0; i < FrameQueue.BURST_FRAMES; i++) {
            long wr = workRequest(i);
            SendWr.opcode(wr, SendWr.OPCODE_SEND);
            SendWr.sgList(wr, singleElement(i));
            SendWr.numSge(wr, 1);
            SendWr.next(wr, nextOf(i));
            SendWr.sendFlags(wr, flagsOf(i));
        }
    }

    private long workRequest(int index) {
        return workRequests + (long) index * SendWr.SIZE_BYTES;
    }

    private long singleElement(int index) {
        return singleElements + (long) index * Sge.SIZE_BYTES;
    }

    private long nextOf(int index) {
        return index + 1 == FrameQueue.BURST_FRAMES ? 0 : workRequest(index + 1);
    }

    private int flagsOf(int index) {
        return (index % SIGNAL_INTERVAL == SIGNAL_INTERVAL - 1 ? SendWr.FLAG_SIGNALED : 0)
                | ((filling >>> index & 1) != 0 ? SendWr.FLAG_IP_CSUM : 0);
    }

    @Override
    protected void describe(int index, long address, int lengthBytes, int lkey) {
        int words = index * ELEMENT_WORDS;
        elementWords[words + ADDRESS_WORD] = address;
        elementWords[words + LENGTH_AND_LKEY_WORD] = Sge.lengthAndLkey(lengthBytes, lkey);
    }

    @Override
    protected void describeFilled(int index, long address, int lengthBytes, int lkey) {
        describe(index, address, lengthBytes, lkey);
        toFill |= 1L << index;
    }

    @Override
    protected long elementsOf(int index) {
        return elementLists + (long) index * maxSge() * Sge.SIZE_BYTES;
    }

    @Override
    protected void describeParts(int index, int elementCount, boolean fillChecksums) {
        long wr = workRequest(index);
        SendWr.sgList(wr, elementsOf(index));
        SendWr.numSge(wr, elementCount);
        if (fillChecksums) {
            toFill |= 1L << index;
        }
        inParts |= 1L << index;
    }

    @Override
    protected void describeSegmented(int index, long headersAddress, int headerBytes, int segmentBytes,
            int elementCount) {
        long wr = workRequest(index);
        SendWr.opcode(wr, SendWr.OPCODE_TSO);
        SendWr.tsoHdr(wr, headersAddress);
        SendWr.tsoHeaderLengthBytes(wr, (short) headerBytes);
        SendWr.tsoMss(wr, (short) segmentBytes);
        describeParts(index, elementCount, true);
        segmented |= 1L << index;
    }

    @Override
    protected long postDescribed(int count) {
        if (Long.bitCount(inParts) < count) {
            NativeMemory.putLongs(singleElements, elementWords, count * ELEMENT_WORDS);
        }
        setFlags(count);
        int last = count - 1;
        long lastWr = workRequest(last);
        SendWr.next(lastWr, 0);
        signal(completionOwed ? 0 : last, last);
        // Also those that ask for no completion: when the queue fails each has one, and is to be counted once.
        for (int i = 0; i < count; i++) {
            SendWr.wrId(workRequest(i), sequenceOf(i));
        }
        int errno = queuePair.postSend(workRequests, badWorkRequest);
        long refused = errno == 0 ? 0 : postAroundRefused(errno, count);
        SendWr.next(lastWr, nextOf(last));
        for (int i = completionOwed ? 0 : last; i < count; i++) {
            SendWr.sendFlags(workRequest(i), flagsOf(i));
        }
        completionOwed = refused != 0 && owesCompletion(refused, count);
        restoreInParts();
        return refused;
    }

    /** Has each of these requests ask for a completion. */
    private void signal(int first, int last) {
        for (int i = first; i <= last; i++) {
            SendWr.sendFlags(workRequest(i), flagsOf(i) | SendWr.FLAG_SIGNALED);
        }
    }

    /** A refused frame gets no completion, and those that are posted before it cannot ask for one any more. */
    private boolean owesCompletion(long refused, int count) {
        int taken = Long.SIZE - Long.numberOfLeadingZeros(~refused & -1L >>> Long.SIZE - count);
        if (taken == 0) {
            return completionOwed;
        }
        return !completionOwed && taken < count && taken % SIGNAL_INTERVAL != 0;
    }

    /** Writes the flags of requests that were used for another kind of frame before. */
    private void setFlags(int count) {
        long changed = (toFill ^ filling) & -1L >>> Long.SIZE - count;
        filling ^= changed;
        toFill = 0;
        for (long rest = changed; rest != 0; rest &= rest - 1) {
            int index = Long.numberOfTrailingZeros(rest);
            SendWr.sendFlags(workRequest(index), flagsOf(index));
        }
    }

    /** Requests that had several elements have one again. */
    private void restoreInParts() {
        for (long rest = inParts; rest != 0; rest &= rest - 1) {
            int index = Long.numberOfTrailingZeros(rest);
            SendWr.sgList(workRequest(index), singleElement(index));
            SendWr.numSge(workRequest(index), 1);
        }
        inParts = 0;
        for (long rest = segmented; rest != 0; rest &= rest - 1) {
            SendWr.opcode(workRequest(Long.numberOfTrailingZeros(rest)), SendWr.OPCODE_SEND);
        }
        segmented = 0;
    }

    /** Goes on behind each frame that the device refuses, so that one bad frame costs only itself. */
    private long postAroundRefused(int firstErrno, int count) {
        long refused = 0;
        int errno = firstErrno;
        while (errno != 0) {
            countRefused(1, errno);
            int bad = (int) ((NativeMemory.getLong(badWorkRequest) - workRequests) / SendWr.SIZE_BYTES);
            refused |= 1L << bad;
            errno = bad + 1 == count ? 0 : queuePair.postSend(workRequest(bad + 1), badWorkRequest);
        }
        return refused;
    }

    @Override
    protected int pollCompletions() {
        int released = 0;
        int polled;
        do {
            polled = completions.poll(POLL_ENTRIES, workCompletions);
            for (int i = 0; i < polled; i++) {
                long wc = workCompletions + (long) i * Wc.SIZE_BYTES;
                released += complete(Wc.wrId(wc), Wc.status(wc), 1);
            }
        } while (polled == POLL_ENTRIES);
        return released;
    }

    @Override
    protected void arm() {
        completions.requestNotification(false);
    }

    @Override
    protected void afterReset() {
        // libibverbs takes the queue pair's completions out of the queue at the reset; what a provider leaves behind is
        // polled here and names frames that are released anyway.
        reclaim();
    }

    @Override
    protected void afterDestroy() {
        endOfCalls.run();
    }
}
