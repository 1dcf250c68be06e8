package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.host.TcpPath;
import io.rdmaraw.route.IcmpError;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.TcpState;
import io.rdmaraw.wire.ParseCounters;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * The TCP of one loop on one device: feeds the frames of a burst to the core, lets the channels see what came of it,
 * and then sends what the core has to say in one burst. For the loop's thread.
 */
final class TcpStack implements TcpEvents, PortOwner {
    /** So many frames may come in before the answers to those before them leave. */
    private static final int MAX_GATHERED_FRAMES = 32;
    private static final int MAX_HELD_ENDS = 16;
    /** Payloads out of order, while slots are few. */
    private static final int MOST_COPIED_AFTER_BURST = 64;
    /** Ports kept for TIME-WAIT that are looked at for one to open a connection from, the oldest first. */
    private static final int MAX_LINGERING_LOOKS = 1024;

    private final PortQueue port;
    private final ThreadAwareExecutor loop;
    private final TcpNetwork network;
    private final TcpEngine engine;
    private final SegmentReceiver receiver;
    private final SegmentSender sender;
    private final TcpSteering ownRules;
    private final TcpIcmp icmp;
    private final StraySegments strays;
    private final KernelSegments kernelSegments;
    private final TcpOpener opener;
    private final HandOverLimit forwardLimit = new HandOverLimit();
    private final RdmaRawTcpStatistics counters;
    /** Ports that are kept for connections in TIME-WAIT alone, with the time that this began. */
    private final Map<TcpPort, Long> lingering = new LinkedHashMap<>();
    private final TouchedFlows touched = new TouchedFlows();
    /** Frames of bursts that {@link #run()} has not looked at yet. */
    private int receivedFrames;
    private boolean reading;
    /** Connections whose end waits for others to share a doorbell with. */
    private int heldEnds;
    private boolean gone;
    /** What waits for {@link #letGo}; also its lock. */
    private final List<Runnable> afterwards = new ArrayList<>();
    /** No connection is touched by the stack any more. */
    private boolean letGo;

    TcpStack(PortQueue port, TcpNetwork network, RdmaRawIoHandlerConfig config, ThreadAwareExecutor loop,
             RandomGenerator random) {
        this.port = port;
        this.network = network;
        this.loop = loop;
        SegmentWriter writer = new SegmentWriter(port.queue(), config.segmentationOffload());
        ParseCounters verdicts = new ParseCounters();
        engine = new TcpEngine(config.tcpConfig(port.limits().mtuBytes(), port.queue().maxParts(),
                writer.maxSegmentedBytes()), this, random, System.nanoTime());
        counters = new RdmaRawTcpStatistics(engine.counters(), verdicts, engine::timeWaitCount,
                writer::copiedSegments, this::sockets);
        receiver = new SegmentReceiver(engine, port.queue().slots(), counters, verdicts, network,
                config.frameOrigin());
        sender = new SegmentSender(this, port, network, engine, writer, (EventLoop) loop);
        ownRules = new TcpSteering(this);
        port.attach(ownRules, network.flows());
        icmp = new TcpIcmp(this, engine, network);
        strays = new StraySegments(this, engine, receiver, counters);
        kernelSegments = new KernelSegments(this, counters);
        opener = new TcpOpener(this);
        network.joined(this);
        DeviceStacks.add(this);
    }

    TcpEngine engine() {
        return engine;
    }

    RdmaRawTcpStatistics counters() {
        return counters;
    }

    PortQueue port() {
        return port;
    }

    /** Returns what stands for the stack at its queue, besides the ports that were taken. */
    TcpSteering ownRules() {
        return ownRules;
    }

    TcpNetwork network() {
        return network;
    }

    /** Makes ready for ports that several loops share. */
    void prepareToShare() {
        if (network.isSteered() && port.device().spreadFlows().isSupported()) {
            port.queue().workQueue();
        }
    }

    /** Returns what takes tasks for the stack's loop, and refuses them when that has ended. */
    @Override
    public Executor loop() {
        return loop;
    }

    /** ICMP says something of a segment that some stack has sent; any thread. */
    @Override
    public void icmpError(IcmpError error) {
        icmp.receive(error);
    }

    /** The kernel has a segment for some stack of the device; any thread. */
    @Override
    public void segmentByKernel(ByteBuf frame) {
        kernelSegments.take(frame);
    }

