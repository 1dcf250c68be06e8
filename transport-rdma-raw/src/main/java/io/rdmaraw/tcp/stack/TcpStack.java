package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.loop.CrossLoopQueueLimit;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.metrics.RdmaRawTcpSockets;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpState;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.stack.port.TimeWaitPorts;
import io.rdmaraw.tcp.stack.receive.SegmentObserver;
import io.rdmaraw.tcp.stack.send.TcpFrameBuilder;
import io.rdmaraw.wire.ParseCounters;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.random.RandomGenerator;

/**
 * The TCP of one loop on one device. It passes the frames of a burst to the engine, notifies the channels, and then
 * sends the engine's segments in one burst. Used on the loop's thread only, unless a method says otherwise.
 */
public final class TcpStack implements FrameReceiver, PortOwner {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(TcpStack.class);
    /**
     * Limit for {@link #receiveAll}: a full queue of the device and more from the kernel. The limit is needed because
     * frames may arrive continuously.
     */
    private static final int MAX_POLLED = 1 << 16;
    /**
     * Maximum number of out-of-order payloads that are copied after a burst to release their slots, if slots are low.
     */
    private static final int MAX_COPIED_AFTER_BURST = 64;

    private final DeviceQueue deviceQueue;
    private final ThreadAwareExecutor loop;
    private final TcpNetwork network;
    private final TcpEngine engine;
    private final SegmentReceiver receiver;
    private final SegmentSender sender;
    private final TcpIcmp icmp;
    private final CrossLoopLookup crossLoopLookup;
    private final KernelSegments kernelSegments;
    private final TcpOpener opener;
    private final PortHandover handover;
    private final ConnectionLocation.Placement placement = new ConnectionLocation.Placement(this, this);
    private final CrossLoopQueueLimit forwardLimit = new CrossLoopQueueLimit();
    private final TcpStackStatistics statistics;
    private final TimeWaitPorts timeWaitPorts;
    private final ReadyTransports ready = new ReadyTransports();
    private final Transmission transmission;
    private boolean closed;
    /** Reason reported to connections that are here when the stack ends or that arrive later; null until then. */
    private CloseReason endReason;
    private final PriorityTasks priorityTasks = new PriorityTasks();
    private final ReleaseTasks releaseTasks = new ReleaseTasks();

    public TcpStack(DeviceQueue deviceQueue, TcpNetwork network, TcpStackOptions options, ThreadAwareExecutor loop,
             RandomGenerator random) {
        this.deviceQueue = deviceQueue;
        this.network = network;
        this.loop = loop;
        TcpFrameBuilder frameBuilder = new TcpFrameBuilder(deviceQueue.frameQueue(), options.segmentationOffload(),
                deviceQueue.frameQueue().supportsOnDemandPaging());
        ParseCounters parseCounters = new ParseCounters();
        engine = new TcpEngine(options.engineConfigFactory().create(deviceQueue.limits().mtuBytes(),
                deviceQueue.frameQueue().maxParts(),
                frameBuilder.maxTsoBytes()), new ConnectionEvents(this), random, System.nanoTime());
        statistics = new TcpStackStatistics(engine.counters(), parseCounters, engine::timeWaitCount,
                frameBuilder::copiedSegments, this::sockets);
        handover = options.handover();
        receiver = new SegmentReceiver(engine, deviceQueue.frameQueue().slots(), deviceQueue.limits().mtuBytes(),
                statistics, parseCounters, network, options.frameOrigin());
        sender = new SegmentSender(this, deviceQueue, network, engine, frameBuilder, (EventLoop) loop);
        transmission = new Transmission(this, sender, loop);
        deviceQueue.attach(this, network.flows());
        deviceQueue.addChannelIds(new ConnectionIds(engine, receiver.forwardingTable()));
        icmp = new TcpIcmp(this, engine, network);
        crossLoopLookup = new CrossLoopLookup(this, engine, receiver, statistics);
        kernelSegments = new KernelSegments(this, statistics);
        opener = new TcpOpener(this);
        timeWaitPorts = new TimeWaitPorts(eventLoop(), () -> engine.counters().timeWaitOverflows++);
        network.stackStarted(this);
        DeviceStacks.add(this);
        TcpShutdownHook.stackOpened(this);
    }

    public TcpEngine engine() {
        return engine;
    }

    SegmentReceiver receiver() {
        return receiver;
    }

    /** Returns whether a capture or a handler observes the segments. */
    public boolean isObserved() {
        return sender.isObserved();
    }

    /**
     * Sets the observer of received and sent segments.
     *
     * @param observerOrNull receives each segment from now on; null for none
     */
    public void observeSegments(SegmentObserver observerOrNull) {
        receiver.observeSegments(observerOrNull);
        sender.observeSegments(observerOrNull);
    }

