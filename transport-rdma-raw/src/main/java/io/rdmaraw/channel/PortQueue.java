package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.queue.SpreadFlow;
import io.rdmaraw.queue.SpreadFlows;
import io.rdmaraw.queue.VerbsFrameQueue;
import io.rdmaraw.verbs.AsyncEvent;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.verbs.VerbsException;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * One loop's queue on one port, with the channels that live on it. Frames find their channel by the tag of the rule
 * that steered them here.
 */
final class PortQueue implements SharedDevice.AsyncListener {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(PortQueue.class);

    /** More than any completion queue holds; where only a part of the queue has failed, frames go on coming in. */
    private static final int MAX_LAST_BURSTS = 1024;

    private final SharedDevice device;
    private final int portNumber;
    private final FrameQueue queue;
    private final CompletionChannel completionChannel;
    private final Executor loop;
    private final FrameBurstPool burstPool;
    private final PortLimits limits;
    private final ReceiveBurst burst = new ReceiveBurst();
    private final QueueChannel[] touched = new QueueChannel[FrameQueue.BURST_FRAMES];
    private final ArrayDeque<QueueChannel> waitingForRoom = new ArrayDeque<>();
    private final FlowTags tags;
    private final Set<QueueChannel> channels = new LinkedHashSet<>();
    private final LoopFailures failures;
    private final Consumer<PortQueue> onGone;
    private final List<Runnable> onClose = new ArrayList<>();
    private int touchedCount;
    /** A channel that is told something may poll the queue again, which waits for the next round. */
    private boolean polling;
    /** The device is gone; nothing is asked of it any more but to close. */
    private boolean gone;
    private final RdmaRawPortStatistics statistics;
    private final PortEvents events;
    private final RecoveryPace recoveryPace = new RecoveryPace(System.nanoTime());
    /** The queue has failed too often lately; it is recovered when its time has come. */
    private boolean recoveryPending;

    PortQueue(SharedDevice device, int portNumber, CompletionChannel completionChannel, Executor loop,
              FrameBurstPool burstPool, RdmaRawIoHandlerConfig config, LoopFailures failures,
              Consumer<PortQueue> onGone) {
        this.failures = failures;
        this.onGone = onGone;
        this.device = device;
        this.portNumber = portNumber;
        this.completionChannel = completionChannel;
        this.loop = loop;
        this.burstPool = burstPool;
        limits = PortLimits.of(device, portNumber, config);
        queue = VerbsFrameQueue.open(device, portNumber, completionChannel, config.queueOptions());
        tags = new FlowTags(queue, device);
        statistics = new RdmaRawPortStatistics(device, portNumber, queue.counters());
        events = new PortEvents(device.name(), portNumber);
        device.addListener(this);
    }

    SharedDevice device() {
        return device;
    }

    int portNumber() {
        return portNumber;
    }

    FrameQueue queue() {
        return queue;
    }

    FrameBurstPool burstPool() {
        return burstPool;
    }

    PortLimits limits() {
        return limits;
    }

    CompletionChannel completionChannel() {
        return completionChannel;
    }

    RdmaRawPortStatistics statistics() {
        return statistics;
    }

    /** As {@link #attach(QueueChannel, List, List)}, of rules that belong to this loop alone. */
    void attach(QueueChannel channel, List<FlowSpec> specs) {
        attach(channel, specs, List.of());
    }

    /**
     * Steers flows to a channel. Either all of the flows are steered or none.
     *
     * @param own rules of this loop. One that another channel of the loop has is shared: both get every frame
     * @param spread rules that loops share, see {@link SpreadFlows}: each frame goes to one channel on one of the
     *        loops, the same for all frames between two ends
     */
    void attach(QueueChannel channel, List<FlowSpec> own, List<FlowSpec> spread) {
        channels.add(channel);
        try {
            for (FlowSpec spec : own) {
                tags.attach(channel, spec);
            }
            for (FlowSpec spec : spread) {
                tags.attachSpread(channel, spec);
            }
        } catch (RuntimeException e) {
            detach(channel);
            throw e;
        }
        statistics.add(channel);
        statistics.rules = tags.ruleCount();
        if (!own.isEmpty() || !spread.isEmpty()) {
            events.flows(channel, own.isEmpty() ? spread : own, statistics.rules);
        }
    }

