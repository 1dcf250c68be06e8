package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.VerbsObject;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.flow.FlowSpec;

/**
 * A {@link FrameQueue} on a raw-packet queue pair. Frames go through the calls of libibverbs, or
 * through the rings of the device themselves ({@link DirectRings}); everything else is the same.
 */
public final class VerbsFrameQueue implements FrameQueue {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(VerbsFrameQueue.class);
    /** A device flushes a queue within microseconds; one that is broken must not hold the loop. */
    private static final long FLUSH_NANOS = 1_000_000;

    /** The kernel may be out of memory for a moment, or a queue pair fail between two steps of its start. */
    private static final int MAX_FAILED_STARTS = 3;

    private final SharedDevice device;
    private final int portNumber;
    private final QueueSetup setup;
    private final Slab slab;
    private final FrameBuf padding;
    private final QueueCounters counters = new QueueCounters();
    private QueuePairResources queues;
    private ReceiveRing receiveRing;
    private SendRing sendRing;
    /** Where rules that are spread over several loops lead to; made on first use. */
    private WorkQueue workQueue;
    /** Other loops may open rules over the work queue; only this one may make it. */
    private boolean hasShared;
    /** A completion queue has overrun: what completed on its requests will never be known. */
    private boolean completionsLost;
    private int failedStarts;
    /** The device has not let a queue pair be reset, and that was said. */
    private boolean resetRefused;
    private volatile Resets resets = new Resets(0, 0);
    private boolean closed;

    private VerbsFrameQueue(SharedDevice device, int portNumber, CompletionChannel channel, FrameQueueOptions options) {
        this.device = device;
        this.portNumber = portNumber;
        setup = QueueSetup.of(device, channel, options);
        StridingPlan plan = setup.plan();
        StrideLayout chunks = plan != null ? plan.layout() : LargeReceives.layout(setup.wholeFrameBytes());
        slab = Slab.allocate(device.protectionDomain(), device.registeredRanges(), chunks,
                plan != null ? plan.slotCount() : options.slotCount(), options.slotBytes());
        device.retain();
        SlotPool slots = slab.pool();
        slots.ownedBy(Thread.currentThread());
        counters.slots = slots;
        slots.allocator().reserve(2 * ReceiveRing.RESERVED_SLOTS);
        padding = slots.takeClosed();
    }

    /**
     * Opens a queue on a port and sets it going. To be called on the thread of the loop that will drive it.
     *
     * @param channel where {@link #arm()} lets events appear
     */
    public static VerbsFrameQueue open(SharedDevice device, int portNumber, CompletionChannel channel,
                                       FrameQueueOptions options) {
        VerbsFrameQueue queue = new VerbsFrameQueue(device, portNumber, channel, options);
        try {
            queue.use(queue.openQueues());
            queue.start();
            queue.startLarge();
            return queue;
        } catch (RuntimeException | Error e) {
            queue.close();
            throw e;
        }
    }

    private QueuePairResources openQueues() {
        return QueuePairResources.open(setup, slab.pool(), padding, counters);
    }

    /** Sends and receives by these queues from now on; if that cannot be done they are closed, and nothing changes. */
    private void use(QueuePairResources opened) {
        try {
            ReceiveRing receives = opened.receiveRing();
            sendRing = opened.sendRing();
            receiveRing = receives;
            queues = opened;
        } catch (RuntimeException | Error e) {
            opened.close();
            throw e;
        }
    }

    /** Returns where received frames complete, for tests that make it fail. */
    public CompletionQueue receiveCompletions() {
        return receiveRing.sharedCompletions();
    }

    /** Returns where sent frames complete, for tests that make it fail. */
    public CompletionQueue sendCompletions() {
        return queues.sendCompletions();
    }

    /** Returns the queue pair, for tests that make it fail. */
    public QueuePair queuePair() {
        return queues.queuePair();
    }

    /** Tells whether the device's rings are written and read in place. */
    public boolean isDirect() {
        return setup.rings() != null;
    }

    ReceiveRing receiveRing() {
        return receiveRing;
    }

    private void start() {
        queues.queuePair().toInit(portNumber);
        queues.queuePair().toReadyToReceive();
        // Not before: libmlx5 keeps what is posted from the device until then, and sets the doorbell record itself.
        receiveRing.own().refill();
        queues.queuePair().toReadyToSend();
        if (queues.striding() != null) {
            receiveRing.sharedOrNull().refill();
        }
    }

