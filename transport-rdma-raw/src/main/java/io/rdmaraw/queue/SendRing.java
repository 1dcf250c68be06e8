package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.WcStatus;

/**
 * The sending half of a {@link VerbsFrameQueue}: takes frames, keeps them as long as the device may read them, and
 * counts what becomes of them. How a frame is described to the device and how it reports back is the subclass's
 * concern.
 *
 * <p>Frames in flight are kept in a ring and released in order when the completion of one that was posted later (or
 * their own) is polled: only every {@link #SIGNAL_INTERVAL}th and the last of a burst ask for one.
 */
public abstract class SendRing {
    protected static final int SIGNAL_INTERVAL = 32;
    /** Least length of an Ethernet frame without FCS: IEEE 802.3, 64 octets with it. */
    private static final int MIN_FRAME_BYTES = 60;

    private final SlotPool slots;
    private final RegisteredRanges ranges;
    /** Of parts that lie in no registered memory, where the device sends them all the same. */
    private final long allMemoryLkey;
    private final ScatterGatherList elements;
    private final QueueCounters counters;
    private final int maxSge;
    private final FrameBuf padding;
    private final FramesInFlight frames;
    /** How long the parts are of each frame of the burst that has some; what the others' places hold means nothing. */
    private final int[] offeredPartsBytes = new int[FrameQueue.BURST_FRAMES];
    /** Sequence number of the next frame to be posted. */
    private long postedSequence;
    /** Sequence number of the oldest frame not known to be sent. */
    private long reclaimedSequence;
    private int offered;
    /** As many frames of the burst as there is room for in any case. */
    private int roomEnd;
    private long offeredBytes;
    private boolean failed;
    private boolean suspended;
    private int refusalErrno;

    protected SendRing(QueuePairResources queues) {
        padding = queues.padding();
        slots = queues.slots();
        ranges = queues.setup().device().registeredRanges();
        allMemoryLkey = queues.setup().device().allMemoryLkey();
        counters = queues.counters();
        elements = new ScatterGatherList(ranges, counters);
        maxSge = queues.setup().options().maxSendSge();
        frames = new FramesInFlight(slots, counters, queues.setup().options().sendQueueDepth(), maxSge);
        NativeMemory.fill(padding.slotAddress(), MIN_FRAME_BYTES, (byte) 0);
    }

    /** Describes a frame of the burst that lies in one piece. Hot. */
    protected abstract void describe(int index, long address, int lengthBytes, int lkey);

    /** Describes a frame that lies in one piece, and whose checksums the device fills in. Hot. */
    protected abstract void describeFilled(int index, long address, int lengthBytes, int lkey);

    /** Returns room for as many {@link Sge} structures as a frame may have, for the frame of the burst to come. */
    protected abstract long elementsOf(int index);

    /**
     * Describes a frame of the burst by the elements that were written to {@link #elementsOf}.
     *
     * @param fillChecksums whether the device fills in the checksums of IPv4, UDP and TCP
     */
    protected abstract void describeParts(int index, int elementCount, boolean fillChecksums);

    /**
     * Describes headers and the payload behind them, by its elements as {@link #describeParts} does, which the device
     * cuts into segments.
     *
     * @param headersAddress stays as it is until the completion
     */
    protected abstract void describeSegmented(int index, long headersAddress, int headerBytes, int segmentBytes,
                                    int elementCount);

    /**
     * Hands the frames described to the device. The last and every {@link #SIGNAL_INTERVAL}th of them gets a
     * completion.
     *
     * @return a bit for each that the device refused
     */
    protected abstract long postDescribed(int count);

    /**
     * Polls for completions and calls {@link #complete} for each.
     *
     * @return how many frames were released
     */
    protected abstract int pollCompletions();

    /** Asks for an event for the next completion. */
    protected abstract void arm();

    /** The queue pair was reset: what the device left behind is forgotten. */
    protected abstract void afterReset();

