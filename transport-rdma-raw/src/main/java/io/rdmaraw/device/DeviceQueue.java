package io.rdmaraw.device;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.queue.RssFlow;
import io.rdmaraw.queue.RssFlows;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.queue.VerbsFrameQueue;
import io.rdmaraw.verbs.AsyncEvent;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;

/**
 * One loop's queue on one port of a device, with the channels that use it. The flow tag of a frame's rule selects its
 * channel.
 */
public final class DeviceQueue implements SharedDevice.AsyncListener {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(DeviceQueue.class);

    /** More than any completion queue holds; where only a part of the queue has failed, frames go on coming in. */
    private static final int MAX_LAST_BURSTS = 1024;
    /** After so many the clock is read, to see whether it is time to look for drops. */
    private static final int BURSTS_PER_DROP_LOG = 4096;

    private final SharedDevice device;
    private final int portNumber;
    private final FrameQueue queue;
    private final CompletionChannel completionChannel;
    private final Executor loop;
    private final FrameLimits limits;
    private final ReceiveBurst burst = new ReceiveBurst();
    private final FrameReceiver[] toNotify = new FrameReceiver[FrameQueue.BURST_FRAMES];
    private final ArrayDeque<FrameReceiver> waitingForRoom = new ArrayDeque<>();
    private final FlowTagTable tags;
    private final Set<FrameReceiver> channels = new LinkedHashSet<>();
    private final Consumer<Throwable> failures;
    private final Consumer<DeviceQueue> onGone;
    private final List<Runnable> onClose = new ArrayList<>();
    private int notifyCount;
    /** A channel that is called may poll the queue again; that poll is left to the next round. */
    private boolean polling;
    /** The device is gone; the only call that it still gets is close. */
    private boolean gone;
    private final PortStatistics statistics;
    private final DeviceEvents events;
    private final DropLog drops;
    private int dropLogCountdown = BURSTS_PER_DROP_LOG;
    private final QueueRecovery recovery;

    public DeviceQueue(SharedDevice device, int portNumber, CompletionChannel completionChannel, Executor loop,
              FrameQueueOptions options, Map<String, List<RdmaRawMetric>> channelKinds,
              Consumer<Throwable> failures, Consumer<DeviceQueue> onGone) {
        this.failures = failures;
        this.onGone = onGone;
        this.device = device;
        this.portNumber = portNumber;
        this.completionChannel = completionChannel;
        this.loop = loop;
        limits = FrameLimits.of(device, portNumber, options.slotBytes());
        queue = VerbsFrameQueue.open(device, portNumber, completionChannel, options);
        tags = new FlowTagTable(queue, device);
        statistics = new PortStatistics(device, portNumber, queue.counters(), channelKinds);
        events = new DeviceEvents(device.name(), portNumber);
        drops = new DropLog(device.name(), statistics, statistics::eachChannel, device.toldReasons(), LOGGER::warn,
                System.nanoTime());
        recovery = new QueueRecovery(device.name() + " port " + portNumber, queue, tags, events, loop,
                recoveryOwner());
        device.addListener(this);
    }

    public SharedDevice device() {
        return device;
    }

    public int portNumber() {
        return portNumber;
    }

    public FrameQueue queue() {
        return queue;
    }

    public FrameLimits limits() {
        return limits;
    }

    public CompletionChannel completionChannel() {
        return completionChannel;
    }

    public PortStatistics statistics() {
        return statistics;
    }

    /** As {@link #attach(FrameReceiver, List, List)}, of rules that belong to this loop alone. */
    public void attach(FrameReceiver channel, List<FlowSpec> specs) {
        attach(channel, specs, List.of());
    }

    /**
     * Steers flows to a channel. Either all of the flows are steered or none.
     *
     * @param own rules of this loop. One that another channel of the loop has is shared: both get every frame
     * @param rss rules that loops share, see {@link RssFlows}: each frame goes to one channel on one of the
     *        loops, the same for all frames between two ends
     */
    public void attach(FrameReceiver channel, List<FlowSpec> own, List<FlowSpec> rss) {
        attach(channel, own, rss, null);
    }

