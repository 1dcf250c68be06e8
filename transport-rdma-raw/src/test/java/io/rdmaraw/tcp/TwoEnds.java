package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.SplittableRandom;

/** Two engines connected by a link with delay, jitter, loss and duplication, in virtual time. */
class TwoEnds {
    static final long HERE = 0xFFFF_0A00_0001L;
    static final long THERE = 0xFFFF_0A00_0002L;
    static final int PORT = 80;
    private static final long DELAY_NANOS = 10_000_000;

    private record Arrival(long time, long order, boolean atServer, Segment segment) {
    }

    final Recorder clientEvents = new Recorder();
    final Recorder serverEvents = new Recorder();
    final TcpEngine client;
    final TcpEngine server;
    private final PriorityQueue<Arrival> wire = new PriorityQueue<>(
            Comparator.comparingLong(Arrival::time).thenComparingLong(Arrival::order));
    private final Random random;
    private final List<ByteBuf> buffers = new ArrayList<>();
    private long order;
    long now = 1_000_000_000L;
    double loss;
    double duplication;
    long jitterNanos;
    /** Segments with more payload are dropped without an ICMP message. */
    int maxPayloadBytes = Integer.MAX_VALUE;

    TwoEnds(TcpConfig clientConfig, TcpConfig serverConfig, long seed) {
        random = new Random(seed);
        client = new TcpEngine(clientConfig, clientEvents, new SplittableRandom(seed), now);
        server = new TcpEngine(serverConfig, serverEvents, new SplittableRandom(seed + 1), now);
        server.listen(0, 0, PORT, 16, null);
    }

    TcpConnection connect() {
        return client.connect(now, 0, HERE, 0, 0, THERE, PORT, null, 0, null);
    }

    ByteBuf buffer(byte[] bytes) {
        ByteBuf buffer = Unpooled.copiedBuffer(bytes);
        buffers.add(buffer);
        return buffer;
    }

    /** Checks that all buffers passed to the engines are released. */
    void assertNothingHeld() {
        wire.forEach(a -> a.segment.releasePayload());
        for (ByteBuf buffer : buffers) {
            assertEquals(0, buffer.refCnt(), "references left to a buffer");
        }
    }

    private void transmit() {
        Segment s = new Segment();
        while (client.pollSegment(now, s)) {
            carry(s, true);
            s = new Segment();
        }
        while (server.pollSegment(now, s)) {
            carry(s, false);
            s = new Segment();
        }
    }

    private void carry(Segment s, boolean toServer) {
        s.retainPayload();
        if (s.payloadLength() > maxPayloadBytes || random.nextDouble() < loss) {
            s.releasePayload();
            return;
        }
        if (random.nextDouble() < duplication) {
            Segment copy = new Segment();
            copy.copyHeader(s);
            for (int i = 0; i < s.sliceCount; i++) {
                copy.addSlice(s.buffers[i].retain(), s.indices[i], s.lengths[i]);
            }
            schedule(copy, toServer);
        }
        schedule(s, toServer);
    }

    private void schedule(Segment s, boolean toServer) {
        long jitter = jitterNanos == 0 ? 0 : random.nextLong(jitterNanos);
        wire.add(new Arrival(now + DELAY_NANOS + jitter, order++, toServer, s));
    }

    /** Processes the next event. Returns false if there is none before {@code limit}. */
    boolean step(long limit) {
        transmit();
        long deadline = Math.min(client.nextDeadlineNanos(), server.nextDeadlineNanos());
        long arrival = wire.isEmpty() ? Long.MAX_VALUE : wire.peek().time;
        long next = Math.min(deadline, arrival);
        if (next > limit) {
            now = limit;
            return false;
        }
        now = Math.max(now, next);
        client.advance(now);
        server.advance(now);
        while (!wire.isEmpty() && wire.peek().time <= now) {
            Arrival a = wire.poll();
            (a.atServer ? server : client).onSegment(a.segment, now);
            a.segment.releasePayload();
        }
        return true;
    }

    void run(long nanos) {
        long limit = now + nanos;
        int steps = 0;
        while (step(limit)) {
            if (++steps > 5_000_000) {
                fail("no end in sight at " + now);
            }
        }
    }
}
