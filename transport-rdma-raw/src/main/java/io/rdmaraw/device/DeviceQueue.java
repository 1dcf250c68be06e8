package io.rdmaraw.device;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.capture.CapturePoint;
import io.rdmaraw.capture.FrameTap;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.RssFlows;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.AsyncEvent;
import io.rdmaraw.verbs.objects.CompletionChannel;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * The queue of one loop on one device port, and the channels that use it. Received frames are dispatched to
 * channels by the flow tag of their rule. All methods are for the loop's thread, except {@link #onAsyncEvent}.
 */
public final class DeviceQueue implements SharedDevice.AsyncListener {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(DeviceQueue.class);

    /**
     * Maximum number of polls during a recovery; more than any completion queue can hold. If only a part of the
     * queue has failed, frames continue to arrive.
     */
    private static final int MAX_DRAIN_BURSTS = 1024;
    /** Number of bursts between two readings of the clock for the drop log. */
    private static final int BURSTS_PER_DROP_LOG = 4096;

    private final SharedDevice device;
    private final int portNumber;
    private final FrameQueue frameQueue;
    private final CompletionChannel completionChannel;
    private final Executor loop;
    private final FrameLimits limits;
    private final ArrayDeque<FrameReceiver> waitingForRoom = new ArrayDeque<>();
    private final FlowTagTable tags;
    private final Set<FrameReceiver> receivers = new LinkedHashSet<>();
    private final Consumer<Throwable> onFailure;
    private final Consumer<DeviceQueue> onDeviceRemoved;
    private final List<Runnable> closeActions = new ArrayList<>();
    private final FrameDispatcher dispatcher;
    /**
     * Set during {@link #receive} and {@link #deliver}. Handlers that run in {@code deliver} may call either
     * again; the nested call does nothing.
     */
    private boolean dispatching;
    /** Set when the queue has failed for good and a task will remove it. */
    private boolean ending;
    /** Set when the device is gone. After that only {@link #close} may be called. */
    private boolean removed;
    private final QueueStatistics statistics;
    private final QueueFlightRecorder flightRecorder;
    private final DropLog dropLog;
    private int dropLogCountdown = BURSTS_PER_DROP_LOG;
    private final QueueRecovery recovery;
    private final CapturePoint capturePoint;
    private final List<ChannelIds> channelIds = new ArrayList<>();

    public DeviceQueue(SharedDevice device, int portNumber, CompletionChannel completionChannel, Executor loop,
              FrameQueueOptions options, Map<String, List<RdmaRawMetric>> metricsByKind,
              Consumer<Throwable> onFailure, Consumer<DeviceQueue> onDeviceRemoved) {
        this.onFailure = onFailure;
        this.onDeviceRemoved = onDeviceRemoved;
        this.device = device;
        this.portNumber = portNumber;
        this.completionChannel = completionChannel;
        this.loop = loop;
        limits = FrameLimits.of(device, portNumber, options.slotBytes());
        frameQueue = FrameQueue.open(device, portNumber, completionChannel, options);
        tags = new FlowTagTable(frameQueue, device);
        statistics = new QueueStatistics(device, portNumber, frameQueue.counters(), metricsByKind);
        dispatcher = new FrameDispatcher(this, tags, receivers, statistics, onFailure);
        flightRecorder = new QueueFlightRecorder(device.name(), portNumber);
        dropLog = new DropLog(device.name(), statistics, statistics::receiverIterator, device.reportedReasons(),
                LOGGER::warn, System.nanoTime());
        recovery = new QueueRecovery(device.name() + " port " + portNumber, frameQueue, tags, flightRecorder, loop,
                recoveryOwner());
        device.addListener(this);
        capturePoint = CapturePoint.open(device.name(), portNumber, loop, this::setTap);
    }

    private void setTap(FrameTap tapOrNull) {
        if (tapOrNull != null) {
            tapOrNull.setChannelIds(this::channelIdOrNull);
        }
        frameQueue.setTap(tapOrNull);
    }

    private String channelIdOrNull(long address, int lengthBytes, boolean sent) {
        for (ChannelIds ids : channelIds) {
            String id = ids.find(address, lengthBytes, sent);
            if (id != null) {
                return id;
            }
        }
        return null;
    }

