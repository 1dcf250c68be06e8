package io.rdmaraw.queue;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.Wc;

/**
 * Sends through libibverbs. The work requests of a burst stay in native memory, linked to each other, and each burst
 * uses them again. For most contiguous frames only address, length, lkey and ID are written. The last request of a
 * burst gets another link and other flags. Frames with several parts and TSO sends get another list of elements or
 * another opcode. All of these are restored after posting. The checksum flag of a request stays until a frame with a
 * different flag uses the request.
 */
final class VerbsSendRing extends SendRing {
    private static final int POLL_ENTRIES = 32;
    private static final int ELEMENT_WORDS = Sge.SIZE_BYTES / Long.BYTES;
    private static final int ADDRESS_WORD = Sge.ADDR_OFFSET / Long.BYTES;
    private static final int LENGTH_AND_LKEY_WORD = Sge.LENGTH_OFFSET / Long.BYTES;

    private final QueuePair queuePair;
    private final Runnable deregisterVerbsSender;
    private final CompletionQueue completionQueue;
    private final long workRequests;
    /**
     * One element per request, which suffices for most frames. They are adjacent, so that they share cache
     * lines.
     */
    private final long singleElements;
    /** The elements of the current burst, on the heap. Copied to {@link #singleElements} when the burst is posted. */
    private final long[] elementWords = new long[FrameQueue.MAX_BURST_FRAMES * ELEMENT_WORDS];
    /** Arrays of {@link #maxSge} elements per request, for frames with several parts. */
    private final long elementLists;
    private final long badWorkRequest;
    private final long workCompletions;
    /** Bit mask of the described requests that use {@link #elementLists}. */
    private long gatheredMask;
    /** Bit mask of the described requests that are TSO sends. */
    private long tsoMask;
    /** Bit mask of the described requests for which the device computes the checksums. */
    private long checksumMask;
    /**
     * Set if no completion will release the frames that the device accepted last: they did not request one, and the
     * device refused the later frame that did. Each frame of the next burst then requests one.
     */
    private boolean completionPending;
    /**
     * Bit mask of the requests with the checksum flag set in native memory. The flag stays set until the
     * request is used for a frame without it.
     */
    private long nativeChecksumMask;

