package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.wire.IcmpErrorKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random segments, with numbers near the critical ones, from a peer that follows no rules, mixed with calls of
 * the user. The engine must not throw, loop, leak or violate an invariant of a connection.
 */
class HostilePeerTest {
    private static final long HERE = 0xFFFF_0A00_0001L;
    private static final long THERE = 0xFFFF_0A00_0002L;

    private final List<ByteBuf> buffers = new ArrayList<>();
    private final List<TcpConnection> connections = new ArrayList<>();
    /** The last SYN-ACK without a connection. An ACK can return its cookie. */
    private final Segment cookie = new Segment();
    private long now = 1_000_000_000;

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void invariantsHold(int kind) {
        for (int seed = 0; seed < 400; seed++) {
            run(new Random(seed * 4L + kind), kind);
        }
    }

    private void run(Random random, int kind) {
        buffers.clear();
        connections.clear();
        cookie.clear();
        Recorder events = new Recorder() {
            @Override
            public void accepted(TcpListener listener, TcpConnection connection) {
                connections.add(connection);
            }

            @Override
            public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
                assertTrue(buffer.refCnt() > 0 && index >= 0 && index + length <= buffer.capacity());
                switch (random.nextInt(30)) {
                    case 0 -> connection.abort();
                    case 1 -> connection.close();
                    case 2 -> connection.shutdownOutput();
                    default -> connection.reportRead(random.nextInt(connection.unreadBytes() + 1));
                }
            }
        };
        int isn = -random.nextInt(3000);
        TcpConfig config = TcpConfig.builder().initialSequence(() -> isn).sack(kind != 1).timestamps(kind == 2)
                .initialReceiveBufferBytes(2048 + random.nextInt(60_000)).noDelay(random.nextBoolean()).maxTimeouts(5)
                .maxOutOfOrderBytes(20_000).maxTimeWaitConnections(3)
                .ecn((isn & 1) == 0 ? TcpConfig.EcnMode.ACTIVE : TcpConfig.EcnMode.ACCURATE)
                .synCookies(TcpConfig.SynCookieMode.values()[random.nextInt(3)]).build();
        TcpEngine engine = new TcpEngine(config, events, new SplittableRandom(kind), now);
        engine.listen(0, 0, 80, 2, null);
        connections.add(engine.connect(now, 0, HERE, 4000, 0, THERE, 5000, null, 0, null));
        int last = 0;
        for (int step = 0; step < 300; step++) {
            TcpConnection c = connections.get(random.nextInt(connections.size()));
            Segment s = cookie.flags != 0 && random.nextInt(8) == 0 ? cookieReturned(random)
                    : segment(random, c, random.nextInt(8) == 0 ? 80 : c.localPort(), last);
            engine.onSegment(s, now);
            s.releasePayload();
            act(random, connections.get(random.nextInt(connections.size())));
            Segment out = new Segment();
            int polls = 0;
            while (engine.pollSegment(now, out)) {
                assertTrue(++polls < 3000, "endless output");
                last = out.seq;
                check(out);
                if (out.connection() == null && out.flags == (TcpFlags.SYN | TcpFlags.ACK)) {
                    cookie.copyHeader(out);
                }
                out.releasePayload();
            }
            for (TcpConnection each : connections) {
                check(each);
            }
            assertEquals(List.of(), engine.invariantViolations());
            if (random.nextInt(3) == 0) {
                now = Math.max(now, Math.min(engine.nextDeadlineNanos(), now + random.nextInt(1_000_000_000)));
                engine.advance(now);
            }
        }
        engine.shutdown();
        assertEquals(0, engine.connectionCount());
        for (ByteBuf buffer : buffers) {
            assertEquals(0, buffer.refCnt(), "leaked");
        }
    }

    private void act(Random random, TcpConnection c) {
        switch (random.nextInt(12)) {
            case 0, 1, 2, 3 -> {
                if (c.state().maySend() && !c.is(Tcb.FIN_QUEUED)) {
                    ByteBuf buffer = Unpooled.wrappedBuffer(new byte[1 + random.nextInt(5000)]);
                    buffers.add(buffer);
                    c.send(buffer);
                }
            }
            case 4 -> c.reportRead(c.unreadBytes());
            case 5 -> c.noDelay(random.nextBoolean());
            case 6 -> c.keepAlive(random.nextBoolean());
            case 7 -> {
                if (random.nextInt(20) == 0) {
                    c.shutdownOutput();
                }
            }
            case 8 -> c.engine.onIcmp(IcmpErrorKind.values()[random.nextInt(6)], 0, HERE, c.localPort(), 0, THERE,
                    c.remotePort(), c.sndUna() + random.nextInt(100), random.nextInt(1600), now);
            default -> {
            }
        }
    }

    /** Returns a segment with mostly valid fields. Each field has a small probability of being wrong. */
    private Segment segment(Random random, TcpConnection c, int port, int last) {
        Segment s = new Segment().source(0, THERE, port == 80 ? 6000 + random.nextInt(4) : 5000)
                .destination(0, HERE, port);
        s.flags(random.nextInt(10) < 7 ? TcpFlags.ACK : random.nextInt(256));
        if (c.state() == TcpState.SYN_SENT && random.nextBoolean()) {
            s.flags(TcpFlags.SYN | TcpFlags.ACK);
        }
        if (port == 80 && random.nextBoolean()) {
            s.flags(TcpFlags.SYN);
        }
        s.seq(near(random, c.rcvNxt(), c.rcvAdv()));
        s.ack(random.nextInt(4) == 0 ? last + random.nextInt(3000) : near(random, c.sndUna(),
                c.sndNxt()));
        s.window(random.nextInt(3) == 0 ? random.nextInt(3) : random.nextInt(65536));
        s.ecn(random.nextInt(4)).urgentPointer(random.nextInt(100));
        if (random.nextInt(3) == 0) {
            s.mss(random.nextInt(3000)).windowScale(random.nextInt(256)).sackPermitted(random.nextBoolean());
        }
        if (random.nextInt(4) > 0) {
            s.timestamps(random.nextInt(5) == 0 ? random.nextInt() : (int) (now / 1_000_000),
                    random.nextInt(3) == 0 ? random.nextInt() : c.timestamp(now) - random.nextInt(50));
        }
        for (int i = random.nextInt(5); i > 0; i--) {
            s.addSack(near(random, c.sndUna(), c.sndNxt()), near(random, c.sndUna(),
                    c.sndNxt()));
        }
        if (random.nextInt(3) == 0) {
            s.accEcn(random.nextInt(8), random.nextInt(), random.nextInt(), random.nextInt());
        }
        if (random.nextBoolean()) {
            ByteBuf buffer = Unpooled.wrappedBuffer(new byte[1 + random.nextInt(2000)]);
            buffers.add(buffer);
            s.payload(buffer, 0, buffer.capacity());
        }
        return s;
    }

    /** Returns an ACK that returns the cookie, with other fields possibly wrong. */
    private Segment cookieReturned(Random random) {
        Segment s = new Segment().source(0, THERE, cookie.destinationPort).destination(0, HERE, 80)
                .flags(TcpFlags.ACK | (random.nextInt(4) == 0 ? random.nextInt(256) & ~TcpFlags.SYN : 0))
                .seq(cookie.ack).ack(cookie.seq + 1).window(random.nextInt(65536));
        if (random.nextInt(4) > 0) {
            s.timestamps(random.nextInt(), random.nextBoolean() ? cookie.tsValue : random.nextInt());
        }
        return s;
    }

    private static int near(Random random, int low, int high) {
        return switch (random.nextInt(6)) {
            case 0, 1 -> low;
            case 2 -> high;
            case 3 -> low + random.nextInt(Math.max(1, high - low));
            case 4 -> low - 2000 + random.nextInt(4000);
            default -> random.nextInt(20) == 0 ? random.nextInt() : high + 1 - random.nextInt(3);
        };
    }

    static void check(Segment out) {
        assertTrue(out.optionsLengthBytes() <= 40, "options too long");
        assertTrue(out.payloadLength() + out.optionsLengthBytes() + 40 <= 1500, "larger than the MTU: " + out);
        assertTrue(out.window >= 0 && out.window <= 0xFFFF);
        for (int i = 0; i < out.sliceCount(); i++) {
            assertTrue(out.sliceBuffer(i).refCnt() > 0);
        }
    }

    static void check(TcpConnection c) {
        if (c.state() == TcpState.CLOSED || c.state() == TcpState.TIME_WAIT) {
            assertEquals(null, c.sendState);
            assertEquals(null, c.reassembly);
            return;
        }
        assertTrue(Sequence.beforeOrAt(c.sndUna, c.sndNxt));
        assertTrue(Sequence.beforeOrAt(c.rcvNxt, c.rcvAdv));
        assertTrue(c.cwnd >= 0 && c.inFlightBytes() >= 0 && c.unreadBytes >= 0);
        if (c.sendState != null && c.state().isSynchronized()) {
            assertEquals(c.sndUna, c.sendState.scoreboard.startSeq());
            assertEquals(c.sndNxt, c.sendState.scoreboard.endSeq());
            assertTrue(c.deadlineNanos() != Tcb.NEVER || c.is(Tcb.OUTPUT_QUEUED),
                    "something to send but no deadline: " + c);
        }
    }
}