    public DeviceQueue deviceQueue() {
        return deviceQueue;
    }

    @Override
    public String label() {
        return "tcp";
    }

    @Override
    public TcpStackStatistics statistics() {
        return statistics;
    }

    @Override
    public FrameDrops<?> frameDrops() {
        return TcpStackStatistics.TABLE.frameDrops(statistics);
    }

    public TcpNetwork network() {
        return network;
    }

    /** Returns the ports that another process listens on, too. */
    PortHandover handover() {
        return handover;
    }

    /** Creates the work queue that is needed to share ports with other loops (RSS), if the device supports that. */
    public void prepareForRss() {
        if (network.hasRulesPerBinding() && deviceQueue.device().rssFlows().isSupported()) {
            deviceQueue.frameQueue().workQueue();
        }
    }

    /** Returns the executor of the stack's loop. It rejects tasks when the loop has ended. */
    @Override
    public Executor loop() {
        return loop;
    }

    /** Receives an ICMP error about a segment that some stack of this host has sent. May be called on any thread. */
    @Override
    public void onIcmpError(IcmpError error) {
        icmp.receive(error);
    }

    /** Dispatches a segment that the kernel received for a stack of this device. May be called on any thread. */
    @Override
    public void receiveKernelSegment(ByteBuf frame) {
        kernelSegments.dispatch(frame);
    }

    /** Dispatches a frame that another process has received and forwarded. May be called on any thread. */
    public void receiveFromOtherProcess(ByteBuf frame) {
        kernelSegments.dispatchVerified(frame);
    }

    /** Receives everything that the device has for the stack now. */
    void receiveAll() {
        int received = 0;
        int count;
        while (received < MAX_POLLED && (count = receiveNow()) > 0) {
            received += count;
        }
    }

    /**
     * Receives a burst while a handler runs, as a kernel would: acknowledgements free send buffer space, and payload is
     * queued. Runs no handler.
     *
     * @return the number of frames received; 0 if the handler belongs to a raw or datagram channel
     */
    public int receiveNow() {
        return closed ? 0 : deviceQueue.receive();
    }

    @Override
    public void countBadKernelSegments(int count) {
        statistics.badKernelSegments.add(count);
    }

    /** Returns whether the caller is on the stack's loop. May be called on any thread. */
    boolean isOnLoop() {
        return loop.isExecutorThread(Thread.currentThread());
    }

    /** Returns the loop of this stack. */
    EventLoop eventLoop() {
        return (EventLoop) loop;
    }

    /** Runs a task on the stack's loop; does nothing if the loop has ended. May be called on any thread. */
    void execute(Runnable task) {
        executeOrElse(task, () -> { });
    }

    /** Runs a task on the stack's loop, at once if the caller is on it. May be called on any thread. */
    void runOnLoop(Runnable task) {
        if (isOnLoop()) {
            task.run();
        } else {
            execute(task);
        }
    }

    /**
     * Runs a task on the stack's loop before the stack processes any frame received after this call. The caller's
     * action may cause such a frame. Tasks run in the order of the calls. May be called on any thread.
     */
    void executeBeforeFrames(Runnable task) {
        priorityTasks.add(task);
        // If the loop rejects tasks, the task runs before the next frame.
        execute(priorityTasks::run);
    }

    /** Runs the pending tasks of {@link #executeBeforeFrames} now, if the caller is on the stack's loop. */
    void runPriorityTasks() {
        if (isOnLoop()) {
            priorityTasks.run();
        }
    }

    /**
     * Runs a task on the stack's loop. If the loop has ended, {@code onLoopEnded} runs on the calling thread instead.
     * May be called on any thread.
     */
    void executeOrElse(Runnable task, Runnable onLoopEnded) {
        LoopTasks.executeOrElse(loop, task, onLoopEnded);
    }

    /**
     * Runs a task when the stack has released its connections, or now if it already has. May be called on any thread.
     */
    void whenReleased(Runnable task) {
        releaseTasks.add(task);
    }

    /** Removes a task of {@link #whenReleased} that has not run. May be called on any thread. */
    void cancelWhenReleased(Runnable task) {
        releaseTasks.remove(task);
    }

    private CompletableFuture<RdmaRawTcpSockets> sockets(int maxConnections) {
        CompletableFuture<RdmaRawTcpSockets> result = new CompletableFuture<>();
        executeOrElse(
                () -> result.complete(TcpSnapshots.sockets(
                        engine.socketDump(RdmaRawTcpSockets.MAX_EXAMINED, maxConnections))),
                () -> result.completeExceptionally(new IllegalStateException("the loop has ended")));
        return result;
    }

    // ---- connections on other loops ----

