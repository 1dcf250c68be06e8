package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.tcp.SegmentHeaders;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.TcpState;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * The TCP of one loop on one device: feeds the frames of a burst to the core, lets the channels see what came of it,
 * and then sends what the core has to say in one burst. For the loop's thread.
 */
final class TcpStack implements TcpEvents {
    /** Without a free slot nothing tells when there is one again: look after this time. */
    private static final long SLOT_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /** As long as the core keeps connections in that state. */
    private static final int TIME_WAIT_SECONDS = 60;
    private static final int COPY_BREAK_BYTES = 256;

    private final PortQueue port;
    private final ThreadAwareExecutor loop;
    private final TcpNetwork network;
    private final TcpEngine engine;
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame parsed = new ParsedFrame();
    private final SegmentHeaders headers = new SegmentHeaders();
    private final SegmentWriter writer;
    private final Segment in = new Segment();
    private final Segment out = new Segment();
    private final TcpSteering ownRules;
    private final TcpStackCounters counters = new TcpStackCounters();
    private final TcpForwards forwards = new TcpForwards();
    private TcpFlow[] touched = new TcpFlow[16];
    private int touchedCount;
    private boolean delivering;
    private boolean inBurst;
    private boolean burstReceived;
    private boolean reading;
    private boolean transmitting;
    private boolean waitingForRoom;
    private boolean gone;
    private long burstNanos;
    /** The frame whose segment the core looks at, unless its payload went to a flow as it was. */
    private ByteBuf currentFrame;

    TcpStack(PortQueue port, TcpNetwork network, RdmaRawIoHandlerConfig config, ThreadAwareExecutor loop,
             RandomGenerator random) {
        this.port = port;
        this.network = network;
        this.loop = loop;
        writer = new SegmentWriter(port.queue());
        engine = new TcpEngine(config.tcpConfig(port.limits().mtuBytes(), port.queue().maxParts()), this, random,
                System.nanoTime());
        ownRules = new TcpSteering(this, port, null);
        port.attach(ownRules, network.flows());
    }

    TcpEngine engine() {
        return engine;
    }

    TcpStackCounters counters() {
        return counters;
    }

    PortQueue port() {
        return port;
    }

    /** Tells whether the caller is on the stack's loop. */
    boolean isOnLoop() {
        return loop.isExecutorThread(Thread.currentThread());
    }

    /** Tells whether this is the TCP of that loop. */
    boolean isOf(EventLoop eventLoop) {
        return loop == eventLoop;
    }

    /** Has something done on the stack's loop, unless that has ended. */
    void execute(Runnable task) {
        executeOrElse(task, () -> { });
    }

