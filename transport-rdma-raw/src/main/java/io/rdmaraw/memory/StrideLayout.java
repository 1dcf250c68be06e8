package io.rdmaraw.memory;

/**
 * The part of a slab that striding receive queues fill. A chunk is what one receive request names: consecutive strides,
 * of which each frame takes as many as it is long, so that it lies in one piece.
 *
 * @param chunks how many there are
 * @param stridesPerChunk a power of two
 * @param strideBytes a power of two
 */
public record StrideLayout(int chunks, int stridesPerChunk, int strideBytes) {
    /** No such part. */
    static final StrideLayout NONE = new StrideLayout(0, 1, Long.BYTES);

    /** Returns the number of all strides. */
    public int strides() {
        return chunks * stridesPerChunk;
    }

    /** Returns the length of a chunk. */
    public int chunkBytes() {
        return stridesPerChunk * strideBytes;
    }

    /** Returns the length of all chunks. */
    public long lengthBytes() {
        return (long) chunks * chunkBytes();
    }

    /** Returns how many strides a frame takes. */
    public int stridesOf(int lengthBytes) {
        return Math.max(1, (lengthBytes + strideBytes - 1) / strideBytes);
    }
}
