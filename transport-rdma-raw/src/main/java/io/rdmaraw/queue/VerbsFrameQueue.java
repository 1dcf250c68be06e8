package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.DirectVerbs;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.QueuePairState;
import io.rdmaraw.verbs.SendWr;
import io.rdmaraw.verbs.Sge;
import io.rdmaraw.verbs.VerbsObject;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.WorkQueueState;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.mlx5.QueuePairRings;

/**
 * A {@link FrameQueue} on a raw-packet queue pair. Frames go through the calls of libibverbs, or, on mlx5 devices,
 * through the rings themselves ({@link DirectVerbs}); everything else is the same.
 */
public final class VerbsFrameQueue implements FrameQueue {
    /**
     * Free slots below which received frames are copied out. What remains serves frames that have to be copied on
     * sending, so that a handler that keeps frames cannot stop the sending either.
     */
    private static final int RESERVED_SLOTS = 2 * BURST_FRAMES;

    private final SharedDevice device;
    private final int portNumber;
    private final FrameQueueOptions options;
    private final CompletionQueue sendCompletions;
    private final QueuePair queuePair;
    private final Slab slab;
    private final NativeArrays arrays;
    private final boolean direct;
    private final int maxSegmentedBytes;
    private final ReceiveRing receiveRing;
    private final SendRing sendRing;
    private final QueueCounters counters = new QueueCounters();
    /** Where rules that are spread over several loops lead to; made on first use. */
    private WorkQueue workQueue;
    private boolean closed;

    private VerbsFrameQueue(SharedDevice device, int portNumber, FrameQueueOptions options, Resources made) {
        this.device = device;
        this.portNumber = portNumber;
        this.options = options;
        sendCompletions = made.sendCompletions;
        queuePair = made.queuePair;
        slab = made.slab;
        arrays = made.arrays;
        SlotPool slots = slab.pool();
        slots.ownedBy(Thread.currentThread());
        slots.allocator().reserve(2 * RESERVED_SLOTS);
        direct = made.direct;
        maxSegmentedBytes = made.maxSegmentedBytes;
        if (direct) {
            QueuePairRings rings = Mlx5dv.rings(queuePair);
            receiveRing = new Mlx5ReceiveRing(rings, made.receiveCompletions,
                    () -> made.completionQueue(options.receiveQueueDepth()), slots, counters,
                    options.receiveQueueDepth(), RESERVED_SLOTS, arrays);
            sendRing = new Mlx5SendRing(rings, sendCompletions, slots, device.registeredRanges(), counters,
                    options.sendQueueDepth(), options.maxSendSge(), made.maxHeaderBytes(), arrays);
        } else {
            receiveRing = new VerbsReceiveRing(queuePair, made.receiveCompletions, slots, counters,
                    options.receiveQueueDepth(), RESERVED_SLOTS, arrays);
            sendRing = new VerbsSendRing(queuePair, sendCompletions, slots, device.registeredRanges(), counters,
                    options.sendQueueDepth(), options.maxSendSge(), arrays);
        }
    }

    /**
     * Opens a queue on a port and sets it going. To be called on the thread of the loop that will drive it.
     *
     * @param channel where {@link #arm()} lets events appear
     */
    public static VerbsFrameQueue open(SharedDevice device, int portNumber, CompletionChannel channel,
                                       FrameQueueOptions options) {
        Resources made = new Resources();
        try {
            made.make(device, channel, options);
            VerbsFrameQueue queue = new VerbsFrameQueue(device, portNumber, options, made);
            queue.start();
            return queue;
        } catch (RuntimeException | Error e) {
            made.close();
            throw e;
        }
    }

    /** What an open queue consists of; closed in reverse when the opening fails half-way. */
    private static final class Resources {
        private Slab slab;
        private CompletionQueue receiveCompletions;
        private CompletionQueue sendCompletions;
        private QueuePair queuePair;
        private NativeArrays arrays;
        private SharedDevice leased;
        private CompletionChannel channel;
        private boolean direct;
        private int maxSegmentedBytes;

        CompletionQueue completionQueue(int minEntries) {
            return leased.context().createCompletionQueue(minEntries, channel, 0);
        }

        void make(SharedDevice device, CompletionChannel eventChannel, FrameQueueOptions options) {
            leased = device.retain();
            channel = eventChannel;
            direct = options.directVerbs().isFor(device.context());
            // A header that goes over the end of its ring makes libmlx5 (of rdma-core 44 to 64, at least) put the data
            // segments where the device does not look for them.
            maxSegmentedBytes = direct || !Mlx5dv.isDriverOf(device.context()) ? device.maxSegmentedBytes() : 0;
            slab = Slab.allocate(device.protectionDomain(), device.registeredRanges(), options.slotCount(),
                    options.slotBytes());
            // Twice the depth: the queue pair's receives complete here, and those of the work queue.
            receiveCompletions = completionQueue(2 * options.receiveQueueDepth());
            sendCompletions = completionQueue(options.sendQueueDepth());
            queuePair = device.protectionDomain().createQueuePair(QueuePairOptions.builder()
                    .sendCompletionQueue(sendCompletions)
                    .receiveCompletionQueue(receiveCompletions)
                    .maxSendWr(options.sendQueueDepth())
                    .maxReceiveWr(options.receiveQueueDepth())
                    .maxSendSge(options.maxSendSge())
                    .maxReceiveSge(1)
                    .maxTsoHeaderBytes(maxHeaderBytes())
                    .build());
            // Burst arrays of both rings, with room for the rounding to cache lines.
            arrays = new NativeArrays(BURST_FRAMES * (SendWr.SIZE_BYTES + options.maxSendSge() * Sge.SIZE_BYTES)
                    + BURST_FRAMES * 256L + 2 * VerbsPostedReceives.nativeBytes());
        }