    /** Adds a method of finding the channels of captured frames. */
    public void addChannelIds(ChannelIds ids) {
        channelIds.add(ids);
    }

    public SharedDevice device() {
        return device;
    }

    public int portNumber() {
        return portNumber;
    }

    public FrameQueue frameQueue() {
        return frameQueue;
    }

    public FrameLimits limits() {
        return limits;
    }

    public CompletionChannel completionChannel() {
        return completionChannel;
    }

    public QueueStatistics statistics() {
        return statistics;
    }

    /** Attaches a channel with rules of this loop only; see {@link #attach(FrameReceiver, List, List)}. */
    public void attach(FrameReceiver receiver, List<FlowSpec> specs) {
        attach(receiver, specs, List.of());
    }

    /**
     * Attaches a channel and installs its rules. If one of the rules is refused, none is installed.
     *
     * @param own rules of this loop. If another channel of the loop has the same rule, both channels receive
     *            every frame
     * @param rss rules shared by several loops; each frame goes to one channel of one loop, and all frames of a
     *            flow to the same one until the loops of the rule change. See {@link RssFlows}
     */
    public void attach(FrameReceiver receiver, List<FlowSpec> own, List<FlowSpec> rss) {
        attach(receiver, own, rss, null);
    }

    /**
     * Attaches a channel; see {@link #attach(FrameReceiver, List, List)}.
     *
     * @param ownerOrNull the owner of shared rules for which this loop is the first member; see
     *                    {@link RssFlows#join}
     */
    public void attach(FrameReceiver receiver, List<FlowSpec> own, List<FlowSpec> rss, Object ownerOrNull) {
        receivers.add(receiver);
        try {
            for (FlowSpec spec : own) {
                tags.attach(receiver, spec);
            }
            for (FlowSpec spec : rss) {
                tags.attachRss(receiver, spec, ownerOrNull);
            }
        } catch (RuntimeException e) {
            detach(receiver);
            throw e;
        }
        statistics.add(receiver);
        statistics.ruleCount = tags.ruleCount();
        if (!own.isEmpty() || !rss.isEmpty()) {
            flightRecorder.recordFlowChange(receiver, own.isEmpty() ? rss : own, statistics.ruleCount);
        }
    }

    /** Returns whether a rule was refused because the device has no room. The rule itself is valid then. */
    public static boolean isTableFull(VerbsException e) {
        return e.errno() == Errno.ENOMEM || e.errno() == Errno.ENOSPC;
    }

    /** Adds an action to run on the loop's thread before the queue closes. */
    public void addCloseAction(Runnable action) {
        closeActions.add(action);
    }

    public void detach(FrameReceiver receiver) {
        receivers.remove(receiver);
        int rulesBefore = tags.ruleCount();
        tags.detach(receiver);
        waitingForRoom.remove(receiver);
        statistics.remove(receiver);
        statistics.ruleCount = tags.ruleCount();
        if (statistics.ruleCount != rulesBefore) {
            flightRecorder.recordFlowChange(receiver, List.of(), statistics.ruleCount);
        }
    }

    /**
     * Withdraws a channel from shared rules. Frames already received are still delivered until the channel
     * detaches.
     *
     * @return false if the device cannot install the replacement rules; the channel then stays in the shared
     *         rules
     */
    public boolean withdrawFromRss(FrameReceiver receiver) {
        return tags.withdrawFromRss(receiver);
    }

    /** Requests a call of {@link FrameReceiver#onSendRoom()} as soon as the send queue has room. */
    public void notifyWhenRoom(FrameReceiver receiver) {
        waitingForRoom.add(receiver);
    }