    /** Has something done before the queue closes, on the loop's thread. */
    void onClose(Runnable action) {
        onClose.add(action);
    }

    void detach(QueueChannel channel) {
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

    /** Asks for a call of {@link QueueChannel#sendQueueHasRoom()} when the device has taken frames. */
    void awaitRoom(QueueChannel channel) {
        waitingForRoom.add(channel);
    }

    /** Receives a burst and serves what was sent; returns the number of frames received. */
    int poll() {
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
            events.burst(queue.counters().copiedOutFrames());
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
            recover();
        }
        return received;
    }

    private void dispatch(int received) {
        int next = 0;
        // A failure costs the frame that met it. No method of its own for the loop inside: the way to a handler is as
        // many calls deep as the JIT compiler inlines.
        while (next < received) {
            try {
                while (next < received) {
                    FlowTags.Entry entry = tags.entry(burst.flowTag(next));
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
                failures.add(e);
                next = dropFailed(next);
            }
        }
        endBursts();
    }

    /** Returns behind the frame that a failure has to do with, which is dropped if nobody has taken it. */
    private int dropFailed(int next) {
        int end = burst.takenEnd();
        if (end <= next) {
            statistics.unmatchedFrames++;
            burst.takeFrame(next).release();
            return next + 1;
        }
        FlowTags.Entry entry = tags.entry(burst.flowTag(end - 1));
        if (entry != null) {
            // Whoever was amid the frames of this poll has to hear of their end.
            List.of(entry.channels).forEach(this::touch);
        }
        return end;
    }

    private void endBursts() {
        for (int i = 0; i < touchedCount; i++) {
            QueueChannel channel = touched[i];
            touched[i] = null;
            try {
                channel.endBurst();
            } catch (RuntimeException | OutOfMemoryError e) {
                failures.add(e);
            }
        }
        touchedCount = 0;
    }

    /** Loops that share a rule from the beginning hear of it by a task, and may get frames before. */
    private FlowTags.Entry joinedBy(int tag) {
        SpreadFlow flow = tag < SpreadFlows.FIRST_TAG ? null : device.spreadFlows().find(tag);
        if (flow == null || !(flow.ownerOrNull() instanceof SpreadOwner owner)) {
            return null;
        }
        owner.joinBy(this);
        return tags.entry(tag);
    }

    /** Frames of one channel are handed over together; returns behind the last that was. */
    private int dispatchRun(FlowTags.Entry entry, int from) {
        if (entry == null || entry.channels.length != 1) {
            return from;
        }
        QueueChannel channel = entry.channels[0];
        boolean first = !channel.isInBurst();
        int end = channel.receiveRun(burst, from, burst.endOfRun(from));
        if (first && channel.isInBurst()) {
            touch(channel);
        }
        return end;
    }

    private void dispatchFrame(FlowTags.Entry entry, int index) {
        ByteBuf frame = burst.takeFrame(index);
        if (entry == null) {
            statistics.unmatchedFrames++;
            frame.release();
            return;
        }
        QueueChannel[] channels = entry.channels;
        boolean checksumVerified = burst.checksumVerified(index);
        if (channels.length > 1 && entry.isSpread()) {
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
    private void deliverShared(QueueChannel channel, ByteBuf frame, boolean checksumVerified) {
        if (channels.contains(channel)) {
            deliver(channel, frame, checksumVerified);
        } else {
            statistics.unmatchedFrames++;
            frame.release();
        }
    }

    private void deliver(QueueChannel channel, ByteBuf frame, boolean checksumVerified) {
        if (channel.receive(frame, checksumVerified)) {
            touch(channel);
        }
    }

    /** Has the channel told when the frames of this poll have been handed out. */
    private void touch(QueueChannel channel) {
        if (touchedCount == touched.length) {
            channel.endBurst();
            return;
        }
        touched[touchedCount++] = channel;
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
        gone = true;
        fireEvent(new RdmaRawQueueEvent(RdmaRawQueueEvent.Kind.DEVICE_REMOVED, device.name(), portNumber,
                queue.inFlight()));
        for (QueueChannel channel : List.copyOf(channels)) {
            channel.queueGone();
        }
        onGone.accept(this);
    }

    private void recover() {
        if (recoveryPending) {
            return;
        }
        long waitNanos = recoveryPace.take(System.nanoTime());
        if (waitNanos > 0) {
            recoveryPending = true;
            recoverLater(waitNanos);
            return;
        }
        long lost = events.recovery(this::recoverQueue);
        String report = recoveryPace.report(System.nanoTime(), lost);
        if (report != null) {
            LOGGER.warn("{} port {}: {}", device.name(), portNumber, report);
        }
        fireEvent(new RdmaRawQueueEvent(RdmaRawQueueEvent.Kind.RECOVERED, device.name(), portNumber, lost));
        resumeWaiting();
    }

    private void recoverLater(long waitNanos) {
        Runnable retry = () -> {
            recoveryPending = false;
            if (!gone) {
                try {
                    recover();
                } catch (VerbsException e) {
                    giveUp(e);
                }
            }
        };
        if (loop instanceof ScheduledExecutorService timer) {
            timer.schedule(retry, waitNanos, TimeUnit.NANOSECONDS);
        } else {
            loop.execute(retry);
        }
    }

    private long recoverQueue() {
        long lostBefore = queue.counters().lostInFlightFrames();
        if (queue.needsNewQueues()) {
            // While the rules are there: without them nobody would know whose the frames are.
            takeWhatHasCompleted();
            tags.rebuild(() -> queue.recover(() -> { }));
        } else {
            queue.recover(this::takeWhatHasCompleted);
        }
        return queue.counters().lostInFlightFrames() - lostBefore;
    }

    /** Recovering throws away the completions that were not polled: frames that have come in would be lost. */
    private void takeWhatHasCompleted() {
        boolean wasPolling = polling;
        polling = true;
        try {
            // A burst of nothing but errors is not the last one.
            long emptyBefore = queue.counters().emptyReceivePolls();
            int rounds = 0;
            do {
                int received = queue.receive(burst);
                if (received > 0) {
                    statistics.burst(received);
                    dispatch(received);
                }
                queue.reclaim();
            } while (queue.counters().emptyReceivePolls() == emptyBefore && ++rounds < MAX_LAST_BURSTS);
        } finally {
            polling = wasPolling;
        }
    }

    private void fireEvent(RdmaRawQueueEvent event) {
        for (QueueChannel channel : List.copyOf(channels)) {
            channel.queueEvent(event);
        }
    }

    @Override
    public void onAsyncEvent(AsyncEvent event) {
        try {
            loop.execute(() -> handleAsyncEvent(event));
        } catch (RejectedExecutionException e) {
            // The loop has ended and closes the queue in a moment; the loop that found the event goes on.
            LOGGER.debug("{} port {}: {} comes too late", device.name(), portNumber, event, e);
        }
    }

    private void handleAsyncEvent(AsyncEvent event) {
        RdmaRawQueueEvent.Kind kind = RdmaRawQueueEvent.kindOf(event);
        if (kind == null || event.port() != 0 && event.port() != portNumber) {
            return;
        }
        switch (kind) {
            case DEVICE_REMOVED -> deviceRemoved();
            case QUEUE_FAILED -> recoverFrom(event);
            default -> fireEvent(new RdmaRawQueueEvent(kind, device.name(), portNumber, 0));
        }
    }

    private void recoverFrom(AsyncEvent event) {
        if (gone) {
            return;
        }
        try {
            if (queue.noteFailure(event.sourceOrNull())) {
                recover();
            }
        } catch (VerbsException e) {
            giveUp(e);
        }
    }

    void arm() {
        if (gone) {
            return;
        }
        try {
            queue.arm();
        } catch (VerbsException e) {
            giveUp(e);
        }
    }

    /**
     * Takes the completion event that ended a sleep; the frames are polled, whichever of the two queues it was for. If
     * the other one has an event too, that ends the next sleep at once, which is seldom; looking for it would be a
     * system call or two in vain after nearly every sleep.
     */
    void takeEvent() {
        completionChannel.pollEvent();
    }

    void close() {
        device.removeListener(this);
        List.copyOf(onClose).forEach(Runnable::run);
        tags.close();
        Arrays.fill(touched, null);
        queue.close();
        completionChannel.close();
        device.release();
    }
}