    private void startLarge() {
        if (queues.large() != null) {
            queues.large().toReady();
            receiveRing.largeOrNull().refill();
        }
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
    public int offerSlots(int[] slotIndices, int from, int end) {
        return sendRing.offerSlots(slotIndices, from, end);
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
        return setup.maxSegmentedBytes();
    }

    @Override
    public String mode() {
        return setup.mode();
    }

    @Override
    public int maxParts() {
        return sendRing.maxParts();
    }

    @Override
    public boolean sendsAllMemory() {
        return sendRing.sendsAllMemory();
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
        return queues.striding() != null ? queues.striding().steer(spec) : queues.queuePair().createFlow(spec);
    }

    @Override
    public WorkQueue workQueue() {
        if (queues.striding() != null) {
            return queues.striding().workQueue();
        }
        if (workQueue == null) {
            FrameQueueOptions options = setup.options();
            int depth = Math.min(options.receiveQueueDepth(),
                    options.slotCount() - options.receiveQueueDepth() - 4 * BURST_FRAMES);
            if (depth < BURST_FRAMES) {
                throw new IllegalStateException("a port that several loops share takes slots of its own: set slotCount"
                        + " to at least " + (options.receiveQueueDepth() + 5 * BURST_FRAMES) + ", it is "
                        + options.slotCount());
            }
            workQueue = openWorkQueue(depth);
            hasShared = true;
        }
        return workQueue;
    }

    private WorkQueue openWorkQueue(int depth) {
        WorkQueue made = device.context().createWorkQueue(device.protectionDomain(), receiveRing.sharedCompletions(),
                depth, 1, 0);
        try {
            LargeReceives.share(device.context(), made, queues.large());
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
    public Resets resets() {
        return resets;
    }

    @Override
    public boolean noteFailure(VerbsObject source, Resets whenRaised) {
        if (source == queues.sendCompletions() || receiveRing.owns(source)) {
            completionsLost = true;
            return true;
        }
        // The device is not asked: mlx5's kernel driver fails a query of a queue pair of which one half has failed.
        if (source == queues.queuePair()) {
            return whenRaised.queuePair() == resets.queuePair() && stopped(receiveRing.own());
        }
        if (source == queues.large() && source != null) {
            return stopped(receiveRing.largeOrNull());
        }
        return source == openWorkQueueOrNull() && whenRaised.workQueue() == resets.workQueue()
                && stopped(receiveRing.sharedOrNull());
    }

    private static boolean stopped(ReceiveRequests receives) {
        receives.stop();
        return true;
    }

    private WorkQueue openWorkQueueOrNull() {
        return queues.striding() != null ? queues.striding().workQueue() : workQueue;
    }

    @Override
    public boolean failed() {
        return receiveRing.failed() || sendRing.failed();
    }

    @Override
    public boolean needsNewQueues() {
        return completionsLost;
    }

    /** libmlx5 takes completions of a queue pair that is reset out of their queue; the rings are read to the end. */
    @Override
    public boolean resetLosesFrames() {
        return setup.rings() == null && !new DeviceName(device.name()).isSoftware();
    }

    /**
     * The kernel's driver for mlx5 first stops the receiving half. Then it may fail, as it does not know the state of a
     * sending half that has failed ({@code modify_raw_packet_qp}).
     */
    @Override
    public void stopReceiving() {
        if (!resetLosesFrames() || !receiveRing.own().failed() && !sendRing.failed()) {
            return;
        }
        try {
            queues.queuePair().toError();
        } catch (VerbsException e) {
            LOGGER.debug("half of a queue pair was in the state of error already", e);
        }
    }

    @Override
    public void recover(Runnable takeReceived) {
        if (completionsLost) {
            replaceQueues(takeReceived);
            if (completionsLost) {
                return;
            }
        } else {
            try {
                recoverInPlace(takeReceived);
            } catch (VerbsException e) {
                if (!resetRefused) {
                    resetRefused = true;
                    LOGGER.warn("a queue pair that failed cannot be reset in place, and is replaced: {}. This is said"
                            + " once for each queue", e.getMessage());
                }
                completionsLost = true;
                return;
            }
        }
        counters.recoveries++;
    }

    /**
     * Goes from whatever state straight to RESET, which the device allows of every state. The kernel's driver for mlx5
     * keeps a state of its own of each half of a queue pair and does not follow failures, so that a step by way of ERR
     * may be refused. Events that were raised before the reset are read then, to be known for what they are.
     */
    private void recoverInPlace(Runnable takeReceived) {
        ReceiveRequests shared = receiveRing.sharedOrNull();
        if (shared != null && shared.failed()) {
            takeReceived.run();
            openWorkQueueOrNull().toReset();
            device.dispatchAsyncEvents();
            resets = new Resets(resets.queuePair(), resets.workQueue() + 1);
            // What came in until then. libmlx5 may have taken it out of the completion queue, and set its record: what
            // we take next sets it right.
            takeReceived.run();
            shared.afterReset();
            openWorkQueueOrNull().toReady();
            shared.refill();
        }
        ReceiveRequests large = receiveRing.largeOrNull();
        if (large != null && large.failed()) {
            takeReceived.run();
            queues.large().toReset();
            device.dispatchAsyncEvents();
            takeReceived.run();
            large.afterReset();
            startLarge();
        }
        if (receiveRing.own().failed() || sendRing.failed()) {
            recoverQueuePair(takeReceived);
        }
    }

    private void recoverQueuePair(Runnable takeReceived) {
        receiveRing.own().stop();
        // Handlers may answer what they receive now. Their frames wait: what is posted to a queue pair in RESET is sent
        // some time later, or never.
        sendRing.suspend(true);
        takeReceived.run();
        finishSends();
        queues.queuePair().toReset();
        device.dispatchAsyncEvents();
        resets = new Resets(resets.queuePair() + 1, resets.workQueue());
        takeReceived.run();
        // Sends that the device has completed since.
        sendRing.reclaim();
        sendRing.afterReset();
        sendRing.abandon();
        receiveRing.own().afterReset();
        start();
        sendRing.suspend(false);
    }

    /**
     * Reads what became of the frames that the device had before it stopped: a reset takes completions that were not
     * read out of the queue, and frames that were sent would count as lost.
     */
    private void finishSends() {
        long endNanos = System.nanoTime() + FLUSH_NANOS;
        do {
            sendRing.reclaim();
        } while (sendRing.inFlight() > 0 && System.nanoTime() - endNanos < 0);
    }

    /** The old ones go when the new ones are there: if they cannot be had, what is open can still be closed. */
    private void replaceQueues(Runnable takeReceived) {
        QueuePairResources old = queues;
        ReceiveRing oldReceives = receiveRing;
        SendRing oldSends = sendRing;
        // Until the new ones are started, which may take several attempts, frames wait: a post to them would be refused
        // by libmlx5, and by rings sent some time later, or never.
        oldSends.suspend(true);
        QueuePairResources opened;
        try {
            opened = openQueues();
        } catch (VerbsException e) {
            noteFailedStart(e);
            return;
        }
        // No rule leads to the old ones any more.
        takeReceived.run();
        use(opened);
        sendRing.suspend(true);
        closeQueues(old, oldReceives, oldSends);
        completionsLost = false;
        try {
            start();
            startLarge();
            if (hasShared) {
                workQueue();
            }
            sendRing.suspend(false);
            failedStarts = 0;
        } catch (VerbsException e) {
            noteFailedStart(e);
        }
    }

    private void noteFailedStart(VerbsException e) {
        completionsLost = true;
        if (++failedStarts == MAX_FAILED_STARTS) {
            failedStarts = 0;
            throw e;
        }
        LOGGER.debug("a queue cannot be made anew, or has failed while it was started; that is tried again", e);
    }

    private void closeQueues(QueuePairResources old, ReceiveRing receives, SendRing sends) {
        if (workQueue != null) {
            workQueue.close();
            workQueue = null;
        }
        if (old.striding() != null) {
            old.striding().close();
        }
        old.queuePair().close();
        if (old.large() != null) {
            old.large().close();
        }
        sends.reclaim();
        sends.close();
        receives.abandon();
        receives.closeCompletions();
        old.close();
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
        if (queues != null) {
            closeQueues(queues, receiveRing, sendRing);
        }
        slab.pool().returnClosed(padding.slotIndex());
        slab.close(device::release);
    }
}
