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
import io.rdmaraw.tcp.stack.receive.ReceivedFrames;
import io.rdmaraw.tcp.stack.receive.SegmentObserver;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameLength;
import io.rdmaraw.wire.FrameOrigin;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.GroAggregator;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

/**
 * Passes received frames to the engine of a stack, or forwards them to the loop that owns the connection. Used on the
 * loop's thread only.
 */
final class SegmentReceiver {
    /** Payloads below this length are copied if the reader is slow, whatever the size of a slot. */
    private static final int COPY_BREAK_BYTES = 1024;
    private static final int MAX_SLOTS_OF_SMALL_PAYLOADS = 32;

    private final TcpEngine engine;
    private final SlotPool slots;
    private final TcpStackStatistics statistics;
    private final TcpNetwork network;
    private final ForwardingTable forwardingTable = new ForwardingTable();
    /**
     * Maximum length of an untagged frame. Frames from a sender on the same host can be longer: they hold several
     * segments.
     */
    private final int maxFrameBytes;
    private final FrameParser parser;
    private final ParsedFrame parsed = new ParsedFrame();
    private final TcpHeaderCodec headers = new TcpHeaderCodec();
    private final Segment in = new Segment();
    private boolean inBurst;
    private long burstNanos;
    private final ReceivedFrames frames = new ReceivedFrames();
    private final GroAggregator gro = new GroAggregator();
    private SegmentObserver observer;

    /**
     * @param mtuBytes the MTU of the device
     * @param parseCounters counters of the parser
     * @param origin the origin of the frames
     */
    SegmentReceiver(TcpEngine engine, SlotPool slots, int mtuBytes, TcpStackStatistics statistics,
                    ParseCounters parseCounters, TcpNetwork network, FrameOrigin origin) {
        maxFrameBytes = FrameLength.untagged(mtuBytes);
        this.engine = engine;
        this.slots = slots;
        this.statistics = statistics;
        this.network = network;
        parser = new FrameParser(parseCounters, origin);
    }

    /** Returns the connections with segments that arrive here although other loops own them. */
    ForwardingTable forwardingTable() {
        return forwardingTable;
    }

    /** Returns whether a burst is being received. */
    boolean isInBurst() {
        return inBurst;
    }

    /** Receives a frame and takes its reference. Returns true if it is the first of a burst. */
    boolean receive(ByteBuf frame, boolean checksumVerified) {
        boolean first = beginBurst();
        frames.begin(frame, checksumVerified);
        try {
            if (parse(frame)) {
                process();
            }
        } finally {
            frames.end();
        }
        return first;
    }

    /** Receives the frames of a run, from index {@code from} up to but excluding {@code end}. */
    void receiveRun(ReceiveBurst burst, int from, int end) {
        beginBurst();
        int next = from;
        while (next < end) {
            boolean mayMerge = next + 1 < end && burst.checksumVerified(next) && burst.slotAddress(next) != 0;
            frames.begin(burst.takeFrame(next), burst.checksumVerified(next));
            next++;
            try {
                if (parse(frames.first())) {
                    next = mayMerge && gro.begin(parsed) ? mergeContinuations(burst, next, end) : next;
                    process();
                }
            } finally {
                frames.end();
            }
        }
    }

    /** Begins a burst, unless one has begun. Returns whether it has begun now. */
    private boolean beginBurst() {
        boolean first = !inBurst;
        if (first) {
            inBurst = true;
            burstNanos = System.nanoTime();
        }
        return first;
    }

    /** Parses the headers of a frame. Returns whether the frame is a segment that the engine must process. */
    private boolean parse(ByteBuf frame) {
        ParseVerdict verdict = parser.parse(BufferAddress.of(frame), frame.readableBytes(),
                frames.isChecksumVerified(), parsed);
        if (verdict != ParseVerdict.TCP) {
            statistics.nonTcpFrames += verdict.isAccepted() ? 1 : 0;
            return false;
        }
        headers.read(parsed, in);
        in.peerMac = EthernetHeader.source(parsed.frameAddress());
        if (in.has(TcpFlags.SYN) && hasMartianAddress()) {
            statistics.droppedMartians++;
            return false;
        }
        in.payload(frame, frame.readerIndex() + parsed.payloadOffset(), parsed.payloadLengthBytes());
        if (parsed.payloadLengthBytes() > maxPayloadBytes()) {
            in.segmentSizeBytes = maxPayloadBytes();
        }
        return true;
    }