    VerbsSendRing(QueuePairResources queues) {
        super(queues);
        queuePair = queues.queuePair();
        deregisterVerbsSender = DirectRingDrivers.registerVerbsSender(queues.setup().device().context(), queuePair);
        completionQueue = queues.sendCompletionQueue();
        NativeArena arena = queues.arena();
        int maxSge = maxSge();
        workRequests = arena.allocate(FrameQueue.MAX_BURST_FRAMES * SendWr.SIZE_BYTES);
        singleElements = arena.allocate(FrameQueue.MAX_BURST_FRAMES * Sge.SIZE_BYTES);
        elementLists = arena.allocate((long) FrameQueue.MAX_BURST_FRAMES * maxSge * Sge.SIZE_BYTES);
        badWorkRequest = arena.allocate(Long.BYTES);
        workCompletions = arena.allocate(POLL_ENTRIES * Wc.SIZE_BYTES);
        for (int i = 0; i < FrameQueue.MAX_BURST_FRAMES; i++) {
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
        return index + 1 == FrameQueue.MAX_BURST_FRAMES ? 0 : workRequest(index + 1);
    }

    private int flagsOf(int index) {
        return (index % SIGNAL_INTERVAL == SIGNAL_INTERVAL - 1 ? SendWr.FLAG_SIGNALED : 0)
                | ((nativeChecksumMask >>> index & 1) != 0 ? SendWr.FLAG_IP_CSUM : 0);
    }

    @Override
    protected void describe(int index, long address, int lengthBytes, int lkey) {
        int words = index * ELEMENT_WORDS;
        elementWords[words + ADDRESS_WORD] = address;
        elementWords[words + LENGTH_AND_LKEY_WORD] = Sge.lengthAndLkey(lengthBytes, lkey);
    }

    @Override
    protected void describeWithChecksums(int index, long address, int lengthBytes, int lkey) {
        describe(index, address, lengthBytes, lkey);
        checksumMask |= 1L << index;
    }

    @Override
    protected long sgeListAddress(int index) {
        return elementLists + (long) index * maxSge() * Sge.SIZE_BYTES;
    }

    @Override
    protected void describeParts(int index, int elementCount, boolean fillChecksums) {
        long wr = workRequest(index);
        SendWr.sgList(wr, sgeListAddress(index));
        SendWr.numSge(wr, elementCount);
        if (fillChecksums) {
            checksumMask |= 1L << index;
        }
        gatheredMask |= 1L << index;
    }

    @Override
    protected void describeTso(int index, long headersAddress, int headerBytes, int segmentBytes,
            int elementCount) {
        long wr = workRequest(index);
        SendWr.opcode(wr, SendWr.OPCODE_TSO);
        SendWr.tsoHdr(wr, headersAddress);
        SendWr.tsoHeaderLengthBytes(wr, (short) headerBytes);
        SendWr.tsoMss(wr, (short) segmentBytes);
        describeParts(index, elementCount, true);
        tsoMask |= 1L << index;
    }

    @Override
    protected long postDescribed(int count) {
        if (Long.bitCount(gatheredMask) < count) {
            NativeMemory.putLongs(singleElements, elementWords, count * ELEMENT_WORDS);
        }
        setFlags(count);
        int last = count - 1;
        long lastWr = workRequest(last);
        SendWr.next(lastWr, 0);
        signal(completionPending ? 0 : last, last);
        // Frames that request no completion also get an ID: if the queue fails, each has a completion and must be
        // counted once.
        for (int i = 0; i < count; i++) {
            SendWr.wrId(workRequest(i), sequenceOf(i));
        }
        int errno = queuePair.postSend(workRequests, badWorkRequest);
        long refused = errno == 0 ? 0 : postAroundRefused(errno, count);
        SendWr.next(lastWr, nextOf(last));
        for (int i = completionPending ? 0 : last; i < count; i++) {
            SendWr.sendFlags(workRequest(i), flagsOf(i));
        }
        completionPending = refused != 0 && hasPendingCompletion(refused, count);
        restoreSingleElements();
        return refused;
    }

    /** Sets the completion flag of requests. */
    private void signal(int first, int last) {
        for (int i = first; i <= last; i++) {
            SendWr.sendFlags(workRequest(i), flagsOf(i) | SendWr.FLAG_SIGNALED);
        }
    }

    /**
     * Returns the new value of {@link #completionPending} after a burst with refused frames. The last accepted frame
     * requested a completion if it was the last one of the burst or of a signal interval, or if all frames of the burst
     * did. If no frame was accepted, nothing has changed.
     */
    private boolean hasPendingCompletion(long refused, int count) {
        int acceptedEnd = Long.SIZE - Long.numberOfLeadingZeros(~refused & -1L >>> Long.SIZE - count);
        if (acceptedEnd == 0) {
            return completionPending;
        }
        return !completionPending && acceptedEnd < count && acceptedEnd % SIGNAL_INTERVAL != 0;
    }

    /** Updates the flags of requests that were last used for another kind of frame. */
    private void setFlags(int count) {
        long changed = (checksumMask ^ nativeChecksumMask) & -1L >>> Long.SIZE - count;
        nativeChecksumMask ^= changed;
        checksumMask = 0;
        for (long rest = changed; rest != 0; rest &= rest - 1) {
            int index = Long.numberOfTrailingZeros(rest);
            SendWr.sendFlags(workRequest(index), flagsOf(index));
        }
    }

    /** Restores the element and the opcode of requests that were used for frames with parts and for TSO sends. */
    private void restoreSingleElements() {
        for (long rest = gatheredMask; rest != 0; rest &= rest - 1) {
            int index = Long.numberOfTrailingZeros(rest);
            SendWr.sgList(workRequest(index), singleElement(index));
            SendWr.numSge(workRequest(index), 1);
        }
        gatheredMask = 0;
        for (long rest = tsoMask; rest != 0; rest &= rest - 1) {
            SendWr.opcode(workRequest(Long.numberOfTrailingZeros(rest)), SendWr.OPCODE_SEND);
        }
        tsoMask = 0;
    }

    /** Posts the frames after each refused one, so that only the refused frame is lost. */
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
            polled = completionQueue.poll(POLL_ENTRIES, workCompletions);
            for (int i = 0; i < polled; i++) {
                long wc = workCompletions + (long) i * Wc.SIZE_BYTES;
                released += complete(Wc.wrId(wc), Wc.status(wc), 1);
            }
        } while (polled == POLL_ENTRIES);
        return released;
    }

    @Override
    protected void arm() {
        completionQueue.requestNotification(false);
    }

    @Override
    protected void afterReset() {
        // libibverbs removes the completions of the queue pair during the reset. A provider may leave some, which
        // refer to frames that are released anyway.
        reclaim();
    }

    @Override
    protected void afterDestroy() {
        deregisterVerbsSender.run();
    }
}
