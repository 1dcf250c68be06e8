package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.host.HostView;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.tcp.SegmentHeaders;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpFlags;
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
    private final RdmaRawTcpStatistics counters;
    private final TcpNetwork network;
    private final TcpForwards forwards = new TcpForwards();
    private final FrameParser parser;
    private final ParsedFrame parsed = new ParsedFrame();
    private final SegmentHeaders headers = new SegmentHeaders();
    private final Segment in = new Segment();
    private boolean inBurst;
    private long burstNanos;
    /** The frame whose segment the core looks at, unless its payload went to a flow as it was. */
    private ByteBuf currentFrame;
    private boolean currentVerified;

    /**
     * @param verdicts what parsing is counted in
     * @param origin where the frames come from
     */
    SegmentReceiver(TcpEngine engine, SlotPool slots, RdmaRawTcpStatistics counters, ParseCounters verdicts,
                    TcpNetwork network, FrameOrigin origin) {
        this.engine = engine;
        this.slots = slots;
        this.counters = counters;
        this.network = network;
        parser = new FrameParser(verdicts, origin);
    }

    /** Returns the connections whose segments come here though they live on other loops. */
    TcpForwards forwards() {
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
        ParseVerdict verdict = parser.parse(HostView.addressOf(frame), frame.readableBytes(), checksumVerified,
                parsed);
        currentFrame = frame;
        currentVerified = checksumVerified;
        try {
            if (verdict == ParseVerdict.TCP) {
                receiveSegment(frame, checksumVerified);
            } else if (verdict.isAccepted()) {
                counters.otherFrames++;
            }
        } finally {
            if (currentFrame != null) {
                currentFrame = null;
                frame.release();
            }
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
        TcpFlow elsewhere = forwards.isEmpty() ? null : forwards.find(in);
        if (elsewhere != null) {
            currentFrame = null;
            counters.forwardedSegments++;
            forwards.pass(elsewhere, frame, checksumVerified);
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

    /** Takes the frame, and its reference, of the segment that the core looks at. */
    ByteBuf takeFrame() {
        ByteBuf frame = currentFrame;
        currentFrame = null;
        return frame;
    }

    /** Tells whether the device has verified the checksums of that frame. */
    boolean isChecksumVerified() {
        return currentVerified;
    }

    /** Returns the headers of a frame that stays the caller's, until the next is received; null if it is no segment. */
    Segment parse(ByteBuf frame, boolean checksumVerified) {
        if (parser.parse(HostView.addressOf(frame), frame.readableBytes(), checksumVerified, parsed)
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
     * @param unreadPieces what the connection's reader has before him already
     */
    ByteBuf keep(ByteBuf buffer, int index, int length, int unreadPieces) {
        if (length < COPY_BREAK_BYTES && (unreadPieces > MOST_SLOTS_OF_SMALL_PAYLOADS || slots.isReceiveMemoryLow())) {
            // A small payload that nobody reads would keep a whole slot from the receive queue.
            counters.copiedPayloads++;
            return ByteBufAllocator.DEFAULT.directBuffer(length).writeBytes(buffer, index, length);
        }
        if (buffer == currentFrame && buffer instanceof FrameBuf slot && slot.refCnt() == 1) {
            currentFrame = null;
            return slot.window(index, length);
        }
        return buffer.retainedSlice(index, length);
    }
}
