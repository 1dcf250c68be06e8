package io.rdmaraw.channel.io;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPromise;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.queue.FrameQueue;

import java.io.IOException;
import java.util.Arrays;
import java.util.function.IntFunction;

/**
 * Frames that were written to a channel and not flushed yet. They bypass Netty's outbound buffer, because its
 * bookkeeping costs more than sending the frame.
 *
 * <p>Frames in slots of the channel's own queue are stored by slot index. A promise is stored only if the array has
 * another one at its place. Both avoid storing references into an old array, which costs a fence with the G1 collector.
 */
public final class DirectSends {
    private static final int MAX_FRAMES = 1024;
    private static final int EXTERNAL = -1;

    private final IntFunction<? extends IOException> refusal;
    private int[] slotIndices = new int[FrameQueue.MAX_BURST_FRAMES];
    private ByteBuf[] externalFrames = new ByteBuf[FrameQueue.MAX_BURST_FRAMES];
    private ChannelPromise[] promises = new ChannelPromise[FrameQueue.MAX_BURST_FRAMES];
    /** Slot pool of the channel's queue, to which the slot indices refer. */
    private SlotPool slots;
    private int size;
    /** Index of the first frame that has not been passed to the device. */
    private int next;
    /** Index after the last flushed frame. */
    private int flushedEnd;
    private long pendingBytes;
    private boolean flushing;
    /** Bit mask of frames in the burst that their writer had already released. */
    private long releasedMask;
    private boolean hasPendingPromises;
    private boolean allInSlots = true;

    /**
     * Creates an empty list.
     *
     * @param refusal creates the exception for a frame that the device has refused with an errno
     */
    public DirectSends(IntFunction<? extends IOException> refusal) {
        this.refusal = refusal;
    }

    public boolean isEmpty() {
        return size == next;
    }

    /** Returns whether this many frames can be added. Otherwise they must use the outbound buffer. */
    public boolean hasRoom(int frameCount, long limitBytes) {
        return size + frameCount <= MAX_FRAMES && pendingBytes < limitBytes;
    }

    /**
     * Adds a frame and takes over its reference. Frames of one burst share a promise and must be added consecutively.
     */
    public void add(ByteBuf frame, ChannelPromise promise, SlotPool ownSlots) {
        int index = size;
        if (index == slotIndices.length) {
            grow();
        }
        slots = ownSlots;
        if (frame instanceof FrameBuf slot && ownSlots.owns(slot)) {
            slotIndices[index] = slot.slotIndex();
        } else {
            slotIndices[index] = EXTERNAL;
            externalFrames[index] = frame;
            allInSlots = false;
        }
        if (promises[index] != promise) {
            promises[index] = promise;
        }
        if (!promise.isVoid()) {
            hasPendingPromises = true;
        }
        size = index + 1;
        pendingBytes += frame.readableBytes();
    }

    private void grow() {
        slotIndices = Arrays.copyOf(slotIndices, 2 * size);
        externalFrames = Arrays.copyOf(externalFrames, 2 * size);
        promises = Arrays.copyOf(promises, 2 * size);
    }

    private ByteBuf frame(int index) {
        int slotIndex = slotIndices[index];
        return slotIndex == EXTERNAL ? externalFrames[index] : slots.slot(slotIndex);
    }

    /**
     * Sends all frames added so far, in bursts.
     *
     * @return false if the device has no room for the rest, which the caller removes with {@link #drainTo}
     */
    public boolean flush(FrameQueue queue) {
        flushedEnd = size;
        if (flushing) {
            // A promise listener has called flush. The outer call sends the added frames.
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
        int end = Math.min(flushedEnd, next + FrameQueue.MAX_BURST_FRAMES);
        releasedMask = 0;
        if (allInSlots && !hasPendingPromises) {
            // Without listeners, no frame is added until all are sent. Then reset() sets pendingBytes to 0.
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
                releasedMask |= 1L << next - from;
            } else {
                // Inlined by hand: another method would use up the JIT compiler's inlining budget.
                try {
                    if (queue.offer(frame) != FrameQueue.ACCEPTED) {
                        return;
                    }
                } catch (IllegalReferenceCountException e) {
                    // A component of a composite buffer was released.
                    ReferenceCountUtil.safeRelease(frame);
                    releasedMask |= 1L << next - from;
                }
            }
            if (slotIndices[next] == EXTERNAL) {
                externalFrames[next] = null;
            }
            next++;
            pendingBytes -= lengthBytes;
        }
    }

    private void complete(int from, int end, long refusedMask, FrameQueue queue) {
        long releasedEarly = releasedMask;
        if (!hasPendingPromises && refusedMask == 0 && releasedEarly == 0) {
            return;
        }
        // A listener may close the channel, which replaces the arrays.
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
            boolean wasRefused = (refusedMask >>> offered++ & 1) != 0;
            if (wasRefused) {
                promise.tryFailure(refusal.apply(queue.refusalErrno()));
            } else if (!promise.isVoid() && (i + 1 == writtenEnd || written[i + 1] != promise)) {
                promise.trySuccess();
            }
        }
    }

    private void reset() {
        if (hasPendingPromises) {
            Arrays.fill(promises, 0, size, null);
        }
        size = 0;
        next = 0;
        flushedEnd = 0;
        pendingBytes = 0;
        hasPendingPromises = false;
        allInSlots = true;
    }

    /** Removes all remaining frames and passes them to a sink, in order. */
    public void drainTo(Sink sink) {
        int count = size - next;
        int flushed = flushedEnd - next;
        ByteBuf[] frames = new ByteBuf[count];
        for (int i = 0; i < count; i++) {
            frames[i] = frame(next + i);
            externalFrames[next + i] = null;
        }
        ChannelPromise[] framePromises = Arrays.copyOfRange(promises, next, size);
        if (flushing) {
            // A listener of the current flush has called this. The flush still reads the old promises.
            promises = new ChannelPromise[promises.length];
        }
        reset();
        for (int i = 0; i < count; i++) {
            boolean lastOfPromise = i + 1 == count || framePromises[i + 1] != framePromises[i];
            sink.accept(frames[i], framePromises[i], lastOfPromise, i + 1 == flushed);
        }
    }

    /** Receives frames that cannot be sent directly. */
    public interface Sink {
        /**
         * Receives a frame and its reference.
         *
         * @param lastOfPromise whether no further frame has the same promise
         * @param lastFlushed whether this is the last flushed frame
         */
        void accept(ByteBuf frame, ChannelPromise promise, boolean lastOfPromise, boolean lastFlushed);
    }
}
