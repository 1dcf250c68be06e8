package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.capture.FrameTap;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.WcStatus;

/**
 * The sending half of a {@link FrameQueue}. The {@code offer} methods add a frame to the current burst, {@link #post}
 * passes the burst to the device, and {@link #reclaim} releases the frames that the device has sent. Subclasses
 * determine how a frame is described to the device and how completions are polled.
 *
 * <p>Frames in flight are stored in a ring and released in order. Only every {@link #SIGNAL_INTERVAL}th frame
 * and the last one of a burst request a completion; it also releases the frames before it. In the burst after a
 * refused frame, further frames may request one.
 */
public abstract class SendRing {
    protected static final int SIGNAL_INTERVAL = 32;
    /** Minimum length of an Ethernet frame without FCS (IEEE 802.3: 64 octets with FCS). */
    private static final int MIN_FRAME_BYTES = 60;
    /** There is room for the frame, and a tap captures it. */
    private static final int CAPTURED = 2;

    private final SlotPool slots;
    private final RegisteredRanges ranges;
    /** The lkey for parts in unregistered memory, on devices that can send from it. */
    private final long allMemoryLkey;
    private final FrameGatherer gatherer;
    private final QueueCounters counters;
    private final int maxSge;
    private final FrameBuf padding;
    private final FramesInFlight frames;
    /** Length of the parts of each frame of the burst. Valid only for frames that have parts. */
    private final int[] offeredPartsBytes = new int[FrameQueue.MAX_BURST_FRAMES];
    /** Sequence number of the next frame to be posted. */
    private long nextSequence;
    /** Sequence number of the oldest frame that is not known to be sent. */
    private long oldestSequence;
    private int offered;
    /** Null unless frames are captured. */
    private FrameTap tapOrNull;
    /** Number of frames of the current burst that certainly fit; see {@link #admit}. 0 with a tap. */
    private int fittingFrames;
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
        gatherer = new FrameGatherer(ranges, counters);
        maxSge = queues.setup().options().maxSendSge();
        frames = new FramesInFlight(slots, counters, queues.setup().options().sendQueueDepth(), maxSge);
        NativeMemory.fill(padding.slotAddress(), MIN_FRAME_BYTES, (byte) 0);
    }

    /** Describes a contiguous frame. Hot path. */
    protected abstract void describe(int index, long address, int lengthBytes, int lkey);

    /** Describes a contiguous frame. The device computes its checksums. Hot path. */
    protected abstract void describeWithChecksums(int index, long address, int lengthBytes, int lkey);

    /**
     * Returns the address of an array of {@link Sge} structures for the next frame. It has {@link #maxSge}
     * elements.
     */
    protected abstract long sgeListAddress(int index);

    /**
     * Describes a frame by the elements written to {@link #sgeListAddress}.
     *
     * @param fillChecksums whether the device computes the IPv4, UDP and TCP checksums
     */
    protected abstract void describeParts(int index, int elementCount, boolean fillChecksums);

    /**
     * Describes a TSO send: headers, and a payload. The elements of the payload were written to
     * {@link #sgeListAddress}.
     *
     * @param headersAddress address of the headers, which must stay unchanged until the completion
     */
    protected abstract void describeTso(int index, long headersAddress, int headerBytes, int segmentBytes,
                                    int elementCount);

    /**
     * Posts the described frames. The last one and every {@link #SIGNAL_INTERVAL}th one request a completion.
     *
     * @return a bit mask of the frames that the device refused
     */
    protected abstract long postDescribed(int count);

    /**
     * Polls completions and calls {@link #complete} for each.
     *
     * @return the number of released frames
     */
    protected abstract int pollCompletions();

    /** Requests an event for the next completion. */
    protected abstract void arm();

    /** Called after the queue pair was reset. Discards completions of earlier requests. */
    protected abstract void afterReset();

    /** Called after the queue pair was destroyed. The ring must not be written any more. */
    protected void afterDestroy() {
        // The rings of libibverbs are destroyed with their queue pair.
    }

    /** Captures the frames that are offered from now on. */
    void setTap(FrameTap newTapOrNull) {
        tapOrNull = newTapOrNull;
        fittingFrames = 0;
    }

    /**
     * Captures a frame that was described to the device, from the addresses in its description. The frame is copied
     * when it is offered, not when it is posted. A handler may wrongly release it in between, and its memory may then
     * be freed. The order of the capture is correct: frames are posted in the order of their offers, and a reply to a
     * received frame is offered after {@link FrameQueue#receive} has captured that frame.
     *
     * @param headerBytes length of the headers that precede the elements; 0 if there are none
     * @param sge         address of an array of {@link Sge} structures
     */
    private void capture(FrameTap tap, long headersAddress, int headerBytes, long sge, int elementCount) {
        if (!tap.begin()) {
            return;
        }
        try {
            if (headerBytes > 0) {
                tap.add(headersAddress, headerBytes);
            }
            for (int i = 0; i < elementCount; i++) {
                long element = sge + (long) i * Sge.SIZE_BYTES;
                tap.add(Sge.addr(element), Sge.length(element));
            }
            tap.endFrame(true);
        } catch (RuntimeException | Error e) {
            tap.fail(e);
        } finally {
            tap.end();
        }
    }

    /** Stops accepting frames until {@link #resume}. */
    void suspend() {
        suspended = true;
        fittingFrames = 0;
    }

    /** Accepts frames again. */
    void resume() {
        suspended = false;
        fittingFrames = 0;
    }

    int room() {
        if (suspended) {
            return 0;
        }
        int capacity = Math.min(frames.capacity() - inFlight(), FrameQueue.MAX_BURST_FRAMES);
        return Math.min(capacity - offered, ringRoom());
    }

    /** Returns the number of frames of maximum length for which the device's ring has room. */
    protected int ringRoom() {
        return Integer.MAX_VALUE;
    }

    int inFlight() {
        return (int) (nextSequence - oldestSequence);
    }

    boolean failed() {
        return failed;
    }

    int refusalErrno() {
        return refusalErrno;
    }

    /** Returns the sequence number of a frame of the burst. */
    protected final long sequenceOf(int index) {
        return nextSequence + index;
    }

    /** Returns the sequence number of the oldest frame that is not known to be sent. */
    protected final long oldestSequence() {
        return oldestSequence;
    }

    protected final int maxSge() {
        return maxSge;
    }

    final void countRefused(int frames, int errno) {
        refusalErrno = errno;
        counters.refusedFrames += frames;
    }

    int offer(ByteBuf frame) {
        int admission = admit();
        if (admission == FrameQueue.FULL) {
            return FrameQueue.FULL;
        }
        if (frame instanceof FrameBuf slot && slots.owns(slot) && slot.isRegistered()) {
            int lengthBytes = slot.readableBytes();
            if (lengthBytes >= MIN_FRAME_BYTES) {
                offerSlot(slot, lengthBytes, admission);
                return FrameQueue.ACCEPTED;
            }
        }
        return offerInParts(frame, frame.readableBytes(), admission);
    }

    /** Adds a slot of this queue as a frame. Hot path. */
    private void offerSlot(FrameBuf slot, int lengthBytes, int admission) {
        int index = offered;
        long address = slot.readableAddress();
        describe(index, address, lengthBytes, slot.lkey());
        frames.holdSlot(nextSequence + index, slot.slotIndex());
        offered = index + 1;
        offeredBytes += lengthBytes;
        if (admission == CAPTURED) {
            capture(tapOrNull, address, lengthBytes, 0, 0);
        }
    }

    /**
     * Returns {@link FrameQueue#ACCEPTED} if there is room for another frame, {@link #CAPTURED} if a tap captures that
     * frame, or {@link FrameQueue#FULL}. Without a tap, computes the room once for several frames.
     */
    private int admit() {
        return offered < fittingFrames ? FrameQueue.ACCEPTED : computeAdmission();
    }

    private int computeAdmission() {
        int room = room();
        if (room <= 0) {
            return FrameQueue.FULL;
        }
        if (tapOrNull != null) {
            // fittingFrames stays low, so that each frame comes here and the others need no check for a tap.
            return CAPTURED;
        }
        fittingFrames = offered + room;
        return FrameQueue.ACCEPTED;
    }

    /** Adds slots as frames. Returns how many were processed: accepted, or skipped because they were released. */
    int offerSlots(int[] slotIndices, int from, int end) {
        for (int i = from; i < end; i++) {
            FrameBuf slot = slots.slot(slotIndices[i]);
            if (slot.refCnt() == 0) {
                // The sender has released the slot since, so its content is undefined.
                counters.releasedEarlyFrames++;
                continue;
            }
            int lengthBytes = slot.readableBytes();
            int admission = admit();
            if (admission == FrameQueue.FULL) {
                return i - from;
            }
            if (lengthBytes < MIN_FRAME_BYTES || !slot.isRegistered()) {
                if (offerInParts(slot, lengthBytes, admission) == FrameQueue.FULL) {
                    return i - from;
                }
                continue;
            }
            offerSlot(slot, lengthBytes, admission);
        }
        return end - from;
    }

    /** Adds a frame that has several parts, needs padding, or lies outside this queue's slots. */
    private int offerInParts(ByteBuf frame, int lengthBytes, int admission) {
        long sge = sgeListAddress(offered);
        ByteBuf held = frame;
        int sgeCount = gatherer.gather(frame, sge, lengthBytes, partLimit(lengthBytes));
        if (sgeCount == 0) {
            FrameBuf copy = slots.acquire();
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
        enqueue(held, sge, sgeCount, lengthBytes, false, admission);
        return FrameQueue.ACCEPTED;
    }

    int offer(FrameBuf headers, ByteBuf payload, boolean fillChecksums) {
        int admission = admit();
        if (admission == FrameQueue.FULL) {
            return FrameQueue.FULL;
        }
        int headerBytes = headers.readableBytes();
        int payloadBytes = payload.readableBytes();
        int lengthBytes = headerBytes + payloadBytes;
        if (payloadBytes == 0 && fillChecksums && lengthBytes >= MIN_FRAME_BYTES && headers.isRegistered()) {
            long address = headers.readableAddress();
            describeWithChecksums(offered, address, lengthBytes, headers.lkey());
            accept(headers, lengthBytes);
            if (admission == CAPTURED) {
                capture(tapOrNull, address, lengthBytes, 0, 0);
            }
            payload.release();
            return FrameQueue.ACCEPTED;
        }
        long sge = sgeListAddress(offered);
        int parts = payloadBytes == 0 ? 0
                : gatherer.gather(payload, sge + Sge.SIZE_BYTES, payloadBytes, partLimit(lengthBytes) - 1);
        if (parts == 0) {
            headers.writeBytes(payload, payload.readerIndex(), payloadBytes);
            payload.release();
            Sge.write(sge, headers.memoryAddress() + headers.readerIndex(), lengthBytes, headers.lkey());
        } else {
            headers.attach(payload);
            Sge.write(sge, headers.memoryAddress() + headers.readerIndex(), headerBytes, headers.lkey());
        }
        enqueue(headers, sge, 1 + parts, lengthBytes, fillChecksums, admission);
        return FrameQueue.ACCEPTED;
    }

    private long lkeyOf(long address, int lengthBytes) {
        long lkey = ranges.lkeyOf(address, lengthBytes);
        return lkey == RegisteredRanges.UNREGISTERED ? allMemoryLkey : lkey;
    }

    int offer(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
              boolean fillChecksums) {
        int admission = admit();
        if (admission == FrameQueue.FULL) {
            return FrameQueue.FULL;
        }
        long sge = sgeListAddress(offered);
        int headerBytes = headers.readableBytes();
        Sge.write(sge, headers.readableAddress(), headerBytes, headers.lkey());
        int payloadBytes = holdParts(sge + Sge.SIZE_BYTES, buffers, indices, lengthsBytes, count);
        enqueue(headers, sge, 1 + count, headerBytes + payloadBytes, fillChecksums, admission);
        return FrameQueue.ACCEPTED;
    }

    int offerTso(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
                       int segmentBytes) {
        int admission = admit();
        if (admission == FrameQueue.FULL) {
            return FrameQueue.FULL;
        }
        int headerBytes = headers.readableBytes();
        long sge = sgeListAddress(offered);
        long headersAddress = headers.readableAddress();
        int payloadBytes = holdParts(sge, buffers, indices, lengthsBytes, count);
        describeTso(offered, headersAddress, headerBytes, segmentBytes, count);
        counters.tsoFrames++;
        accept(headers, headerBytes + payloadBytes);
        if (admission == CAPTURED) {
            capture(tapOrNull, headersAddress, headerBytes, sge, count);
        }
        return FrameQueue.ACCEPTED;
    }

    /** Describes and stores the parts of the next frame, and returns their total length. */
    private int holdParts(long sge, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count) {
        int bytes = 0;
        for (int i = 0; i < count; i++) {
            long address = buffers[i].memoryAddress() + indices[i];
            Sge.write(sge + (long) i * Sge.SIZE_BYTES, address, lengthsBytes[i],
                    (int) lkeyOf(address, lengthsBytes[i]));
            frames.holdPart(nextSequence + offered, i, buffers[i]);
            bytes += lengthsBytes[i];
        }
        offeredPartsBytes[offered] = bytes;
        return bytes;
    }

    /** Returns the maximum number of parts of a frame. Short frames need one element for the padding. */
    private int partLimit(int lengthBytes) {
        return lengthBytes < MIN_FRAME_BYTES ? maxSge - 1 : maxSge;
    }

    private void enqueue(ByteBuf held, long sge, int parts, int lengthBytes, boolean fillChecksums, int admission) {
        int sgeCount = parts;
        if (lengthBytes < MIN_FRAME_BYTES) {
            long pad = sge + (long) sgeCount++ * Sge.SIZE_BYTES;
            Sge.write(pad, padding.slotAddress(), MIN_FRAME_BYTES - lengthBytes, padding.lkey());
            counters.paddedFrames++;
        }
        describeParts(offered, sgeCount, fillChecksums);
        accept(held, lengthBytes);
        if (admission == CAPTURED) {
            capture(tapOrNull, 0, 0, sge, sgeCount);
        }
    }

    private void accept(ByteBuf held, int lengthBytes) {
        frames.hold(nextSequence + offered, held);
        offered++;
        offeredBytes += lengthBytes;
    }

    /** Posts the offered frames and returns a bit mask of the refused ones. */
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
        // Advance to the end of the last accepted frame only. No completion would ever release the refused frames
        // after it, so the next burst uses their places.
        nextSequence += Long.SIZE - Long.numberOfLeadingZeros(~refused & -1L >>> Long.SIZE - count);
        offered = 0;
        offeredBytes = 0;
        fittingFrames = 0;
        return refused;
    }

    /**
     * Releases the refused frames. If an accepted frame follows, the place of a refused one in the ring stays empty,
     * because the sequence number of the accepted frame counts it.
     */
    private void dropRefused(long refused, int count) {
        for (int i = 0; i < count; i++) {
            if ((refused >>> i & 1) != 0) {
                long sequence = nextSequence + i;
                offeredBytes -= frames.lengthBytes(sequence)
                        + (frames.hasParts(sequence) ? offeredPartsBytes[i] : 0);
                frames.release(sequence);
            }
        }
    }

    int reclaim() {
        if (nextSequence == oldestSequence) {
            return 0;
        }
        return pollCompletions();
    }

    /**
     * Called when the device is done with a frame and all frames before it.
     *
     * @param sequence   sequence number of the frame; a failing queue may report a wrong one
     * @param frameCount number of frames of a failed work request, all of which count as not sent; not used on success
     * @return the number of released frames
     */
    protected final int complete(long sequence, int status, int frameCount) {
        if (status != WcStatus.SUCCESS) {
            completeFailed(sequence, status, frameCount);
        }
        return releaseUpTo(Math.min(sequence + 1, nextSequence));
    }

    private void completeFailed(long sequence, int status, int frameCount) {
        // Number of frames that this completion releases. Only the last frameCount of them are of the failed request.
        long released = Math.clamp(sequence + 1 - oldestSequence, 0, inFlight());
        long requestFrames = Math.clamp(frameCount, 0, released);
        if (failed) {
            // Frames between two failed ones were not sent either; they requested no completion.
            counters.lostInFlightFrames += released - requestFrames;
        }
        failed = true;
        if (status != WcStatus.WR_FLUSH_ERR) {
            counters.sendErrors++;
            requestFrames = Math.max(0, requestFrames - 1);
        }
        counters.lostInFlightFrames += requestFrames;
    }

    private int releaseUpTo(long endSequence) {
        int released = frames.release(oldestSequence, endSequence);
        oldestSequence = Math.max(oldestSequence, endSequence);
        return released;
    }

    /**
     * Releases all frames in flight after the queue pair was reset or destroyed, since the device can no longer
     * read them.
     */
    void releaseAll() {
        counters.lostInFlightFrames += inFlight();
        releaseUpTo(nextSequence);
        failed = false;
    }

    void close() {
        for (int i = 0; i < offered; i++) {
            frames.release(nextSequence + i);
        }
        counters.lostInFlightFrames += offered;
        offered = 0;
        releaseAll();
        afterDestroy();
    }
}
