package io.rdmaraw.memory;

/**
 * The part of a slab that is divided into chunks. With striding receive queues, each receive request is one chunk. A
 * chunk consists of consecutive strides, and each frame occupies one or more adjacent strides. For GSO frames, a
 * chunk is one stride of maximum frame length.
 *
 * @param chunkCount      number of chunks
 * @param stridesPerChunk number of strides in a chunk, a power of two
 * @param strideBytes     length of a stride; a power of two, except for GSO frames
 * @param ordinaryFramesInSlots whether ordinary frames are received in slots
 */
public record StrideLayout(int chunkCount, int stridesPerChunk, int strideBytes, boolean ordinaryFramesInSlots) {
    private static final int CACHE_LINE_BYTES = 64;

    /** Creates the layout of a striding receive queue, which receives all frames. */
    public StrideLayout(int chunkCount, int stridesPerChunk, int strideBytes) {
        this(chunkCount, stridesPerChunk, strideBytes, false);
    }

    /** Returns a layout of one-frame chunks for GSO frames of up to {@code frameBytes} bytes. */
    public static StrideLayout ofFrames(int count, int frameBytes) {
        // The distance must not be a power of two, or the first lines of the chunks would compete for a few cache
        // sets.
        int strideBytes = Math.ceilDiv(frameBytes, CACHE_LINE_BYTES) * CACHE_LINE_BYTES;
        return new StrideLayout(count, 1, strideBytes % 4096 == 0 ? strideBytes + CACHE_LINE_BYTES : strideBytes, true);
    }

    /** No chunks. */
    static final StrideLayout NONE = new StrideLayout(0, 1, Long.BYTES);

    /** Returns the total number of strides. */
    public int strideCount() {
        return chunkCount * stridesPerChunk;
    }

    /** Returns the length of a chunk in bytes. */
    public int chunkBytes() {
        return stridesPerChunk * strideBytes;
    }

    /** Returns the length of all chunks in bytes. */
    public long lengthBytes() {
        return (long) chunkCount * chunkBytes();
    }

    /** Returns the number of strides that a frame occupies. */
    public int stridesOf(int lengthBytes) {
        return Math.max(1, (lengthBytes + strideBytes - 1) / strideBytes);
    }
}
