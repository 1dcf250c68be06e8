package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.loop.CrossLoopQueueLimit;
import io.rdmaraw.loop.LoopService;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.metrics.RdmaRawTcpSockets;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpState;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.wire.ParseCounters;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.random.RandomGenerator;

/**
 * The TCP of one loop on one device: feeds the frames of a burst to the core, lets the channels see what came of it,
 * and then sends what the core has to say in one burst. For the loop's thread.
 */
public final class TcpStack implements FrameReceiver, PortOwner, LoopService {
    /** So many connections may hear of what came in before the answers to what came before leave. */
    private static final int MAX_GATHERED_CONNECTIONS = 32;
    /** The same for frames, of which a connection may have many: about a megabyte, or a quarter of a millisecond. */
    private static final int MAX_GATHERED_FRAMES = 512;
    private static final int MAX_HELD_ENDS = 16;
    /** A queue of the device, what may be in the kernel's besides, and an end where more comes all the time. */
    private static final int MOST_POLLED = 1 << 16;
    /** Payloads out of order, while slots are few. */
    private static final int MOST_COPIED_AFTER_BURST = 64;

    private final DeviceQueue port;
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
    private final TcpTransport.Place here = new TcpTransport.Place(this, this);
    private final CrossLoopQueueLimit forwardLimit = new CrossLoopQueueLimit();
    private final TcpStackStatistics counters;
    private final LingeringPorts lingering;
    private final ReadyTransports ready = new ReadyTransports();
    private final HeldFlushes heldFlushes;
    /** Frames of bursts that {@link #run()} has not looked at yet. */
    private int receivedFrames;
    private boolean reading;
    /** Connections whose end waits for others to share a doorbell with. */
    private int heldEnds;
    private boolean gone;
    /** What is told of connections that are here at the end, or come later; null before. */
    private CloseReason endReason;
    private final BeforeFrames beforeFrames = new BeforeFrames();
    private final Afterwards afterwards = new Afterwards();

    public TcpStack(DeviceQueue port, TcpNetwork network, TcpStackOptions options, ThreadAwareExecutor loop,
             RandomGenerator random) {
        this.port = port;
        this.network = network;
        this.loop = loop;
        heldFlushes = new HeldFlushes(this, loop);
        TcpFrameBuilder writer = new TcpFrameBuilder(port.queue(), options.segmentationOffload(),
                port.queue().sendsAllMemory());
        ParseCounters verdicts = new ParseCounters();
        engine = new TcpEngine(options.core().of(port.limits().mtuBytes(), port.queue().maxParts(),
                writer.maxSegmentedBytes()), new ConnectionEvents(this), random, System.nanoTime());
        counters = new TcpStackStatistics(engine.counters(), verdicts, engine::timeWaitCount,
                writer::copiedSegments, this::sockets);
        handover = options.handover();
        receiver = new SegmentReceiver(engine, port.queue().slots(), port.limits().mtuBytes(), counters, verdicts,
                network, options.frameOrigin());
        sender = new SegmentSender(this, port, network, engine, writer, (EventLoop) loop);
        port.attach(this, network.flows());
        icmp = new TcpIcmp(this, engine, network);
        crossLoopLookup = new CrossLoopLookup(this, engine, receiver, counters);
        kernelSegments = new KernelSegments(this, counters);
        opener = new TcpOpener(this);
        lingering = new LingeringPorts(eventLoop());
        network.joined(this);
        DeviceStacks.add(this);
    }

    public TcpEngine engine() {
        return engine;
    }

    public TcpStackStatistics counters() {
        return counters;
    }

    SegmentReceiver receiver() {
        return receiver;
    }

    /** Tells whether segments are shown to a capture or a handler. */
    public boolean isTapped() {
        return sender.isTapped();
    }

    /** @param shownOrNull what is shown the segments from now on */
    public void tap(SegmentTap shownOrNull) {
        receiver.tap(shownOrNull);
        sender.tap(shownOrNull);
    }

    public DeviceQueue port() {
        return port;
    }

    @Override
    public String label() {
        return "tcp";
    }

    @Override
    public TcpStackStatistics statistics() {
        return counters;
    }

    public TcpNetwork network() {
        return network;
    }

    /** Returns which ports another process has too. */
    PortHandover handover() {
        return handover;
    }

