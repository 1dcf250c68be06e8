package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.WorkQueue;

/**
 * The verbs objects of a {@link FrameQueue}: the queue pair, its completion queues, its rings, and the native
 * memory of the rings. They are opened, replaced and closed together.
 */
public final class QueuePairResources implements AutoCloseable {
    private final QueueSetup setup;
    private final SlotPool slots;
    private final FrameBuf padding;
    private final QueueCounters counters;
    private CompletionQueue receiveCompletionQueue;
    private CompletionQueue sendCompletionQueue;
    private QueuePair queuePair;
    private StridingQueuePair striding;
    private WorkQueue gsoQueue;
    private NativeArena arena;
    private ReceiveRing receiveRing;
    private SendRing sendRing;
    /** The target of rules shared by several loops; null until first used. */
    private WorkQueue workQueue;

    private QueuePairResources(QueueSetup setup, SlotPool slots, FrameBuf padding, QueueCounters counters) {
        this.setup = setup;
        this.slots = slots;
        this.padding = padding;
        this.counters = counters;
    }

    /** Opens the queues. The queue pair is in state RESET. */
    static QueuePairResources open(QueueSetup setup, SlotPool slots, FrameBuf padding, QueueCounters counters) {
        QueuePairResources queues = new QueuePairResources(setup, slots, padding, counters);
        try {
            queues.openQueues();
            return queues;
        } catch (RuntimeException | Error e) {
            queues.close();
            throw e;
        }
    }

    private void openQueues() {
        FrameQueueOptions options = setup.options();
        StridingPlan plan = setup.plan();
        boolean receivesGso = setup.maxGsoBytes() > 0;
        receiveCompletionQueue = setup.receiveCompletionQueue(plan != null ? plan.maxCompletions()
                : maxReceives(options.receiveQueueDepth()) + (receivesGso ? GsoReception.DEPTH : 0));
        sendCompletionQueue = setup.completionQueue(options.sendQueueDepth());
        queuePair = setup.device().protectionDomain().createQueuePair(QueuePairOptions.builder()
                .sendCompletionQueue(sendCompletionQueue)
                .receiveCompletionQueue(receiveCompletionQueue)
                .maxSendWr(setup.maxSendRequests())
                .maxReceiveWr(plan != null ? 0 : options.receiveQueueDepth())
                .maxSendSge(options.maxSendSge())
                .maxReceiveSge(1)
                .maxTsoHeaderBytes(setup.maxTsoHeaderBytes())
                .build());
        if (plan != null) {
            striding = StridingQueuePair.open(setup, receiveCompletionQueue);
        }
        if (receivesGso) {
            gsoQueue = GsoReception.open(setup.device(), queuePair, receiveCompletionQueue);
        }
        // The burst arrays of both rings, plus space for alignment to cache lines.
        arena = new NativeArena(FrameQueue.MAX_BURST_FRAMES
                * (SendWr.SIZE_BYTES + options.maxSendSge() * Sge.SIZE_BYTES + 256L)
                + 3 * VerbsReceiveRequests.nativeBytes());
    }

    /** With libibverbs, receives of the work queue complete here too. Direct rings give it another queue. */
    private int maxReceives(int depth) {
        return setup.driver() != null ? depth : 2 * depth;
    }

    /** Creates the two rings. */
    void openRings() {
        DirectRingDriver driver = setup.driver();
        ReceiveRing opened = driver != null ? driver.createReceiveRing(this) : new VerbsReceiveRing(this);
        sendRing = driver != null ? driver.createSendRing(this) : new VerbsSendRing(this);
        receiveRing = opened;
    }

    /** Moves the queue pair from RESET to RTS and posts receives. */
    void start() {
        queuePair.toInit(setup.portNumber());
        queuePair.toReadyToReceive();
        // Post receives only after the transition to RTR: libmlx5 hides earlier ones from the device and sets the
        // doorbell record.
        receiveRing.queuePairRequests().refill();
        queuePair.toReadyToSend();
        if (striding != null) {
            receiveRing.workQueueRequestsOrNull().refill();
        }
    }

    /** Starts the queue for GSO frames, if there is one. */
    void startGsoQueue() {
        if (gsoQueue != null) {
            gsoQueue.toReady();
            receiveRing.gsoRequestsOrNull().refill();
        }
    }

    Flow steer(FlowSpec spec) {
        return striding != null ? striding.steer(spec) : queuePair.createFlow(spec);
    }

    /** Returns the target of rules shared by several loops, or null if it has not been created. */
    WorkQueue workQueueOrNull() {
        return striding != null ? striding.workQueue() : workQueue;
    }

    /** Creates and starts the work queue that {@link #workQueueOrNull} returns from then on. */
    WorkQueue openWorkQueue() {
        int depth = setup.options().workQueueDepth();
        SharedDevice device = setup.device();
        WorkQueue opened = device.context().createWorkQueue(device.protectionDomain(),
                receiveRing.workQueueCompletionQueue(), depth, 1, 0);
        try {
            GsoReception.assign(device.context(), opened, gsoQueue);
            opened.toReady();
        } catch (RuntimeException e) {
            opened.close();
            throw e;
        }
        receiveRing.addWorkQueue(opened, depth);
        receiveRing.workQueueRequestsOrNull().refill();
        workQueue = opened;
        return opened;
    }

    /** Returns the configuration of the frame queue. */
    public QueueSetup setup() {
        return setup;
    }

    /** Returns the pool of slots. */
    public SlotPool slots() {
        return slots;
    }

    /** Returns a slot of zeros, which pads frames that are too short. */
    FrameBuf padding() {
        return padding;
    }

    /** Returns the counters of the frame queue. */
    public QueueCounters counters() {
        return counters;
    }

    /** Returns the completion queue of receives. */
    public CompletionQueue receiveCompletionQueue() {
        return receiveCompletionQueue;
    }

    /** Returns the completion queue of sends. */
    public CompletionQueue sendCompletionQueue() {
        return sendCompletionQueue;
    }

    /** Returns the queue pair. */
    public QueuePair queuePair() {
        return queuePair;
    }

    /** Returns the striding receive queue, or null if each request receives one frame. */
    public StridingQueuePair striding() {
        return striding;
    }

    /** Returns the queue for GSO frames, or null. */
    WorkQueue gsoQueue() {
        return gsoQueue;
    }

    /** Returns the native memory for requests and completions of both rings. */
    public NativeArena arena() {
        return arena;
    }

    ReceiveRing receiveRing() {
        return receiveRing;
    }

    SendRing sendRing() {
        return sendRing;
    }

    /** Closes all open objects. Frames in flight are released once the device can no longer read them. */
    @Override
    public void close() {
        closeAll(workQueue, striding, queuePair, gsoQueue);
        workQueue = null;
        if (receiveRing != null) {
            sendRing.reclaim();
            sendRing.close();
            receiveRing.releaseAll();
            receiveRing.closeCompletions();
        }
        closeAll(sendCompletionQueue, receiveCompletionQueue, arena);
    }

    static void closeAll(AutoCloseable... resources) {
        for (AutoCloseable resource : resources) {
            try {
                if (resource != null) {
                    resource.close();
                }
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("could not close a queue", e);
            }
        }
    }
}
