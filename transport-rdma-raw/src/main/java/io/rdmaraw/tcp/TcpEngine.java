package io.rdmaraw.tcp;

import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.congestion.LostSegment;
import io.rdmaraw.tcp.congestion.RateSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.wire.FlowLabels;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.SipHash;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.IntPredicate;
import java.util.random.RandomGenerator;

/**
 * The TCP of one event loop: its connections, listeners and timers. Made and used on one thread.
 *
 * <p>A turn of the loop: {@link #onSegment} for each segment of a burst, {@link #advance} when
 * {@link #nextDeadlineNanos()} has come, then {@link #pollSegment} until it returns false. What the users of
 * connections asked for meanwhile is sent by the same polls. Acknowledgements are decided in the poll, once per burst
 * and connection. Every method that takes the time remembers it; calls of users count as made at the latest of these
 * times, which must not go backwards.
 */
public final class TcpEngine {
    /** Segments of one connection before another gets its turn. */
    private static final int BURST_SEGMENTS = 16;

    final TcpConfig config;
    final TcpEvents events;
    final TcpCounters counters = new TcpCounters();
    final ConnectionTable connections;
    final TimerWheel wheel;
    final TcpSecrets secrets;
    final InitialSequence initialSequence;
    final FlowLabels flowLabels;
    final SynCookies synCookies;
    final FastOpen fastOpen;
    final ReplyQueue replies = new ReplyQueue(counters);
    final SynPacer openPace = new SynPacer(counters);
    final Orphans orphans;
    final ReceiveMemory receiveMemory;
    final int maxSegmentsInFlight;
    final BufferPools pools = new BufferPools();
    final AckSample sample = new AckSample();
    final RateSample rateSample = new RateSample();
    final LostSegment lostSegment = new LostSegment();
    final PaceQueue paced = new PaceQueue();
    final Segment scratch = new Segment();
    /** Set by TimeWaitInput for the connection that follows one in TIME-WAIT. */
    int timeWaitIsn;

    private final ListenerTable listeners = new ListenerTable();
    private final TimeWaitTable timeWait;
    private final ActiveOpens opens;
    private final ReadyQueue ready = new ReadyQueue();
    private int burst;
    private int segmentationBytes;
    private long nowNanos;

    /**
     * @param random source of random choices, and of the keys that {@code config} does not give; a SecureRandom in
     *               earnest, a seeded one in tests
     * @param nowNanos the time to begin with
     */
    public TcpEngine(TcpConfig config, TcpEvents events, RandomGenerator random, long nowNanos) {
        this.config = Objects.requireNonNull(config, "config");
        this.events = Objects.requireNonNull(events, "events");
        this.nowNanos = nowNanos;
        segmentationBytes = config.segmentationBytes;
        maxSegmentsInFlight = config.limits.maxSegmentsInFlight;
        secrets = config.secrets != null ? config.secrets : new TcpSecrets(random);
        SipHash hash = secrets.hash;
        connections = new ConnectionTable(random.nextLong(), random.nextLong());
        initialSequence = new InitialSequence(hash, config.initialSequence);
        flowLabels = new FlowLabels(hash);
        synCookies = new SynCookies(hash);
        boolean ownKey = config.fastOpenKeyHigh == 0 && config.fastOpenKeyLow == 0;
        fastOpen = new FastOpen(ownKey ? hash : new SipHash(config.fastOpenKeyHigh, config.fastOpenKeyLow));
        wheel = new TimerWheel(nowNanos);
        receiveMemory = new ReceiveMemory(this);
        orphans = new Orphans(config, counters);
        timeWait = new TimeWaitTable(config.maxTimeWait, config.timeWaitNanos, counters);
        opens = new ActiveOpens(this, listeners, timeWait, new PortSelector(hash, config, random));
    }

    // ---- calls of users ----

    /**
     * Listens on an address and port; the address 0, 0 stands for all.
     *
     * @param backlog half-open connections at most; beyond it SYN cookies, if configured
     * @throws IllegalStateException if there is a listener already
     */
    public TcpListener listen(long localHigh, long localLow, int port, int backlog, Object attachment) {
        TcpListener listener = new TcpListener(this, localHigh, localLow, checkPort(port), Math.max(1, backlog),
                attachment);
        listeners.add(listener);
        return listener;
    }

    /** Tells whether there is a listener on an address, the wildcard 0, 0 for instance, and port. */
    public boolean isListening(long localHigh, long localLow, int port) {
        return listeners.exact(localHigh, localLow, port) != null;
    }