    /** Tells whether the caller is on the stack's loop. */
    boolean isOnLoop() {
        return loop.isExecutorThread(Thread.currentThread());
    }

    /** Returns the loop that this is the TCP of. */
    EventLoop eventLoop() {
        return (EventLoop) loop;
    }

    /** Has something done on the stack's loop, unless that has ended. */
    void execute(Runnable task) {
        executeOrElse(task, () -> { });
    }

    /** Has something done on the stack's loop: now if that is the caller's. */
    void onLoop(Runnable task) {
        if (isOnLoop()) {
            task.run();
        } else {
            execute(task);
        }
    }

    /** Has something done on the stack's loop; {@code ended} is done here when there is no loop any more. */
    void executeOrElse(Runnable task, Runnable ended) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException e) {
            ended.run();
        }
    }

    /** Has something done by whoever comes last: the caller, or the stack when it has let go of its connections. */
    void onceGone(Runnable task) {
        synchronized (afterwards) {
            if (!letGo) {
                afterwards.add(task);
                return;
            }
        }
        task.run();
    }

    private CompletableFuture<RdmaRawTcpSockets> sockets(int most) {
        CompletableFuture<RdmaRawTcpSockets> answer = new CompletableFuture<>();
        executeOrElse(() -> answer.complete(RdmaRawTcpSockets.of(engine.census(RdmaRawTcpSockets.LOOKED_AT, most))),
                () -> answer.completeExceptionally(new IllegalStateException("the loop has ended")));
        return answer;
    }

    // ---- connections that live elsewhere ----

    /** A connection leaves for another loop: what still comes here for it is passed on. */
    void moveOut(TcpFlow flow) {
        engine.release(flow.connection());
        receiver.forwards().add(flow);
        counters.movedConnections++;
    }

    /** A connection has come from another loop. */
    void moveIn(TcpFlow flow) {
        receiver.forwards().remove(flow);
        engine.adopt(flow.connection(), System.nanoTime());
    }

    /**
     * A connection that this stack's rules served is over. While it is in TIME-WAIT its segments come here, wherever
     * it has lived.
     */
    void flowEnded(TcpFlow flow) {
        receiver.forwards().remove(flow);
        if (flow.connection().state() == TcpState.TIME_WAIT) {
            if (flow.stack() != this) {
                engine.adoptTimeWait(flow.connection(), System.nanoTime());
            }
            if (network.isKernelServed()) {
                flow.port().timeWaitBegins();
            }
        }
        flow.port().release(this);
    }

    /** A connection of another loop whose segments come here is over. */
    void forget(TcpFlow flow) {
        receiver.forwards().remove(flow);
    }

    /** Tells whether segments of connections on other loops are expected here. */
    boolean isPassingOn() {
        return !receiver.forwards().isEmpty();
    }

    /** Returns what came here and is perhaps for other loops. */
    StraySegments strays() {
        return strays;
    }

    /** Has somebody live again by a port that is kept for a connection in TIME-WAIT; null when none suits. */
    TcpPort takeLingering(Predicate<TcpPort> suitable) {
        int looks = MAX_LINGERING_LOOKS;
        for (TcpPort port : lingering.keySet()) {
            if (looks-- == 0) {
                break;
            }
            if (suitable.test(port) && port.retain()) {
                lingering.remove(port);
                return port;
            }
        }
        return null;
    }

    /** Keeps a port for a while that only connections in TIME-WAIT live by. */
    void linger(TcpPort kept, long nanos) {
        if (gone) {
            kept.closeIfUnused();
            return;
        }
        // It may be taken and kept again meanwhile.
        long begunNanos = System.nanoTime();
        lingering.put(kept, begunNanos);
        eventLoop().schedule(() -> {
            if (lingering.remove(kept, begunNanos)) {
                kept.closeIfUnused();
            }
        }, nanos, TimeUnit.NANOSECONDS);
    }

    /**
     * Takes a frame that came by no rule of the stack's. Who has brought it knows the port, but not which of the loops
     * that share it has the connection.
     */
    @Override
    public void receiveUnsteered(ByteBuf frame, boolean checksumVerified) {
        if (gone) {
            frame.release();
            return;
        }
        strays.searchAlways(true);
        receive(frame, checksumVerified);
        strays.searchAlways(false);
        endBurst();
    }

    /** Takes a segment that came by the kernel if it is of a connection here, or of one that was here. */
    boolean takeIfKnown(ByteBuf frame) {
        Segment segment = gone ? null : receiver.parse(frame, true);
        if (segment == null || !engine.knows(segment)
                && (receiver.forwards().isEmpty() || receiver.forwards().find(segment) == null)) {
            return false;
        }
        receiveByKernel(frame);
        return true;
    }

    /** Takes a segment that came by the kernel, its checksum verified. */
    void receiveByKernel(ByteBuf frame) {
        if (gone) {
            frame.release();
            return;
        }
        receive(frame, true);
        endBurst();
    }

    /** Datagrams come to ports of UDP; segments that came in fragments come as whole frames. */
    @Override
    public void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination) {
        counters.otherFrames++;
        packet.release();
    }

    /** Returns how much other loops may pass on to this one. Any thread. */
    HandOverLimit forwardLimit() {
        return forwardLimit;
    }

    /** Takes frames that came to another loop. */
    void receiveForwarded(TcpForwards.Batch batch) {
        for (int i = 0; i < batch.frames().size(); i++) {
            receive(batch.frames().get(i), batch.checksumsVerified().get(i));
        }
        endBurst();
    }

    /** Returns what opens connections on this stack. */
    TcpOpener opener() {
        return opener;
    }

    // ---- frames in ----

    /** Takes a frame and its reference; returns true for the first of a burst. */
    boolean receive(ByteBuf frame, boolean checksumVerified) {
        receivedFrames++;
        return receiver.receive(frame, checksumVerified);
    }

    /** The burst is served by {@link #run()}, which follows every poll. */
    void endBurst() {
        receiver.endBurst();
        if (receiver.isMemoryLow()) {
            engine.giveBackBuffers(MOST_COPIED_AFTER_BURST);
        }
    }

    /** Does what is due after a poll of the queue; returns whether there was anything. */
    boolean run() {
        boolean worked = deliver();
        if (gone) {
            return worked;
        }
        long deadline = engine.nextDeadlineNanos();
        if (deadline == Long.MAX_VALUE) {
            return worked;
        }
        long now = System.nanoTime();
        if (deadline - now > 0) {
            return worked;
        }
        engine.advance(now);
        touched.deliver();
        if (!sender.isWaitingForRoom()) {
            transmit(now);
        }
        return true;
    }

    /**
     * Hands on what came in, and what comes in while channels are busy with it: a doorbell for all the answers costs
     * about as much as one for the first, and more than making it. Full bursts go without.
     */
    private boolean deliver() {
        boolean worked = receivedFrames > 0 || !touched.isEmpty();
        int gathered = receivedFrames;
        receivedFrames = 0;
        touched.deliver();
        while (gathered > 0 && gathered < MAX_GATHERED_FRAMES && !gone && port.poll() > 0 && receivedFrames > 0) {
            gathered += receivedFrames;
            receivedFrames = 0;
            touched.deliver();
        }
        return worked;
    }

    /** Returns when {@link #run()} has to be called again; {@link Long#MAX_VALUE} if only a frame can change things. */
    long nextDeadlineNanos() {
        if (!touched.isEmpty() || receivedFrames > 0) {
            return System.nanoTime();
        }
        if (sender.isWaitingForRoom()) {
            return sender.retryNanos();
        }
        return engine.nextDeadlineNanos();
    }

    /** Has the flow hand on what came in before the loop waits. */
    void touch(TcpFlow flow) {
        touched.add(flow);
    }

    // ---- segments out ----

    /**
     * A channel is about to be flushed outside of reads: what has come in meanwhile counts, as it would with a kernel,
     * even if the loop was blocked by a handler.
     */
    void beforeFlush() {
        if (!reading && !gone) {
            port.poll();
        }
    }

    /**
     * A channel was flushed. Within the reads of a burst that waits for the burst's end, so that what all channels have
     * to send shares doorbells; else it goes out before the caller returns, who may block.
     */
    void flush() {
        if (!reading && !gone) {
            transmit(System.nanoTime());
        }
    }

    /**
     * A channel has ended its output. While others wait to be told what a burst brought, who perhaps end too, that
     * shares their doorbell; but only a few do, for the peer to begin with them. Those who have not been told yet are
     * not acknowledged by that, as their own ends do it.
     */
    void flushEnd() {
        if (!touched.hasMore()) {
            flush();
        } else if (++heldEnds >= MAX_HELD_ENDS && maySend() && !reading) {
            heldEnds = 0;
            sender.transmitDelivered(System.nanoTime());
        }
    }

    /** What channels have written goes out at once, whatever else is going on. */
    void flushNow() {
        transmit(System.nanoTime());
    }

    /** A channel's handlers are about to get what was received; returns what to pass to {@link #endReading}. */
    boolean beginReading() {
        boolean outer = reading;
        reading = true;
        return outer;
    }

    void endReading(boolean outer) {
        reading = outer;
    }

    private void transmit(long now) {
        heldEnds = 0;
        if (maySend()) {
            sender.transmit(now);
        }
    }

    private boolean maySend() {
        return !gone && !receiver.isInBurst();
    }

    /** Sends a frame that had to wait for its next hop's address. */
    void sendResolved(byte[] frame, long mac) {
        if (gone) {
            counters.droppedUnresolved++;
        } else {
            sender.sendResolved(frame, mac);
        }
    }

    void sendQueueHasRoom() {
        sender.hasRoom();
        transmit(System.nanoTime());
    }

    // ---- events of the core ----

    @Override
    public void connected(TcpConnection connection) {
        TcpFlow flow = (TcpFlow) connection.attachment();
        flow.markConnected();
        touch(flow);
    }

    @Override
    public void accepted(TcpListener listener, TcpConnection connection) {
        RdmaRawServerSocketChannel server = (RdmaRawServerSocketChannel) listener.attachment();
        ListeningPort listening = server.port();
        if (listening == null || !server.mayAccept() || !listening.retain()) {
            counters.refusedByBacklog++;
            connection.abort();
            return;
        }
        TcpFlow flow = new TcpFlow(this, listening);
        flow.connection(connection);
        flow.markConnected();
        flow.path(network);
        flow.acceptor(server);
        connection.attachment(flow);
        counters.flows++;
        touch(flow);
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        TcpFlow flow = (TcpFlow) connection.attachment();
        flow.add(receiver.keep(buffer, index, length, connection.unreadPieces()));
        touch(flow);
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        TcpFlow flow = (TcpFlow) connection.attachment();
        flow.markPeerFinished();
        touch(flow);
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        TcpFlow flow = (TcpFlow) connection.attachment();
        if (flow.noteAcked(flow.sendBufferBytes())) {
            touch(flow);
        }
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        TcpFlow flow = (TcpFlow) connection.attachment();
        if (flow == null) {
            // Aborted before it became a flow.
            return;
        }
        counters.flows--;
        flow.markClosed(reason);
        flow.releasePort();
        touch(flow);
    }

    @Override
    public boolean isReceiveMemoryLow() {
        return receiver.isMemoryLow();
    }

    @Override
    public void softError(TcpConnection connection, io.rdmaraw.tcp.IcmpError error) {
        counters.softErrors++;
    }

    @Override
    public void pathSuspect(TcpConnection connection) {
        if (connection.attachment() instanceof TcpFlow flow) {
            TcpPath path = flow.lastPath(network);
            if (path != null && path.hopOrNull() != null) {
                network.suspect(path.hopOrNull());
            }
        }
    }

    @Override
    public boolean stray(Segment segment) {
        if (!network.isOurs(segment.destinationHigh(), segment.destinationLow())) {
            counters.droppedForeign++;
            return true;
        }
        return strays.take(segment);
    }

    // ---- the queue ----

    /** The device is gone: nothing can be sent any more. */
    void queueGone() {
        shutdown(CloseReason.LINK_GONE);
    }

    /** Ends all connections; called before the queue closes. */
    void shutdown() {
        shutdown(CloseReason.ABORTED);
    }

    private void shutdown(CloseReason reason) {
        if (gone) {
            return;
        }
        DeviceStacks.remove(this);
        network.left(this);
        engine.shutdown(reason);
        touched.deliver();
        transmit(System.nanoTime());
        gone = true;
        port.detach(ownRules);
        List.copyOf(lingering.keySet()).forEach(TcpPort::closeIfUnused);
        lingering.clear();
        letGo();
    }

    private void letGo() {
        List<Runnable> waiting;
        synchronized (afterwards) {
            letGo = true;
            waiting = List.copyOf(afterwards);
            afterwards.clear();
        }
        waiting.forEach(Runnable::run);
    }
}
