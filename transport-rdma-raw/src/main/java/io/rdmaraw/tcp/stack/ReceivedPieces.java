package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;

import java.util.ArrayDeque;

/**
 * The bytes of a connection that have come in and that its user has not read, in order, in the buffers that they came
 * in. Belongs to the connection's {@link StreamTransport}. For the thread of the loop that this is on.
 */
public final class ReceivedPieces {
    private static final int MAX_MERGED_BYTES = 1 << 16;
    private static final int MAX_COPIED_BYTES = 1024;
    /** Behind this many unread pieces, small ones share memory. */
    private static final int MOST_SEPARATE_PIECES = 32;
    private static final int SHARED_BYTES = 4096;

    /** Made when first needed. */
    private ArrayDeque<ByteBuf> pieces;
    /** Where small pieces share memory, as long as it is the last of all. */
    private ByteBuf shared;

    public boolean isEmpty() {
        return pieces == null || pieces.isEmpty();
    }

    /** Adds a piece and takes its reference; returns true if it shares the memory of the piece before. */
    public boolean add(ByteBuf piece) {
        if (pieces == null) {
            pieces = new ArrayDeque<>(4);
        }
        if (pieces.size() < MOST_SEPARATE_PIECES || piece.readableBytes() >= MAX_COPIED_BYTES) {
            pieces.add(piece);
            return false;
        }
        return addToShared(piece);
    }

    /**
     * A peer may send many tiny segments to a reader who is behind. Each would hold more than it brings, and the window
     * counts bytes: so what the window has promised to take would not be taken.
     */
    private boolean addToShared(ByteBuf piece) {
        boolean joins = shared != null && shared == pieces.peekLast()
                && shared.writableBytes() >= piece.readableBytes();
        try {
            if (!joins) {
                shared = ByteBufAllocator.DEFAULT.directBuffer(SHARED_BYTES, SHARED_BYTES);
                pieces.add(shared);
            }
            shared.writeBytes(piece);
            return joins;
        } finally {
            piece.release();
        }
    }

    /** Takes the first piece, or as much of it as the limit allows. */
    public ByteBuf take(int limitBytes) {
        ByteBuf piece = pieces.peek();
        return piece.readableBytes() <= limitBytes ? pieces.poll() : piece.readRetainedSlice(limitBytes);
    }

    /**
     * Takes what has come in so far as one message, up to a limit: handlers are called once for it. Small pieces are
     * put together in one buffer, which also gives their slots back. When the allocator fails, nothing is taken.
     */
    public ByteBuf takeMerged(ByteBufAllocator allocator) {
        if (pieces.size() == 1) {
            return pieces.poll();
        }
        int bytes = 0;
        int count = 0;
        for (ByteBuf piece : pieces) {
            if (count > 0 && bytes + piece.readableBytes() > MAX_MERGED_BYTES) {
                break;
            }
            bytes += piece.readableBytes();
            count++;
        }
        if (count == 1 && bytes > MAX_COPIED_BYTES) {
            return pieces.poll();
        }
        return bytes <= MAX_COPIED_BYTES ? copied(count, allocator.directBuffer(bytes))
                : composed(count, allocator.compositeBuffer(count));
    }

    private ByteBuf copied(int count, ByteBuf merged) {
        for (int i = 0; i < count; i++) {
            ByteBuf piece = pieces.poll();
            merged.writeBytes(piece);
            piece.release();
        }
        return merged;
    }

    private ByteBuf composed(int count, CompositeByteBuf merged) {
        for (int i = 0; i < count; i++) {
            merged.addComponent(true, pieces.poll());
        }
        return merged;
    }

    /** Drops all pieces; returns how many bytes they held. */
    public int drop() {
        int bytes = 0;
        while (!isEmpty()) {
            ByteBuf piece = pieces.poll();
            bytes += piece.readableBytes();
            piece.release();
        }
        return bytes;
    }
}