    /**
     * Opens a connection. {@link TcpEvents#connected} or {@link TcpEvents#closed} tells how it ended.
     *
     * @param localPort 0 to have one chosen from the configured range
     * @param suitable  which ports may be chosen, besides being free; null for all
     * @param mtu       largest IP packet towards this peer; 0 for the configured one
     * @throws IllegalStateException if the 4-tuple is in use or no port is free
     */
    public TcpConnection connect(long nowNanos, long localHigh, long localLow, int localPort, long remoteHigh,
            long remoteLow, int remotePort, IntPredicate suitable, int mtu, Object attachment) {
        this.nowNanos = nowNanos;
        return opens.connect(localHigh, localLow, localPort, remoteHigh, remoteLow, checkPort(remotePort), suitable,
                mtu, attachment);
    }

    static int checkPort(int port) {
        if (port < 1 || port > 0xFFFF) {
            throw new IllegalArgumentException("Port " + port + " does not exist; it must lie in 1..65535");
        }
        return port;
    }

    /** Tells whether {@link #connect} would find both ends free: a connection in TIME-WAIT may be in the way. */
    public boolean isFree(long nowNanos, long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow,
            int remotePort) {
        this.nowNanos = nowNanos;
        return opens.isFree(localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort, true);
    }

    // ---- the loop's side ----

    /**
     * A segment has arrived, with checksum and lengths verified, or several in one that follow one another on a
     * connection: then {@link Segment#segmentSize} is the payload of each but the last. The engine takes no reference
     * from the caller; the segment may be reused at once.
     */
    public void onSegment(Segment s, long nowNanos) {
        this.nowNanos = nowNanos;
        int count = s.segmentCount();
        counters.segmentsIn += count;
        int hash = connections.hash(s);
        TcpConnection c = connections.find(hash, s);
        if (c != null) {
            c.segmentsIn += count;
            SegmentInput.process(c, s, nowNanos);
            if (c.state != TcpState.CLOSED && c.state != TcpState.TIME_WAIT) {
                ready(c);
            }
            return;
        }
        boolean reuse = false;
        int record = timeWait.find(hash, s);
        if (record != TimeWaitTable.NONE) {
            reuse = TimeWaitInput.process(this, timeWait, record, s, nowNanos);
            if (!reuse) {
                return;
            }
        }
        if (events.unmatched(s)) {
            return;
        }
        TcpListener listener = listeners.find(s.destinationHigh, s.destinationLow, s.destinationPort);
        if (listener != null) {
            int isn = initialSequence.isn(s.destinationHigh, s.destinationLow, s.destinationPort, s.sourceHigh,
                    s.sourceLow, s.sourcePort, nowNanos);
            // RFC 9293 section 3.4.1: larger than any number of the connection before
            ListenInput.process(this, listener, s, reuse ? Sequence.max(isn, timeWaitIsn) : isn, nowNanos);
            return;
        }
        counters.unmatchedSegments++;
        refuse(s, 0);
    }

    /**
     * Answers a segment by a reset that is of no connection, or would open one and does not.
     *
     * @param mark SO_MARK of what it came to
     */
    void refuse(Segment s, int mark) {
        if (events.mayReset(s)) {
            replies.resetFor(s, mark);
        }
    }

    /** Tells whether there is a listener for what a segment received is sent to. */
    public boolean listensTo(Segment s) {
        return listeners.find(s.destinationHigh, s.destinationLow, s.destinationPort) != null;
    }

    /** Tells whether a segment received is of a connection of this engine, one in TIME-WAIT too. */
    public boolean knows(Segment s) {
        int hash = connections.hash(s);
        return connections.find(hash, s) != null || timeWait.find(hash, s) != TimeWaitTable.NONE;
    }

    /** Returns the connection that a segment received is of; null when there is none, or one in TIME-WAIT. */
    public TcpConnection find(Segment s) {
        return connections.find(connections.hash(s), s);
    }

