package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.FrameOrigin;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

/**
 * The way of received frames to a stack's core, or to the loop that their connection is on. For the loop's thread.
 */
final class SegmentReceiver {
    /** Less leaves more than half of a slot unused. */
    private static final int COPY_BREAK_BYTES = 1024;
    private static final int MOST_SLOTS_OF_SMALL_PAYLOADS = 32;

    private final TcpEngine engine;
    private final SlotPool slots;
    private final TcpStackStatistics counters;
    private final TcpNetwork network;
    private final MigratedConnections forwards = new MigratedConnections();
    private final FrameParser parser;
    private final ParsedFrame parsed = new ParsedFrame();
    private final TcpHeaderCodec headers = new TcpHeaderCodec();
    private final Segment in = new Segment();
    private boolean inBurst;
    private long burstNanos;
    private final ReceivedFrame current = new ReceivedFrame();

    /**
     * @param verdicts what parsing is counted in
     * @param origin where the frames come from
     */
    SegmentReceiver(TcpEngine engine, SlotPool slots, TcpStackStatistics counters, ParseCounters verdicts,
                    TcpNetwork network, FrameOrigin origin) {
        this.engine = engine;
        this.slots = slots;
        this.counters = counters;
        this.network = network;
        parser = new FrameParser(verdicts, origin);
    }

    /** Returns the connections whose segments come here though they live on other loops. */
    MigratedConnections forwards() {
        return forwards;
    }

    /** Tells whether frames of a burst are being received. */
    boolean isInBurst() {
        return inBurst;
    }

    /** Takes a frame and its reference; returns true for the first of a burst. */
    boolean receive(ByteBuf frame, boolean checksumVerified) {
        boolean first = !inBurst;
        if (first) {
            inBurst = true;
            burstNanos = System.nanoTime();
        }
        ParseVerdict verdict = parser.parse(BufferAddress.of(frame), frame.readableBytes(), checksumVerified,
                parsed);
        current.begin(frame, checksumVerified);
        try {
            if (verdict == ParseVerdict.TCP) {
                receiveSegment(frame, checksumVerified);
            } else if (verdict.isAccepted()) {
                counters.otherFrames++;
            }
        } finally {
            current.end();
        }
        return first;
    }

    private void receiveSegment(ByteBuf frame, boolean checksumVerified) {
        headers.read(parsed, in);
        if (in.has(TcpFlags.SYN) && isOfBroadcast()) {
            counters.droppedBroadcasts++;
            return;
        }
        in.payload(frame, frame.readerIndex() + parsed.payloadOffset(), parsed.payloadLengthBytes());
        TcpTransport elsewhere = forwards.isEmpty() ? null : forwards.find(in);
        if (elsewhere != null) {
            counters.forwardedSegments++;
            forwards.pass(elsewhere, current.take(), checksumVerified);
        } else {
            engine.onSegment(in, burstNanos);
        }
        in.detachPayload();
    }

    /**
     * RFC 9293 sections 3.9.2.3 and 3.10.7.2 (MUST-57, MUST-63): connections are between two hosts. The parser knows
     * groups and 255.255.255.255; what a subnet's broadcast address is the network knows. Others have no connection.
     */
    private boolean isOfBroadcast() {
        return parsed.ipVersion() == 4
                && (network.isBroadcast(parsed.sourceIpv4()) || network.isBroadcast(parsed.destinationIpv4()));
    }

    /** Returns the frame whose segment the core looks at. */
    ReceivedFrame current() {
        return current;
    }

    /** Returns the headers of a frame that stays the caller's, until the next is received; null if it is no segment. */
    Segment parse(ByteBuf frame, boolean checksumVerified) {
        if (parser.parse(BufferAddress.of(frame), frame.readableBytes(), checksumVerified, parsed)
                != ParseVerdict.TCP) {
            return null;
        }
        headers.read(parsed, in);
        return in;
    }

    /** Ends the frames of one poll. */
    void endBurst() {
        inBurst = false;
        if (!forwards.isEmpty()) {
            counters.droppedForwards += forwards.send();
        }
    }

    /** Tells whether little is left of what frames are received in. */
    boolean isMemoryLow() {
        return slots.isReceiveMemoryLow();
    }

    /**
     * Returns bytes that lie in a received frame as a buffer of their own, without a copy if they can spare that.
     *
     * @param unreadPieces what the connection's reader has not read yet
     */
    ByteBuf keep(ByteBuf buffer, int index, int length, int unreadPieces) {
        if (length < COPY_BREAK_BYTES && (unreadPieces > MOST_SLOTS_OF_SMALL_PAYLOADS || slots.isReceiveMemoryLow())) {
            // A small unread payload would keep a whole slot from the receive queue.
            counters.copiedPayloads++;
            return ByteBufAllocator.DEFAULT.directBuffer(length).writeBytes(buffer, index, length);
        }
        return current.takePayload(buffer, index, length);
    }
}