    /** Has something done on the stack's loop; {@code ended} is done here when there is no loop any more. */
    void executeOrElse(Runnable task, Runnable ended) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException e) {
            ended.run();
        }
    }

    // ---- connections that live elsewhere ----

    /** A connection leaves for another loop: what still comes here for it is passed on. */
    void moveOut(TcpFlow flow) {
        engine.release(flow.connection());
        forwards.add(flow);
        counters.movedConnections++;
    }

    /** A connection has come from another loop. */
    void moveIn(TcpFlow flow) {
        forwards.remove(flow);
        engine.adopt(flow.connection(), System.nanoTime());
    }

    /**
     * A connection that this stack's rules served is over. While it is in TIME-WAIT its segments must not reach the
     * kernel, which would reset the peer.
     */
    void flowEnded(TcpFlow flow) {
        forwards.remove(flow);
        if (network.isKernelServed() && flow.connection().state() == TcpState.TIME_WAIT && flow.steering().isLast()) {
            ((EventLoop) loop).schedule(flow.steering()::release, TIME_WAIT_SECONDS, TimeUnit.SECONDS);
        } else {
            flow.steering().release();
        }
    }

    /** Tells whether listeners' ports are the kernel's too. */
    boolean isKernelServed() {
        return network.isKernelServed();
    }

    /** Takes frames that came to another loop. */
    void receiveForwarded(TcpForwards.Batch batch) {
        for (int i = 0; i < batch.frames().size(); i++) {
            receive(batch.frames().get(i), batch.checksumsVerified().get(i));
        }
        endBurst();
    }

    // ---- opening ----

    /**
     * Opens a connection; the flow's channel is told how it went.
     *
     * @throws IOException when there is no way to the peer or no port
     */
    TcpFlow connect(InetSocketAddress localOrNull, InetSocketAddress remote, RdmaRawSocketChannel channel)
            throws IOException {
        IpAddress target = IpAddress.of(remote.getAddress());
        if (target.isAny()) {
            // As on Linux: the wildcard is this host.
            target = target.isIpv4() ? IpAddress.LOOPBACK_IPV4 : IpAddress.LOOPBACK_IPV6;
        }
        TcpNetwork.Binding binding = network.connect(localOrNull, target, remote.getPort());
        TcpSteering steering = steer(binding);
        TcpFlow flow = new TcpFlow(this, steering);
        try {
            IpAddress local = binding.local();
            flow.connection(engine.connect(System.nanoTime(), local.high(), local.low(), binding.port(),
                    target.high(), target.low(), remote.getPort(), null, port.limits().mtuBytes(), flow));
        } catch (IllegalStateException e) {
            steering.release();
            throw new IOException("Cannot assign requested address: " + e.getMessage(), e);
        }
        flow.channel(channel);
        channel.config().applyTo(flow.connection());
        counters.flows++;
        return flow;
    }

    /**
     * Checks an address that a connection is to be opened from.
     *
     * @throws IOException when this host does not have it
     */
    void checkLocal(InetSocketAddress local) throws IOException {
        network.checkLocal(IpAddress.of(local.getAddress()));
    }

    private TcpSteering steer(TcpNetwork.Binding binding) throws IOException {
        TcpSteering steering = new TcpSteering(this, port, binding);
        try {
            if (!binding.flows().isEmpty()) {
                port.attach(steering, binding.flows());
            }
        } catch (RuntimeException e) {
            binding.close();
            throw e;
        }
        return steering;
    }

    /** Listens on what was bound; accepted connections go to the channel. */
    TcpListener listen(TcpSteering steering, int backlog, RdmaRawServerSocketChannel server) {
        IpAddress local = steering.binding().local();
        boolean any = local.isAny();
        return engine.listen(any ? 0 : local.high(), any ? 0 : local.low(), steering.binding().port(), backlog,
                server);
    }

    /** Takes a port to listen on. */
    TcpSteering bind(InetSocketAddress local, PortSharing sharing) throws IOException {
        return steer(network.listen(local, sharing));
    }

    // ---- frames in ----

    /** Takes a frame and its reference; returns true for the first of a burst. */
    boolean receive(ByteBuf frame, boolean checksumVerified) {
        boolean first = !inBurst;
        if (first) {
            inBurst = true;
            burstNanos = System.nanoTime();
        }
        long address = DatagramLoop.addressOf(frame);
        ParseVerdict verdict = parser.parse(address, frame.readableBytes(), checksumVerified, parsed);
        currentFrame = frame;
        if (verdict == ParseVerdict.TCP) {
            headers.read(parsed, in);
            in.payload(frame, frame.readerIndex() + parsed.payloadOffset(), parsed.payloadLengthBytes());
            TcpFlow elsewhere = forwards.isEmpty() ? null : forwards.find(in);
            if (elsewhere != null) {
                currentFrame = null;
                forwards.pass(elsewhere, frame, checksumVerified);
            } else {
                engine.onSegment(in, burstNanos);
            }
            in.detachPayload();
        } else {
            counters.otherFrames++;
        }
        if (currentFrame != null) {
            currentFrame = null;
            frame.release();
        }
        return first;
    }

    /** The burst is served by {@link #run()}, which follows every poll. */
    void endBurst() {
        inBurst = false;
        burstReceived = true;
        if (!forwards.isEmpty()) {
            forwards.send();
        }
    }

    /** Does what is due after a poll of the queue; returns whether there was anything. */
    boolean run() {
        boolean worked = burstReceived || touchedCount > 0;
        burstReceived = false;
        deliverTouched();
        if (gone || waitingForRoom) {
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
        deliverTouched();
        transmit(now);
        return true;
    }

    /** Returns when {@link #run()} has to be called again; {@link Long#MAX_VALUE} if only a frame can change things. */
    long nextDeadlineNanos() {
        if (touchedCount > 0 || burstReceived) {
            return System.nanoTime();
        }
        if (waitingForRoom) {
            return port.queue().inFlight() > 0 ? Long.MAX_VALUE : System.nanoTime() + SLOT_RETRY_NANOS;
        }
        return engine.nextDeadlineNanos();
    }

    private void deliverTouched() {
        if (delivering) {
            return;
        }
        delivering = true;
        try {
            for (int i = 0; i < touchedCount; i++) {
                TcpFlow flow = touched[i];
                touched[i] = null;
                flow.deliver();
            }
        } finally {
            touchedCount = 0;
            delivering = false;
        }
    }

    /** Has the flow hand on what came in before the loop waits. */
    void touch(TcpFlow flow) {
        if (!flow.markTouched()) {
            return;
        }
        if (touchedCount == touched.length) {
            touched = Arrays.copyOf(touched, 2 * touchedCount);
        }
        touched[touchedCount++] = flow;
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
        if (gone || transmitting || inBurst) {
            return;
        }
        transmitting = true;
        try {
            transmitBursts(now);
        } finally {
            transmitting = false;
        }
    }

    private void transmitBursts(long now) {
        while (hasRoom()) {
            if (!engine.pollSegment(now, out)) {
                port.queue().post();
                return;
            }
            send();
        }
        if (!waitingForRoom) {
            waitingForRoom = true;
            port.awaitRoom(ownRules);
        }
    }

    private boolean hasRoom() {
        if (writer.hasRoom()) {
            return true;
        }
        port.queue().post();
        return writer.hasRoom() || port.queue().reclaim() > 0 && writer.hasRoom();
    }

    private void send() {
        TcpFlow flow = out.connection() == null ? null : (TcpFlow) out.connection().attachment();
        TcpPath path = flow != null ? flow.path(network) : network.path(out.sourceHigh(), out.sourceLow(),
                out.sourcePort(), out.destinationHigh(), out.destinationLow(), out.destinationPort());
        if (path == null) {
            counters.droppedUnroutable++;
            out.transmitted();
            return;
        }
        if (!path.isResolved()) {
            network.await(new WaitingSegment(this, (EventLoop) loop, path.hopOrNull(),
                    writer.writeUnaddressed(out, path.sourceMac())));
            return;
        }
        path.touch();
        writer.write(out, path.sourceMac(), path.targetMac());
    }

    /** Sends a frame that had to wait for its next hop's address; without room it is lost, and TCP sends it again. */
    void sendResolved(FrameBuf frame, long mac) {
        long ethernet = frame.memoryAddress();
        EthernetHeader.write(ethernet, mac, EthernetHeader.source(ethernet), EthernetHeader.etherType(ethernet));
        if (gone || port.queue().offer(frame) != FrameQueue.ACCEPTED) {
            counters.droppedUnresolved++;
            frame.release();
        } else {
            port.queue().post();
        }
    }

    void sendQueueHasRoom() {
        waitingForRoom = false;
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
        TcpSteering steering = server.steering();
        if (steering == null || !server.mayAccept()) {
            counters.refusedByBacklog++;
            connection.abort();
            return;
        }
        steering.retain();
        TcpFlow flow = new TcpFlow(this, steering);
        flow.connection(connection);
        flow.markConnected();
        flow.acceptor(server);
        connection.attachment(flow);
        counters.flows++;
        touch(flow);
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        TcpFlow flow = (TcpFlow) connection.attachment();
        flow.add(keep(buffer, index, length));
        touch(flow);
    }

    /** Returns bytes that lie in a received frame as a buffer of their own, without a copy if they can spare that. */
    private ByteBuf keep(ByteBuf buffer, int index, int length) {
        if (length < COPY_BREAK_BYTES && port.queue().slots().available() < port.queue().slots().slotCount() / 4) {
            // A small payload that nobody reads would keep a whole slot from the receive queue.
            counters.copiedPayloads++;
            return ByteBufAllocator.DEFAULT.directBuffer(length).writeBytes(buffer, index, length);
        }
        if (buffer == currentFrame && buffer instanceof FrameBuf slot && slot.refCnt() == 1) {
            currentFrame = null;
            return slot.window(index, length);
        }
        return buffer.retainedSlice(index, length);
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
        flow.releaseSteering();
        touch(flow);
    }

    // ---- the queue ----

    void queueEvent(RdmaRawQueueEvent event) {
        // TCP sends again what was lost.
    }

    /** The device is gone: nothing can be sent any more. */
    void queueGone() {
        shutdown();
    }

    /** Ends all connections; called before the queue closes. */
    void shutdown() {
        if (gone) {
            return;
        }
        engine.shutdown();
        deliverTouched();
        transmit(System.nanoTime());
        gone = true;
        ownRules.close();
    }
}