    /** Tells whether there is a connection between two ends that is not in TIME-WAIT. */
    public boolean hasConnection(long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow,
            int remotePort) {
        int hash = connections.hash(localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
        return connections.find(hash, localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort) != null;
    }

    /**
     * An ICMP message quoted a segment of ours. Only one that quotes data in flight is believed (RFC 5927 section 4.1).
     *
     * @param seq the sequence number of the quoted TCP header
     * @param mtu next-hop MTU of {@link IcmpErrorKind#PACKET_TOO_BIG}, 0 if it isn't told
     */
    public void onIcmp(IcmpErrorKind error, long localHigh, long localLow, int localPort, long remoteHigh,
            long remoteLow, int remotePort, int seq, int mtu, long nowNanos) {
        this.nowNanos = nowNanos;
        int hash = connections.hash(localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
        TcpConnection c = connections.find(hash, localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
        if (c == null || !Sequence.inside(c.sndUna, seq, c.sndNxt)) {
            counters.icmpIgnored++;
            return;
        }
        IcmpInput.process(c, error, seq, mtu, nowNanos);
    }

    /**
     * Writes the next segment to send into {@code out}, which is cleared first. Its payload is borrowed: see
     * {@link Segment}.
     *
     * @return false if there is nothing to send now; {@code out} is undefined then
     */
    public boolean pollSegment(long nowNanos, Segment out) {
        this.nowNanos = nowNanos;
        if (pollReply(out)) {
            return true;
        }
        TcpConnection c;
        while ((c = ready.head()) != null) {
            boolean live = isLive(c);
            if (live && burst < BURST_SEGMENTS && pollConnection(c, nowNanos, out)) {
                int count = out.segmentCount();
                burst += count;
                c.segmentsOut += count;
                counters.segmentsOut += count;
                if (c == ready.head() && SegmentOutput.hasSaidAll(c)) {
                    burst = 0;
                    ready.removeHead();
                    ConnectionTimers.settle(c, nowNanos);
                }
                return true;
            }
            boolean exhausted = burst < BURST_SEGMENTS;
            burst = 0;
            ready.removeHead();
            if (isLive(c) && exhausted) {
                ConnectionTimers.settle(c, nowNanos);
            } else if (live && !exhausted) {
                ready(c);
            }
        }
        // The reset of a connection that could not go on.
        return pollReply(out);
    }

    /** Returns the connection that {@link #pollSegment} asks next; null when there is none, or a reply comes first. */
    public TcpConnection nextToPoll() {
        return replies.isEmpty() ? ready.head() : null;
    }

    private boolean pollReply(Segment out) {
        if (replies.poll(out)) {
            counters.segmentsOut++;
            return true;
        }
        return false;
    }

    private static boolean isLive(TcpConnection c) {
        return c.state != TcpState.CLOSED && c.state != TcpState.TIME_WAIT;
    }

    /** A user's misuse of a written buffer costs its connection, not the others. */
    private boolean pollConnection(TcpConnection c, long nowNanos, Segment out) {
        try {
            return SegmentOutput.poll(c, nowNanos, out);
        } catch (IllegalReferenceCountException e) {
            out.transmitted();
            onDataReleased(c);
            return false;
        }
    }

    /** Ends a connection whose user has released bytes that were still to be sent: a stream has no holes. */
    public void onDataReleased(TcpConnection c) {
        counters.buffersReleasedEarly++;
        reset(c);
        finish(c, CloseReason.DATA_RELEASED, TcpState.CLOSED);
    }

    /**
     * Limits the payload of the segments to be polled from now on below {@link TcpConfig.Builder#segmentationBytes},
     * because the device's memory is short. Whatever the limit, single segments are polled.
     */
    public void limitSegmentation(int bytes) {
        segmentationBytes = Math.min(bytes, config.segmentationBytes);
    }

    /**
     * Gives back buffers that segments came in and that hold data out of order, by copying that: to be called when they
     * have become few.
     *
     * @param most pieces that are copied
     */
    public void giveBackBuffers(int most) {
        receiveMemory.copyOut(most);
    }

    /** Runs the timers that are due. Returns how many connections had one. */
    public int advance(long nowNanos) {
        this.nowNanos = nowNanos;
        int count = 0;
        TcpConnection c;
        while ((c = wheel.advance(nowNanos)) != null) {
            ConnectionTimers.expire(c, nowNanos);
            count++;
        }
        while ((c = paced.pollDue(nowNanos)) != null) {
            ready(c);
            count++;
        }
        timeWait.expire(nowNanos);
        openPace.release(nowNanos);
        return count;
    }

    /**
     * When the engine must be called next: a time in the past or the present if there is something to poll, else when
     * {@link #advance} has work, rounded by about 1 ms; {@link Long#MAX_VALUE} if only a segment or a user can change
     * anything.
     */
    public long nextDeadlineNanos() {
        if (ready.head() != null || !replies.isEmpty()) {
            return nowNanos;
        }
        return Math.min(Math.min(wheel.nextNanos(), paced.nextNanos()),
                Math.min(timeWait.nextNanos(), openPace.nextNanos()));
    }

    /** Closes all listeners and aborts all connections; their RSTs are left to be polled, as far as there is room. */
    public void shutdown() {
        shutdown(CloseReason.ABORTED);
    }

    /** The same, with the reason that is told of each connection. */
    public void shutdown(CloseReason reason) {
        listeners.closeAll();
        for (TcpConnection c : connections.snapshot()) {
            abort(c, reason);
        }
    }

    /** Sends RST and forgets the connection at once. */
    void abort(TcpConnection c, CloseReason reason) {
        if (c.state != TcpState.CLOSED && c.state != TcpState.TIME_WAIT) {
            reset(c);
            finish(c, reason, TcpState.CLOSED);
        }
    }

    // ---- moving ----

    /**
     * Takes a connection out, with everything that belongs to it, for another engine to {@link #adopt}. Until then it
     * must not be used, and segments for it must not come to this engine.
     */
    public void release(TcpConnection c) {
        if (c.listener != null && c.listener.engine == this) {
            c.listener.halfOpenMoves(true);
        }
        connections.remove(c);
        wheel.cancel(c);
        paced.remove(c);
        unready(c);
        openPace.leave(c, nowNanos);
        receiveMemory.release(c);
        if (c.reassembly != null) {
            receiveMemory.leave(c.reassembly);
        }
        if (c.orphan != null) {
            orphans.remove(c);
        }
    }

    /** Takes over a connection that its engine has released; its timers go on, by the same clock. */
    public void adopt(TcpConnection c, long nowNanos) {
        this.nowNanos = nowNanos;
        if (c.listener != null && c.listener.engine == this) {
            c.listener.halfOpenMoves(false);
        }
        c.engine = this;
        c.hash = connections.hash(c.localHigh, c.localLow, c.localPort, c.remoteHigh, c.remoteLow, c.remotePort);
        connections.add(c);
        receiveMemory.adopt(c);
        if (c.reassembly != null) {
            receiveMemory.join(c, c.reassembly);
        }
        if (c.orphan != null) {
            orphans.append(c);
        }
        ready(c);
    }

    /**
     * Takes over the TIME-WAIT of a connection that ended in that state with another engine, because its segments come
     * to this one.
     */
    public void adoptTimeWait(TcpConnection c, long nowNanos) {
        this.nowNanos = nowNanos;
        c.hash = connections.hash(c.localHigh, c.localLow, c.localPort, c.remoteHigh, c.remoteLow, c.remotePort);
        timeWait.add(c, nowNanos);
    }

    private void unready(TcpConnection c) {
        if (!c.is(Tcb.READY)) {
            return;
        }
        c.clear(Tcb.READY);
        if (openPace.remove(c)) {
            return;
        }
        ready.remove(c);
    }

    // ---- what it is ----

    public TcpCounters counters() {
        return counters;
    }

    /** Connections with a control block: all but those in TIME-WAIT. */
    public int connectionCount() {
        return connections.size();
    }

    /** Of these, those that their users have closed. */
    public int orphanCount() {
        return orphans.count();
    }

    public int timeWaitCount() {
        return timeWait.size();
    }

    /**
     * Returns what is open. On the engine's thread.
     *
     * @param lookedAt connections that are looked at, at most
     * @param most     of the busiest of them
     */
    public TcpSocketDump socketDump(int lookedAt, int most) {
        return TcpSocketDump.of(listeners, connections, lookedAt, most);
    }

    /**
     * Returns what does not hold of this engine and should, in words: for tests and simulations, which ask between two
     * calls. It looks at every connection.
     */
    public List<String> brokenInvariants() {
        List<TcpConnection> queued = new ArrayList<>(openPace.waiting());
        for (TcpConnection c = ready.head(); c != null; c = c.nextReady) {
            queued.add(c);
        }
        return EngineInvariants.brokenBy(this, queued);
    }

    // ---- for the package ----

    List<TcpListener> listeners() {
        return listeners.all();
    }

    long now() {
        return nowNanos;
    }

    int segmentationBytes() {
        return segmentationBytes;
    }

    void ready(TcpConnection c) {
        ready.add(c);
    }

    void removeListener(TcpListener listener) {
        listeners.remove(listener);
    }

    /** Queues the RST of a connection, if its state has a peer to tell. */
    void reset(TcpConnection c) {
        if (c.state == TcpState.SYN_RECEIVED || c.state.synchronizedState()) {
            replies.reset(c);
        }
    }

    void sendFinalAck(TcpConnection c, long now) {
        replies.finalAck(c, now);
    }

    /** The end of a control block. */
    void finish(TcpConnection c, CloseReason reason, TcpState next) {
        if (c.state == TcpState.CLOSED || c.state == TcpState.TIME_WAIT) {
            return;
        }
        if (next == TcpState.TIME_WAIT) {
            timeWait.add(c, nowNanos);
        } else {
            openPace.leave(c, nowNanos);
        }
        c.state = next;
        connections.remove(c);
        wheel.cancel(c);
        paced.remove(c);
        c.stopRetransmitTimer();
        c.ackDeadlineNanos = Tcb.NEVER;
        c.idleDeadlineNanos = Tcb.NEVER;
        c.deadlineNanos = Tcb.NEVER;
        receiveMemory.release(c);
        if (c.orphan != null) {
            orphans.remove(c);
            c.orphan = null;
        }
        pools.dropFlight(c);
        receiveMemory.dropReassembly(c);
        if (c.listener != null) {
            c.listener.halfOpenEnded(c, reason == CloseReason.RESET_BY_PEER, nowNanos);
            c.listener = null;
        }
        if (!c.is(Tcb.PASSIVE_OPEN) || c.is(Tcb.REPORTED)) {
            events.closed(c, reason);
        }
    }
}
