package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.TcpOptions;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A connection scenario encoded in bytes. Each step is a segment of the peer, a call of the user, an ICMP
 * message, or the passing of time. Sequence numbers are offsets from the critical ones, so that few bytes reach
 * deep states. Options are raw bytes for the transport's parser. Invariants are checked after every step.
 */
final class SegmentSequence implements TcpEvents {
    static final int MAXIMUM_STEPS = 400;
    private static final long HERE = 0xFFFF_0A00_0001L;
    private static final long THERE = 0xFFFF_0A00_0002L;
    private static final int LISTENING = 80;
    private static final int PEERS = 4;
    private static final int PEER_ISN = -100;
    private static final int BACKLOG = 2;
    private static final int MAX_OUT_OF_ORDER = 4_000;
    private static final int RECEIVE_BUFFER = 65_536;
    private static final int POLLS_PER_STEP = 3000;
    private static final int MAX_TIME_WAIT = 3;
    /** Heap allocation allowed per scenario and per step, including the checks. */
    private static final long ALLOWED_BYTES = 1 << 20;
    private static final long ALLOWED_BYTES_PER_STEP = 64 << 10;
    private static final int[] USUAL_FLAGS = {TcpFlags.ACK, TcpFlags.ACK | TcpFlags.PSH, TcpFlags.SYN,
        TcpFlags.SYN | TcpFlags.ACK, TcpFlags.FIN | TcpFlags.ACK, TcpFlags.RST, TcpFlags.RST | TcpFlags.ACK};
    private static final byte[] PAYLOAD = new byte[8192];
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final byte[] data;
    private final List<ByteBuf> buffers = new ArrayList<>();
    private final List<TcpConnection> connections = new ArrayList<>();
    private final ByteBuf optionBytes = Unpooled.directBuffer(40);
    private final TcpOptions options = new TcpOptions();
    private final Segment out = new Segment();
    private final TcpEngine engine;
    private int at;
    private int lastSeq;
    private int knockedPort;
    private int knockedIsn;
    private long knownCookie;
    private long now = 1_000_000_000;

    private SegmentSequence(byte[] data) {
        this.data = data;
        int settings = u8();
        int isn = -(u8() << 4);
        TcpConfig config = TcpConfig.builder().initialSequence(() -> isn).sack((settings & 1) == 0)
                .timestamps((settings & 2) == 0).noDelay((settings & 4) == 0).initialReceiveBufferBytes(RECEIVE_BUFFER)
                .maxOutOfOrderBytes(MAX_OUT_OF_ORDER).maxTimeouts(5).maxTimeWaitConnections(MAX_TIME_WAIT)
                .ecn((settings & 8) == 0 ? TcpConfig.EcnMode.ACTIVE : TcpConfig.EcnMode.ACCURATE)
                .synCookies(TcpConfig.SynCookieMode.values()[(settings >>> 4) % 3]).build();
        engine = new TcpEngine(config, this, new SplittableRandom(1), now);
        TcpListener listener = engine.listen(0, 0, LISTENING, BACKLOG, null);
        if ((settings & 64) != 0) {
            listener.maxFastOpens(BACKLOG / 2);
        }
        connections.add(engine.connect(now, 0, HERE, 4000, 0, THERE, 5000, null, 0, null));
        if ((settings & 128) != 0) {
            connections.get(0).enableFastOpen();
        }
    }

    /** Runs the scenario. Returns the engine's counters, which show how far it got. */
    static TcpCounters play(byte[] data) {
        SegmentSequence sequence = new SegmentSequence(data);
        if (!sequence.playWithinBounds()) {
            // Class loading also allocates, but not a second time.
            sequence = new SegmentSequence(data);
            assertTrue(sequence.playWithinBounds(), "allocated without bound");
        }
        return sequence.engine.counters();
    }

    /** Returns false if more heap was allocated than the steps justify. */
    private boolean playWithinBounds() {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        int steps = play();
        long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
        return allocated <= ALLOWED_BYTES + steps * ALLOWED_BYTES_PER_STEP;
    }