        int maxHeaderBytes() {
            return maxSegmentedBytes > 0 ? MAX_SEGMENTED_HEADER_BYTES : 0;
        }

        void close() {
            closeAll(queuePair, sendCompletions, receiveCompletions, arrays);
            if (slab != null) {
                slab.close(leased::release);
            } else if (leased != null) {
                leased.release();
            }
        }

        private static void closeAll(AutoCloseable... resources) {
            for (AutoCloseable resource : resources) {
                try {
                    if (resource != null) {
                        resource.close();
                    }
                } catch (Exception e) {
                    throw new IllegalStateException("could not undo the opening of a queue", e);
                }
            }
        }
    }

    /** Returns where received frames complete, for tests that make it fail. */
    public CompletionQueue receiveCompletions() {
        return receiveRing.sharedCompletions();
    }

    /** Returns the queue pair, for tests that make it fail. */
    public QueuePair queuePair() {
        return queuePair;
    }

    /** Tells whether the device's rings are written and read in place. */
    public boolean isDirect() {
        return direct;
    }

    private void start() {
        queuePair.toInit(portNumber);
        queuePair.toReadyToReceive();
        // Not before: libmlx5 keeps what is posted from the device until then, and sets the doorbell record itself.
        receiveRing.own().refill();
        queuePair.toReadyToSend();
    }

    @Override
    public int receive(ReceiveBurst burst) {
        return receiveRing.receive(burst);
    }

    @Override
    public int offer(ByteBuf frame) {
        return sendRing.offer(frame);
    }

    @Override
    public int offer(FrameBuf headers, ByteBuf payload, boolean fillChecksums) {
        return sendRing.offer(headers, payload, fillChecksums);
    }

    @Override
    public boolean offloadsChecksums() {
        return device.offloadsChecksums();
    }

    @Override
    public int offer(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
                     boolean fillChecksums) {
        return sendRing.offer(headers, buffers, indices, lengthsBytes, count, fillChecksums);
    }

    @Override
    public int offerSegmented(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
                              int segmentBytes) {
        return sendRing.offerSegmented(headers, buffers, indices, lengthsBytes, count, segmentBytes);
    }

    @Override
    public int maxSegmentedBytes() {
        return maxSegmentedBytes;
    }

    @Override
    public int maxParts() {
        return sendRing.maxParts();
    }

    @Override
    public boolean isRegistered(ByteBuf buffer, int index, int lengthBytes) {
        return sendRing.isRegistered(buffer, index, lengthBytes);
    }

    @Override
    public long post() {
        return sendRing.post();
    }

    @Override
    public int refusalErrno() {
        return sendRing.refusalErrno();
    }

    @Override
    public int sendRoom() {
        return sendRing.room();
    }

    @Override
    public int reclaim() {
        return sendRing.reclaim();
    }

    @Override
    public int inFlight() {
        return sendRing.inFlight();
    }

    @Override
    public void arm() {
        receiveRing.arm();
        if (sendRing.inFlight() > 0) {
            sendRing.arm();
        }
    }

    @Override
    public Flow steer(FlowSpec spec) {
        return queuePair.createFlow(spec);
    }

    @Override
    public WorkQueue workQueue() {
        if (workQueue == null) {
            int depth = Math.min(options.receiveQueueDepth(),
                    options.slotCount() - options.receiveQueueDepth() - 4 * BURST_FRAMES);
            if (depth < BURST_FRAMES) {
                throw new IllegalStateException("a port that several loops share takes slots of its own: set slotCount"
                        + " to at least " + (options.receiveQueueDepth() + 5 * BURST_FRAMES) + ", it is "
                        + options.slotCount());
            }
            workQueue = openWorkQueue(depth);
        }
        return workQueue;
    }

    private WorkQueue openWorkQueue(int depth) {
        WorkQueue made = device.context().createWorkQueue(device.protectionDomain(), receiveRing.sharedCompletions(),
                depth, 1, 0);
        try {
            made.toReady();
        } catch (RuntimeException e) {
            made.close();
            throw e;
        }
        receiveRing.addShared(made, depth);
        receiveRing.sharedOrNull().refill();
        return made;
    }

    @Override
    public boolean isFailed(VerbsObject source) {
        if (source == queuePair) {
            return failed() || queuePair.state() == QueuePairState.ERR;
        }
        return source == sendCompletions || workQueue != null && source == workQueue || receiveRing.owns(source);
    }

    @Override
    public boolean failed() {
        return receiveRing.failed() || sendRing.failed();
    }

    @Override
    public void recover() {
        counters.recoveries++;
        PostedReceives shared = receiveRing.sharedOrNull();
        if (shared != null && (shared.failed() || workQueue.state() == WorkQueueState.ERR)) {
            workQueue.toReset();
            shared.abandon();
            workQueue.toReady();
            shared.refill();
            if (!failed() && queuePair.state() != QueuePairState.ERR) {
                return;
            }
        }
        recoverQueuePair();
    }

    private void recoverQueuePair() {
        queuePair.toReset();
        sendRing.afterReset();
        sendRing.abandon();
        receiveRing.own().abandon();
        start();
    }

    @Override
    public SlotPool slots() {
        return slab.pool();
    }

    @Override
    public QueueCounters counters() {
        return counters;
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (workQueue != null) {
            workQueue.close();
        }
        queuePair.close();
        sendRing.close();
        receiveRing.abandon();
        sendCompletions.close();
        receiveRing.closeCompletions();
        arrays.close();
        slab.close(device::release);
    }
}
