package io.rdmaraw.testsuite.goodput;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.testsuite.sim.ImpairedLine;
import io.rdmaraw.testsuite.sim.SegmentCodec;
import java.util.PriorityQueue;

/** A bulk transfer from core to core in virtual time: a case, an algorithm and a seed always give the same goodput. */
public final class SimulatedTransfer {
    private static final int ETHERNET_BYTES = 14;
    private static final long SENDER = 0xFFFF_0A00_0001L;
    private static final long RECEIVER = 0xFFFF_0A00_0002L;
    private static final int PORT = 80;

    /** A packet on its way; {@code order} tells those of one time apart. */
    private record Arrival(long nanos, long order, BulkEnd to, byte[] packet) implements Comparable<Arrival> {
        @Override
        public int compareTo(Arrival other) {
            int byTime = Long.compare(nanos, other.nanos);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    private final ByteBuf chunk = BulkEnd.newChunk(false);
    private final BulkEnd sender;
    private final BulkEnd receiver;
    private final ImpairedLine forward;
    private final ImpairedLine backward;
    private final SegmentCodec codec = new SegmentCodec();
    private final Segment segment = new Segment();
    private final PriorityQueue<Arrival> arrivals = new PriorityQueue<>();
    private final long turnNanos;
    private long order;
    private long now = 1_000_000_000L;

    private SimulatedTransfer(PathCase path, CongestionControl.Factory algorithm, long seed, long turnNanos) {
        this.turnNanos = turnNanos;
        TcpConfig config = GoodputConfig.of(algorithm);
        sender = new BulkEnd(config, seed, chunk, now);
        receiver = new BulkEnd(config, seed + 1, chunk, now);
        forward = new ImpairedLine(path.forward(), seed);
        backward = new ImpairedLine(path.backward(), ~seed);
    }

    /** Returns the goodput in Mbit/s: payload that reached the user of the receiving end. */
    public static double megabitsPerSecond(PathCase path, CongestionControl.Factory algorithm, long seed) {
        return megabitsPerSecond(path, algorithm, seed, 1);
    }

    /**
     * The same for ends that look at the network only every {@code turnNanos}, as loops do that share a core: what has
     * come meanwhile is taken, and answered, in one burst.
     */
    static double megabitsPerSecond(PathCase path, CongestionControl.Factory algorithm, long seed, long turnNanos) {
        SimulatedTransfer transfer = new SimulatedTransfer(path, algorithm, seed, turnNanos);
        return transfer.run(path.seconds()) * 8 / 1e6 / path.seconds();
    }

    private long run(int seconds) {
        receiver.engine.listen(0, 0, PORT, 1, null);
        TcpConnection connection = sender.engine.connect(now, 0, SENDER, 0, 0, RECEIVER, PORT, null, 0, null);
        long end = now + seconds * 1_000_000_000L;
        turn();
        while (now < end) {
            long next = Math.min(sender.engine.nextDeadlineNanos(), receiver.engine.nextDeadlineNanos());
            if (!arrivals.isEmpty()) {
                next = Math.min(next, arrivals.peek().nanos());
            }
            now = Math.max(now, Math.ceilDiv(next, turnNanos) * turnNanos);
            while (!arrivals.isEmpty() && arrivals.peek().nanos() <= now) {
                deliver(arrivals.poll());
            }
            sender.engine.advance(now);
            receiver.engine.advance(now);
            turn();
        }
        connection.abort();
        receiver.engine.shutdown();
        turn();
        if (!chunk.release()) {
            throw new IllegalStateException("the engines hold " + chunk.refCnt() + " references after the transfer");
        }
        return receiver.bytesIn;
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
        poll(sender, receiver, forward);
        poll(receiver, sender, backward);
    }

    private void poll(BulkEnd from, BulkEnd to, ImpairedLine line) {
        while (from.engine.pollSegment(now, segment)) {
            byte[] packet = codec.encode(segment);
            segment.transmitted();
            long arrival = line.arrivalNanos(packet.length + ETHERNET_BYTES, now);
            if (arrival >= 0) {
                arrivals.add(new Arrival(arrival, order++, to, packet));
            }
        }
    }
}