    private int play() {
        int steps = 0;
        while (at < data.length && steps++ < MAXIMUM_STEPS) {
            step();
            poll();
            connections.forEach(SegmentSequence::check);
            assertTrue(engine.connectionCount() <= connections.size() + BACKLOG, "half-open beyond the backlog");
            assertTrue(engine.timeWaitCount() <= MAX_TIME_WAIT, "TIME-WAIT beyond its bound");
        }
        engine.shutdown();
        poll();
        assertEquals(0, engine.connectionCount());
        buffers.forEach(buffer -> assertEquals(0, buffer.refCnt(), "leaked"));
        optionBytes.release();
        return steps;
    }

    private void step() {
        int what = u8();
        TcpConnection c = connections.get((what >>> 4) % connections.size());
        switch (what & 15) {
            case 0, 1, 2, 3, 4, 5, 6 -> hear(c);
            case 7, 8 -> knock();
            case 9, 10 -> say(c);
            case 11 -> call(c);
            case 12 -> engine.onIcmp(IcmpErrorKind.values()[u8() % IcmpErrorKind.values().length], 0, HERE,
                    c.localPort(), 0, THERE, c.remotePort(), c.sndUna() + (byte) u8(), u16(), now);
            case 13 -> pass(u16() * 1_000L);
            case 14 -> pass(u16() * 1_000_000L);
            default -> pass(engine.nextDeadlineNanos() - now);
        }
    }

    private void pass(long nanos) {
        now += Math.clamp(nanos, 0, 200_000_000_000L);
        engine.advance(now);
    }

    /** Sends a SYN to the listener, or a segment that may complete the latest handshake. */
    private void knock() {
        int form = u8();
        Segment s = new Segment().destination(0, HERE, LISTENING).window(u16());
        if ((form & 1) == 0) {
            s.source(0, THERE, 6000 + (form >>> 1) % PEERS).seq(PEER_ISN).flags(TcpFlags.SYN);
            if ((form & 64) != 0) {
                s.fastOpenCookie((form & 128) == 0 ? 0 : 8, knownCookie, 0).payload(buffer(200), 0, 200);
            }
        } else {
            s.source(0, THERE, knockedPort).seq(PEER_ISN + 1).ack(knockedIsn + 1)
                    .flags(USUAL_FLAGS[(form >>> 1) % USUAL_FLAGS.length]);
        }
        options(s, connections.get(0));
        engine.onSegment(s, now);
        s.releasePayload();
    }

    private void hear(TcpConnection c) {
        Segment s = new Segment().source(0, THERE, c.remotePort()).destination(0, HERE, c.localPort());
        int form = u8();
        int flags = form & 7;
        s.flags(flags < USUAL_FLAGS.length ? USUAL_FLAGS[flags] : u8()).ecn(form >>> 3 & 3);
        s.seq(switch (form >>> 5) {
            case 0, 1, 2, 3 -> c.rcvNxt();
            case 4 -> c.rcvAdv() + (byte) u8();
            case 5 -> c.rcvNxt() + (short) u16();
            case 6 -> c.rcvNxt() + (byte) u8();
            default -> u16() << 16 | u16();
        });
        int window = u8();
        s.ack(near(c, window & 7)).window(window < 16 ? window >>> 3 : window << 8).urgentPointer(window);
        options(s, c);
        int payload = u8();
        if (payload >= 64) {
            s.payload(buffer((payload - 63) * 16), 0, (payload - 63) * 16);
        }
        engine.onSegment(s, now);
        s.releasePayload();
    }

    private int near(TcpConnection c, int which) {
        return switch (which) {
            case 0, 1, 2 -> c.sndNxt();
            case 3 -> c.sndUna();
            case 4 -> c.sndUna() + u16() % (c.sndNxt() - c.sndUna() + 1 & 0x7fff_ffff | 1);
            case 5 -> c.sndNxt() + (byte) u8();
            case 6 -> lastSeq + u16();
            default -> u16() << 16 | u16();
        };
    }

