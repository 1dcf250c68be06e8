package io.rdmaraw.device;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.queue.RssFlow;
import io.rdmaraw.queue.RssFlows;

import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Dispatches the frames of one queue to receivers by flow tag. {@link #receive} dispatches frames for receivers
 * that only queue them. Frames for receivers that run handlers wait for {@link #deliver}. Used on the loop's
 * thread only.
 */
final class FrameDispatcher {
    private final DeviceQueue deviceQueue;
    private final FlowTagTable tags;
    private final Set<FrameReceiver> attached;
    private final PortStatistics statistics;
    private final Consumer<Throwable> failures;
    private final ReceiveBurst burst = new ReceiveBurst();
    private final DeferredFrames held = new DeferredFrames();
    /** Index ranges of the burst that wait for {@link #deliver}, in order: first index and end index. */
    private final int[] waitingFrom = new int[FrameQueue.BURST_FRAMES];
    private final int[] waitingEnd = new int[FrameQueue.BURST_FRAMES];
    private int waitingParts;
    private final FrameReceiver[] inBurst = new FrameReceiver[FrameQueue.BURST_FRAMES];
    private int inBurstCount;

    /**
     * @param attached the receivers that have not detached
     */
    FrameDispatcher(DeviceQueue deviceQueue, FlowTagTable tags, Set<FrameReceiver> attached, PortStatistics statistics,
                    Consumer<Throwable> failures) {
        this.deviceQueue = deviceQueue;
        this.tags = tags;
        this.attached = attached;
        this.statistics = statistics;
        this.failures = failures;
    }

    /** Returns whether a burst can be received. The number of frames that wait for {@link #deliver} is limited. */
    boolean hasRoomForBurst() {
        return held.hasRoomForBurst();
    }

    /** Returns whether no frame waits for {@link #deliver}. */
    boolean isEmpty() {
        return waitingParts == 0 && held.size() == 0;
    }

    /**
     * Polls the queue once. Runs no handlers.
     *
     * @return the number of frames received
     */
    int receive(FrameQueue queue) {
        if (waitingParts > 0) {
            holdWaiting();
        }
        int received = queue.receive(burst);
        int next = 0;
        while (next < received) {
            FlowTagTable.Entry entry = tags.entry(burst.flowTag(next));
            int end = burst.endOfRun(next);
            if (entry == null || !entry.queuesOnly) {
                addWaiting(next, end);
            } else {
                dispatch(next, end);
            }
            next = end;
        }
        endBursts();
        return received;
    }

    private void addWaiting(int from, int end) {
        if (waitingParts > 0 && waitingEnd[waitingParts - 1] == from) {
            waitingEnd[waitingParts - 1] = end;
        } else {
            waitingFrom[waitingParts] = from;
            waitingEnd[waitingParts++] = end;
        }
    }

    /** Moves waiting frames out of the burst, which is needed for other frames. */
    private void holdWaiting() {
        for (int part = 0; part < waitingParts; part++) {
            for (int i = waitingFrom[part]; i < waitingEnd[part]; i++) {
                held.add(burst, i);
            }
        }
        waitingParts = 0;
    }

    /** Dispatches the waiting frames to receivers that run handlers. Returns whether there were any. */
    boolean deliver() {
        if (isEmpty()) {
            return false;
        }
        if (held.size() > 0) {
            deliverDeferred();
        }
        int parts = waitingParts;
        waitingParts = 0;
        for (int part = 0; part < parts; part++) {
            dispatch(waitingFrom[part], waitingEnd[part]);
        }
        endBursts();
        return true;
    }

    private void deliverDeferred() {
        int count = held.size();
        for (int i = 0; i < count; i++) {
            ByteBuf frame = held.take(i);
            FlowTagTable.Entry entry = tags.entry(held.flowTag(i));
            try {
                entry = entry != null ? entry : joinedBy(held.flowTag(i));
                dispatchFrame(entry, frame, held.checksumVerified(i), held.vlanTagged(i));
            } catch (Throwable e) {
                failures.accept(e);
                if (entry == null) {
                    statistics.unmatchedFrames++;
                    frame.release();
                } else {
                    List.of(entry.channels).forEach(this::addInBurst);
                }
            }
        }
        held.clear();
        endBursts();
    }

    /**
     * Dispatches a range of the burst. An exception affects only the frame that caused it. The inner loop is
     * not a separate method, because the JIT compiler inlines only to a limited call depth.
     */
    private void dispatch(int from, int end) {
        int next = from;
        burst.beginTaking(from);
        while (next < end) {
            try {
                while (next < end) {
                    FlowTagTable.Entry entry = tags.entry(burst.flowTag(next));
                    if (entry == null) {
                        entry = joinedBy(burst.flowTag(next));
                    }
                    int runEnd = dispatchRun(entry, next, end);
                    if (runEnd == next) {
                        dispatchFrame(entry, runEnd++);
                    }
                    next = runEnd;
                }
            } catch (Throwable e) {
                failures.accept(e);
                next = dropFailed(next);
            }
        }
    }

    /** Returns the index after the frame that caused an exception. Drops the frame if no receiver has taken it. */
    private int dropFailed(int next) {
        int end = burst.takenEnd();
        if (end <= next) {
            statistics.unmatchedFrames++;
            burst.takeFrame(next).release();
            return next + 1;
        }
        FlowTagTable.Entry entry = tags.entry(burst.flowTag(end - 1));
        if (entry != null) {
            List.of(entry.channels).forEach(this::addInBurst);
        }
        return end;
    }

    /**
     * Lets the owner of a shared rule join this loop to it. A frame of the rule may arrive before the task that
     * joins the loop.
     */
    private FlowTagTable.Entry joinedBy(int tag) {
        RssFlow flow = tag < RssFlows.FIRST_TAG ? null : deviceQueue.device().rssFlows().find(tag);
        if (flow == null || !(flow.ownerOrNull() instanceof RssFlowOwner owner)) {
            return null;
        }
        owner.joinBy(deviceQueue);
        return tags.entry(tag);
    }

    /** Passes consecutive frames of one receiver to it at once; returns the index after the last frame taken. */
    private int dispatchRun(FlowTagTable.Entry entry, int from, int end) {
        if (entry == null || entry.channels.length != 1) {
            return from;
        }
        int runEnd = Math.min(burst.endOfRun(from), end);
        if (entry.dropsTagged) {
            runEnd = burst.endOfUntagged(from, runEnd);
            if (runEnd == from) {
                return from;
            }
        }
        FrameReceiver receiver = entry.channels[0];
        boolean first = !receiver.isInBurst();
        int taken = receiver.receiveRun(burst, from, runEnd);
        if (first && receiver.isInBurst()) {
            addInBurst(receiver);
        }
        return taken;
    }

    private void dispatchFrame(FlowTagTable.Entry entry, int index) {
        boolean vlanTagged = entry != null && entry.dropsTagged && burst.endOfUntagged(index, index + 1) == index;
        dispatchFrame(entry, burst.takeFrame(index), burst.checksumVerified(index), vlanTagged);
    }

    private void dispatchFrame(FlowTagTable.Entry entry, ByteBuf frame, boolean checksumVerified,
                               boolean vlanTagged) {
        if (entry != null && entry.dropsTagged && vlanTagged) {
            statistics.taggedFrames++;
            frame.release();
            return;
        }
        if (entry == null) {
            statistics.unmatchedFrames++;
            frame.release();
            return;
        }
        FrameReceiver[] receivers = entry.channels;
        if (receivers.length > 1 && entry.isRss()) {
            deliverTo(receivers[FlowHash.choose(frame, receivers.length)], frame, checksumVerified);
            return;
        }
        for (int r = 1; r < receivers.length; r++) {
            deliverShared(receivers[r], frame.retainedDuplicate(), checksumVerified);
        }
        if (receivers.length > 1) {
            deliverShared(receivers[0], frame, checksumVerified);
        } else {
            deliverTo(receivers[0], frame, checksumVerified);
        }
    }

    /** Passes a frame to one of several receivers of a rule, unless a handler of an earlier one has detached it. */
    private void deliverShared(FrameReceiver receiver, ByteBuf frame, boolean checksumVerified) {
        if (attached.contains(receiver)) {
            deliverTo(receiver, frame, checksumVerified);
        } else {
            statistics.unmatchedFrames++;
            frame.release();
        }
    }

    private void deliverTo(FrameReceiver receiver, ByteBuf frame, boolean checksumVerified) {
        if (receiver.receive(frame, checksumVerified)) {
            addInBurst(receiver);
        }
    }

    /** Registers a receiver for {@link #endBursts}. */
    private void addInBurst(FrameReceiver receiver) {
        if (inBurstCount == inBurst.length) {
            receiver.endBurst();
            return;
        }
        inBurst[inBurstCount++] = receiver;
    }

    private void endBursts() {
        for (int i = 0; i < inBurstCount; i++) {
            FrameReceiver receiver = inBurst[i];
            inBurst[i] = null;
            try {
                receiver.endBurst();
            } catch (Throwable e) {
                failures.accept(e);
            }
        }
        inBurstCount = 0;
    }

    /** Releases the waiting frames. */
    void close() {
        holdWaiting();
        held.release();
    }
}
