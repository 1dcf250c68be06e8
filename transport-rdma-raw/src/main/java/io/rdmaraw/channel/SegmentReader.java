package io.rdmaraw.channel;

import io.rdmaraw.tcp.Segment;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.TcpHeader;
import io.rdmaraw.wire.TcpOptions;

/** Turns a parsed frame into a segment of the TCP core, all but its payload. For one thread. */
final class SegmentReader {
    private final TcpOptions options = new TcpOptions();

    /** Fills {@code out}; options that are not well formed count as not there, as Linux has it. */
    void read(ParsedFrame frame, Segment out) {
        long header = frame.transportAddress();
        out.clear().source(frame.sourceHigh(), frame.sourceLow(), frame.sourcePort())
                .destination(frame.destinationHigh(), frame.destinationLow(), frame.destinationPort())
                .seq(TcpHeader.sequence(header)).ack(TcpHeader.acknowledgment(header)).flags(TcpHeader.flags(header))
                .window(TcpHeader.window(header)).urgentPointer(TcpHeader.urgentPointer(header)).ecn(frame.ecn());
        if (frame.transportHeaderLengthBytes() > TcpHeader.MINIMUM_LENGTH_BYTES) {
            options.parse(frame);
            readOptions(out);
        }
    }

    private void readOptions(Segment out) {
        if (options.hasTimestamps()) {
            out.timestamps(options.timestampValue(), options.timestampEcho());
        }
        for (int i = 0; i < options.sackBlockCount(); i++) {
            out.addSack(options.sackLeft(i), options.sackRight(i));
        }
        out.mss(Math.max(0, options.maximumSegmentSize())).windowScale(options.windowScale());
        out.sackPermitted(options.isSackPermitted());
    }
}
