package io.rdmaraw.tcp.stack;

import io.netty.channel.EventLoop;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.host.TcpPath;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.SegmentOwner;
import io.rdmaraw.wire.EthernetHeader;

import java.util.concurrent.TimeUnit;

/**
 * The way of a stack's segments to its queue: as many as there is room for, in bursts with one doorbell each. For the
 * loop's thread.
 */
final class SegmentSender {
    /** Without a free slot nothing tells when there is one again: look after this time. */
    private static final long SLOT_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final TcpStack stack;
    private final DeviceQueue port;
    private final TcpNetwork network;
    private final TcpEngine engine;
    private final TcpFrameBuilder writer;
    private final EventLoop loop;
    private final Segment out = new Segment();
    private boolean transmitting;
    private boolean waitingForRoom;
    private SegmentTap tap;

    SegmentSender(TcpStack stack, DeviceQueue port, TcpNetwork network, TcpEngine engine, TcpFrameBuilder writer,
                  EventLoop loop) {
        this.stack = stack;
        this.port = port;
        this.network = network;
        this.engine = engine;
        this.writer = writer;
        this.loop = loop;
    }

    /** Tells whether the device has to take frames before anything can be sent. */
    boolean isWaitingForRoom() {
        return waitingForRoom;
    }

    /** The device has taken frames. */
    void hasRoom() {
        waitingForRoom = false;
    }

    /** Returns when to try again while waiting for room; {@link Long#MAX_VALUE} if the device tells. */
    long retryNanos() {
        return port.queue().inFlight() > 0 ? Long.MAX_VALUE : System.nanoTime() + SLOT_RETRY_NANOS;
    }

    /** Sends what the core has to say. */
    void transmit(long now) {
        transmit(now, false);
    }

    /**
     * Sends what the core has to say up to the first connection whose channel has not been told yet what a burst
     * brought for it: now that would be a bare acknowledgement, and soon perhaps one that goes with what it answers.
     */
    void transmitDelivered(long now) {
        transmit(now, true);
    }

    private void transmit(long now, boolean deliveredOnly) {
        if (transmitting) {
            return;
        }
        transmitting = true;
        try {
            transmitBursts(now, deliveredOnly);
        } finally {
            transmitting = false;
        }
    }

    private void transmitBursts(long now, boolean deliveredOnly) {
        while (roomForOne()) {
            engine.limitSegmentation(writer.segmentedRoomBytes());
            if (deliveredOnly && isNextUndelivered() || !engine.pollSegment(now, out)) {
                port.queue().post();
                return;
            }
            try {
                send();
            } catch (IllegalReferenceCountException e) {
                onDataReleased(e);
            }
        }
        if (!waitingForRoom) {
            waitingForRoom = true;
            port.awaitRoom(stack);
        }
    }

    private boolean isNextUndelivered() {
        TcpConnection next = engine.nextToPoll();
        return next != null && next.attachment() instanceof TcpTransport transport && transport.isReady();
    }

    private boolean roomForOne() {
        if (writer.hasRoom()) {
            return true;
        }
        port.queue().post();
        return writer.hasRoom() || port.queue().reclaim() > 0 && writer.hasRoom();
    }

    boolean isTapped() {
        return tap != null;
    }

    /** @param tapOrNull what is shown the segments from now on */
    void tap(SegmentTap tapOrNull) {
        tap = tapOrNull;
    }

    private void send() {
        if (tap != null) {
            tap.segment(out);
        }
        TcpPath path = pathOf(out);
        if (path == null || path == TcpPath.NOT_ASKED) {
            stack.counters().droppedUnroutable += path == null ? 1 : 0;
            stack.counters().droppedUnasked += path == null ? 0 : 1;
            out.transmitted();
            return;
        }
        if (!path.isResolved()) {
            sendUnresolved(path);
            return;
        }
        path.touch();
        writer.write(out, path.sourceMac(), path.targetMac());
    }

    /** The user released what the core has just given out: with a reference too many, or on another thread. */
    private void onDataReleased(IllegalReferenceCountException why) {
        SegmentOwner owner = out.connection();
        if (owner == null) {
            // An answer without payload: what was released is no user's.
            throw why;
        }
        out.transmitted();
        engine.onDataReleased((TcpConnection) owner);
    }

    /**
     * A peer without a connection that misses its answer asks again, and its address can be forged: such answers do not
     * wait. What connections send does, in memory of its own, as the loop's slots are few.
     */
    private void sendUnresolved(TcpPath path) {
        if (out.connection() == null && out.attachment() == null) {
            stack.counters().droppedUnresolved++;
            out.transmitted();
            network.request(path.hopOrNull());
            return;
        }
        // One frame waits; the core sends the rest again.
        stack.counters().droppedUnresolved += out.segmentCount() - 1;
        out.keepFirstPiece();
        network.await(new PendingSegment(stack, loop, path.hopOrNull(),
                writer.writeUnaddressed(out, path.sourceMac())));
    }

    /**
     * What closes a connection goes the way of its other segments: a port that several loops share leads to another of
     * them when their number has changed meanwhile.
     */
    private TcpPath pathOf(Segment segment) {
        TcpTransport transport = (TcpTransport) segment.attachment();
        TcpPath path = null;
        if (transport != null) {
            path = segment.connection() != null ? transport.path(network) : transport.lastPath(network);
        }
        if (path != null) {
            return path;
        }
        return transport != null
                ? network.path(segment.sourceHigh, segment.sourceLow, segment.sourcePort, segment.destinationHigh,
                        segment.destinationLow, segment.destinationPort, segment.mark)
                : network.pathOfReply(segment.sourceHigh, segment.sourceLow, segment.sourcePort,
                        segment.destinationHigh, segment.destinationLow, segment.destinationPort, segment.mark);
    }

    /** Sends a frame that had to wait for its next hop's address; without room it is lost, and TCP sends it again. */
    void sendResolved(byte[] bytes, long mac) {
        if (!roomForOne()) {
            stack.counters().droppedUnresolved++;
            return;
        }
        FrameBuf frame = port.queue().slots().take();
        frame.writeBytes(bytes);
        long ethernet = frame.memoryAddress();
        EthernetHeader.write(ethernet, mac, EthernetHeader.source(ethernet), EthernetHeader.etherType(ethernet));
        if (port.queue().offer(frame) != FrameQueue.ACCEPTED) {
            stack.counters().droppedUnresolved++;
            frame.release();
        } else {
            port.queue().post();
        }
    }
}