    /** The queue pair was destroyed: nothing is written for it any more. */
    protected void afterDestroy() {
        // The rings of libibverbs' calls go with their queue pair.
    }

    /** Takes no frames for the time being. */
    void suspend(boolean suspended) {
        this.suspended = suspended;
        roomEnd = 0;
    }

    int room() {
        if (suspended) {
            return 0;
        }
        int places = Math.min(frames.places() - inFlight(), FrameQueue.BURST_FRAMES);
        return Math.min(places - offered, ringRoom());
    }

    /** Returns how many frames of the longest kind the device's ring has room for. */
    protected int ringRoom() {
        return Integer.MAX_VALUE;
    }

    int inFlight() {
        return (int) (postedSequence - reclaimedSequence);
    }

    boolean failed() {
        return failed;
    }

    int refusalErrno() {
        return refusalErrno;
    }

    /** Returns the sequence number of a frame of the burst. */
    protected final long sequenceOf(int index) {
        return postedSequence + index;
    }

    /** Returns the sequence number of the oldest frame that is not known to be sent. */
    protected final long oldestSequence() {
        return reclaimedSequence;
    }

    protected final int maxSge() {
        return maxSge;
    }

    final void countRefused(int frames, int errno) {
        refusalErrno = errno;
        counters.refusedFrames += frames;
    }

    int offer(ByteBuf frame) {
        if (isFull()) {
            return FrameQueue.FULL;
        }
        if (frame instanceof FrameBuf slot && slots.owns(slot) && slot.isRegistered()) {
            int lengthBytes = slot.readableBytes();
            if (lengthBytes >= MIN_FRAME_BYTES) {
                offerSlot(slot, lengthBytes);
                return FrameQueue.ACCEPTED;
            }
        }
        return offerInParts(frame, frame.readableBytes());
    }

    /** Hot. */
    private void offerSlot(FrameBuf slot, int lengthBytes) {
        int index = offered;
        describe(index, slot.readableAddress(), lengthBytes, slot.lkey());
        frames.holdSlot(postedSequence + index, slot.slotIndex());
        offered = index + 1;
        offeredBytes += lengthBytes;
    }

    /** Tells whether there is room for no frame; counts what room there is once for many frames. */
    private boolean isFull() {
        if (offered < roomEnd) {
            return false;
        }
        roomEnd = offered + room();
        return offered >= roomEnd;
    }

    /** Returns how many of the frames were taken. */
    int offerSlots(int[] slotIndices, int from, int end) {
        for (int i = from; i < end; i++) {
            FrameBuf slot = slots.slot(slotIndices[i]);
            if (slot.refCnt() == 0) {
                // Its sender has released it meanwhile: it may hold anything by now.
                counters.releasedEarlyFrames++;
                continue;
            }
            int lengthBytes = slot.readableBytes();
            if (isFull()) {
                return i - from;
            }
            if (lengthBytes < MIN_FRAME_BYTES || !slot.isRegistered()) {
                if (offerInParts(slot, lengthBytes) == FrameQueue.FULL) {
                    return i - from;
                }
                continue;
            }
            offerSlot(slot, lengthBytes);
        }
        return end - from;
    }

    /** The frame has several parts, or needs padding, or lies outside this queue's slots. */
    private int offerInParts(ByteBuf frame, int lengthBytes) {
        long sge = elementsOf(offered);
        ByteBuf held = frame;
        int sgeCount = elements.gather(frame, sge, lengthBytes, partLimit(lengthBytes));
        if (sgeCount == 0) {
            FrameBuf copy = slots.take();
            if (copy == null) {
                return FrameQueue.FULL;
            }
            try {
                copy.writeBytes(frame, frame.readerIndex(), lengthBytes);
            } catch (IllegalReferenceCountException e) {
                copy.release();
                throw e;
            }
            frame.release();
            Sge.write(sge, copy.slotAddress(), lengthBytes, copy.lkey());
            sgeCount = 1;
            held = copy;
        }
        enqueue(held, sge, sgeCount, lengthBytes, false);
        return FrameQueue.ACCEPTED;
    }

