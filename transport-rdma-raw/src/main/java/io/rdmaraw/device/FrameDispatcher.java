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
    private final QueueStatistics statistics;
    private final Consumer<Throwable> onFailure;
    private final ReceiveBurst burst = new ReceiveBurst();
    private final DeferredFrames deferred = new DeferredFrames();
    /** Index ranges of the burst that wait for {@link #deliver}, in order: first index and end index. */
    private final int[] pendingFrom = new int[FrameQueue.MAX_BURST_FRAMES];
    private final int[] pendingEnd = new int[FrameQueue.MAX_BURST_FRAMES];
    private int pendingRanges;
    private final FrameReceiver[] receiversInBurst = new FrameReceiver[FrameQueue.MAX_BURST_FRAMES];
    private int receiversInBurstCount;
    private final DropWatch dropWatch;

    /**
     * @param attached the receivers that have not detached
     */
    FrameDispatcher(DeviceQueue deviceQueue, FlowTagTable tags, Set<FrameReceiver> attached, QueueStatistics statistics,
                    Consumer<Throwable> onFailure) {
        this.deviceQueue = deviceQueue;
        this.tags = tags;
        this.attached = attached;
        this.statistics = statistics;
        this.onFailure = onFailure;
        dropWatch = new DropWatch(burst, statistics.frameDrops());
    }

    /** Returns whether a burst can be received. The number of frames that wait for {@link #deliver} is limited. */
    boolean hasRoomForBurst() {
        return deferred.hasRoomForBurst();
    }

    /** Returns whether no frame waits for {@link #deliver}. */
    boolean isEmpty() {
        return pendingRanges == 0 && deferred.size() == 0;
    }

    /**
     * Polls the queue once. Runs no handlers.
     *
     * @return the number of frames received
     */
    int receive(FrameQueue queue) {
        if (pendingRanges > 0) {
            deferPending();
        }
        int received = queue.receive(burst);
        int next = 0;
        while (next < received) {
            FlowTagTable.Entry entry = tags.entry(burst.flowTag(next));
            int end = burst.endOfRun(next);
            if (entry == null || !entry.queuesOnly) {
                addPending(next, end);
            } else {
                dispatch(next, end);
            }
            next = end;
        }
        if (pendingRanges == 0 && received > 0) {
            endCapture();
        }
        endBursts();
        return received;
    }

    private void addPending(int from, int end) {
        if (pendingRanges > 0 && pendingEnd[pendingRanges - 1] == from) {
            pendingEnd[pendingRanges - 1] = end;
        } else {
            pendingFrom[pendingRanges] = from;
            pendingEnd[pendingRanges++] = end;
        }
    }

    /** Moves waiting frames out of the burst, which is needed for other frames. */
    private void deferPending() {
        for (int range = 0; range < pendingRanges; range++) {
            for (int i = pendingFrom[range]; i < pendingEnd[range]; i++) {
                deferred.add(burst, i);
            }
        }
        pendingRanges = 0;
        endCapture();
    }

    private void endCapture() {
        if (burst.tapOrNull() != null) {
            burst.endCapture();
        }
    }

    /** Dispatches the waiting frames to receivers that run handlers. Returns whether there were any. */
    boolean deliver() {
        if (isEmpty()) {
            return false;
        }
        if (deferred.size() > 0) {
            deliverDeferred();
        }
        int ranges = pendingRanges;
        pendingRanges = 0;
        for (int range = 0; range < ranges; range++) {
            dispatch(pendingFrom[range], pendingEnd[range]);
        }
        endCapture();
        endBursts();
        return true;
    }

    private void deliverDeferred() {
        int count = deferred.size();
        for (int i = 0; i < count; i++) {
            ByteBuf frame = deferred.remove(i);
            FlowTagTable.Entry entry = tags.entry(deferred.flowTag(i));
            try {
                entry = entry != null ? entry : joinRssRule(deferred.flowTag(i));
                dispatchFrame(entry, frame, deferred.checksumVerified(i), deferred.vlanTagged(i));
            } catch (Throwable e) {
                onFailure.accept(e);
                if (entry == null) {
                    statistics.undeliveredFrames++;
                    frame.release();
                } else {
                    List.of(entry.receivers).forEach(this::addInBurst);
                }
            }
        }
        deferred.clear();
        endBursts();
    }

    /**
     * Dispatches a range of the burst. An exception affects only the frame that caused it. The inner loop is
     * not a separate method, because the JIT compiler inlines only to a limited call depth.
     */
    private void dispatch(int from, int end) {
        int next = from;
        burst.beginTaking(from);
        DropWatch watchOrNull = burst.tapOrNull() == null ? null : dropWatch;
        if (watchOrNull != null) {
            watchOrNull.begin();
        }
        while (next < end) {
            try {
                while (next < end) {
                    FlowTagTable.Entry entry = tags.entry(burst.flowTag(next));
                    if (watchOrNull != null) {
                        watchOrNull.setReceivers(entry);
                    }
                    if (entry == null) {
                        entry = joinRssRule(burst.flowTag(next));
                        if (watchOrNull != null) {
                            watchOrNull.setReceivers(entry);
                        }
                    }
                    int runEnd = dispatchRun(entry, next, end);
                    if (runEnd == next) {
                        dispatchFrame(entry, runEnd++);
                    }
                    next = runEnd;
                }
            } catch (Throwable e) {
                onFailure.accept(e);
                next = dropFailed(next);
            }
        }
        if (watchOrNull != null) {
            watchOrNull.end();
        }
    }

    /** Returns the index after the frame that caused an exception. Drops the frame if no receiver has taken it. */
    private int dropFailed(int next) {
        int end = burst.takenEnd();
        if (end <= next) {
            burst.takeFrame(next).release();
            statistics.undeliveredFrames++;
            return next + 1;
        }
        FlowTagTable.Entry entry = tags.entry(burst.flowTag(end - 1));
        if (entry != null) {
            List.of(entry.receivers).forEach(this::addInBurst);
        }
        return end;
    }

    /**
     * Lets the owner of a shared rule join this loop to it. A frame of the rule may arrive before the task that
     * joins the loop.
     */
    private FlowTagTable.Entry joinRssRule(int tag) {
        RssFlow flow = tag < RssFlows.FIRST_TAG ? null : deviceQueue.device().rssFlows().find(tag);
        if (flow == null || !(flow.ownerOrNull() instanceof RssFlowOwner owner)) {
            return null;
        }
        owner.joinRule(deviceQueue);
        return tags.entry(tag);
    }

    /** Passes consecutive frames of one receiver to it at once; returns the index after the last frame taken. */
    private int dispatchRun(FlowTagTable.Entry entry, int from, int end) {
        if (entry == null || entry.receivers.length != 1) {
            return from;
        }
        int runEnd = Math.min(burst.endOfRun(from), end);
        if (entry.dropsVlanTagged) {
            runEnd = burst.firstTagged(from, runEnd);
            if (runEnd == from) {
                return from;
            }
        }
        FrameReceiver receiver = entry.receivers[0];
        boolean first = !receiver.isInBurst();
        int taken = receiver.receiveRun(burst, from, runEnd);
        if (first && receiver.isInBurst()) {
            addInBurst(receiver);
        }
        return taken;
    }

    private void dispatchFrame(FlowTagTable.Entry entry, int index) {
        boolean vlanTagged = entry != null && entry.dropsVlanTagged && burst.firstTagged(index, index + 1) == index;
        dispatchFrame(entry, burst.takeFrame(index), burst.checksumVerified(index), vlanTagged);
    }

    private void dispatchFrame(FlowTagTable.Entry entry, ByteBuf frame, boolean checksumVerified,
                               boolean vlanTagged) {
        if (entry != null && entry.dropsVlanTagged && vlanTagged) {
            statistics.vlanTaggedFrames++;
            frame.release();
            return;
        }
        if (entry == null) {
            statistics.undeliveredFrames++;
            frame.release();
            return;
        }
        FrameReceiver[] receivers = entry.receivers;
        if (receivers.length > 1 && entry.isRss()) {
            deliverTo(receivers[FlowHash.choose(frame, receivers.length)], frame, checksumVerified);
            return;
        }
        for (int r = 1; r < receivers.length; r++) {
            deliverIfAttached(receivers[r], frame.retainedDuplicate(), checksumVerified);
        }
        if (receivers.length > 1) {
            deliverIfAttached(receivers[0], frame, checksumVerified);
        } else {
            deliverTo(receivers[0], frame, checksumVerified);
        }
    }

    /** Passes a frame to one of several receivers of a rule, unless a handler of an earlier one has detached it. */
    private void deliverIfAttached(FrameReceiver receiver, ByteBuf frame, boolean checksumVerified) {
        if (attached.contains(receiver)) {
            deliverTo(receiver, frame, checksumVerified);
        } else {
            statistics.undeliveredFrames++;
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
        if (receiversInBurstCount == receiversInBurst.length) {
            receiver.endBurst();
            return;
        }
        receiversInBurst[receiversInBurstCount++] = receiver;
    }

    private void endBursts() {
        for (int i = 0; i < receiversInBurstCount; i++) {
            FrameReceiver receiver = receiversInBurst[i];
            receiversInBurst[i] = null;
            try {
                receiver.endBurst();
            } catch (Throwable e) {
                onFailure.accept(e);
            }
        }
        receiversInBurstCount = 0;
    }

    /** Releases the waiting frames. */
    void close() {
        deferPending();
        deferred.release();
    }
}
