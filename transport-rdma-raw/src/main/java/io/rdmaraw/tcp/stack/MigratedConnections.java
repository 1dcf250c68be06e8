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
 * The connections whose segments come to a loop though the connections live on others: by 4-tuple, where their frames
 * are to be passed on. Frames of one burst go to a loop in one message. For the loop's thread.
 */
public final class MigratedConnections {
    private static final int MIN_CAPACITY = 64;

    /** Peers choose their addresses and ports. */
    private final ConnectionHash hash = new ConnectionHash(new SecureRandom());
    private TcpTransport[] table = new TcpTransport[MIN_CAPACITY];
    private int size;
    private final List<Batch> batches = new ArrayList<>();

    /** Frames on their way to another loop, which takes over their references. */
    record Batch(TcpStack target, List<ByteBuf> frames, List<Boolean> checksumsVerified) {
        void release() {
            frames.forEach(ByteBuf::release);
        }
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** Has the segments of a transport passed on from now on. */
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

    /** As {@link #add}, for a transport that another loop was found to have; nothing if it has gone on or is over. */
    void follow(TcpTransport transport, TcpStack here) {
        if (transport.isFollowed() && transport.target() != here && !contains(transport)) {
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

    /** Has them passed on no more; nothing happens if they were not. */
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
        // Whatever follows in the same run is put in again, so that no gap hides it.
        table[i] = null;
        for (int j = i + 1 & mask; table[j] != null; j = j + 1 & mask) {
            TcpTransport moved = table[j];
            table[j] = null;
            insert(moved);
        }
    }

    /** Returns the transport that a received segment belongs to, or null. */
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

    /** Adds a frame, whose reference passes along, to what {@link #send()} passes on. */
    public void pass(TcpTransport transport, ByteBuf frame, boolean checksumVerified) {
        TcpStack target = transport.target();
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
     * Passes on what the burst brought, to loops that have taken most of what came before.
     *
     * @return how many frames were dropped
     */
    public int send() {
        int dropped = 0;
        for (Batch batch : batches) {
            CrossLoopQueueLimit limit = batch.target.forwardLimit();
            int count = batch.frames.size();
            if (!limit.take(count)) {
                dropped += count;
                batch.release();
                continue;
            }
            batch.target.executeOrElse(() -> {
                limit.giveBack(count);
                batch.target.receiveForwarded(batch);
            }, () -> {
                limit.giveBack(count);
                batch.release();
            });
        }
        batches.clear();
        return dropped;
    }
}
