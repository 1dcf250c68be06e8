package io.rdmaraw.memory;

/**
 * The part of a slab that striding receive queues fill. A chunk is what one receive request names: consecutive strides,
 * of which each frame takes as many as it is long, so that it lies in one piece.
 *
 * <p>Or the part that receives of frames beyond the MTU fill: each chunk is one stride, which is as long as they are.
 *
 * @param chunks how many there are
 * @param stridesPerChunk a power of two
 * @param strideBytes a power of two, but where the chunks are for frames beyond the MTU
 * @param besideSlots whether ordinary frames are received in slots
 */
public record StrideLayout(int chunks, int stridesPerChunk, int strideBytes, boolean besideSlots) {
    private static final int CACHE_LINE_BYTES = 64;

    /** Chunks of a striding queue, which receives all frames. */
    public StrideLayout(int chunks, int stridesPerChunk, int strideBytes) {
        this(chunks, stridesPerChunk, strideBytes, false);
    }

    /** Returns chunks of one frame each, which may have so many bytes. */
    public static StrideLayout ofFrames(int count, int frameBytes) {
        // Not a power of two apart, or their first lines would compete for a few sets of the cache.
        int strideBytes = Math.ceilDiv(frameBytes, CACHE_LINE_BYTES) * CACHE_LINE_BYTES;
        return new StrideLayout(count, 1, strideBytes % 4096 == 0 ? strideBytes + CACHE_LINE_BYTES : strideBytes, true);
    }

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