    int offer(FrameBuf headers, ByteBuf payload, boolean fillChecksums) {
        if (isFull()) {
            return FrameQueue.FULL;
        }
        int headerBytes = headers.readableBytes();
        int payloadBytes = payload.readableBytes();
        int lengthBytes = headerBytes + payloadBytes;
        if (payloadBytes == 0 && fillChecksums && lengthBytes >= MIN_FRAME_BYTES && headers.isRegistered()) {
            describeFilled(offered, headers.readableAddress(), lengthBytes, headers.lkey());
            accept(headers, lengthBytes);
            payload.release();
            return FrameQueue.ACCEPTED;
        }
        long sge = elementsOf(offered);
        int parts = payloadBytes == 0 ? 0
                : elements.gather(payload, sge + Sge.SIZE_BYTES, payloadBytes, partLimit(lengthBytes) - 1);
        if (parts == 0) {
            headers.writeBytes(payload, payload.readerIndex(), payloadBytes);
            payload.release();
            Sge.write(sge, headers.memoryAddress() + headers.readerIndex(), lengthBytes, headers.lkey());
        } else {
            headers.attach(payload);
            Sge.write(sge, headers.memoryAddress() + headers.readerIndex(), headerBytes, headers.lkey());
        }
        enqueue(headers, sge, 1 + parts, lengthBytes, fillChecksums);
        return FrameQueue.ACCEPTED;
    }

    /** One element is the headers', one may be the padding's. */
    protected int maxParts() {
        return maxSge - 2;
    }

    protected boolean sendsAllMemory() {
        return allMemoryLkey != RegisteredRanges.UNREGISTERED;
    }

    protected boolean isRegistered(ByteBuf buffer, int index, int lengthBytes) {
        return buffer.hasMemoryAddress()
                && ranges.lkeyOf(buffer.memoryAddress() + index, lengthBytes) != RegisteredRanges.UNREGISTERED;
    }

    private long lkeyOf(long address, int lengthBytes) {
        long lkey = ranges.lkeyOf(address, lengthBytes);
        return lkey == RegisteredRanges.UNREGISTERED ? allMemoryLkey : lkey;
    }

    int offer(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
              boolean fillChecksums) {
        if (isFull()) {
            return FrameQueue.FULL;
        }
        long sge = elementsOf(offered);
        int headerBytes = headers.readableBytes();
        Sge.write(sge, headers.readableAddress(), headerBytes, headers.lkey());
        int payloadBytes = holdParts(sge + Sge.SIZE_BYTES, buffers, indices, lengthsBytes, count);
        enqueue(headers, sge, 1 + count, headerBytes + payloadBytes, fillChecksums);
        return FrameQueue.ACCEPTED;
    }

    int offerSegmented(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
                       int segmentBytes) {
        if (isFull()) {
            return FrameQueue.FULL;
        }
        int headerBytes = headers.readableBytes();
        int payloadBytes = holdParts(elementsOf(offered), buffers, indices, lengthsBytes, count);
        describeSegmented(offered, headers.readableAddress(), headerBytes, segmentBytes, count);
        counters.segmentedFrames++;
        accept(headers, headerBytes + payloadBytes);
        return FrameQueue.ACCEPTED;
    }

    /** Keeps the parts of the frame to come; returns their length. */
    private int holdParts(long sge, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count) {
        int bytes = 0;
        for (int i = 0; i < count; i++) {
            long address = buffers[i].memoryAddress() + indices[i];
            Sge.write(sge + (long) i * Sge.SIZE_BYTES, address, lengthsBytes[i],
                    (int) lkeyOf(address, lengthsBytes[i]));
            frames.holdPart(postedSequence + offered, i, buffers[i]);
            bytes += lengthsBytes[i];
        }
        offeredPartsBytes[offered] = bytes;
        return bytes;
    }

