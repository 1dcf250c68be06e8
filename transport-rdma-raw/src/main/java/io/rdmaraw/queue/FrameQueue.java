package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.capture.FrameTap;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsObject;
import io.rdmaraw.verbs.objects.WorkQueue;

/**
 * A send queue and a receive queue of Ethernet frames on one device port, driven by one event loop. All methods
 * must be called on the loop's thread, unless stated otherwise. No method waits for frames. Methods that open, start
 * or recover queues or change rules call the kernel, and {@link #recover} waits up to a millisecond for completions.
 *
 * <p>Frames are sent and received in bursts. A received frame is the memory slot that the device wrote to. The
 * device reads a sent frame in place if the frame lies in registered memory; otherwise the frame is first
 * copied to a slot.
 *
 * <p>The queue consists of a raw-packet queue pair, a {@link SendRing} and a {@link ReceiveRing}. The rings
 * either call libibverbs or access the device's rings directly ({@link DirectRingDriver}). {@link #recover} may
 * replace the queue pair and the rings, so callers should hold a reference only to the frame queue.
 */
// Not final because a test overrides it to make resets fail.
public class FrameQueue implements AutoCloseable {
    /** The frame was accepted. The next {@link #post()} sends it. */
    public static final int ACCEPTED = 0;
    /** The frame was not accepted: the send queue or the burst is full, or no slot is free for a copy. */
    public static final int FULL = 1;

    /** Maximum number of frames received or posted at once. */
    public static final int MAX_BURST_FRAMES = 64;

    /**
     * Maximum length of the headers for {@link #offerTso}: Ethernet with a VLAN tag, IPv6, TCP with all
     * options.
     */
    public static final int MAX_TSO_HEADER_BYTES = 14 + 4 + 40 + 60;

    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(FrameQueue.class);
    /**
     * Attempts before a start is given up. A start may fail temporarily, for example if the kernel is short of
     * memory.
     */
    private static final int MAX_FAILED_STARTS = 3;
    /** SGEs of a frame that are reserved: one for the headers, one for the padding. */
    private static final int RESERVED_ELEMENTS = 2;

    private final SharedDevice device;
    private final RegisteredRanges registeredRanges;
    private final QueueSetup setup;
    private final Slab slab;
    private final SlotPool slots;
    private final FrameBuf padding;
    private final QueueCounters counters = new QueueCounters();
    private final QueueReset reset;
    private QueuePairResources queues;
    private ReceiveRing receiveRing;
    private SendRing sendRing;
    /** Null unless frames are captured. */
    private FrameTap tapOrNull;
    /** Set when rules shared by several loops use the work queue. New queues then need a work queue, too. */
    private boolean hasWorkQueue;
    /**
     * Set when a completion queue has overrun. The outcome of its outstanding requests can then not be
     * determined.
     */
    private boolean needsNewQueues;
    private int failedStarts;
    /** Set when the device has refused to reset a queue pair and the warning has been logged. */
    private boolean resetRefused;
    private boolean closed;

    FrameQueue(SharedDevice device, int portNumber, CompletionChannel completionChannel, FrameQueueOptions options) {
        this.device = device;
        reset = new QueueReset(device);
        registeredRanges = device.registeredRanges();
        setup = QueueSetup.of(device, portNumber, completionChannel, options);
        StridingPlan plan = setup.plan();
        StrideLayout chunks = plan != null ? plan.layout() : GsoReception.layout(setup.maxGsoBytes());
        slab = Slab.allocate(device.protectionDomain(), registeredRanges, chunks,
                plan != null ? plan.slotCount() : options.slotCount(), options.slotBytes());
        device.retain();
        slots = slab.pool();
        slots.setOwner(Thread.currentThread());
        counters.slots = slots;
        slots.allocator().setReservedSlots(2 * ReceiveRing.RESERVED_SLOTS);
        padding = slots.acquireUnopened();
    }

    /**
     * Opens a queue on a port and starts it. Must be called on the thread of the loop that will drive the
     * queue.
     *
     * @param completionChannel receives the events that {@link #arm()} requests
     * @throws VerbsException if the device refuses
     */
    public static FrameQueue open(SharedDevice device, int portNumber, CompletionChannel completionChannel,
                                  FrameQueueOptions options) {
        FrameQueue queue = new FrameQueue(device, portNumber, completionChannel, options);
        queue.start();
        return queue;
    }

