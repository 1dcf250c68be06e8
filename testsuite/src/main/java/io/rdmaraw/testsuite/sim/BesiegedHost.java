package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.wire.IcmpErrorKind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A host whose peer is hostile: the core, with every receive slot it keeps and every step it takes counted. What a peer
 * does may cost a share of memory that its connections are allowed, and work in proportion to what went over the wire.
 */
final class BesiegedHost implements TcpEvents {
    private static final int SLOT_BYTES = 2048;
    /** The cap on out-of-order data of a connection, which is larger than small receive buffers. */
    private static final int OUT_OF_ORDER_BYTES = 1 << 20;
    /** One segment may acknowledge all that is in flight; the steps it took to bring that there pay for no more. */
    private static final long STEPS_AT_ONCE = 50_000;
    private static final long STEPS_PER_SEGMENT = 256;
    private static final int CHUNK_BYTES = 16_384;

    private final Siege siege;
    private final HostilePlan plan;
    private final TcpEngine engine;
    private final TcpListener listener;
    private final SegmentCodec codec = new SegmentCodec();
    private final Segment in = new Segment();
    private final Segment out = new Segment();
    private final Buffers buffers;
    private final ArrayDeque<ByteBuf> slots = new ArrayDeque<>();
    private final List<TcpConnection> live = new ArrayList<>();
    private final Map<TcpConnection, Integer> toSend = new HashMap<>();
    private long stepsLeft = STEPS_AT_ONCE;
    private int bytesForEach;

    BesiegedHost(Siege siege, SplitMix random, long nowNanos) {
        this.siege = siege;
        plan = siege.plan();
        buffers = new Buffers(random.split(2));
        engine = new TcpEngine(plan.config(siege.secrets()), this, random.split(1)::nextLong, nowNanos);
        listener = engine.listen(siege.high(), siege.hostLow(), Siege.PORT, plan.backlog, null);
    }

    // ---- the network's side ----

    void receive(Packet packet, long nowNanos) {
        check(codec.decode(packet.encode(), in), "the parser takes sound packets", packet.toString());
        ByteBuf slot = null;
        if (packet.payload.length > 0) {
            slot = Unpooled.buffer(SLOT_BYTES).writeBytes(packet.payload);
            slots.add(slot);
            in.payload(slot, 0, packet.payload.length);
        }
        long before = Steps.count();
        engine.onSegment(in, nowNanos);
        in.detachPayload();
        if (slot != null) {
            slot.release();
        }
        worked(before, 1, packet);
        checkSlots();
    }

    void icmp(Packet quoted, int mtuBytes, long nowNanos) {
        long before = Steps.count();
        engine.onIcmp(IcmpErrorKind.PACKET_TOO_BIG, quoted.sourceHigh, quoted.sourceLow, quoted.sourcePort,
                quoted.destinationHigh, quoted.destinationLow, quoted.destinationPort, quoted.seq, mtuBytes, nowNanos);
        worked(before, 1, quoted);
    }

    /** Returns what is polled, as a network without segmentation carries it. */
    Packet poll(long nowNanos) {
        feed();
        long before = Steps.count();
        boolean any = engine.pollSegment(nowNanos, out);
        Packet packet = any ? Packet.decode(codec.encode(out)) : null;
        if (any) {
            check(packet != null, "sends sound packets", plan.toString());
            buffers.transmit(out);
        }
        worked(before, any ? 1 : 0, packet);
        return packet;
    }

    void advance(long nowNanos) {
        long before = Steps.count();
        // A timer that is due is an event as a segment is one.
        int due = engine.advance(nowNanos);
        worked(before, due, null);
    }

    long nextDeadlineNanos() {
        return engine.nextDeadlineNanos();
    }

    private void worked(long before, int segments, Packet packet) {
        long steps = Steps.count() - before;
        stepsLeft = Math.min(STEPS_AT_ONCE, stepsLeft + (STEPS_PER_SEGMENT + plan.tactic.moreSteps()) * segments)
                - steps;
        check(stepsLeft >= 0, "work in proportion to segments", steps + " steps for " + packet + ", and many before");
    }

    private void checkSlots() {
        slots.removeIf(slot -> slot.refCnt() == 0);
        long bound = live.size() * (long) Math.max(OUT_OF_ORDER_BYTES,
                5 * Math.max(plan.receiveBufferBytes, plan.maxReceiveBufferBytes) / 4);
        long held = (long) slots.size() * SLOT_BYTES;
        check(held <= bound, "what is held is within the receive buffer", held + " bytes of slots are held, " + bound
                + " are allowed to " + live.size() + " connections");
        for (ByteBuf slot : slots) {
            check(slot.writerIndex() >= SLOT_BYTES / 2, "a small piece keeps no slot",
                    "a slot is held for " + slot.writerIndex() + " bytes");
        }
    }

    void checkRest() {
        for (TcpConnection c : live) {
            StateChecks.atRest("host", c, engine.nextDeadlineNanos());
        }
        List<String> broken = engine.brokenInvariants();
        check(broken.isEmpty(), "every connection has a deadline or a reason", broken.toString());
    }

    /** All peers are silent, or closed connections have had their time. */
    void checkEmpty(String after) {
        check(listener.halfOpen() == 0, "half-open connections end", listener.halfOpen() + " are left " + after);
        check(engine.connectionCount() == 0, "closed connections end", engine.connectionCount() + " are left " + after
                + ": " + live);
        slots.removeIf(slot -> slot.refCnt() == 0);
        check(slots.isEmpty(), "no slot is kept", slots.size() + " are left " + after);
        buffers.checkReleased("host");
    }

    // ---- the user's side ----

    /** Each connection that is open from now on sends so much. */
    void sendEach(int bytes) {
        bytesForEach = bytes;
    }

    TcpConnection connect(int port, long nowNanos) {
        TcpConnection c = engine.connect(nowNanos, siege.high(), siege.hostLow(), port, siege.high(), siege.peerLow(),
                Siege.PORT, null, 0, null);
        live.add(c);
        return c;
    }

    void closeAll() {
        for (TcpConnection c : List.copyOf(live)) {
            c.close();
        }
    }

    List<TcpConnection> connections() {
        return live;
    }

    private void feed() {
        for (TcpConnection c : List.copyOf(toSend.keySet())) {
            int left = toSend.get(c);
            while (left > 0 && c.queuedBytes() < Siege.MOST_IN_FLIGHT) {
                int length = Math.min(left, CHUNK_BYTES);
                c.send(buffers.of(new byte[length]));
                left -= length;
            }
            toSend.put(c, left);
        }
        toSend.values().removeIf(left -> left == 0);
    }

    @Override
    public void connected(TcpConnection connection) {
        toSend.put(connection, bytesForEach);
    }

    @Override
    public void accepted(TcpListener from, TcpConnection connection) {
        live.add(connection);
        toSend.put(connection, bytesForEach);
        long srtt = connection.smoothedRttNanos();
        // The core's clock of round trips ticks each nanosecond; the peer answers after a whole round trip.
        check(srtt == 0 || srtt >= plan.rttNanos / 2, "a round trip is not shorter than the path", "SRTT " + srtt
                + " ns of " + plan.rttNanos);
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        connection.readWindowOpened(length);
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        // The user closes when the plan says so.
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        // Room is looked at before each poll.
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        live.remove(connection);
        toSend.remove(connection);
    }
}