    /** Of how many parts a frame may consist; one element is kept for the padding of a short one. */
    private int partLimit(int lengthBytes) {
        return lengthBytes < MIN_FRAME_BYTES ? maxSge - 1 : maxSge;
    }

    private void enqueue(ByteBuf held, long sge, int parts, int lengthBytes, boolean fillChecksums) {
        int sgeCount = parts;
        if (lengthBytes < MIN_FRAME_BYTES) {
            long pad = sge + (long) sgeCount++ * Sge.SIZE_BYTES;
            Sge.write(pad, padding.slotAddress(), MIN_FRAME_BYTES - lengthBytes, padding.lkey());
            counters.paddedFrames++;
        }
        describeParts(offered, sgeCount, fillChecksums);
        accept(held, lengthBytes);
    }

    private void accept(ByteBuf held, int lengthBytes) {
        frames.hold(postedSequence + offered, held);
        offered++;
        offeredBytes += lengthBytes;
    }

    /** Posts what was offered; returns a bit for each frame of the burst that the device refused. */
    long post() {
        int count = offered;
        if (count == 0) {
            return 0;
        }
        long refused = postDescribed(count);
        if (refused != 0) {
            dropRefused(refused, count);
        }
        int sent = count - Long.bitCount(refused);
        counters.sentFrames += sent;
        counters.sentBytes += offeredBytes;
        counters.sendBursts++;
        // Places behind the last frame taken are free again: no completion would ever pass them.
        postedSequence += Long.SIZE - Long.numberOfLeadingZeros(~refused & -1L >>> Long.SIZE - count);
        offered = 0;
        offeredBytes = 0;
        roomEnd = 0;
        return refused;
    }

    /** Releases the refused frames; their places in the ring stay empty, since the others' identifiers count them. */
    private void dropRefused(long refused, int count) {
        for (int i = 0; i < count; i++) {
            if ((refused >>> i & 1) != 0) {
                long sequence = postedSequence + i;
                offeredBytes -= frames.lengthBytes(sequence)
                        + (frames.hasParts(sequence) ? offeredPartsBytes[i] : 0);
                frames.release(sequence);
            }
        }
    }

    int reclaim() {
        if (postedSequence == reclaimedSequence) {
            return 0;
        }
        return pollCompletions();
    }

    /**
     * The device is done with a frame, and with all before it.
     *
     * @param frameCount how many of them its request was for; what a failed one has sent of them, nothing tells. A
     *        failing queue may say anything
     * @return how many frames were released
     */
    protected final int complete(long sequence, int status, int frameCount) {
        if (status != WcStatus.SUCCESS) {
            completeFailed(sequence, status, frameCount);
        }
        return releaseUpTo(Math.min(sequence + 1, postedSequence));
    }

    private void completeFailed(long sequence, int status, int frameCount) {
        // As many as this completion releases. The last ones are its request's, of which one is told of by the status.
        long released = Math.clamp(sequence + 1 - reclaimedSequence, 0, inFlight());
        long own = Math.clamp(frameCount, 0, released);
        if (failed) {
            // What lies between two failed frames was not sent either, and asked for no completion.
            counters.lostInFlightFrames += released - own;
        }
        failed = true;
        if (status != WcStatus.WR_FLUSH_ERR) {
            counters.sendErrors++;
            own = Math.max(0, own - 1);
        }
        counters.lostInFlightFrames += own;
    }

    private int releaseUpTo(long endSequence) {
        int released = frames.release(reclaimedSequence, endSequence);
        reclaimedSequence = Math.max(reclaimedSequence, endSequence);
        return released;
    }

    /** Releases all that is in flight: the queue pair was reset or destroyed, so the device reads none of it. */
    void abandon() {
        counters.lostInFlightFrames += inFlight();
        releaseUpTo(postedSequence);
        failed = false;
    }

    void close() {
        for (int i = 0; i < offered; i++) {
            frames.release(postedSequence + i);
        }
        counters.lostInFlightFrames += offered;
        offered = 0;
        abandon();
        afterDestroy();
    }
}
