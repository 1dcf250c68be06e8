package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.ConnectionHash;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.tcp.TcpConnection;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;

/**
 * The connections whose segments come to a loop though the connections live on others: by 4-tuple, where their frames
 * are to be passed on. Frames of one burst go to a loop in one message. For the loop's thread.
 */
final class TcpForwards {
    private static final int MIN_CAPACITY = 64;

    /** Peers choose their addresses and ports. */
    private final ConnectionHash hash = new ConnectionHash(new SecureRandom());
    private TcpFlow[] table = new TcpFlow[MIN_CAPACITY];
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

    /** Has the segments of a flow passed on from now on. */
    void add(TcpFlow flow) {
        if (2 * ++size > table.length) {
            TcpFlow[] old = table;
            table = new TcpFlow[2 * old.length];
            for (TcpFlow moved : old) {
                if (moved != null) {
                    insert(moved);
                }
            }
        }
        insert(flow);
    }

    /** As {@link #add}, for a flow that another loop was found to have; nothing if it has gone on or is over. */
    void follow(TcpFlow flow, TcpStack here) {
        if (flow.isFollowed() && flow.target() != here && !contains(flow)) {
            add(flow);
        }
    }

    private boolean contains(TcpFlow flow) {
        int i = hash(flow.connection()) & table.length - 1;
        while (table[i] != null && table[i] != flow) {
            i = i + 1 & table.length - 1;
        }
        return table[i] == flow;
    }

    private void insert(TcpFlow flow) {
        int i = hash(flow.connection()) & table.length - 1;
        while (table[i] != null) {
            i = i + 1 & table.length - 1;
        }
        table[i] = flow;
    }

    /** Has them passed on no more; nothing happens if they were not. */
    void remove(TcpFlow flow) {
        int mask = table.length - 1;
        int i = hash(flow.connection()) & mask;
        while (table[i] != flow) {
            if (table[i] == null) {
                return;
            }
            i = i + 1 & mask;
        }
        size--;
        // Whatever follows in the same run is put in again, so that no gap hides it.
        table[i] = null;
        for (int j = i + 1 & mask; table[j] != null; j = j + 1 & mask) {
            TcpFlow moved = table[j];
            table[j] = null;
            insert(moved);
        }
    }

    /** Returns the flow that a received segment belongs to, or null. */
    TcpFlow find(Segment segment) {
        int mask = table.length - 1;
        int i = hash.hash(segment.destinationHigh(), segment.destinationLow(), segment.destinationPort(),
                segment.sourceHigh(), segment.sourceLow(), segment.sourcePort()) & mask;
        for (; table[i] != null; i = i + 1 & mask) {
            TcpConnection c = table[i].connection();
            if (c.remotePort() == segment.sourcePort() && c.localPort() == segment.destinationPort()
                    && c.remoteLow() == segment.sourceLow() && c.localLow() == segment.destinationLow()
                    && c.remoteHigh() == segment.sourceHigh() && c.localHigh() == segment.destinationHigh()) {
                return table[i];
            }
        }
        return null;
    }

    private int hash(TcpConnection c) {
        return hash.hash(c.localHigh(), c.localLow(), c.localPort(), c.remoteHigh(), c.remoteLow(), c.remotePort());
    }

    /** Adds a frame, whose reference passes along, to what {@link #send()} passes on. */
    void pass(TcpFlow flow, ByteBuf frame, boolean checksumVerified) {
        TcpStack target = flow.target();
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
    int send() {
        int dropped = 0;
        for (Batch batch : batches) {
            HandOverLimit limit = batch.target.forwardLimit();
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