    /**
     * Polls the queue once. Frames for receivers that only queue ({@link FrameReceiver#queuesOnly}) are
     * dispatched at once; other frames wait for {@link #deliver}. Runs no user handlers. Does nothing if called
     * within {@code deliver}, or if too many frames are waiting.
     *
     * @return the number of frames received
     */
    public int receive() {
        if (removed || dispatching || !dispatcher.hasRoomForBurst()) {
            return 0;
        }
        dispatching = true;
        try {
            int received = dispatcher.receive(frameQueue);
            if (received > 0) {
                statistics.countBurst(received);
                flightRecorder.onBurst(frameQueue.counters().copiedOutFrames);
                if (--dropLogCountdown <= 0) {
                    logDrops();
                }
            } else if (dispatcher.isEmpty()) {
                tags.onQueueEmpty();
            }
            if (frameQueue.inFlight() > 0) {
                frameQueue.reclaim();
            }
            return received;
        } catch (VerbsException e) {
            handleDeviceFailure(e);
            return 0;
        } finally {
            dispatching = false;
        }
    }

    /**
     * Dispatches waiting frames, notifies channels that wait for send room, and recovers a failed queue. Runs
     * user handlers.
     *
     * @return whether frames were waiting
     */
    public boolean deliver() {
        if (removed || dispatching) {
            return false;
        }
        dispatching = true;
        try {
            boolean delivered = dispatcher.deliver();
            if (!waitingForRoom.isEmpty() && frameQueue.sendRoom() > 0) {
                notifyRoomWaiters();
            }
            if (frameQueue.failed()) {
                recovery.recover();
            }
            return delivered;
        } catch (VerbsException e) {
            handleDeviceFailure(e);
            return false;
        } finally {
            dispatching = false;
        }
    }

    /**
     * Returns whether {@link #deliver} has work that no completion event will announce: waiting frames, room
     * for a waiting channel, or a failed queue. If so, the loop must not sleep.
     */
    public boolean needsDelivery() {
        return !removed && (!dispatcher.isEmpty() || !waitingForRoom.isEmpty() && frameQueue.sendRoom() > 0
                || frameQueue.failed());
    }

    /** Logs new reasons for drops. Called before the loop sleeps, and every {@link #BURSTS_PER_DROP_LOG} bursts. */
    private void logDrops() {
        dropLogCountdown = BURSTS_PER_DROP_LOG;
        dropLog.poll(System.nanoTime());
    }

    private void notifyRoomWaiters() {
        for (int n = waitingForRoom.size(); n > 0 && frameQueue.sendRoom() > 0; n--) {
            waitingForRoom.remove().onSendRoom();
        }
    }

    /** Dispatches the asynchronous events of the device. If they cannot be read, the device has failed. */
    public void dispatchAsyncEvents() {
        if (ending || removed) {
            return;
        }
        try {
            device.dispatchAsyncEvents();
        } catch (VerbsException e) {
            handleDeviceFailure(e);
        }
    }

    /** Handles a failed device: dispatches its pending asynchronous events, then closes its channels. */
    private void handleDeviceFailure(VerbsException cause) {
        if (!ending) {
            LOGGER.warn("{} port {}: the device fails, its channels are closed", device.name(), portNumber, cause);
            endQueue(true);
        }
    }

    /** @param isLogged whether a failure of the device has been logged */
    private void endQueue(boolean isLogged) {
        if (ending) {
            return;
        }
        ending = true;
        try {
            device.dispatchAsyncEvents();
        } catch (VerbsException e) {
            // No event reports the removal. Loops that open the name must not get the failed device.
            device.countAsRemoved();
            if (!isLogged) {
                LOGGER.warn("{} port {}: the device has failed or was removed, and its events cannot be read; its"
                        + " channels are closed", device.name(), portNumber, e);
            }
        } finally {
            loop.execute(this::handleDeviceRemoval);
        }
    }

    private void handleDeviceRemoval() {
        if (removed) {
            return;
        }
        drainRemaining();
        removed = true;
        fireEvent(new QueueEvent(QueueEvent.Kind.DEVICE_REMOVED, device.name(), portNumber,
                frameQueue.inFlight()));
        for (FrameReceiver receiver : List.copyOf(receivers)) {
            receiver.onDeviceRemoved();
        }
        onDeviceRemoved.accept(this);
    }

    /** Dispatches the frames that the device wrote to memory before it disappeared. */
    private void drainRemaining() {
        try {
            drainCompletions();
        } catch (VerbsException e) {
            LOGGER.debug("{} port {}: cannot poll the frames received last", device.name(), portNumber, e);
        }
    }

