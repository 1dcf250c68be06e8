package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.Sge;
import io.rdmaraw.verbs.WcStatus;
import io.rdmaraw.verbs.mlx5.Cqe;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;
import io.rdmaraw.verbs.mlx5.Mlx5SendQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.mlx5.QueuePairRings;

/** Sending by the rings of an mlx5 queue pair: a frame that is offered is written to the ring at once. */
final class Mlx5SendRing extends SendRing {
    private final CompletionQueue completionQueue;
    private final Mlx5CompletionQueue completions;
    private final Mlx5SendQueue queue;
    /** The elements of a frame of several parts, until they are written to the ring. */
    private final long elements;
    /** The low bits of the sequence number of the frame whose request begins at each block of the ring. */
    private final int[] sequences;

    /** @param maxHeaderBytes the longest headers of frames that are cut into segments; 0 when there are none */
    Mlx5SendRing(QueuePairRings rings, CompletionQueue completionQueue, SlotPool slots, RegisteredRanges ranges,
                 QueueCounters counters, int depth, int maxSge, int maxHeaderBytes, FrameBuf padding,
                 NativeArrays arrays) {
        super(slots, ranges, counters, depth, maxSge, padding);
        this.completionQueue = completionQueue;
        completions = new Mlx5CompletionQueue(Mlx5dv.ring(completionQueue),
                arrays.allocate(Mlx5CompletionQueue.SCRATCH_BYTES));
        queue = new Mlx5SendQueue(rings);
        elements = arrays.allocate((long) maxSge * Sge.SIZE_BYTES);
        sequences = new int[queue.blocks()];
        int blocksPerFrame = Math.max(Mlx5SendQueue.blocksOf(maxSge), maxHeaderBytes == 0 ? 0
                : Mlx5SendQueue.blocksOfSegmented(maxHeaderBytes, maxSge));
        if (queue.blocks() < depth * blocksPerFrame) {
            throw new IllegalStateException("the send ring has " + queue.blocks() + " blocks; " + depth
                    + " frames of " + maxSge + " elements need " + depth * blocksPerFrame);
        }
    }

    @Override
    void describe(int index, long address, int lengthBytes, int lkey) {
        described(index, queue.put(address, lengthBytes, lkey));
    }

    @Override
    void describeFilled(int index, long address, int lengthBytes, int lkey) {
        Sge.write(elements, address, lengthBytes, lkey);
        describeParts(index, 1, true);
    }

    @Override
    long elementsOf(int index) {
        return elements;
    }

    @Override
    void describeParts(int index, int elementCount, boolean fillChecksums) {
        described(index, queue.putGathered(elements, elementCount, fillChecksums));
    }

    @Override
    void describeSegmented(int index, long headersAddress, int headerBytes, int segmentBytes, int elementCount) {
        described(index, queue.putSegmented(headersAddress, headerBytes, segmentBytes, elements, elementCount));
    }

    private void described(int index, int block) {
        sequences[block] = (int) sequenceOf(index);
        if (index == SIGNAL_INTERVAL - 1) {
            queue.signalLast();
        }
    }

    @Override
    long postDescribed(int count) {
        queue.signalLast();
        queue.ring();
        return 0;
    }

    @Override
    int pollCompletions() {
        int released = 0;
        long cqe = completions.next();
        if (cqe == 0) {
            return 0;
        }
        do {
            int status = Cqe.isError(cqe) ? Cqe.status(cqe) : WcStatus.SUCCESS;
            released += complete(sequenceAt(Cqe.wqeCounter(cqe)), status);
            cqe = completions.next();
        } while (cqe != 0);
        completions.release();
        return released;
    }

    private long sequenceAt(int wqeCounter) {
        long oldest = oldestSequence();
        return oldest + (sequences[queue.placeOf(wqeCounter)] - (int) oldest);
    }

    @Override
    void arm() {
        completions.arm(completionQueue.eventsTaken());
    }

    @Override
    void afterReset() {
        completions.discardAll();
        queue.reset();
    }
}
