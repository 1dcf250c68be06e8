package io.rdmaraw.tcp.stack;

import io.netty.channel.EventLoop;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.host.TcpPath;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.SegmentOwner;
import io.rdmaraw.tcp.stack.receive.SegmentObserver;
import io.rdmaraw.tcp.stack.send.TcpFrameBuilder;
import io.rdmaraw.wire.EthernetHeader;

import java.util.concurrent.TimeUnit;

/**
 * Passes the segments of a stack to its queue. It fills the queue in bursts with one doorbell each.
 * Used on the loop's thread only.
 */
final class SegmentSender {
    /** Retry interval if no slot is free and no completion will report a free one. */
    private static final long SLOT_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final TcpStack stack;
    private final DeviceQueue deviceQueue;
    private final TcpNetwork network;
    private final TcpEngine engine;
    private final TcpFrameBuilder frameBuilder;
    private final EventLoop loop;
    private final Segment out = new Segment();
    private SegmentObserver observer;

    SegmentSender(TcpStack stack, DeviceQueue deviceQueue, TcpNetwork network, TcpEngine engine,
            TcpFrameBuilder frameBuilder,
                  EventLoop loop) {
        this.stack = stack;
        this.deviceQueue = deviceQueue;
        this.network = network;
        this.engine = engine;
        this.frameBuilder = frameBuilder;
        this.loop = loop;
    }

    /** Returns when to retry if there is no room; {@link Long#MAX_VALUE} if a completion will report room. */
    long retryNanos() {
        return deviceQueue.frameQueue().inFlight() > 0 ? Long.MAX_VALUE : System.nanoTime() + SLOT_RETRY_NANOS;
    }

    /**
     * Sends the segments of the engine in bursts.
     *
     * @param deliveredOnly whether to stop at the first connection with data of this burst that its channel has not
     *     received yet; its segment would be a bare ACK, and a response may carry the ACK later
     * @return false if the device has no room
     */
    boolean send(long now, boolean deliveredOnly) {
        while (hasRoomForSegment()) {
            engine.limitSegmentation(frameBuilder.segmentedRoomBytes());
            if (deliveredOnly && isNextUndelivered() || !engine.pollSegment(now, out)) {
                deviceQueue.frameQueue().post();
                return true;
            }
            try {
                send();
            } catch (IllegalReferenceCountException e) {
                onDataReleased(e);
            }
        }
        return false;
    }

    private boolean isNextUndelivered() {
        TcpConnection next = engine.nextToPoll();
        return next != null && next.attachment() instanceof TcpTransport transport && transport.isQueuedForDelivery();
    }

    private boolean hasRoomForSegment() {
        if (frameBuilder.hasRoom()) {
            return true;
        }
        deviceQueue.frameQueue().post();
        return frameBuilder.hasRoom() || deviceQueue.frameQueue().reclaim() > 0 && frameBuilder.hasRoom();
    }

    boolean isObserved() {
        return observer != null;
    }

    /**
     * Sets the observer of sent segments.
     *
     * @param observerOrNull receives each segment from now on; null for none
     */
    void observeSegments(SegmentObserver observerOrNull) {
        observer = observerOrNull;
    }

    private void send() {
        if (observer != null) {
            observer.onSegment(out);
        }
        TcpPath path = pathOf(out);
        if (path == null || !path.isPath()) {
            drop(path);
            return;
        }
        if (out.mss > 0) {
            // A passive open does not know its path before this SYN-ACK.
            boolean ipv4 = IpAddress.isIpv4(out.destinationHigh, out.destinationLow);
            out.mss = Math.min(out.mss, path.maxSegmentBytes(ipv4));
        }
        if (!path.isResolved()) {
            sendUnresolved(path);
            return;
        }
        path.touch();
        frameBuilder.write(out, path.sourceMac(), path.targetMac());
    }

    private void drop(TcpPath pathOrNull) {
        TcpStackStatistics statistics = stack.statistics();
        statistics.droppedUnroutable += pathOrNull == null ? 1 : 0;
        statistics.droppedLookupLimited += pathOrNull == TcpPath.LOOKUP_LIMITED ? 1 : 0;
        statistics.droppedOtherLink += pathOrNull == TcpPath.OTHER_LINK ? 1 : 0;
        SegmentOwner owner = out.connection();
        out.releasePayload();
        if (owner != null) {
            engine.onUnanswerable((TcpConnection) owner);
        }
    }

    /**
     * Ends a connection because the user has released a buffer that the engine was about to send: once too often, or on
     * another thread.
     */
    private void onDataReleased(IllegalReferenceCountException cause) {
        SegmentOwner owner = out.connection();
        if (owner == null) {
            // A reply without payload contains no buffer of the user.
            throw cause;
        }
        out.releasePayload();
        engine.onDataReleased((TcpConnection) owner);
    }

    /**
     * Handles a segment to a next hop without a known MAC address. A segment of a connection is queued in separate
     * memory, because the loop has few slots. A reply to a segment without a connection is not queued, because the
     * source address may be forged. It is sent to the MAC address that the segment came from, or dropped if that
     * address is unknown.
     */
    private void sendUnresolved(TcpPath path) {
        if (out.connection() == null && out.attachment() == null) {
            network.solicit(path.hopOrNull());
            if (out.peerMac == 0) {
                stack.statistics().droppedUnresolved++;
                out.releasePayload();
            } else {
                frameBuilder.write(out, path.sourceMac(), out.peerMac);
            }
            return;
        }
        // Queue only the first segment; the engine retransmits the rest.
        stack.statistics().droppedUnresolved += out.segmentCount() - 1;
        out.truncateToFirstSegment();
        network.sendWhenResolved(new PendingSegment(stack, loop, path.hopOrNull(),
                frameBuilder.writeUnaddressed(out, path.sourceMac())));
    }

    /**
     * Returns the path of a segment; null if there is none. Segments that end a connection use the last path of the
     * connection. A new lookup could select another loop, if the loops that share the port have changed.
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
                        segment.destinationLow, segment.destinationPort, segment.soMark, segment.peerMac)
                : network.replyPath(segment.sourceHigh, segment.sourceLow, segment.sourcePort,
                        segment.destinationHigh, segment.destinationLow, segment.destinationPort, segment.soMark,
                        segment.peerMac);
    }

    /**
     * Sends a frame that waited for the MAC address of its next hop. If there is no room, the frame is dropped and TCP
     * retransmits.
     */
    void sendResolved(byte[] bytes, long mac) {
        if (!hasRoomForSegment()) {
            stack.statistics().droppedUnresolved++;
            return;
        }
        FrameBuf frame = deviceQueue.frameQueue().slots().acquire();
        frame.writeBytes(bytes);
        long ethernet = frame.memoryAddress();
        EthernetHeader.write(ethernet, mac, EthernetHeader.source(ethernet), EthernetHeader.etherType(ethernet));
        if (deviceQueue.frameQueue().offer(frame) != FrameQueue.ACCEPTED) {
            stack.statistics().droppedUnresolved++;
            frame.release();
        } else {
            deviceQueue.frameQueue().post();
        }
    }
}
