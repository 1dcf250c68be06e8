package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.testsuite.net.PacketPort;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** Reads all TCP segments that arrive at an end of a pair, for any destination. */
final class SegmentsOnWire implements AutoCloseable {
    private static final int FRAME_BYTES = 2048;

    /** The addresses of a segment in the form of {@link Segment}, and the header fields that tests use. */
    record Seen(long sourceHigh, long sourceLow, int sourcePort, int destinationPort, int flags, int seq, int ack,
                int payloadBytes) {
        boolean has(int flag) {
            return (flags & flag) != 0;
        }
    }

    private final PacketPort port;
    private final FdWaiter waiter;
    private final long frames = Libc.allocateZeroed((long) PacketPort.BURST * FRAME_BYTES);
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame parsed = new ParsedFrame();
    private final TcpHeaderCodec headers = new TcpHeaderCodec();
    private final Segment segment = new Segment();
    private final List<Seen> seen = new ArrayList<>();

    SegmentsOnWire(VethEnd end) {
        port = PacketPort.open(end);
        waiter = new FdWaiter(port.fd());
        for (int i = 0; i < PacketPort.BURST; i++) {
            port.receiveInto(i, frames + (long) i * FRAME_BYTES, FRAME_BYTES);
        }
    }

    /** Returns all segments up to the first match. Fails if no segment matches within the time limit. */
    List<Seen> until(Duration limit, Predicate<Seen> wanted) {
        long end = System.nanoTime() + limit.toNanos();
        while (seen.stream().noneMatch(wanted)) {
            long left = end - System.nanoTime();
            if (left <= 0) {
                throw new AssertionError("the segment that was waited for has not come, but " + seen);
            }
            waiter.await(left);
            int received = port.receive(PacketPort.BURST);
            for (int i = 0; i < received; i++) {
                read(frames + (long) i * FRAME_BYTES, port.receivedBytes(i));
            }
        }
        return List.copyOf(seen);
    }

    private void read(long frame, int lengthBytes) {
        if (lengthBytes > 0 && parser.parse(frame, lengthBytes, true, parsed) == ParseVerdict.TCP) {
            headers.read(parsed, segment);
            seen.add(new Seen(segment.sourceHigh, segment.sourceLow, segment.sourcePort,
                    segment.destinationPort, segment.flags, segment.seq, segment.ack,
                    parsed.payloadLengthBytes()));
        }
    }

    @Override
    public void close() {
        waiter.close();
        port.close();
        Libc.free(frames);
    }
}
