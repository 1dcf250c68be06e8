package io.rdmaraw.tcp.stack.receive;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;

import java.util.ArrayDeque;

/**
 * The received bytes of a connection that the user has not read yet. They are kept in order, in the buffers that they
 * arrived in. Belongs to the connection's {@code StreamTransport}. Used on the thread of the loop that owns it.
 */
public final class StreamReceiveQueue {
    private static final int MAX_MERGED_BYTES = 1 << 16;
    private static final int MAX_COPIED_BYTES = 1024;
    /** Number of unread pieces from which on further small pieces are coalesced. */
    private static final int MAX_SEPARATE_PIECES = 32;
    private static final int COALESCING_BUFFER_BYTES = 4096;

    /** Created on first use. */
    private ArrayDeque<ByteBuf> pieces;
    /** Buffer for small pieces. More are added to it as long as it is the last piece. */
    private ByteBuf coalescingBuffer;

    public boolean isEmpty() {
        return pieces == null || pieces.isEmpty();
    }

    /** Adds a piece and takes its reference. Returns true if it was appended to the buffer of the previous piece. */
    public boolean add(ByteBuf piece) {
        if (pieces == null) {
            pieces = new ArrayDeque<>(4);
        }
        if (pieces.size() < MAX_SEPARATE_PIECES || piece.readableBytes() >= MAX_COPIED_BYTES) {
            pieces.add(piece);
            return false;
        }
        return coalesce(piece);
    }

    /**
     * Copies a piece into the coalescing buffer. A peer may send many tiny segments to a slow reader, and each one
     * would occupy a whole buffer. The receive window counts only payload bytes, so it would not limit this memory.
     */
    private boolean coalesce(ByteBuf piece) {
        boolean fits = coalescingBuffer != null && coalescingBuffer == pieces.peekLast()
                && coalescingBuffer.writableBytes() >= piece.readableBytes();
        try {
            if (!fits) {
                coalescingBuffer = ByteBufAllocator.DEFAULT.directBuffer(COALESCING_BUFFER_BYTES,
                        COALESCING_BUFFER_BYTES);
                pieces.add(coalescingBuffer);
            }
            coalescingBuffer.writeBytes(piece);
            return fits;
        } finally {
            piece.release();
        }
    }

    /** Takes the first piece, or its first {@code limitBytes} bytes if it is longer. */
    public ByteBuf poll(int limitBytes) {
        ByteBuf piece = pieces.peek();
        return piece.readableBytes() <= limitBytes ? pieces.poll() : piece.readRetainedSlice(limitBytes);
    }

    /**
     * Takes the received bytes as one message, so that handlers are called once. Small pieces are copied into one
     * buffer, which also releases their slots. If the allocator fails, nothing is taken.
     *
     * @param limitBytes maximum number of bytes; a fixed maximum of this class applies too
     */
    public ByteBuf pollMerged(ByteBufAllocator allocator, int limitBytes) {
        if (pieces.size() == 1 || pieces.peek().readableBytes() >= limitBytes) {
            return poll(limitBytes);
        }
        int maxBytes = Math.min(limitBytes, MAX_MERGED_BYTES);
        int bytes = 0;
        int count = 0;
        for (ByteBuf piece : pieces) {
            if (count > 0 && bytes + piece.readableBytes() > maxBytes) {
                break;
            }
            bytes += piece.readableBytes();
            count++;
        }
        if (count == 1 && bytes > MAX_COPIED_BYTES) {
            return pieces.poll();
        }
        return bytes <= MAX_COPIED_BYTES ? copyPieces(count, allocator.directBuffer(bytes))
                : composePieces(count, allocator.compositeBuffer(count));
    }

    private ByteBuf copyPieces(int count, ByteBuf merged) {
        for (int i = 0; i < count; i++) {
            ByteBuf piece = pieces.poll();
            merged.writeBytes(piece);
            piece.release();
        }
        return merged;
    }

    private ByteBuf composePieces(int count, CompositeByteBuf merged) {
        for (int i = 0; i < count; i++) {
            merged.addComponent(true, pieces.poll());
        }
        return merged;
    }

    /** Releases all pieces. Returns the number of bytes dropped. */
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
