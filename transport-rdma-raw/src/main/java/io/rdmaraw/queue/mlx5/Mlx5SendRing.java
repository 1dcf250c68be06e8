package io.rdmaraw.queue.mlx5;

import io.rdmaraw.queue.NativeArena;
import io.rdmaraw.queue.QueuePairResources;
import io.rdmaraw.queue.SendRing;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.mlx5.Cqe;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;
import io.rdmaraw.verbs.mlx5.Mlx5SendQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.VerbsContext;

/** Sends through the rings of an mlx5 queue pair. An offered frame is written to the ring at once. */
final class Mlx5SendRing extends SendRing {
    /**
     * Enables requests with several frames, and inline sends of short frames. Disabled by default: not tested
     * on a card yet.
     */
    private static final boolean MULTI_PACKET = Boolean.getBoolean("io.rdmaraw.multiPacketRequests");
    /**
     * Number of ring blocks per frame. Most frames need one block or a part of one; TCP frames with a separate
     * payload need two.
     */
    private static final int BLOCKS_PER_FRAME = 2;

    private final CompletionQueue completionQueue;
    private final Mlx5CompletionQueue completions;
    private final Mlx5SendQueue queue;
    /** The scatter-gather elements of the current frame, before they are written to the ring. */
    private final long elements;
    /**
     * Low bits of the sequence number of the last frame of each request, indexed by the first block of the
     * request.
     */
    private final int[] sequences;
    /** Binary logarithm of the number of blocks reserved per frame. */
    private final int frameShift;
    /** Number of blocks that the device has consumed, counted like {@code queue.producedBlocks()}. */
    private int consumedBlocks;

    Mlx5SendRing(QueuePairResources queues) {
        super(queues);
        int maxTsoHeaderBytes = queues.setup().maxTsoHeaderBytes();
        int maxSge = maxSge();
        NativeArena arena = queues.arena();
        completionQueue = queues.sendCompletionQueue();
        completions = new Mlx5CompletionQueue(Mlx5dv.ring(completionQueue),
                arena.allocate(Mlx5CompletionQueue.SCRATCH_BYTES));
        int maxFrameBlocks = maxBlocks(maxSge, maxTsoHeaderBytes);
        frameShift = Integer.SIZE - Integer.numberOfLeadingZeros(maxFrameBlocks - 1);
        queue = new Mlx5SendQueue(Mlx5dv.rings(queues.queuePair()),
                supportsMultiPacketSend(queues.setup().device().context()), MULTI_PACKET ? 1 << frameShift : 0);
        elements = arena.allocate((long) maxSge * Sge.SIZE_BYTES);
        sequences = new int[queue.blocks()];
        if (queue.blocks() < 1 << frameShift) {
            queue.close();
            throw new IllegalStateException("the send ring has " + queue.blocks() + " blocks; one frame of " + maxSge
                    + " elements needs " + maxFrameBlocks);
        }
    }

    static boolean supportsMultiPacketSend(VerbsContext context) {
        return MULTI_PACKET && Mlx5dv.supportsMultiPacketRequests(context);
    }

    private static int maxBlocks(int maxSge, int maxTsoHeaderBytes) {
        return Math.max(Mlx5SendQueue.blocksOf(maxSge), maxTsoHeaderBytes == 0 ? 0
                : Mlx5SendQueue.blocksOfTso(maxTsoHeaderBytes, maxSge));
    }

    /**
     * Returns the number of requests of maximum length in a ring with {@link #BLOCKS_PER_FRAME} blocks per
     * frame.
     */
    static int maxRequests(int depth, int maxSge, int maxTsoHeaderBytes) {
        int blocks = BLOCKS_PER_FRAME * depth;
        int maxFrameBlocks = maxBlocks(maxSge, maxTsoHeaderBytes);
        return Math.min(depth, (blocks + maxFrameBlocks - 1) / maxFrameBlocks);
    }

    @Override
    protected int ringRoom() {
        return queue.blocks() - (queue.producedBlocks() - consumedBlocks) >> frameShift;
    }

    @Override
    protected void describe(int index, long address, int lengthBytes, int lkey) {
        recordDescribed(index, queue.put(address, lengthBytes, lkey));
    }

    @Override
    protected void describeWithChecksums(int index, long address, int lengthBytes, int lkey) {
        Sge.write(elements, address, lengthBytes, lkey);
        describeParts(index, 1, true);
    }

    @Override
    protected long sgeListAddress(int index) {
        return elements;
    }

    @Override
    protected void describeParts(int index, int elementCount, boolean fillChecksums) {
        recordDescribed(index, queue.putGathered(elements, elementCount, fillChecksums));
    }

    @Override
    protected void describeTso(int index, long headersAddress, int headerBytes, int segmentBytes,
            int elementCount) {
        recordDescribed(index, queue.putTso(headersAddress, headerBytes, segmentBytes, elements, elementCount));
    }

    private void recordDescribed(int index, int block) {
        sequences[block] = (int) sequenceOf(index);
        if (index == SIGNAL_INTERVAL - 1) {
            queue.signalLast();
        }
    }

    @Override
    protected long postDescribed(int count) {
        queue.signalLast();
        queue.ringDoorbell();
        return 0;
    }

    @Override
    protected int pollCompletions() {
        int released = 0;
        long cqe = completions.next();
        if (cqe == 0) {
            return 0;
        }
        do {
            int request = Cqe.wqeCounter(cqe);
            int step = request + queue.blocksAt(request) - consumedBlocks & 0xffff;
            // A failing queue may report a place at which no request begins.
            if (step <= queue.producedBlocks() - consumedBlocks) {
                consumedBlocks += step;
            }
            if (Cqe.isError(cqe)) {
                released += complete(sequenceAt(request), Cqe.status(cqe), queue.framesAt(request));
            } else {
                released += complete(sequenceAt(request), WcStatus.SUCCESS, 1);
            }
            cqe = completions.next();
        } while (cqe != 0);
        completions.releaseEntries();
        return released;
    }

    private long sequenceAt(int wqeCounter) {
        long oldest = oldestSequence();
        return oldest + (sequences[queue.ringIndexOf(wqeCounter)] - (int) oldest);
    }

    @Override
    protected void arm() {
        completions.arm(completionQueue.eventsTaken());
    }

    @Override
    protected void afterReset() {
        completions.discardAll();
        queue.reset();
        consumedBlocks = 0;
    }

    @Override
    protected void afterDestroy() {
        queue.close();
    }
}
