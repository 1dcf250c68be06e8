package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.stack.receive.LookupRateLimiter;
import io.rdmaraw.tcp.stack.receive.ReceivedFrames;

import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Finds the loop that owns the connection of an unmatched segment. If the loops that share a flow rule change, the
 * device's hash may assign a flow to another loop, while the connection remains on its loop. Before an unmatched
 * segment is answered with a reset, the other stacks of the device are therefore searched one after the other. The
 * owner processes the segment. From then on the receiving loop forwards segments of this connection directly. Used on
 * the loop's thread only.
 *
 * <p>With {@code SO_REUSEPORT}, a lookup also finds another listener for a SYN. If a server closes, its flow rules
 * remain installed while it has connections, so SYNs for the shared port may still arrive on its loop. Another server
 * that shares the port accepts the connection, as on Linux.
 */
final class CrossLoopLookup {
    /**
     * Period after a change in which a SYN may be a retransmission, and another loop may have answered the original.
     * Linux retransmits a SYN after one and after three seconds.
     */
    private static final long SYN_RETRY_NANOS = TimeUnit.SECONDS.toNanos(4);

    /** Period after a change in which the segments of all moved flows may arrive at once. */
    private static final long SETTLING_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final TcpStack stack;
    private final TcpEngine engine;
    private final SegmentReceiver receiver;
    private final SharedDevice device;
    private final TcpStackStatistics statistics;
    private final LookupRateLimiter rateLimiter = new LookupRateLimiter();
    /** Set while the engine processes the segment of a failed lookup; null otherwise. */
    private Lookup failedLookup;
    /** Set while the engine processes a segment that the device's hash did not assign to this loop. */
    private boolean lookupForced;
    /** Number of closed servers of this loop that shared a port and still have connections. */
    private int closedReusePortServers;

    CrossLoopLookup(TcpStack stack, TcpEngine engine, SegmentReceiver receiver, TcpStackStatistics statistics) {
        this.stack = stack;
        this.engine = engine;
        this.receiver = receiver;
        this.statistics = statistics;
        device = stack.deviceQueue().device();
    }

    /** A segment and the stacks to search. It is passed from loop to loop. */
    private record Lookup(CrossLoopLookup origin, ByteBuf frame, boolean checksumVerified, boolean forListener,
            List<TcpStack> stacks) {
        /** Searches the stacks from an index on. Skips stacks with a loop that has ended. */
        void tryFrom(int index) {
            if (index == stacks.size()) {
                origin.stack.executeOrElse(() -> origin.onNotFound(this), frame::release);
            } else if (stacks.get(index) == origin.stack) {
                tryFrom(index + 1);
            } else {
                TcpStack candidate = stacks.get(index);
                candidate.executeOrElse(() -> {
                    if (!candidate.crossLoopLookup().processIfKnown(this)) {
                        tryFrom(index + 1);
                    }
                }, () -> tryFrom(index + 1));
            }
        }
    }

    /** Sets whether to search even though no flows have moved. */
    void setLookupForced(boolean force) {
        lookupForced = force;
    }

    /** Records that a server with {@code SO_REUSEPORT} has closed. {@link #onReusePortServerReleased} must follow. */
    void onReusePortServerClosed() {
        closedReusePortServers++;
    }

    /** Records that the last connection of such a server has ended. */
    void onReusePortServerReleased() {
        closedReusePortServers--;
    }

    /**
     * Starts a lookup for the segment that the engine is processing. Returns false if this loop must answer the
     * segment.
     */
    boolean handleUnmatched(Segment segment) {
        boolean initialSyn = segment.has(TcpFlags.SYN) && !segment.has(TcpFlags.ACK);
        boolean forListener = initialSyn
                && (closedReusePortServers > 0 || device.rssFlows().haveFlowsMovedWithin(SYN_RETRY_NANOS))
                && !engine.hasListener(segment);
        // If the failed lookup was for a connection only, a server of this loop may have closed during it. Then a
        // second lookup looks for another server.
        if (failedLookup != null && (failedLookup.forListener || !forListener)
                || !forListener && !lookupForced && !device.rssFlows().haveFlowsMoved()) {
            return false;
        }
        List<TcpStack> stacks = DeviceStacks.of(device);
        if (stacks.size() < 2 || initialSyn && !forListener
                && !device.rssFlows().haveFlowsMovedWithin(SYN_RETRY_NANOS)) {
            return false;
        }
        // Long after a change, a flow that has been idle may still arrive at the wrong loop. Therefore lookups never
        // stop, but their rate is limited.
        if (!rateLimiter.begin(device.rssFlows().haveFlowsMovedWithin(SETTLING_NANOS), System.nanoTime())) {
            if (initialSyn && !forListener) {
                // Accept the SYN here. It is probably not a retransmission, and a client retransmits a dropped SYN
                // only after a second.
                return false;
            }
            // The peer retransmits.
            statistics.droppedUnmatched++;
            return true;
        }
        statistics.searchedSegments++;
        ReceivedFrames frames = (ReceivedFrames) segment.frames;
        new Lookup(this, frames.detachFrame(), frames.isChecksumVerified(), forListener, stacks).tryFrom(0);
        return true;
    }

    /** Processes a segment on this loop because no other stack knows its connection. */
    private void onNotFound(Lookup lookup) {
        rateLimiter.end();
        failedLookup = lookup;
        try {
            stack.receiveUnsteered(lookup.frame, lookup.checksumVerified);
        } finally {
            failedLookup = null;
        }
    }

    /**
     * Checks a segment for another loop. Returns true, and processes it, if its connection is here or it opens one
     * here.
     */
    private boolean processIfKnown(Lookup lookup) {
        Segment segment = receiver.parse(lookup.frame, lookup.checksumVerified);
        // A connection that has left this loop may still be moving, and then no other loop knows it.
        boolean known = segment != null && (engine.matches(segment) || receiver.forwardingTable().find(segment) != null
                || lookup.forListener && engine.hasListener(segment)
                && stack.network().isLocalUnicast(segment.destinationHigh, segment.destinationLow));
        TcpConnection connection = known ? engine.find(segment) : null;
        TcpTransport transport = connection == null ? null : (TcpTransport) connection.attachment();
        if (known) {
            if (transport != null) {
                transport.location().addForwarder(lookup.origin.stack);
            }
            lookup.origin.stack.execute(() -> lookup.origin.onFound(transport));
            stack.receiveUnsteered(lookup.frame, lookup.checksumVerified);
        }
        return known;
    }

    /** Ends a lookup that found the connection. Later segments are forwarded directly. */
    private void onFound(TcpTransport transportOrNull) {
        rateLimiter.end();
        statistics.foundSegments++;
        if (transportOrNull != null) {
            receiver.forwardingTable().addOwnedElsewhere(transportOrNull, stack);
        }
    }
}