    /** Returns the location of connections on this stack. May be called on any thread. */
    ConnectionLocation.Placement placement() {
        return placement;
    }

    /** Releases a connection that moves to another loop. Later segments for it are forwarded. */
    void releaseConnection(TcpTransport transport) {
        engine.release(transport.connection());
        receiver.forwardingTable().add(transport);
        statistics.movedConnections++;
    }

    /** Adopts a connection that has moved here from another loop. */
    void adoptConnection(TcpTransport transport) {
        receiver.forwardingTable().remove(transport);
        engine.adopt(transport.connection(), System.nanoTime());
        if (closed) {
            // The stack has ended and has no other connection, so this ends only the adopted one.
            engine.shutdown(endReason);
        }
    }

    /**
     * Schedules a notification of the channel, which has arrived with the transport. It learns the state of the
     * connection even if no more frames are received.
     */
    void onTransportArrived(TcpTransport transport) {
        ready.add(transport);
        if (closed) {
            execute(ready::deliver);
        }
    }

    /**
     * Ends the use of this stack's flow rules by a connection, wherever the connection was. Its segments during
     * TIME-WAIT are handled here.
     */
    void onTransportEnded(TcpTransport transport) {
        receiver.forwardingTable().remove(transport);
        if (transport.connection().state() == TcpState.TIME_WAIT) {
            if (transport.stack() != this) {
                engine.adoptTimeWait(transport.connection(), System.nanoTime());
            }
            if (network.isKernelServed()) {
                transport.port().recordTimeWait(engine.timeWaitNanos());
            }
        }
        transport.port().release(timeWaitPorts);
    }

    /** Stops forwarding for a connection of another loop, because it has ended. */
    void stopForwarding(TcpTransport transport) {
        receiver.forwardingTable().remove(transport);
    }

    /** Returns whether segments for connections on other loops are expected here. */
    public boolean isForwarding() {
        return !receiver.forwardingTable().isEmpty();
    }

    /** Returns the search for connections of unmatched segments. */
    CrossLoopLookup crossLoopLookup() {
        return crossLoopLookup;
    }

    /** Returns the ports reserved only for connections in TIME-WAIT. */
    TimeWaitPorts timeWaitPorts() {
        return timeWaitPorts;
    }

    /**
     * Receives a frame that did not match a rule of this stack. The caller knows the port of the frame but not which of
     * the loops that share this port owns the connection.
     */
    @Override
    public void receiveUnsteered(ByteBuf frame, boolean checksumVerified) {
        if (closed) {
            frame.release();
            return;
        }
        crossLoopLookup.setLookupForced(true);
        try {
            receive(frame, checksumVerified);
        } finally {
            crossLoopLookup.setLookupForced(false);
            endBurst();
        }
    }

    /**
     * Receives a segment from the kernel if its connection is on this stack or was here before. Returns false
     * otherwise.
     */
    boolean receiveIfKnown(ByteBuf frame) {
        Segment segment = closed ? null : receiver.parse(frame, true);
        if (segment == null || !engine.matches(segment)
                && (receiver.forwardingTable().isEmpty() || receiver.forwardingTable().find(segment) == null)) {
            return false;
        }
        receiveFromKernel(frame);
        return true;
    }

    /** Receives a segment from the kernel; its checksum has been verified. */
    void receiveFromKernel(ByteBuf frame) {
        if (closed) {
            frame.release();
            return;
        }
        try {
            receive(frame, true);
        } finally {
            endBurst();
        }
    }

