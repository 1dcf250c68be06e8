package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.FrameLength;
import io.rdmaraw.wire.FrameOrigin;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.TcpFrameRun;

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
    /** Of a frame without a tag; a sender on the same host may hand over longer ones, of several segments. */
    private final int longestFrameBytes;
    private final FrameParser parser;
    private final ParsedFrame parsed = new ParsedFrame();
    private final TcpHeaderCodec headers = new TcpHeaderCodec();
    private final Segment in = new Segment();
    private boolean inBurst;
    private long burstNanos;
    private final ReceivedFrame current = new ReceivedFrame();
    private final TcpFrameRun run = new TcpFrameRun();
    private SegmentTap tap;

    /**
     * @param mtuBytes the device's
     * @param verdicts what parsing is counted in
     * @param origin where the frames come from
     */
    SegmentReceiver(TcpEngine engine, SlotPool slots, int mtuBytes, TcpStackStatistics counters,
                    ParseCounters verdicts, TcpNetwork network, FrameOrigin origin) {
        longestFrameBytes = FrameLength.untagged(mtuBytes);
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
        boolean first = beginBurst();
        current.begin(frame, checksumVerified);
        try {
            if (parse(frame)) {
                process();
            }
        } finally {
            current.end();
        }
        return first;
    }

    /** Takes the frames of a burst from {@code from} on and before {@code end}, whose rule leads here. */
    void receiveRun(ReceiveBurst burst, int from, int end) {
        beginBurst();
        int next = from;
        while (next < end) {
            boolean mayGoOn = next + 1 < end && burst.checksumVerified(next) && burst.slotAddress(next) != 0;
            current.begin(burst.takeFrame(next), burst.checksumVerified(next));
            next++;
            try {
                if (parse(current.first())) {
                    next = mayGoOn && run.begin(parsed) ? takeContinuations(burst, next, end) : next;
                    process();
                }
            } finally {
                current.end();
            }
        }
    }

    /** Returns whether it is the first frame of a burst. */
    private boolean beginBurst() {
        boolean first = !inBurst;
        if (first) {
            inBurst = true;
            burstNanos = System.nanoTime();
        }
        return first;
    }

    /** Reads a frame's headers; returns whether it is a segment for the core. */
    private boolean parse(ByteBuf frame) {
        ParseVerdict verdict = parser.parse(BufferAddress.of(frame), frame.readableBytes(),
                current.isChecksumVerified(), parsed);
        if (verdict != ParseVerdict.TCP) {
            counters.otherFrames += verdict.isAccepted() ? 1 : 0;
            return false;
        }
        headers.read(parsed, in);
        if (in.has(TcpFlags.SYN) && isOfBroadcast()) {
            counters.droppedBroadcasts++;
            return false;
        }
        in.payload(frame, frame.readerIndex() + parsed.payloadOffset(), parsed.payloadLengthBytes());
        if (parsed.payloadLengthBytes() > mostPayloadBytes()) {
            in.segmentSize = mostPayloadBytes();
        }
        return true;
    }

    /** Returns the length of a full segment with headers like these, as far as the MTU tells. */
    private int mostPayloadBytes() {
        return longestFrameBytes - parsed.payloadOffset();
    }

    /**
     * Makes one segment of frames that go on where the one before ends, if their connection is here: what the core does
     * for each segment is then done once for all of them. Returns the index behind the last of them.
     */
    private int takeContinuations(ReceiveBurst burst, int from, int end) {
        int next = from;
        while (next < end && in.sliceCount < Segment.MAX_SLICES && burst.checksumVerified(next)) {
            long address = burst.slotAddress(next);
            if (address == 0 || next == from && !isOfConnectionHere()) {
                break;
            }
            int payloadBytes = parser.parseContinuation(run, address, burst.lengthBytes(next));
            if (payloadBytes == 0) {
                break;
            }
            ByteBuf frame = burst.takeFrame(next++);
            current.add(frame);
            in.addSlice(frame, frame.readerIndex() + run.headerBytes(), payloadBytes);
        }
        if (next > from) {
            in.segmentSize = Math.min(run.segmentBytes(), mostPayloadBytes());
            in.flags |= run.isPushed() ? TcpFlags.PSH : 0;
        }
        return next;
    }

    private boolean isOfConnectionHere() {
        return forwards.isEmpty() && engine.find(in) != null;
    }

    /** @param tapOrNull what is shown the segments from now on */
    void tap(SegmentTap tapOrNull) {
        tap = tapOrNull;
    }

    private void process() {
        if (tap != null) {
            tap.segment(in);
        }
        TcpTransport elsewhere = forwards.isEmpty() ? null : forwards.find(in);
        if (elsewhere != null) {
            counters.forwardedSegments++;
            forwards.pass(elsewhere, current.take(), current.isChecksumVerified());
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