    /** @param ownerOrNull whose the shared rules are where this loop is the first, see {@link RssFlows#join} */
    public void attach(FrameReceiver channel, List<FlowSpec> own, List<FlowSpec> rss, Object ownerOrNull) {
        channels.add(channel);
        try {
            for (FlowSpec spec : own) {
                tags.attach(channel, spec);
            }
            for (FlowSpec spec : rss) {
                tags.attachRss(channel, spec, ownerOrNull);
            }
        } catch (RuntimeException e) {
            detach(channel);
            throw e;
        }
        statistics.add(channel);
        statistics.rules = tags.ruleCount();
        if (!own.isEmpty() || !rss.isEmpty()) {
            events.flows(channel, own.isEmpty() ? rss : own, statistics.rules);
        }
    }

    /** Adds an action that runs before the queue closes, on the loop's thread. */
    public void onClose(Runnable action) {
        onClose.add(action);
    }

    public void detach(FrameReceiver channel) {
        channels.remove(channel);
        int rulesBefore = tags.ruleCount();
        tags.detach(channel);
        waitingForRoom.remove(channel);
        statistics.remove(channel);
        statistics.rules = tags.ruleCount();
        if (statistics.rules != rulesBefore) {
            events.flows(channel, List.of(), statistics.rules);
        }
    }

    /**
     * Has the device bring a channel nothing more by rules that loops share; what it has brought is still handed on,
     * until the channel detaches.
     *
     * @return whether that is so; not where the device has no room for the rules that take the place of these
     */
    public boolean leaveToOthers(FrameReceiver channel) {
        return tags.leaveToOthers(channel);
    }

    /** Requests a call of {@link FrameReceiver#sendQueueHasRoom()} when the device has taken frames. */
    public void awaitRoom(FrameReceiver channel) {
        waitingForRoom.add(channel);
    }

    /** Receives a burst and serves what was sent; returns the number of frames received. */
    public int poll() {
        if (gone || polling) {
            return 0;
        }
        polling = true;
        try {
            return pollQueue();
        } catch (VerbsException e) {
            giveUp(e);
            return 0;
        } finally {
            polling = false;
        }
    }

    private int pollQueue() {
        int received = queue.receive(burst);
        if (received > 0) {
            statistics.burst(received);
            dispatch(received);
            events.burst(queue.counters().copiedOutFrames);
            if (--dropLogCountdown <= 0) {
                lookAtDrops();
            }
        } else {
            tags.queueEmpty();
        }
        if (queue.inFlight() > 0) {
            queue.reclaim();
        }
        if (!waitingForRoom.isEmpty() && queue.sendRoom() > 0) {
            resumeWaiting();
        }
        if (queue.failed()) {
            recovery.recover();
        }
        return received;
    }

    /** Called before the loop sleeps, and of a loop that never does now and then. */
    private void lookAtDrops() {
        dropLogCountdown = BURSTS_PER_DROP_LOG;
        drops.look(System.nanoTime());
    }

    private void dispatch(int received) {
        int next = 0;
        // A failure costs the frame that met it. No method of its own for the loop inside: the way to a handler is as
        // many calls deep as the JIT compiler inlines.
        while (next < received) {
            try {
                while (next < received) {
                    FlowTagTable.Entry entry = tags.entry(burst.flowTag(next));
                    if (entry == null) {
                        entry = joinedBy(burst.flowTag(next));
                    }
                    int end = dispatchRun(entry, next);
                    if (end == next) {
                        dispatchFrame(entry, end++);
                    }
                    next = end;
                }
            } catch (RuntimeException | OutOfMemoryError e) {
                failures.accept(e);
                next = dropFailed(next);
            }
        }
        endBursts();
    }

    /** Returns the index behind the frame that caused a failure; the frame is dropped if no channel has taken it. */
    private int dropFailed(int next) {
        int end = burst.takenEnd();
        if (end <= next) {
            statistics.unmatchedFrames++;
            burst.takeFrame(next).release();
            return next + 1;
        }
        FlowTagTable.Entry entry = tags.entry(burst.flowTag(end - 1));
        if (entry != null) {
            // The channels of this rule have to be told the end of the burst.
            List.of(entry.channels).forEach(this::notifyAtEnd);
        }
        return end;
    }