    /** Drops a reassembled datagram. TCP segments reassembled from fragments arrive as complete frames instead. */
    @Override
    public void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination) {
        statistics.nonTcpFrames++;
        packet.release();
    }

    /** Returns the limit for frames that other loops forward to this one. May be called on any thread. */
    CrossLoopQueueLimit forwardLimit() {
        return forwardLimit;
    }

    /** Receives frames forwarded by another loop. If a frame causes an exception, the others are still processed. */
    void receiveForwarded(ForwardingTable.Batch batch) {
        if (closed) {
            batch.release();
            return;
        }
        Throwable failure = null;
        for (int i = 0; i < batch.frames().size(); i++) {
            try {
                receive(batch.frames().get(i), batch.checksumsVerified().get(i));
            } catch (Throwable e) {
                failure = e;
            }
        }
        endBurst();
        if (failure != null) {
            // The event loop logs it, because this method runs as a task of the loop.
            PlatformDependent.throwException(failure);
        }
    }

    /** Returns the opener of connections on this stack. */
    public TcpOpener opener() {
        return opener;
    }

    // ---- received frames ----

    @Override
    public boolean receive(ByteBuf frame, boolean checksumVerified) {
        priorityTasks.run();
        return receiver.receive(frame, checksumVerified);
    }

    @Override
    public int receiveRun(ReceiveBurst burst, int from, int end) {
        priorityTasks.run();
        receiver.receiveRun(burst, from, end);
        return end;
    }

    @Override
    public boolean isInBurst() {
        return receiver.isInBurst();
    }

    @Override
    public boolean queuesOnly() {
        return true;
    }

    @Override
    public void endBurst() {
        receiver.endBurst();
        if (receiver.isMemoryLow()) {
            engine.releaseReceiveBuffers(MAX_COPIED_AFTER_BURST);
        }
    }

    /**
     * Performs the step <i>deliver</i> of the loop's turn: notifies the channels of connections that have data or
     * events.
     *
     * @return the number of connections
     */
    public int deliver() {
        if (transmission.isScheduled()) {
            // Before the handlers run: one of them may block the loop.
            transmission.transmit(System.nanoTime());
        }
        return ready.deliver();
    }

    /**
     * Performs the step <i>transmit</i> of the loop's turn: runs expired timers and sends all segments of the engine.
     * The end of a connection by a timer is delivered in the next turn.
     *
     * @return whether there was work
     */
    public boolean transmit() {
        if (closed) {
            return false;
        }
        long now;
        if (transmission.isPending()) {
            now = System.nanoTime();
        } else {
            long deadline = transmission.isBlocked() ? engine.nextTimerNanos() : engine.nextDeadlineNanos();
            if (deadline == Long.MAX_VALUE) {
                return false;
            }
            now = System.nanoTime();
            if (deadline - now > 0) {
                return false;
            }
        }
        engine.advance(now);
        if (!transmission.isBlocked()) {
            transmission.transmit(now);
        }
        return true;
    }

    /** Returns when the loop's next turn must run; {@link Long#MAX_VALUE} if only a frame can cause work. */
    public long nextDeadlineNanos() {
        if (!ready.isEmpty()) {
            return System.nanoTime();
        }
        if (transmission.isBlocked()) {
            // Timers must run even if the device accepts no frames.
            return Math.min(sender.retryNanos(), engine.nextTimerNanos());
        }
        return engine.nextDeadlineNanos();
    }

    /** Schedules the delivery of the transport's events before the loop waits. */
    public void markReady(TcpTransport transport) {
        ready.add(transport);
    }

    /**
     * Cancels the delivery, because the transport moves to another loop. That loop delivers the events when it arrives.
     */
    void unmarkReady(TcpTransport transport) {
        ready.remove(transport);
    }

    // ---- transmission ----

    /** Returns the state machine of transmission. */
    Transmission transmission() {
        return transmission;
    }

    /** Flushes after a channel has closed its outbound direction; see {@link Transmission#flushFin}. */
    void flushFin() {
        transmission.flushFin(ready.hasMore());
    }

    /** Transmits at once, even while channels read. */
    void flushNow() {
        transmission.transmit(System.nanoTime());
    }

    /** Sends a frame that waited for the MAC address of its next hop. */
    void sendResolved(byte[] frame, long mac) {
        if (closed) {
            statistics.droppedUnresolved++;
        } else {
            sender.sendResolved(frame, mac);
        }
    }

    @Override
    public void onSendRoom() {
        transmission.onSendRoom();
    }

    // ---- the end of the queue ----

    /** Ends all connections, because nothing can be sent any more. */
    @Override
    public void onDeviceRemoved() {
        shutdown(CloseReason.DEVICE_REMOVED);
    }

    /** Returns whether closed channels have left connections with unacknowledged data or FIN. */
    public boolean hasUndeliveredOrphans() {
        return !closed && engine.hasUndeliveredOrphans();
    }

    /** Ends all connections. Called before the queue closes. */
    public void close() {
        if (hasUndeliveredOrphans()) {
            LOGGER.warn("{} port {}: the loop ends and resets {} closed connections with unacknowledged data; {} bytes"
                    + " may be lost. Set a longer drainTimeout, or find out why the peers do not read",
                    deviceQueue.device().name(), deviceQueue.portNumber(), engine.undeliveredOrphanCount(),
                    engine.orphanBytes());
        }
        shutdown(CloseReason.ABORTED);
    }

    /** Returns whether the stack has ended, with its loop or its device. */
    public boolean isClosed() {
        return closed;
    }

    private void shutdown(CloseReason reason) {
        if (closed) {
            return;
        }
        endReason = reason;
        TcpShutdownHook.stackClosed(this);
        DeviceStacks.remove(this);
        network.stackStopped(this);
        engine.shutdown(reason);
        while (!ready.isEmpty()) {
            ready.deliver();
        }
        flushNow();
        transmission.end();
        closed = true;
        deviceQueue.detach(this);
        timeWaitPorts.close();
        releaseTasks.runAll();
    }
}