    final void start() {
        try {
            use(openQueues());
            queues.start();
            queues.startGsoQueue();
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private QueuePairResources openQueues() {
        return QueuePairResources.open(setup, slots, padding, counters);
    }

    /** Switches to the given queues. If their rings cannot be opened, the queues are closed and nothing changes. */
    private void use(QueuePairResources opened) {
        try {
            opened.openRings();
        } catch (RuntimeException | Error e) {
            opened.close();
            throw e;
        }
        queues = opened;
        receiveRing = opened.receiveRing();
        sendRing = opened.sendRing();
        sendRing.setTap(tapOrNull);
    }

    /**
     * Receives a burst of frames and refills the receive queues.
     *
     * @param burst receives the frames; the caller must take each of them with {@link ReceiveBurst#takeFrame}
     * @return the number of frames in the burst
     */
    public int receive(ReceiveBurst burst) {
        burst.begin(slots);
        counters.receivePolls++;
        if (receiveRing.poll(burst) == 0) {
            counters.emptyReceivePolls++;
        } else {
            counters.receivedFrames += burst.size();
            counters.receivedBytes += burst.prefetchHeaders();
            if (tapOrNull != null) {
                burst.capture(tapOrNull);
            }
        }
        receiveRing.refillIfLow();
        return burst.size();
    }

    /** Captures frames from now on, or no longer if the tap is null. */
    public void setTap(FrameTap newTapOrNull) {
        tapOrNull = newTapOrNull;
        sendRing.setTap(newTapOrNull);
    }

    /**
     * Adds a frame to the burst that {@link #post()} sends.
     *
     * @param frame the readable bytes are one Ethernet frame without FCS. The caller has checked their number.
     *              If the frame is accepted, its reference passes to the queue, which releases it after the
     *              device has sent the frame
     * @return {@link #ACCEPTED} or {@link #FULL}
     */
    public int offer(ByteBuf frame) {
        return sendRing.offer(frame);
    }

    /**
     * Adds frames that are slots of {@link #slots()}; otherwise like {@link #offer(ByteBuf)}.
     *
     * @param slotIndices the indices of the slots ({@link FrameBuf#slotIndex()})
     * @param from        index of the first element to offer
     * @param end         index after the last element to offer
     * @return the number of accepted elements; if it is less than {@code end - from}, the queue is full
     */
    public int offerSlots(int[] slotIndices, int from, int end) {
        return sendRing.offerSlots(slotIndices, from, end);
    }

    /**
     * Adds a frame that consists of headers and a payload; otherwise like {@link #offer(ByteBuf)}. A payload in
     * registered memory is sent in place; any other is copied behind the headers.
     *
     * @param headers       the first bytes of the frame, in a slot of {@link #slots()} with enough room for the
     *                      payload
     * @param payload       the readable bytes follow the headers
     * @param fillChecksums whether the device computes the IPv4, UDP and TCP checksums; requires
     *                      {@link #offloadsChecksums()}, and does not work for fragments
     * @return {@link #ACCEPTED} if both references have passed to the queue, or {@link #FULL}
     */
    public int offer(FrameBuf headers, ByteBuf payload, boolean fillChecksums) {
        return sendRing.offer(headers, payload, fillChecksums);
    }

    /**
     * Adds a frame that consists of headers and parts of buffers, all sent in place; otherwise like
     * {@link #offer(ByteBuf)}.
     *
     * @param headers       the first bytes of the frame, in a slot of {@link #slots()}
     * @param buffers       the buffers of the parts; if the frame is accepted, one reference of each passes to
     *                      the queue
     * @param indices       start index of each part in its buffer
     * @param lengthsBytes  length of each part
     * @param count         number of parts, at most {@link #maxParts()}; each part must be
     *                      {@linkplain #isRegistered registered}, unless {@link #supportsOnDemandPaging()}
     * @param fillChecksums see {@link #offer(FrameBuf, ByteBuf, boolean)}
     * @return {@link #ACCEPTED} or {@link #FULL}
     */
    public int offer(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
                     boolean fillChecksums) {
        return sendRing.offer(headers, buffers, indices, lengthsBytes, count, fillChecksums);
    }

    /**
     * Adds a TCP payload that the device segments (TSO). Requires that {@link #maxTsoBytes()} is not 0.
     * Otherwise like {@link #offer(FrameBuf, ByteBuf[], int[], int[], int, boolean)}.
     *
     * <p>The device sends a copy of the headers before each segment. In each copy it updates the lengths, the
     * checksums, the IPv4 identification and the sequence number. Only the last copy has FIN and PSH set. The
     * send queue and the counters count the payload as one frame.
     *
     * @param headers      Ethernet, IP and TCP headers of the first segment and nothing else, at most
     *                     {@link #MAX_TSO_HEADER_BYTES}
     * @param count        number of parts, at least 1
     * @param segmentBytes payload of every segment except the last; together with the headers it must fit the
     *                     link's MTU
     */
    public int offerTso(FrameBuf headers, ByteBuf[] buffers, int[] indices, int[] lengthsBytes, int count,
                              int segmentBytes) {
        return sendRing.offerTso(headers, buffers, indices, lengthsBytes, count, segmentBytes);
    }

    /**
     * Posts the offered frames with one doorbell.
     *
     * @return a bit mask of the frames that the device refused, in the order of the offers. Refused frames are
     *         released; {@link #refusalErrno()} returns the reason
     */
    public long post() {
        return sendRing.post();
    }

    /** Returns the error number of the last refusal in {@link #post()}. */
    public int refusalErrno() {
        return sendRing.refusalErrno();
    }

    /** Returns the number of frames that can still be offered before the send queue is full. */
    public int sendRoom() {
        return sendRing.room();
    }

    /** Releases the frames that the device has sent, and returns their number. */
    public int reclaim() {
        return sendRing.reclaim();
    }

    /** Returns the number of frames that the device has accepted and whose completions have not been polled. */
    public int inFlight() {
        return sendRing.inFlight();
    }

    /**
     * Requests an event on the completion channel for the next completion. Poll once more afterwards, since
     * completions that are already in the queue raise no event.
     */
    public void arm() {
        receiveRing.arm();
        if (sendRing.inFlight() > 0) {
            sendRing.arm();
        }
    }

    /** Returns whether the device computes checksums. */
    public boolean offloadsChecksums() {
        return setup.offloadsChecksums();
    }

    /** Returns the maximum payload for {@link #offerTso}, or 0 if the device does not segment. */
    public int maxTsoBytes() {
        return setup.maxTsoBytes();
    }

    /** Returns the maximum number of parts of a frame, not counting its headers. */
    public int maxParts() {
        return setup.options().maxSendSge() - RESERVED_ELEMENTS;
    }

    /** Returns whether the parts of a frame may lie in unregistered direct memory. */
    public boolean supportsOnDemandPaging() {
        return device.allMemoryLkey() != RegisteredRanges.UNREGISTERED;
    }

    /** Returns whether a range of a buffer lies in registered memory, from which every device can send. */
    public boolean isRegistered(ByteBuf buffer, int index, int lengthBytes) {
        return buffer.hasMemoryAddress() && registeredRanges.lkeyOf(buffer.memoryAddress() + index, lengthBytes)
                != RegisteredRanges.UNREGISTERED;
    }

    /** Returns a short description of how frames are exchanged with the device, for logs. */
    public String mode() {
        return setup.mode();
    }

    /** Returns the pool of slots for received and sent frames. */
    public SlotPool slots() {
        return slots;
    }

    /** Returns the counters of this queue. They continue across recoveries. */
    public QueueCounters counters() {
        return counters;
    }

    /** Returns the completion queue of receives. For tests. */
    public CompletionQueue receiveCompletionQueue() {
        return receiveRing.workQueueCompletionQueue();
    }

    /** Returns the completion queue of sends. For tests. */
    public CompletionQueue sendCompletionQueue() {
        return queues.sendCompletionQueue();
    }

    /** Returns the queue pair. For tests. */
    public QueuePair queuePair() {
        return queues.queuePair();
    }

    /** Returns the port of the queue. */
    public int portNumber() {
        return setup.portNumber();
    }

    ReceiveRing receiveRing() {
        return receiveRing;
    }

    /** Installs a rule that steers matching frames to this queue. */
    public Flow steer(FlowSpec spec) throws VerbsException {
        return queues.steer(spec);
    }

    /**
     * Returns the work queue for rules shared by several loops ({@link RssFlows}). It is created on first use. Its
     * frames are received together with all others.
     *
     * @throws IllegalStateException if there are too few slots for a work queue
     */
    public WorkQueue workQueue() {
        WorkQueue workQueue = queues.workQueueOrNull();
        if (workQueue == null) {
            workQueue = queues.openWorkQueue();
            hasWorkQueue = true;
        }
        return workQueue;
    }

    /**
     * The number of resets of the two receive queues. Completions can report a failure before its asynchronous
     * event is read, so an event may refer to a failure that a reset has already repaired.
     */
    public record ResetCounts(int queuePair, int workQueue) {
    }

    /** Returns the number of resets so far. May be called on any thread. */
    public ResetCounts resetCounts() {
        return reset.resetCounts();
    }

    /**
     * Handles an asynchronous event that reports a failure of an object.
     *
     * @param countsAtEvent the result of {@link #resetCounts()} when the event was read
     * @return whether the object belongs to this queue and has not been reset since
     */
    public boolean recordFailure(VerbsObject source, ResetCounts countsAtEvent) {
        if (source == queues.sendCompletionQueue() || receiveRing.owns(source)) {
            needsNewQueues = true;
            return true;
        }
        // Do not query the device: mlx5's kernel driver cannot answer if only one half of the queue pair has
        // failed.
        if (source == queues.queuePair()) {
            return countsAtEvent.queuePair() == resetCounts().queuePair()
                    && stopRequests(receiveRing.queuePairRequests());
        }
        if (source == queues.gsoQueue() && source != null) {
            return stopRequests(receiveRing.gsoRequestsOrNull());
        }
        return source == queues.workQueueOrNull() && countsAtEvent.workQueue() == resetCounts().workQueue()
                && stopRequests(receiveRing.workQueueRequestsOrNull());
    }

    private static boolean stopRequests(ReceiveRequests requests) {
        requests.stop();
        return true;
    }

    /** Returns whether an error has stopped the queue. {@link #recover} restarts it. */
    public boolean failed() {
        return receiveRing.failed() || sendRing.failed();
    }

    /**
     * Returns whether {@link #recover} must create new queues because a completion queue has overrun. All rules
     * that lead here must then be removed before the recovery and installed again afterwards, and
     * {@link #workQueue()} changes.
     */
    public boolean needsNewQueues() {
        return needsNewQueues;
    }

    /**
     * Returns whether a reset discards frames that arrive after the last poll, without counting them. In that
     * case the rules that lead here should be removed during the reset, or reception be stopped. This concerns
     * libmlx5, which removes the queue pair's completions during a reset. Direct rings are read to the end.
     */
    public boolean resetLosesFrames() {
        return setup.driver() == null && !new DeviceName(device.name()).isSoftware();
    }

    /**
     * Stops reception if {@link #resetLosesFrames()} and the queue pair is going to be reset. From now on the
     * device drops and counts arriving frames.
     *
     * <p>The transition to ERR may fail after it has stopped the receiving half. The reason is that mlx5's kernel
     * driver does not track the state of a failed sending half ({@code modify_raw_packet_qp}). The failure can
     * be ignored.
     */
    public void stopReceiving() {
        if (!resetLosesFrames() || !receiveRing.queuePairRequests().failed() && !sendRing.failed()) {
            return;
        }
        try {
            queues.queuePair().toError();
        } catch (VerbsException e) {
            LOGGER.debug("one side of the queue pair was already in the error state", e);
        }
    }

    /**
     * Restarts a failed queue. Resets the queue pair, or creates new queues if {@link #needsNewQueues()}.
     * Frames in flight are counted as lost. If the device refuses the reset, the queue remains failed and
     * {@link #needsNewQueues()} becomes true.
     *
     * @param drainReceived calls {@link #receive} until no frames are left. It runs before the reset, which may
     *                      discard unpolled completions, and after it, for frames that arrived in between. With
     *                      new queues it runs once, before they are used
     */
    public void recover(Runnable drainReceived) {
        if (needsNewQueues) {
            replaceQueues(drainReceived);
            if (needsNewQueues) {
                return;
            }
        } else {
            try {
                reset.resetFailedQueues(queues, drainReceived);
            } catch (VerbsException e) {
                if (!resetRefused) {
                    resetRefused = true;
                    LOGGER.warn("cannot reset a failed queue pair, so it is replaced: {}. This is logged once for"
                            + " each queue", e.getMessage());
                }
                needsNewQueues = true;
                return;
            }
        }
        counters.recoveries++;
    }

    /**
     * Opens new queues before closing the old ones, so that the old ones remain closable if the new ones cannot
     * be opened.
     */
    private void replaceQueues(Runnable drainReceived) {
        QueuePairResources old = queues;
        // Suspend sending until the new queues are started, which may take several attempts. libmlx5 would reject
        // a post before that, and direct rings would send the frame late or never.
        sendRing.suspend();
        QueuePairResources opened;
        try {
            opened = openQueues();
        } catch (VerbsException e) {
            recordFailedStart(e);
            return;
        }
        // Rules do not lead to the old queues any more, so these are all remaining frames.
        drainReceived.run();
        use(opened);
        sendRing.suspend();
        old.close();
        needsNewQueues = false;
        try {
            queues.start();
            queues.startGsoQueue();
            if (hasWorkQueue) {
                workQueue();
            }
            sendRing.resume();
            failedStarts = 0;
        } catch (VerbsException e) {
            recordFailedStart(e);
        }
    }

    private void recordFailedStart(VerbsException e) {
        needsNewQueues = true;
        if (++failedStarts == MAX_FAILED_STARTS) {
            failedStarts = 0;
            throw e;
        }
        LOGGER.debug("cannot create a queue again, or it has failed while it was started; retrying", e);
    }

    /** Closes the queue pair. Frames in flight are released once the device can no longer read them. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (queues != null) {
            queues.close();
        }
        slots.releaseUnopened(padding.slotIndex());
        slab.close(device::release);
    }
}