    private void endBursts() {
        for (int i = 0; i < notifyCount; i++) {
            FrameReceiver channel = toNotify[i];
            toNotify[i] = null;
            try {
                channel.endBurst();
            } catch (RuntimeException | OutOfMemoryError e) {
                failures.accept(e);
            }
        }
        notifyCount = 0;
    }

    /** Loops that share a rule learn of it by a task, and may get frames of it before. */
    private FlowTagTable.Entry joinedBy(int tag) {
        RssFlow flow = tag < RssFlows.FIRST_TAG ? null : device.rssFlows().find(tag);
        if (flow == null || !(flow.ownerOrNull() instanceof RssFlowOwner owner)) {
            return null;
        }
        owner.joinBy(this);
        return tags.entry(tag);
    }

    /** Frames of one channel are handed over together; returns behind the last that was. */
    private int dispatchRun(FlowTagTable.Entry entry, int from) {
        if (entry == null || entry.channels.length != 1) {
            return from;
        }
        int runEnd = burst.endOfRun(from);
        if (entry.refusesTagged) {
            runEnd = burst.endOfUntagged(from, runEnd);
            if (runEnd == from) {
                return from;
            }
        }
        FrameReceiver channel = entry.channels[0];
        boolean first = !channel.isInBurst();
        int end = channel.receiveRun(burst, from, runEnd);
        if (first && channel.isInBurst()) {
            notifyAtEnd(channel);
        }
        return end;
    }

    private void dispatchFrame(FlowTagTable.Entry entry, int index) {
        if (entry != null && entry.refusesTagged && burst.endOfUntagged(index, index + 1) == index) {
            statistics.taggedFrames++;
            burst.takeFrame(index).release();
            return;
        }
        ByteBuf frame = burst.takeFrame(index);
        if (entry == null) {
            statistics.unmatchedFrames++;
            frame.release();
            return;
        }
        FrameReceiver[] channels = entry.channels;
        boolean checksumVerified = burst.checksumVerified(index);
        if (channels.length > 1 && entry.isRss()) {
            deliver(channels[FlowHash.choose(frame, channels.length)], frame, checksumVerified);
            return;
        }
        for (int c = 1; c < channels.length; c++) {
            deliverShared(channels[c], frame.retainedDuplicate(), checksumVerified);
        }
        if (channels.length > 1) {
            deliverShared(channels[0], frame, checksumVerified);
        } else {
            deliver(channels[0], frame, checksumVerified);
        }
    }

    /** The handler of another channel of the same rule may have closed this one. */
    private void deliverShared(FrameReceiver channel, ByteBuf frame, boolean checksumVerified) {
        if (channels.contains(channel)) {
            deliver(channel, frame, checksumVerified);
        } else {
            statistics.unmatchedFrames++;
            frame.release();
        }
    }

    private void deliver(FrameReceiver channel, ByteBuf frame, boolean checksumVerified) {
        if (channel.receive(frame, checksumVerified)) {
            notifyAtEnd(channel);
        }
    }

    /** Notes a channel that has to be told the end of the burst. */
    private void notifyAtEnd(FrameReceiver channel) {
        if (notifyCount == toNotify.length) {
            channel.endBurst();
            return;
        }
        toNotify[notifyCount++] = channel;
    }

    private void resumeWaiting() {
        for (int n = waitingForRoom.size(); n > 0 && queue.sendRoom() > 0; n--) {
            waitingForRoom.remove().sendQueueHasRoom();
        }
    }

    /** The device does not answer any more: what it has to say for itself comes first, then its channels close. */
    private void giveUp(VerbsException cause) {
        LOGGER.warn("{} port {}: the device fails, its channels are closed", device.name(), portNumber, cause);
        device.dispatchAsyncEvents();
        loop.execute(this::deviceRemoved);
    }