    /** Returns the payload length of a full segment with headers of this length, according to the MTU. */
    private int maxPayloadBytes() {
        return maxFrameBytes - parsed.payloadOffset();
    }

    /**
     * Merges frames that continue the present segment, if this loop owns the connection (GRO). The engine then
     * processes them as one segment. Returns the index behind the last merged frame.
     */
    private int mergeContinuations(ReceiveBurst burst, int from, int end) {
        int next = from;
        while (next < end && in.sliceCount < Segment.MAX_SLICES && burst.checksumVerified(next)) {
            long address = burst.slotAddress(next);
            if (address == 0 || next == from && !isConnectionHere()) {
                break;
            }
            int payloadBytes = parser.parseContinuation(gro, address, burst.lengthBytes(next));
            if (payloadBytes == 0) {
                break;
            }
            ByteBuf frame = burst.takeMergedFrame(next++);
            frames.add(frame);
            in.addSlice(frame, frame.readerIndex() + gro.headerBytes(), payloadBytes);
        }
        if (next > from) {
            in.segmentSizeBytes = Math.min(gro.segmentBytes(), maxPayloadBytes());
            in.flags |= gro.hasPush() ? TcpFlags.PSH : 0;
        }
        return next;
    }

    private boolean isConnectionHere() {
        return forwardingTable.isEmpty() && engine.find(in) != null;
    }

    /**
     * Sets the observer of received segments.
     *
     * @param observerOrNull receives each segment from now on; null for none
     */
    void observeSegments(SegmentObserver observerOrNull) {
        observer = observerOrNull;
    }

    private void process() {
        if (observer != null) {
            observer.onSegment(in);
        }
        TcpTransport forwarded = forwardingTable.isEmpty() ? null : forwardingTable.find(in);
        if (forwarded != null) {
            statistics.forwardedSegments++;
            forwardingTable.enqueue(forwarded, frames.detachFrame(), frames.isChecksumVerified());
        } else {
            in.frames = frames;
            engine.onSegment(in, burstNanos);
        }
        in.detachPayload();
    }

    /**
     * Returns whether a SYN has an address that no peer or destination can have. RFC 9293 sections 3.9.2.3 and 3.10.7.2
     * (MUST-57, MUST-63) require that connections are between two hosts. The parser rejects multicast groups and
     * 255.255.255.255. The network knows the broadcast addresses of subnets and this host's own addresses.
     */
    private boolean hasMartianAddress() {
        return network.isMartianSource(parsed.sourceHigh(), parsed.sourceLow())
                || parsed.ipVersion() == 4 && network.isBroadcast(parsed.destinationIpv4());
    }

    /**
     * Parses the headers of a frame without taking its reference. The result is valid until the next frame is received;
     * null if the frame is not a segment.
     */
    Segment parse(ByteBuf frame, boolean checksumVerified) {
        if (parser.parse(BufferAddress.of(frame), frame.readableBytes(), checksumVerified, parsed)
                != ParseVerdict.TCP) {
            return null;
        }
        headers.read(parsed, in);
        return in;
    }

    /** Ends the burst of one poll. */
    void endBurst() {
        inBurst = false;
        if (!forwardingTable.isEmpty()) {
            statistics.droppedForwards += forwardingTable.flush();
        }
    }

    /** Returns whether few slots are left for receiving. */
    boolean isMemoryLow() {
        return slots.isReceiveMemoryLow();
    }

    /**
     * Returns whether a payload is copied, so that a small unread piece does not occupy a whole slot.
     *
     * @param unreadPieces number of pieces that the connection's user has not read yet
     */
    boolean shouldCopy(ByteBuf buffer, int length, int unreadPieces) {
        return (length < COPY_BREAK_BYTES || length < buffer.capacity() / 2)
                && (unreadPieces > MAX_SLOTS_OF_SMALL_PAYLOADS || slots.isReceiveMemoryLow());
    }

    ByteBuf copy(ByteBuf buffer, int index, int length) {
        statistics.copiedPayloads++;
        return ByteBufAllocator.DEFAULT.directBuffer(length).writeBytes(buffer, index, length);
    }
}
