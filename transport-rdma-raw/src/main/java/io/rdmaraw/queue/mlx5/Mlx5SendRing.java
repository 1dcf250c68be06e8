package io.rdmaraw.queue.mlx5;

import io.rdmaraw.queue.NativeArena;
import io.rdmaraw.queue.QueuePairResources;
import io.rdmaraw.queue.SendRing;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.mlx5.Cqe;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;
import io.rdmaraw.verbs.mlx5.Mlx5SendQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;

/** Sending by the rings of an mlx5 queue pair: a frame that is offered is written to the ring at once. */
final class Mlx5SendRing extends SendRing {
    /** Requests for several frames, and short frames in their request: off until a card has taken one. */
    private static final boolean MULTI_PACKET = Boolean.getBoolean("io.rdmaraw.multiPacketRequests");
    /** Most frames take one or a share of one; those of TCP with a payload in another place take two. */
    private static final int BLOCKS_PER_FRAME = 2;

    private final CompletionQueue completionQueue;
    private final Mlx5CompletionQueue completions;
    private final Mlx5SendQueue queue;
    /** The elements of a frame of several parts, until they are written to the ring. */
    private final long elements;
    /** The low bits of the sequence number of the last frame of the request that begins at each block of the ring. */
    private final int[] sequences;
    /** The logarithm of the blocks that are kept free for a frame. */
    private final int frameShift;
    /** Blocks of which the device is done, counted as the ring counts those that are put. */
    private int consumed;

    Mlx5SendRing(QueuePairResources queues) {
        super(queues);
        int maxHeaderBytes = queues.setup().maxHeaderBytes();
        int maxSge = maxSge();
        NativeArena arrays = queues.arrays();
        completionQueue = queues.sendCompletions();
        completions = new Mlx5CompletionQueue(Mlx5dv.ring(completionQueue),
                arrays.allocate(Mlx5CompletionQueue.SCRATCH_BYTES));
        int most = maxBlocks(maxSge, maxHeaderBytes);
        frameShift = Integer.SIZE - Integer.numberOfLeadingZeros(most - 1);
        queue = new Mlx5SendQueue(Mlx5dv.rings(queues.queuePair()),
                sendsSeveralAtOnce(queues.setup().device().context()), MULTI_PACKET ? 1 << frameShift : 0);
        elements = arrays.allocate((long) maxSge * Sge.SIZE_BYTES);
        sequences = new int[queue.blocks()];
        if (queue.blocks() < 1 << frameShift) {
            queue.close();
            throw new IllegalStateException("the send ring has " + queue.blocks() + " blocks; one frame of " + maxSge
                    + " elements needs " + most);
        }
    }

    static boolean sendsSeveralAtOnce(VerbsContext context) {
        return MULTI_PACKET && Mlx5dv.takesMultiPacketRequests(context);
    }

    private static int maxBlocks(int maxSge, int maxHeaderBytes) {
        return Math.max(Mlx5SendQueue.blocksOf(maxSge), maxHeaderBytes == 0 ? 0
                : Mlx5SendQueue.blocksOfSegmented(maxHeaderBytes, maxSge));
    }

    /** Returns how many of the longest requests a ring with room for {@link #BLOCKS_PER_FRAME} blocks each holds. */
    static int maxRequests(int depth, int maxSge, int maxHeaderBytes) {
        int blocks = BLOCKS_PER_FRAME * depth;
        int most = maxBlocks(maxSge, maxHeaderBytes);
        return Math.min(depth, (blocks + most - 1) / most);
    }

    @Override
    protected int ringRoom() {
        return queue.blocks() - (queue.produced() - consumed) >> frameShift;
    }

    @Override
    protected void describe(int index, long address, int lengthBytes, int lkey) {
        described(index, queue.put(address, lengthBytes, lkey));
    }

    @Override
    protected void describeFilled(int index, long address, int lengthBytes, int lkey) {
        Sge.write(elements, address, lengthBytes, lkey);
        describeParts(index, 1, true);
    }

    @Override
    protected long elementsOf(int index) {
        return elements;
    }

    @Override
    protected void describeParts(int index, int elementCount, boolean fillChecksums) {
        described(index, queue.putGathered(elements, elementCount, fillChecksums));
    }

    @Override
    protected void describeSegmented(int index, long headersAddress, int headerBytes, int segmentBytes,
            int elementCount) {
        described(index, queue.putSegmented(headersAddress, headerBytes, segmentBytes, elements, elementCount));
    }

    private void described(int index, int block) {
        sequences[block] = (int) sequenceOf(index);
        if (index == SIGNAL_INTERVAL - 1) {
            queue.signalLast();
        }
    }

    @Override
    protected long postDescribed(int count) {
        queue.signalLast();
        queue.ring();
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
            int step = request + queue.blocksAt(request) - consumed & 0xffff;
            // A failing queue may name a place that is no request's beginning.
            if (step <= queue.produced() - consumed) {
                consumed += step;
            }
            if (Cqe.isError(cqe)) {
                released += complete(sequenceAt(request), Cqe.status(cqe), queue.framesAt(request));
            } else {
                released += complete(sequenceAt(request), WcStatus.SUCCESS, 1);
            }
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
    protected void arm() {
        completions.arm(completionQueue.eventsTaken());
    }

    @Override
    protected void afterReset() {
        completions.discardAll();
        queue.reset();
        consumed = 0;
    }

    @Override
    protected void afterDestroy() {
        queue.close();
    }
}
