package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;

import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Segments that match no connection on the loop that they came to. When the loops that share a rule change, so
 * does the loop that the device's hash chooses for a flow, while the flow's connection stays where it is: before such a
 * segment is answered by a reset, the other stacks of the device are asked one after the other. The stack that owns
 * the connection takes the segment, and the loop that it came to passes on what follows. For the loop's thread.
 *
 * <p>So is a SYN to a port that this loop's server has closed, and shared with others ({@code SO_REUSEPORT}): the rule
 * leads here for as long as connections of that server live. One of the others accepts it, as with Linux.
 */
final class CrossLoopLookup {
    /**
     * For so long after a change the SYN of a connection may be another copy of one that another loop has answered:
     * Linux sends the second after one second and the third after three.
     */
    private static final long OPENING_NANOS = TimeUnit.SECONDS.toNanos(4);

    /** For so long after a change flows that have moved may come all at once. */
    private static final long SETTLING_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final TcpStack stack;
    private final TcpEngine engine;
    private final SegmentReceiver receiver;
    private final SharedDevice device;
    private final TcpStackStatistics counters;
    private final SearchLimit searches = new SearchLimit();
    /** The segment that the core looks at has been asked about everywhere. */
    private boolean unknownToAll;
    /** No hash has chosen this loop for the segment that the core looks at. */
    private boolean searchAlways;
    /** Servers here that have closed and shared their port, while connections of theirs live. */
    private int closedSharers;

    CrossLoopLookup(TcpStack stack, TcpEngine engine, SegmentReceiver receiver, TcpStackStatistics counters) {
        this.stack = stack;
        this.engine = engine;
        this.receiver = receiver;
        this.counters = counters;
        device = stack.port().device();
    }

    /** A segment and whom to ask about it; passed from loop to loop. */
    private record Search(CrossLoopLookup origin, ByteBuf frame, boolean checksumVerified, boolean forListener,
            List<TcpStack> stacks) {
        /** Goes on with the first of the stacks from an index on whose loop still runs. */
        void ask(int index) {
            if (index == stacks.size()) {
                origin.stack.executeOrElse(() -> origin.answer(frame, checksumVerified), frame::release);
            } else if (stacks.get(index) == origin.stack) {
                ask(index + 1);
            } else {
                TcpStack asked = stacks.get(index);
                asked.executeOrElse(() -> {
                    if (!asked.crossLoopLookup().visit(this)) {
                        ask(index + 1);
                    }
                }, () -> ask(index + 1));
            }
        }
    }

    /** Sets whether connections may be on other loops though no flows have moved. */
    void searchAlways(boolean always) {
        searchAlways = always;
    }

    /** A server here that shares its port has closed; {@link #sharerGone} is to follow. */
    void sharerClosed() {
        closedSharers++;
    }

    /** The last connection of a server that had closed is over. */
    void sharerGone() {
        closedSharers--;
    }

    /** Has the others asked about the segment that the core is looking at; false if it is for this loop to answer. */
    boolean take(Segment segment) {
        boolean opens = segment.has(TcpFlags.SYN) && !segment.has(TcpFlags.ACK);
        boolean forListener = opens && closedSharers > 0 && !engine.listensTo(segment);
        if (unknownToAll || !forListener && !searchAlways && !device.rssFlows().haveMoved()) {
            return false;
        }
        List<TcpStack> stacks = DeviceStacks.of(device);
        if (stacks.size() < 2 || opens && !forListener && !device.rssFlows().haveMovedWithin(OPENING_NANOS)) {
            return false;
        }
        // Later it is one now and then that has been silent since, for hours perhaps, so the search never ends.
        if (!searches.begin(device.rssFlows().haveMovedWithin(SETTLING_NANOS), System.nanoTime())) {
            if (opens && !forListener) {
                // It is not another copy as a rule, and a client that is dropped waits for a second.
                return false;
            }
            // Peers send again.
            counters.droppedUnmatched++;
            return true;
        }
        counters.searchedSegments++;
        ReceivedFrame frame = receiver.current();
        new Search(this, frame.take(), frame.isChecksumVerified(), forListener, stacks).ask(0);
        return true;
    }

    /** No stack has the connection: this loop answers. */
    private void answer(ByteBuf frame, boolean checksumVerified) {
        searches.end();
        unknownToAll = true;
        try {
            stack.receiveUnsteered(frame, checksumVerified);
        } finally {
            unknownToAll = false;
        }
    }

    /** Another loop asks; true if the segment is of a connection here, or opens one, and taken. */
    private boolean visit(Search search) {
        Segment segment = receiver.parse(search.frame, search.checksumVerified);
        // One that has left and is still on its way is on no other loop.
        boolean known = segment != null && (engine.knows(segment) || receiver.forwards().find(segment) != null
                || search.forListener && engine.listensTo(segment)
                && stack.network().isOurs(segment.destinationHigh, segment.destinationLow));
        TcpConnection connection = known ? engine.find(segment) : null;
        TcpTransport transport = connection == null ? null : (TcpTransport) connection.attachment();
        if (known) {
            if (transport != null) {
                transport.followedBy(search.origin.stack);
            }
            search.origin.stack.execute(() -> search.origin.found(transport));
            stack.receiveUnsteered(search.frame, search.checksumVerified);
        }
        return known;
    }

    /** The segment has found its connection; what follows it goes there at once. */
    private void found(TcpTransport transportOrNull) {
        searches.end();
        counters.foundSegments++;
        if (transportOrNull != null) {
            receiver.forwards().follow(transportOrNull, stack);
        }
    }
}