    private QueueRecovery.Owner recoveryOwner() {
        return new QueueRecovery.Owner() {
            @Override
            public void drainCompletions() {
                DeviceQueue.this.drainCompletions();
            }

            @Override
            public void onRecovered(long lostFrames) {
                fireEvent(new QueueEvent(QueueEvent.Kind.QUEUE_RECOVERED, device.name(), portNumber, lostFrames));
                notifyRoomWaiters();
            }

            @Override
            public void onDeviceFailure(VerbsException cause) {
                DeviceQueue.this.handleDeviceFailure(cause);
            }

            @Override
            public boolean isRemoved() {
                return removed;
            }
        };
    }

    /** Dispatches all received frames. A recovery discards completions that were not polled. */
    private void drainCompletions() {
        boolean wasDispatching = dispatching;
        dispatching = true;
        try {
            dispatcher.deliver();
            // Only an empty poll ends the loop: a burst may consist of error completions only.
            long emptyBefore = frameQueue.counters().emptyReceivePolls;
            int bursts = 0;
            do {
                int received = dispatcher.receive(frameQueue);
                if (received > 0) {
                    statistics.countBurst(received);
                    dispatcher.deliver();
                }
                frameQueue.reclaim();
            } while (frameQueue.counters().emptyReceivePolls == emptyBefore && ++bursts < MAX_DRAIN_BURSTS);
        } finally {
            dispatching = wasDispatching;
        }
    }

    private void fireEvent(QueueEvent event) {
        for (FrameReceiver receiver : List.copyOf(receivers)) {
            receiver.onQueueEvent(event);
        }
    }

    @Override
    public void onAsyncEvent(AsyncEvent event) {
        FrameQueue.ResetCounts resetCounts = frameQueue.resetCounts();
        // A loop that has terminated closes the queue. The loop that read the event must not fail.
        LoopTasks.executeOrElse(loop, () -> handleAsyncEvent(event, resetCounts),
                () -> LOGGER.debug("{} port {}: event dropped, because the loop has ended: {}", device.name(),
                        portNumber, event));
    }

    private void handleAsyncEvent(AsyncEvent event, FrameQueue.ResetCounts resetCounts) {
        QueueEvent.Kind kind = QueueEvent.kindOf(event);
        if (kind == null || event.port() != 0 && event.port() != portNumber) {
            return;
        }
        switch (kind) {
            case DEVICE_REMOVED -> handleDeviceRemoval();
            case QUEUE_FAILED -> recoverFrom(event, resetCounts);
            default -> fireEvent(new QueueEvent(kind, device.name(), portNumber, 0));
        }
    }

    private void recoverFrom(AsyncEvent event, FrameQueue.ResetCounts resetCounts) {
        if (removed) {
            return;
        }
        try {
            if (frameQueue.recordFailure(event.sourceOrNull(), resetCounts)) {
                recovery.recover();
            }
        } catch (VerbsException e) {
            handleDeviceFailure(e);
        }
    }

    public void arm() {
        if (removed) {
            return;
        }
        logDrops();
        try {
            frameQueue.arm();
        } catch (VerbsException e) {
            handleDeviceFailure(e);
        }
    }

    /**
     * Takes the completion event that ended a sleep. All queues are polled, so it does not matter which one
     * sent the event. If the other queue has an event, too, the next sleep ends at once. That is rare, and
     * checking for it would cost a system call or two after nearly every sleep.
     */
    public void pollCompletionEvent() {
        if (removed) {
            return;
        }
        try {
            completionChannel.pollEvent();
        } catch (VerbsException e) {
            // The kernel closes the channel of a removed device. Its asynchronous event is logged.
            if (e.errno() == Errno.EIO) {
                endQueue(false);
            } else {
                handleDeviceFailure(e);
            }
        }
    }

    public void close() {
        device.removeListener(this);
        List.copyOf(closeActions).forEach(Runnable::run);
        tags.close();
        dispatcher.close();
        capturePoint.close();
        frameQueue.close();
        completionChannel.close();
        device.release();
    }
}