    private void deviceRemoved() {
        if (gone) {
            return;
        }
        takeWhatIsLeft();
        gone = true;
        fireEvent(new QueueEvent(QueueEvent.Kind.DEVICE_REMOVED, device.name(), portNumber,
                queue.inFlight()));
        for (FrameReceiver channel : List.copyOf(channels)) {
            channel.queueGone();
        }
        onGone.accept(this);
    }

    /** The device has written it to memory before it went: only what it had not done is lost. */
    private void takeWhatIsLeft() {
        try {
            takeWhatHasCompleted();
        } catch (VerbsException e) {
            LOGGER.debug("{} port {}: what came in last cannot be read", device.name(), portNumber, e);
        }
    }

    private QueueRecovery.Owner recoveryOwner() {
        return new QueueRecovery.Owner() {
            @Override
            public void takeWhatHasCompleted() {
                DeviceQueue.this.takeWhatHasCompleted();
            }

            @Override
            public void recovered(long lostFrames) {
                fireEvent(new QueueEvent(QueueEvent.Kind.RECOVERED, device.name(), portNumber, lostFrames));
                resumeWaiting();
            }

            @Override
            public void giveUp(VerbsException cause) {
                DeviceQueue.this.giveUp(cause);
            }

            @Override
            public boolean isGone() {
                return gone;
            }
        };
    }

    /** Recovering throws away the completions that were not polled: frames that have come in would be lost. */
    private void takeWhatHasCompleted() {
        boolean wasPolling = polling;
        polling = true;
        try {
            // A burst of nothing but errors is not the last one.
            long emptyBefore = queue.counters().emptyReceivePolls;
            int rounds = 0;
            do {
                int received = queue.receive(burst);
                if (received > 0) {
                    statistics.burst(received);
                    dispatch(received);
                }
                queue.reclaim();
            } while (queue.counters().emptyReceivePolls == emptyBefore && ++rounds < MAX_LAST_BURSTS);
        } finally {
            polling = wasPolling;
        }
    }

    private void fireEvent(QueueEvent event) {
        for (FrameReceiver channel : List.copyOf(channels)) {
            channel.queueEvent(event);
        }
    }

    @Override
    public void onAsyncEvent(AsyncEvent event) {
        try {
            FrameQueue.Resets resets = queue.resets();
            loop.execute(() -> handleAsyncEvent(event, resets));
        } catch (RejectedExecutionException e) {
            // The loop has ended and closes the queue in a moment; the loop that found the event goes on.
            LOGGER.debug("{} port {}: {} comes too late", device.name(), portNumber, event, e);
        }
    }

    private void handleAsyncEvent(AsyncEvent event, FrameQueue.Resets resets) {
        QueueEvent.Kind kind = QueueEvent.kindOf(event);
        if (kind == null || event.port() != 0 && event.port() != portNumber) {
            return;
        }
        switch (kind) {
            case DEVICE_REMOVED -> deviceRemoved();
            case QUEUE_FAILED -> recoverFrom(event, resets);
            default -> fireEvent(new QueueEvent(kind, device.name(), portNumber, 0));
        }
    }

    private void recoverFrom(AsyncEvent event, FrameQueue.Resets resets) {
        if (gone) {
            return;
        }
        try {
            if (queue.noteFailure(event.sourceOrNull(), resets)) {
                recovery.recover();
            }
        } catch (VerbsException e) {
            giveUp(e);
        }
    }

    public void arm() {
        if (gone) {
            return;
        }
        lookAtDrops();
        try {
            queue.arm();
        } catch (VerbsException e) {
            giveUp(e);
        }
    }

    /**
     * Takes the completion event that ended a sleep; the frames are polled, whichever of the two queues it was for. If
     * the other one has an event too, that ends the next sleep at once, which is seldom; looking for it would be a
     * wasted system call or two after nearly every sleep.
     */
    public void takeEvent() {
        completionChannel.pollEvent();
    }

    public void close() {
        device.removeListener(this);
        List.copyOf(onClose).forEach(Runnable::run);
        tags.close();
        Arrays.fill(toNotify, null);
        queue.close();
        completionChannel.close();
        device.release();
    }
}
