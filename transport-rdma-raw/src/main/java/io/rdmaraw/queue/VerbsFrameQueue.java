package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.SendWr;
import io.rdmaraw.verbs.Sge;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsObject;

/** A {@link FrameQueue} on a raw-packet queue pair, through the calls of libibverbs. */
public final class VerbsFrameQueue implements FrameQueue {
    /** {@code enum ibv_wc_status}. */
    static final int IBV_WC_SUCCESS = 0;
    static final int IBV_WC_WR_FLUSH_ERR = 5;
    /**
     * Free slots below which received frames are copied out. What remains serves frames that have to be copied on
     * sending, so that a handler that keeps frames cannot stop the sending either.
     */
    private static final int RESERVED_SLOTS = 2 * BURST_FRAMES;

    private final SharedDevice device;
    private final int portNumber;
    private final CompletionQueue receiveCompletions;
    private final CompletionQueue sendCompletions;
    private final QueuePair queuePair;
    private final Slab slab;
    private final NativeArrays arrays;
    private final ReceiveRing receiveRing;
    private final SendRing sendRing;
    private final QueueCounters counters = new QueueCounters();
    private boolean closed;

    private VerbsFrameQueue(SharedDevice device, int portNumber, FrameQueueOptions options, Resources made) {
        this.device = device;
        this.portNumber = portNumber;
        receiveCompletions = made.receiveCompletions;
        sendCompletions = made.sendCompletions;
        queuePair = made.queuePair;
        slab = made.slab;
        arrays = made.arrays;
        SlotPool slots = slab.pool();
        slots.ownedBy(Thread.currentThread());
        slots.allocator().reserve(2 * RESERVED_SLOTS);
        receiveRing = new ReceiveRing(queuePair, receiveCompletions, slots, counters, options.receiveQueueDepth(),
                RESERVED_SLOTS, arrays);
        sendRing = new SendRing(queuePair, sendCompletions, slots, device.registeredRanges(), counters,
                options.sendQueueDepth(), options.maxSendSge(), arrays);
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

        void make(SharedDevice device, CompletionChannel channel, FrameQueueOptions options) {
            leased = device.retain();
            VerbsContext context = device.context();
            slab = Slab.allocate(device.protectionDomain(), device.registeredRanges(), options.slotCount(),
                    options.slotBytes());
            receiveCompletions = context.createCompletionQueue(options.receiveQueueDepth(), channel, 0);
            sendCompletions = context.createCompletionQueue(options.sendQueueDepth(), channel, 0);
            queuePair = device.protectionDomain().createQueuePair(QueuePairOptions.builder()
                    .sendCompletionQueue(sendCompletions)
                    .receiveCompletionQueue(receiveCompletions)
                    .maxSendWr(options.sendQueueDepth())
                    .maxReceiveWr(options.receiveQueueDepth())
                    .maxSendSge(options.maxSendSge())
                    .maxReceiveSge(1)
                    .build());
            // Burst arrays of both rings, with room for the rounding to cache lines.
            arrays = new NativeArrays(BURST_FRAMES * (SendWr.SIZE_BYTES + options.maxSendSge() * Sge.SIZE_BYTES)
                    + BURST_FRAMES * 256L);
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

    /** Returns the queue pair, for tests that make it fail. */
    public QueuePair queuePair() {
        return queuePair;
    }

    private void start() {
        queuePair.toInit(portNumber);
        receiveRing.refill();
        queuePair.toReadyToReceive();
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
    public int offer(FrameBuf headers, ByteBuf payload) {
        return sendRing.offer(headers, payload);
    }

    @Override
    public int offer(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count) {
        return sendRing.offer(headers, buffers, indices, lengthsBytes, count);
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
        receiveCompletions.requestNotification(false);
        if (sendRing.inFlight() > 0) {
            sendCompletions.requestNotification(false);
        }
    }

    @Override
    public Flow steer(FlowSpec spec) {
        return queuePair.createFlow(spec);
    }

    @Override
    public boolean owns(VerbsObject source) {
        return source == queuePair || source == receiveCompletions || source == sendCompletions;
    }

    @Override
    public boolean failed() {
        return receiveRing.failed() || sendRing.failed();
    }

    @Override
    public void recover() {
        counters.recoveries++;
        queuePair.toReset();
        // libibverbs takes the queue pair's completions out of the queues at the reset; what a provider leaves behind
        // is told by its epoch (receive) or is polled here and names frames that are released anyway (send).
        sendRing.reclaim();
        sendRing.abandon();
        receiveRing.abandon();
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
        queuePair.close();
        sendRing.close();
        receiveRing.abandon();
        sendCompletions.close();
        receiveCompletions.close();
        arrays.close();
        slab.close(device::release);
    }
}
