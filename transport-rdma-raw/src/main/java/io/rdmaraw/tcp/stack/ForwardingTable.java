package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.loop.CrossLoopQueueLimit;
import io.rdmaraw.tcp.ConnectionHash;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.segment.Segment;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;

/**
 * The connections with segments that arrive on this loop although another loop owns them. They are found by their
 * addresses and ports. The frames of one burst are forwarded to a loop in one task. Used on the loop's thread only.
 */
public final class ForwardingTable {
    private static final int MIN_CAPACITY = 64;

    /** Keyed, because peers choose their addresses and ports. */
    private final ConnectionHash hash = new ConnectionHash(new SecureRandom());
    private TcpTransport[] table = new TcpTransport[MIN_CAPACITY];
    private int size;
    private final List<Batch> batches = new ArrayList<>();

    /** Frames for another loop, which takes their references. */
    record Batch(TcpStack target, List<ByteBuf> frames, List<Boolean> checksumsVerified) {
        void release() {
            frames.forEach(ByteBuf::release);
        }
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** Starts forwarding the segments of a transport. */
    void add(TcpTransport transport) {
        if (2 * ++size > table.length) {
            TcpTransport[] old = table;
            table = new TcpTransport[2 * old.length];
            for (TcpTransport moved : old) {
                if (moved != null) {
                    insert(moved);
                }
            }
        }
        insert(transport);
    }

    /**
     * Like {@link #add}, for a transport that another loop was found to own. Does nothing if it has ended or has moved
     * here.
     */
    void addOwnedElsewhere(TcpTransport transport, TcpStack thisStack) {
        if (transport.location().isForwarded() && transport.location().forwardingTarget() != thisStack
                && !contains(transport)) {
            add(transport);
        }
    }

    private boolean contains(TcpTransport transport) {
        int i = hash(transport.connection()) & table.length - 1;
        while (table[i] != null && table[i] != transport) {
            i = i + 1 & table.length - 1;
        }
        return table[i] == transport;
    }

    private void insert(TcpTransport transport) {
        int i = hash(transport.connection()) & table.length - 1;
        while (table[i] != null) {
            i = i + 1 & table.length - 1;
        }
        table[i] = transport;
    }

    /** Stops forwarding the segments of a transport. Has no effect if they are not forwarded. */
    void remove(TcpTransport transport) {
        int mask = table.length - 1;
        int i = hash(transport.connection()) & mask;
        while (table[i] != transport) {
            if (table[i] == null) {
                return;
            }
            i = i + 1 & mask;
        }
        size--;
        // Insert the following entries of the run again, so that the gap does not hide them (linear probing).
        table[i] = null;
        for (int j = i + 1 & mask; table[j] != null; j = j + 1 & mask) {
            TcpTransport moved = table[j];
            table[j] = null;
            insert(moved);
        }
    }

    /** Returns the transport that a received segment belongs to; null if it is not in the table. */
    TcpTransport find(Segment segment) {
        int mask = table.length - 1;
        int i = hash.hash(segment.destinationHigh, segment.destinationLow, segment.destinationPort,
                segment.sourceHigh, segment.sourceLow, segment.sourcePort) & mask;
        for (; table[i] != null; i = i + 1 & mask) {
            TcpConnection c = table[i].connection();
            if (c.remotePort() == segment.sourcePort && c.localPort() == segment.destinationPort
                    && c.remoteLow() == segment.sourceLow && c.localLow() == segment.destinationLow
                    && c.remoteHigh() == segment.sourceHigh && c.localHigh() == segment.destinationHigh) {
                return table[i];
            }
        }
        return null;
    }

    private int hash(TcpConnection c) {
        return hash.hash(c.localHigh(), c.localLow(), c.localPort(), c.remoteHigh(), c.remoteLow(), c.remotePort());
    }

    /** Adds a frame to the batch that {@link #flush()} forwards, and takes over its reference. */
    public void enqueue(TcpTransport transport, ByteBuf frame, boolean checksumVerified) {
        TcpStack target = transport.location().forwardingTarget();
        Batch batch = null;
        for (Batch candidate : batches) {
            if (candidate.target == target) {
                batch = candidate;
            }
        }
        if (batch == null) {
            batch = new Batch(target, new ArrayList<>(), new ArrayList<>());
            batches.add(batch);
        }
        batch.frames.add(frame);
        batch.checksumsVerified.add(checksumVerified);
    }

    /**
     * Forwards the frames of the burst. Frames for a loop that is too far behind are dropped; see
     * {@link CrossLoopQueueLimit}.
     *
     * @return the number of frames dropped
     */
    public int flush() {
        int dropped = 0;
        for (Batch batch : batches) {
            CrossLoopQueueLimit limit = batch.target.forwardLimit();
            int count = batch.frames.size();
            if (!limit.tryAcquire(count)) {
                dropped += count;
                batch.release();
                continue;
            }
            batch.target.executeOrElse(() -> {
                limit.release(count);
                batch.target.receiveForwarded(batch);
            }, () -> {
                limit.release(count);
                batch.release();
            });
        }
        batches.clear();
        return dropped;
    }
}
