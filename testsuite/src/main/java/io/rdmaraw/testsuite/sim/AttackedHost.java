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
 * A host under attack: the core with all receive slots and execution steps counted. The peer may make it hold no
 * more memory than its connections are allowed, and do no more work than is proportional to the segments and
 * timers handled.
 */
final class AttackedHost implements TcpEvents {
    private static final int SLOT_BYTES = 2048;
    /** The core's limit of out-of-order data per connection. It is larger than a small receive buffer. */
    private static final int OUT_OF_ORDER_BYTES = 1 << 20;
    /**
     * Maximum number of saved steps. A single segment may acknowledge a whole window, which needs many steps at
     * once.
     */
    private static final long STEPS_AT_ONCE = 50_000;
    private static final long STEPS_PER_SEGMENT = 256;
    private static final int CHUNK_BYTES = 16_384;

    private final AttackScenario attack;
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

    AttackedHost(AttackScenario attack, SplitMix random, long nowNanos) {
        this.attack = attack;
        plan = attack.plan();
        buffers = new Buffers(random.split(2));
        engine = new TcpEngine(plan.config(attack.secrets()), this, random.split(1)::nextLong, nowNanos);
        listener = engine.listen(attack.high(), attack.hostLow(), AttackScenario.PORT, plan.backlog, null);
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

    /** Returns the next packet of the core as it appears on a network without segmentation offload, or null. */
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
        // An expired timer counts as one event, like a segment.
        int due = engine.advance(nowNanos);
        worked(before, due, null);
    }

    long nextDeadlineNanos() {
        return engine.nextDeadlineNanos();
    }

    private void worked(long before, int segments, Packet packet) {
        long steps = Steps.count() - before;
        stepsLeft = Math.min(STEPS_AT_ONCE, stepsLeft + (STEPS_PER_SEGMENT + plan.attack.moreSteps()) * segments)
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
        List<String> broken = engine.invariantViolations();
        check(broken.isEmpty(), "every connection has a deadline or a reason", broken.toString());
    }

    /** Checks that nothing is left once all peers are silent or closed connections have timed out. */
    void checkEmpty(String after) {
        check(listener.halfOpenCount() == 0, "half-open connections end",
                listener.halfOpenCount() + " are left " + after);
        check(engine.connectionCount() == 0, "closed connections end", engine.connectionCount() + " are left " + after
                + ": " + live);
        slots.removeIf(slot -> slot.refCnt() == 0);
        check(slots.isEmpty(), "no slot is kept", slots.size() + " are left " + after);
        buffers.checkReleased("host");
    }

    // ---- the user's side ----

    /** Makes each connection send this many bytes once it is established. */
    void sendEach(int bytes) {
        bytesForEach = bytes;
    }

    TcpConnection connect(int port, long nowNanos) {
        TcpConnection c = engine.connect(nowNanos, attack.high(), attack.hostLow(), port, attack.high(),
                attack.peerLow(), AttackScenario.PORT, null, 0, null);
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
            while (left > 0 && c.queuedBytes() < AttackScenario.MAX_IN_FLIGHT) {
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
        // The core's RTT clock has nanosecond resolution, and the peer answers after a whole round trip.
        check(srtt == 0 || srtt >= plan.rttNanos / 2, "a round trip is not shorter than the path", "SRTT " + srtt
                + " ns of " + plan.rttNanos);
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        connection.reportRead(length);
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        // The plan decides when the user closes.
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        // {@code feed} checks the available space before each poll.
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        live.remove(connection);
        toSend.remove(connection);
    }
}