    /** Makes ready for ports that several loops share. */
    public void prepareToShare() {
        if (network.isSteered() && port.device().rssFlows().isSupported()) {
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

    /** Another process has passed on a frame that it has received; any thread. */
    public void segmentByProcess(ByteBuf frame) {
        kernelSegments.takeWhole(frame);
    }

    /** Takes everything that the device has for the stack now. */
    void pollAll() {
        int polled = 0;
        int count;
        while (!gone && polled < MOST_POLLED && (count = port.poll()) > 0) {
            polled += count;
        }
    }

    @Override
    public void badSegmentsByKernel(int count) {
        counters.badKernelSegments.add(count);
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

    /**
     * Has something done on the stack's loop, unless that has ended: before the stack looks at any frame that comes
     * after this call, as who has made the call may cause one. In the order of the calls. Any thread.
     */
    void beforeFrames(Runnable task) {
        beforeFrames.add(task);
        // One that takes no more tasks does it with the next frame, if there is one.
        execute(beforeFrames::run);
    }

    /** Does now what {@link #beforeFrames} has taken, if the caller is on the stack's loop. */
    void catchUp() {
        if (isOnLoop()) {
            beforeFrames.run();
        }
    }

    /** Has something done on the stack's loop; {@code ended} is done here when there is no loop any more. */
    void executeOrElse(Runnable task, Runnable ended) {
        LoopTasks.executeOrElse(loop, task, ended);
    }

    /** Runs a task now, or when the stack has released its connections, whichever is later. */
    void onceGone(Runnable task) {
        afterwards.add(task);
    }

    /** Takes a task of {@link #onceGone} back. */
    void notOnceGone(Runnable task) {
        afterwards.remove(task);
    }

    private CompletableFuture<RdmaRawTcpSockets> sockets(int most) {
        CompletableFuture<RdmaRawTcpSockets> answer = new CompletableFuture<>();
        executeOrElse(
                () -> answer.complete(TcpSnapshots.sockets(engine.socketDump(RdmaRawTcpSockets.LOOKED_AT, most))),
                () -> answer.completeExceptionally(new IllegalStateException("the loop has ended")));
        return answer;
    }

    // ---- connections that live elsewhere ----

    /** Returns the place of connections that are on this stack. Any thread. */
    TcpTransport.Place here() {
        return here;
    }

    /** A connection leaves for another loop: what still comes here for it is passed on. */
    void moveOut(TcpTransport transport) {
        engine.release(transport.connection());
        receiver.forwards().add(transport);
        counters.movedConnections++;
    }

    /** A connection has come from another loop. */
    void moveIn(TcpTransport transport) {
        receiver.forwards().remove(transport);
        engine.adopt(transport.connection(), System.nanoTime());
        if (gone) {
            // It is the only one.
            engine.shutdown(endReason);
        }
    }

    /** A transport's channel is here: it is told how the connection stands, soon even if nothing comes in any more. */
    void arrived(TcpTransport transport) {
        ready.add(transport);
        if (gone) {
            execute(ready::deliver);
        }
    }

    /**
     * A connection that this stack's rules served is over. While it is in TIME-WAIT its segments come here, wherever
     * it has lived.
     */
    void transportEnded(TcpTransport transport) {
        receiver.forwards().remove(transport);
        if (transport.connection().state() == TcpState.TIME_WAIT) {
            if (transport.stack() != this) {
                engine.adoptTimeWait(transport.connection(), System.nanoTime());
            }
            if (network.isKernelServed()) {
                transport.port().timeWaitBegins();
            }
        }
        transport.port().release(this);
    }

    /** A connection of another loop whose segments come here is over. */
    void forget(TcpTransport transport) {
        receiver.forwards().remove(transport);
    }

    /** Tells whether segments of connections on other loops are expected here. */
    public boolean isPassingOn() {
        return !receiver.forwards().isEmpty();
    }

    /** Returns what came here and is perhaps for other loops. */
    CrossLoopLookup crossLoopLookup() {
        return crossLoopLookup;
    }

    /** Returns the ports that are kept for connections in TIME-WAIT alone. */
    LingeringPorts lingering() {
        return lingering;
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
        crossLoopLookup.searchAlways(true);
        receive(frame, checksumVerified);
        crossLoopLookup.searchAlways(false);
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
    CrossLoopQueueLimit forwardLimit() {
        return forwardLimit;
    }

    /** Takes frames that came to another loop. */
    void receiveForwarded(MigratedConnections.Batch batch) {
        if (gone) {
            batch.release();
            return;
        }
        for (int i = 0; i < batch.frames().size(); i++) {
            receive(batch.frames().get(i), batch.checksumsVerified().get(i));
        }
        endBurst();
    }

    /** Returns what opens connections on this stack. */
    public TcpOpener opener() {
        return opener;
    }

    // ---- frames in ----

    @Override
    public boolean receive(ByteBuf frame, boolean checksumVerified) {
        beforeFrames.run();
        receivedFrames++;
        return receiver.receive(frame, checksumVerified);
    }

    @Override
    public int receiveRun(ReceiveBurst burst, int from, int end) {
        beforeFrames.run();
        receivedFrames += end - from;
        receiver.receiveRun(burst, from, end);
        return end;
    }

    @Override
    public boolean isInBurst() {
        return receiver.isInBurst();
    }

    /** The burst is served by {@link #run()}, which follows every poll. */
    @Override
    public void endBurst() {
        receiver.endBurst();
        if (receiver.isMemoryLow()) {
            engine.giveBackBuffers(MOST_COPIED_AFTER_BURST);
        }
    }

    @Override
    public boolean run() {
        if (!heldFlushes.isEmpty()) {
            // What is delivered now may block the loop.
            flushNow();
        }
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
        ready.deliver();
        if (!sender.isWaitingForRoom()) {
            transmit(now);
        }
        return true;
    }

    /**
     * Hands on what came in, and what comes in while channels are busy with it: a doorbell for all the answers costs
     * about as much as one for the first, and more than making it. Bursts for many connections go without; one that
     * sends much is acknowledged once for all that has come, and then sends as much together. Polling from here is
     * intended, although a handler may have got here from within a poll: {@link DeviceQueue#poll()} then does nothing.
     */
    private boolean deliver() {
        boolean worked = receivedFrames > 0 || !ready.isEmpty();
        int gathered = receivedFrames;
        receivedFrames = 0;
        int told = ready.deliver();
        while (gathered > 0 && gathered < MAX_GATHERED_FRAMES && told < MAX_GATHERED_CONNECTIONS && !gone
                && port.poll() > 0 && receivedFrames > 0) {
            gathered += receivedFrames;
            receivedFrames = 0;
            told += ready.deliver();
        }
        return worked;
    }

    @Override
    public long nextDeadlineNanos() {
        if (!ready.isEmpty() || receivedFrames > 0) {
            return System.nanoTime();
        }
        if (sender.isWaitingForRoom()) {
            return sender.retryNanos();
        }
        return engine.nextDeadlineNanos();
    }

    /** Has the transport hand on what came in before the loop waits. */
    public void markReady(TcpTransport transport) {
        ready.add(transport);
    }

    /** Has nothing more handed on here: the transport leaves for another loop, which looks at it when it arrives. */
    void unready(TcpTransport transport) {
        ready.remove(transport);
    }

    // ---- segments out ----

    /**
     * A channel is about to be flushed outside of reads: what has come in meanwhile counts, as it would with a kernel,
     * even if the loop was blocked by a handler. From within a poll, {@link DeviceQueue#poll()} does nothing.
     *
     * @param shared whether the channel's flushes may wait for others
     * @return whether this one waits, to be passed to {@link #flush}. Decided before the write completes: who sees that
     *         may put further tasks behind it
     */
    public boolean beforeFlush(boolean shared) {
        if (reading || gone) {
            return false;
        }
        port.poll();
        return shared && heldFlushes.hasTasksBehind();
    }

    /**
     * A channel was flushed. Within the reads of a burst that waits for the burst's end, so that what all channels have
     * to send shares doorbells; if its channel allows it, for what the loop's tasks behind it flush. Else it goes out
     * before the caller returns, who may block.
     */
    public void flush(boolean waits) {
        if (!reading && !gone && (!waits || !heldFlushes.add())) {
            transmit(System.nanoTime());
        }
    }

    /**
     * A channel has ended its output. While others wait to be told what a burst brought, who perhaps end too, that
     * shares their doorbell; but only a few do, for the peer to begin with them. Those who have not been told yet are
     * not acknowledged by that, as their own ends do it.
     */
    void flushEnd() {
        if (!ready.hasMore()) {
            flush(false);
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
    public boolean beginReading() {
        boolean outer = reading;
        reading = true;
        return outer;
    }

    public void endReading(boolean outer) {
        reading = outer;
    }

    private void transmit(long now) {
        heldEnds = 0;
        heldFlushes.clear();
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

    @Override
    public void sendQueueHasRoom() {
        sender.hasRoom();
        transmit(System.nanoTime());
    }

    // ---- the queue ----

    /** Nothing can be sent any more. */
    @Override
    public void queueGone() {
        shutdown(CloseReason.LINK_GONE);
    }

    /** Ends all connections; called before the queue closes. */
    @Override
    public void close() {
        shutdown(CloseReason.ABORTED);
    }

    @Override
    public boolean isOver() {
        return gone;
    }

    private void shutdown(CloseReason reason) {
        if (gone) {
            return;
        }
        endReason = reason;
        DeviceStacks.remove(this);
        network.left(this);
        engine.shutdown(reason);
        ready.deliver();
        transmit(System.nanoTime());
        gone = true;
        port.detach(this);
        lingering.close();
        afterwards.begin();
    }
}