    /** Sets valid timestamps and SACK blocks near the data in flight, or options parsed from arbitrary bytes. */
    private void options(Segment s, TcpConnection c) {
        int form = u8();
        if ((form & 1) != 0) {
            s.timestamps((int) (now / 1_000_000) + (form >>> 7) * (short) u16(), c.timestamp(now) - (form >>> 5));
        }
        for (int i = form >>> 1 & 3; i > 0; i--) {
            int start = near(c, 4);
            s.addSack(start, start + u16());
        }
        if ((form >>> 3 & 3) == 2) {
            s.fastOpenCookie(4 + (form >>> 4 & 12), now, form);
        }
        int length = (form >>> 3 & 3) == 3 ? u8() % 41 : 0;
        optionBytes.clear();
        for (int i = 0; i < length; i++) {
            optionBytes.writeByte(u8());
        }
        if (length > 0) {
            options.parse(optionBytes.memoryAddress(), length);
            s.mss(Math.max(0, options.maximumSegmentSize())).windowScale(options.windowScale())
                    .sackPermitted(options.isSackPermitted());
            if (options.hasTimestamps()) {
                s.timestamps(options.timestampValue(), options.timestampEcho());
            }
            s.accEcn(options.accEcnCounters(), options.accEcnEct1Bytes(), options.accEcnCeBytes(),
                    options.accEcnEct0Bytes());
            for (int i = 0; i < options.sackBlockCount(); i++) {
                s.addSack(options.sackStart(i), options.sackEnd(i));
            }
        }
    }

    private void say(TcpConnection c) {
        int length = 1 + u8() * 32;
        if (c.state().maySend() && !c.is(Tcb.FIN_QUEUED)) {
            c.send(buffer(length));
        }
    }

    private void call(TcpConnection c) {
        int what = u8();
        switch (what & 7) {
            case 0 -> c.shutdownOutput();
            case 1 -> c.close();
            case 2 -> c.abort();
            case 3 -> c.noDelay((what & 8) == 0);
            case 4 -> c.keepAlive((what & 8) == 0);
            case 5 -> {
                c.userTimeoutMillis((what >>> 3) * 1_000);
                c.keepAliveIdleMillis((what >>> 3) * 100);
                c.keepAliveIntervalMillis(what * 10);
                c.keepAliveProbes(what >>> 4);
                c.synRetries(what >>> 4);
            }
            case 6 -> {
                c.cork((what & 8) == 0);
                c.quickAck((what & 16) == 0);
                c.finWait2Millis((what >>> 5) * 1_000 - 1_000);
                c.notSentLowWaterBytes((what >>> 4) * 500);
                c.notSentRoom();
            }
            default -> c.reportRead(c.unreadBytes());
        }
    }

    private ByteBuf buffer(int length) {
        ByteBuf buffer = Unpooled.wrappedBuffer(PAYLOAD, 0, Math.min(length, PAYLOAD.length));
        buffers.add(buffer);
        return buffer;
    }

    private void poll() {
        int polls = 0;
        while (engine.pollSegment(now, out)) {
            assertTrue(++polls < POLLS_PER_STEP, "endless output");
            HostilePeerTest.check(out);
            lastSeq = out.seq;
            if (out.sourcePort == LISTENING && out.has(TcpFlags.SYN)) {
                knockedPort = out.destinationPort;
                knockedIsn = out.seq;
                if (out.fastOpenCookieLengthBytes == 8) {
                    knownCookie = out.fastOpenCookieHigh;
                }
            }
            out.releasePayload();
        }
    }

    private static void check(TcpConnection c) {
        HostilePeerTest.check(c);
        assertTrue(c.outOfOrderBytes() <= MAX_OUT_OF_ORDER, c.outOfOrderBytes() + " bytes out of order");
        assertTrue(c.unreadBytes() <= RECEIVE_BUFFER, c.unreadBytes() + " bytes unread");
    }

    private int u8() {
        return at < data.length ? data[at++] & 0xff : 0;
    }

    private int u16() {
        return u8() << 8 | u8();
    }

    // ---- events of the engine ----

    @Override
    public void accepted(TcpListener listener, TcpConnection connection) {
        connections.add(connection);
    }

    @Override
    public void connected(TcpConnection connection) {
        // The connection is known since connect().
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        assertTrue(length > 0 && index >= 0 && index + length <= buffer.capacity() && buffer.refCnt() > 0);
        if ((length & 16) != 0) {
            connection.reportRead(length);
        }
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        // The user reacts in a separate step.
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        assertTrue(bytes > 0);
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        assertTrue(connection.state() == TcpState.CLOSED || connection.state() == TcpState.TIME_WAIT);
    }
}
