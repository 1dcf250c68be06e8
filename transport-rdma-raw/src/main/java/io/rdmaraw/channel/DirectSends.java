package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.queue.FrameQueue;

import java.util.Arrays;

/**
 * The frames that were written to a channel and not yet flushed. They go from here to the device without Netty's
 * outbound buffer, whose bookkeeping costs more than sending the frame does.
 *
 * <p>Frames in slots of the channel's own queue are kept by number, and a promise is stored only where another stands:
 * storing a reference into an old array costs G1 a fence.
 */
final class DirectSends {
    private static final int MAX_FRAMES = 1024;
    private static final int FOREIGN = -1;

    private int[] slotIndices = new int[FrameQueue.BURST_FRAMES];
    private ByteBuf[] foreignFrames = new ByteBuf[FrameQueue.BURST_FRAMES];
    private ChannelPromise[] promises = new ChannelPromise[FrameQueue.BURST_FRAMES];
    /** The pool that the slot numbers are of: the one of the queue that the channel is on. */
    private SlotPool slots;
    private int size;
    /** The first frame that has not been handed to the device. */
    private int next;
    /** Frames before this one were flushed. */
    private int flushedEnd;
    private long pendingBytes;
    private boolean flushing;
    /** Which frames of the burst their writer has released too early: a bit for each. */
    private long released;
    private boolean promisesToKeep;
    private boolean onlySlots = true;

    boolean isEmpty() {
        return size == next;
    }

    /** Tells whether so many more frames may be written before they have to go through the outbound buffer. */
    boolean hasRoom(int frameCount, long limitBytes) {
        return size + frameCount <= MAX_FRAMES && pendingBytes < limitBytes;
    }

    /** Adds a frame and its reference. Frames of one burst share a promise, and follow one another. */
    void add(ByteBuf frame, ChannelPromise promise, SlotPool ownSlots) {
        int index = size;
        if (index == slotIndices.length) {
            grow();
        }
        slots = ownSlots;
        if (frame instanceof FrameBuf slot && ownSlots.owns(slot)) {
            slotIndices[index] = slot.slotIndex();
        } else {
            slotIndices[index] = FOREIGN;
            foreignFrames[index] = frame;
            onlySlots = false;
        }
        if (promises[index] != promise) {
            promises[index] = promise;
        }
        if (!promise.isVoid()) {
            promisesToKeep = true;
        }
        size = index + 1;
        pendingBytes += frame.readableBytes();
    }

    private void grow() {
        slotIndices = Arrays.copyOf(slotIndices, 2 * size);
        foreignFrames = Arrays.copyOf(foreignFrames, 2 * size);
        promises = Arrays.copyOf(promises, 2 * size);
    }

    private ByteBuf frame(int index) {
        int slotIndex = slotIndices[index];
        return slotIndex == FOREIGN ? foreignFrames[index] : slots.slot(slotIndex);
    }

    /**
     * Hands to the device what has been added so far, in bursts.
     *
     * @return false when the device has no room for the rest, which {@link #drainTo} then takes away
     */
    boolean flush(FrameQueue queue) {
        flushedEnd = size;
        if (flushing) {
            // A listener of a promise has flushed; the outer call goes on with what was added.
            return true;
        }
        flushing = true;
        try {
            while (next < flushedEnd) {
                int from = next;
                offerBurst(queue);
                if (next == from && queue.reclaim() == 0) {
                    return false;
                }
                complete(from, next, queue.post(), queue);
            }
        } finally {
            flushing = false;
        }
        if (next == size) {
            reset();
        }
        return true;
    }

    private void offerBurst(FrameQueue queue) {
        int from = next;
        int end = Math.min(flushedEnd, next + FrameQueue.BURST_FRAMES);
        released = 0;
        if (onlySlots && !promisesToKeep) {
            // Without listeners nothing is added before all is handed over, and then pendingBytes begins anew.
            next += queue.offerSlots(slotIndices, next, end);
            return;
        }
        while (next < end) {
            ByteBuf frame = frame(next);
            int lengthBytes = frame.readableBytes();
            if (!promises[next].setUncancellable()) {
                promises[next] = null;
                ReferenceCountUtil.safeRelease(frame);
            } else if (frame.refCnt() == 0) {
                released |= 1L << next - from;
            } else {
                // No method of its own: each takes one of the calls that the JIT compiler inlines.
                try {
                    if (queue.offer(frame) != FrameQueue.ACCEPTED) {
                        return;
                    }
                } catch (IllegalReferenceCountException e) {
                    // A part of it.
                    ReferenceCountUtil.safeRelease(frame);
                    released |= 1L << next - from;
                }
            }
            if (slotIndices[next] == FOREIGN) {
                foreignFrames[next] = null;
            }
            next++;
            pendingBytes -= lengthBytes;
        }
    }

    private void complete(int from, int end, long refused, FrameQueue queue) {
        long releasedEarly = released;
        if (!promisesToKeep && refused == 0 && releasedEarly == 0) {
            return;
        }
        // A listener may close the channel, which takes the arrays away.
        ChannelPromise[] written = promises;
        int writtenEnd = size;
        int offered = 0;
        for (int i = from; i < end; i++) {
            ChannelPromise promise = written[i];
            if (promise == null) {
                continue;
            }
            if ((releasedEarly >>> i - from & 1) != 0) {
                promise.tryFailure(new IllegalReferenceCountException(0));
                continue;
            }
            boolean wasRefused = (refused >>> offered++ & 1) != 0;
            if (wasRefused) {
                promise.tryFailure(SendRefusedException.of(queue.refusalErrno()));
            } else if (!promise.isVoid() && (i + 1 == writtenEnd || written[i + 1] != promise)) {
                promise.trySuccess();
            }
        }
    }

    private void reset() {
        if (promisesToKeep) {
            Arrays.fill(promises, 0, size, null);
        }
        size = 0;
        next = 0;
        flushedEnd = 0;
        pendingBytes = 0;
        promisesToKeep = false;
        onlySlots = true;
    }

    /** Takes away all frames that are left, in order. */
    void drainTo(Sink sink) {
        int count = size - next;
        int flushed = flushedEnd - next;
        ByteBuf[] frames = new ByteBuf[count];
        for (int i = 0; i < count; i++) {
            frames[i] = frame(next + i);
            foreignFrames[next + i] = null;
        }
        ChannelPromise[] framePromises = Arrays.copyOfRange(promises, next, size);
        if (flushing) {
            // The flush that is under way, one of whose listeners called, still looks at the promises.
            promises = new ChannelPromise[promises.length];
        }
        reset();
        for (int i = 0; i < count; i++) {
            boolean lastOfPromise = i + 1 == count || framePromises[i + 1] != framePromises[i];
            sink.take(frames[i], framePromises[i], lastOfPromise, i + 1 == flushed);
        }
    }

    /** Takes frames that cannot go the direct way. */
    interface Sink {
        /**
         * @param lastOfPromise whether no further frame has the same promise
         * @param lastFlushed whether this is the last of the frames that have been flushed
         */
        void take(ByteBuf frame, ChannelPromise promise, boolean lastOfPromise, boolean lastFlushed);
    }
}
