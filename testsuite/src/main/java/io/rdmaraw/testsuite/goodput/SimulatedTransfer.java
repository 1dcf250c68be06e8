package io.rdmaraw.testsuite.goodput;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.testsuite.sim.ImpairedLine;
import io.rdmaraw.testsuite.sim.SegmentCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Bulk transfers from core to core in virtual time, with one or several flows on the same line. The goodput is a
 * function of the path, the algorithms and the seed.
 */
public final class SimulatedTransfer {
    private static final int ETHERNET_BYTES = 14;
    private static final long FIRST_SENDER = 0xFFFF_0A00_0001L;
    private static final long FIRST_RECEIVER = 0xFFFF_0A00_0101L;
    private static final int PORT = 80;
    private static final long SECOND_NANOS = 1_000_000_000L;

    /** Receives each packet with data that a sender transmits. */
    interface Observer {
        void sent(int payloadBytes, long nowNanos);
    }

    /** A packet in flight. {@code order} decides between packets with the same arrival time. */
    private record Arrival(long nanos, long order, BulkEnd to, byte[] packet) implements Comparable<Arrival> {
        @Override
        public int compareTo(Arrival other) {
            int byTime = Long.compare(nanos, other.nanos);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    private record Flow(BulkEnd sender, BulkEnd receiver) {
    }

    private final ByteBuf chunk = BulkEnd.newChunk(false);
    private final List<Flow> flows = new ArrayList<>();
    private final ImpairedLine forward;
    private final ImpairedLine backward;
    private final SegmentCodec codec = new SegmentCodec();
    private final Segment segment = new Segment();
    private final PriorityQueue<Arrival> arrivals = new PriorityQueue<>();
    private final long turnNanos;
    private Observer observer = (payloadBytes, nowNanos) -> {
    };
    private long order;
    private long now = SECOND_NANOS;

    private SimulatedTransfer(PathCase path, long seed, long turnNanos) {
        this.turnNanos = turnNanos;
        forward = new ImpairedLine(path.forward(), seed);
        backward = new ImpairedLine(path.backward(), ~seed);
    }

    private void add(TcpConfig config, long seed) {
        flows.add(new Flow(new BulkEnd(config, seed, chunk, now), new BulkEnd(config, seed + 1, chunk, now)));
    }

    /** Returns the goodput in Mbit/s: the payload delivered to the receiving user. */
    public static double megabitsPerSecond(PathCase path, CongestionControl.Factory algorithm, long seed) {
        return megabitsPerSecond(path, algorithm, seed, 1);
    }

    /**
     * Returns the goodput if both ends poll the network only every {@code turnNanos}, like loops that share a
     * core. Everything received in between is processed and answered in one burst.
     */
    static double megabitsPerSecond(PathCase path, CongestionControl.Factory algorithm, long seed, long turnNanos) {
        SimulatedTransfer transfer = new SimulatedTransfer(path, seed, turnNanos);
        transfer.add(GoodputConfig.of(algorithm), seed);
        return transfer.run(path.seconds(), 0, 0)[0];
    }

    /**
     * Returns the goodput of several flows that share the path and start 0.1 s after one another.
     *
     * @param algorithms the congestion control of each flow
     * @param fromSecond start of the measurement, which must allow the flows to converge
     */
    public static double[] shares(PathCase path, List<CongestionControl.Factory> algorithms, long seed,
            int fromSecond) {
        SimulatedTransfer transfer = new SimulatedTransfer(path, seed, 1);
        for (int i = 0; i < algorithms.size(); i++) {
            transfer.add(GoodputConfig.of(algorithms.get(i)), seed + 2L * i);
        }
        return transfer.run(path.seconds(), fromSecond, 0);
    }

    /** Returns the goodput of one flow with a pacing rate, and reports all data packets to an observer. */
    static double paced(PathCase path, CongestionControl.Factory algorithm, long maxPacingRate, Observer listener) {
        SimulatedTransfer transfer = new SimulatedTransfer(path, 1, 1);
        transfer.observer = listener;
        transfer.add(GoodputConfig.of(algorithm), 1);
        return transfer.run(path.seconds(), 0, maxPacingRate)[0];
    }

    private double[] run(int seconds, int fromSecond, long maxPacingRate) {
        List<TcpConnection> connections = new ArrayList<>();
        long begin = now;
        long from = begin + fromSecond * SECOND_NANOS;
        long end = begin + seconds * SECOND_NANOS;
        long[] before = new long[flows.size()];
        boolean counting = fromSecond == 0;
        while (now < end) {
            if (connections.size() < flows.size() && now >= begin + connections.size() * SECOND_NANOS / 10) {
                connections.add(open(connections.size(), maxPacingRate));
            }
            turn();
            now = Math.max(now, Math.ceilDiv(next(connections, begin), turnNanos) * turnNanos);
            while (!arrivals.isEmpty() && arrivals.peek().nanos() <= now) {
                deliver(arrivals.poll());
            }
            for (Flow flow : flows) {
                flow.sender.engine.advance(now);
                flow.receiver.engine.advance(now);
            }
            if (!counting && now >= from) {
                counting = true;
                for (int i = 0; i < before.length; i++) {
                    before[i] = flows.get(i).receiver.bytesIn;
                }
            }
        }
        return finish(connections, before, seconds - fromSecond);
    }

    private long next(List<TcpConnection> connections, long begin) {
        long next = arrivals.isEmpty() ? Long.MAX_VALUE : arrivals.peek().nanos();
        if (connections.size() < flows.size()) {
            next = Math.min(next, begin + connections.size() * SECOND_NANOS / 10);
        }
        for (Flow flow : flows) {
            next = Math.min(next, Math.min(flow.sender.engine.nextDeadlineNanos(),
                    flow.receiver.engine.nextDeadlineNanos()));
        }
        return next;
    }

    private TcpConnection open(int i, long maxPacingRate) {
        Flow flow = flows.get(i);
        flow.receiver.engine.listen(0, 0, PORT, 1, null);
        TcpConnection connection = flow.sender.engine.connect(now, 0, FIRST_SENDER + i, 0, 0, FIRST_RECEIVER + i, PORT,
                null, 0, null);
        connection.maxPacingRate(maxPacingRate);
        return connection;
    }

    private double[] finish(List<TcpConnection> connections, long[] before, int seconds) {
        double[] megabits = new double[before.length];
        for (int i = 0; i < before.length; i++) {
            Flow flow = flows.get(i);
            megabits[i] = (flow.receiver.bytesIn - before[i]) * 8 / 1e6 / seconds;
            connections.get(i).abort();
            flow.receiver.engine.shutdown();
        }
        turn();
        if (!chunk.release()) {
            throw new IllegalStateException("the engines hold " + chunk.refCnt() + " references after the transfer");
        }
        return megabits;
    }

    private void deliver(Arrival arrival) {
        if (!codec.decode(arrival.packet, segment)) {
            throw new IllegalStateException("a packet did not survive its encoding");
        }
        int headerBytes = (arrival.packet[0] & 15) * 4 + (arrival.packet[32] >>> 4 & 15) * 4;
        ByteBuf payload = Unpooled.wrappedBuffer(arrival.packet);
        segment.payload(payload, headerBytes, arrival.packet.length - headerBytes);
        arrival.to.engine.onSegment(segment, now);
        segment.detachPayload();
        payload.release();
    }

    private void turn() {
        for (Flow flow : flows) {
            poll(flow.sender, flow.receiver, forward);
            poll(flow.receiver, flow.sender, backward);
        }
    }

    private void poll(BulkEnd from, BulkEnd to, ImpairedLine line) {
        while (from.engine.pollSegment(now, segment)) {
            byte[] packet = codec.encode(segment);
            if (segment.payloadLength() > 0) {
                observer.sent(segment.payloadLength(), now);
            }
            segment.releasePayload();
            long arrival = line.arrivalNanos(packet.length + ETHERNET_BYTES, now);
            if (arrival >= 0) {
                arrivals.add(new Arrival(arrival, order++, to, packet));
            }
        }
    }
}
