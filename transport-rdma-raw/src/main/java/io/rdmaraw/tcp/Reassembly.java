package io.rdmaraw.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.tcp.segment.SackRanges;
import io.rdmaraw.tcp.segment.Sequence;

/**
 * Data received out of order: non-overlapping pieces sorted by sequence number, and the ranges that they form,
 * for SACK (RFC 2018). If bytes arrive twice, the first copy is kept. The sorted array has a gap at the front, so
 * the common operations, appending a piece and removing the first one, move nothing.
 *
 * <p>A piece that fills at least half of its receive buffer keeps a reference to it and is charged the whole
 * buffer. Smaller pieces are copied. Small adjacent pieces share a buffer.
 */
final class Reassembly {
    /** Charged for each piece in addition to its buffer. */
    static final int OVERHEAD_BYTES = 256;
    /** Shorter pieces are copied, independent of the size of the receive buffer. */
    private static final int COPY_BREAK_BYTES = 1024;
    private static final int MIN_COPY_BYTES = 64;
    /**
     * Maximum buffer size for a small piece that directly follows another piece. The buffer has room for further
     * pieces: its size is {@link #COALESCED_COPY_GROWTH} times the length of the preceding piece.
     */
    private static final int MAX_COALESCED_COPY_BYTES = 4096;
    private static final int COALESCED_COPY_GROWTH = 8;
    private static final int INITIAL_CAPACITY = 16;
    private static final int MAX_POOLED_CAPACITY = 256;

    private int[] starts = new int[INITIAL_CAPACITY];
    private int[] ends = new int[INITIAL_CAPACITY];
    private int[] indices = new int[INITIAL_CAPACITY];
    /** Bytes charged per piece; negative for a copy in its own buffer. */
    private int[] charges = new int[INITIAL_CAPACITY];
    private ByteBuf[] buffers = new ByteBuf[INITIAL_CAPACITY];
    private int first;
    private int last;
    private int payloadBytes;
    private int chargedBytes;
    /** First range of the current segment that was held already. It is empty if start and end are equal. */
    private int duplicateStart;
    private int duplicateEnd;
    private final SackRanges ranges = new SackRanges();

    // ---- maintained by ReceiveMemory ----
    TcpConnection owner;
    Reassembly older;
    Reassembly newer;
    /** {@link #chargedBytes} at the last call of {@link ReceiveMemory#updateCharge}. */
    int countedBytes;

    boolean isEmpty() {
        return first == last && ranges.isEmpty();
    }

    int payloadBytes() {
        return payloadBytes;
    }

    /** Returns the memory charged for all pieces, in bytes. */
    int chargedBytes() {
        return chargedBytes;
    }

    int pieceCount() {
        return last - first;
    }

    boolean isPoolable() {
        return starts.length <= MAX_POOLED_CAPACITY;
    }

    SackRanges ranges() {
        return ranges;
    }

    /** Returns the charge of keeping {@code length} bytes of {@code buffer} as a separate piece. */
    static int charge(int length, ByteBuf buffer, boolean copy) {
        return OVERHEAD_BYTES + (copy || isSmall(length, buffer) ? Math.max(MIN_COPY_BYTES, length)
                : Math.max(length, buffer.capacity()));
    }

    private static boolean isSmall(int length, ByteBuf buffer) {
        return length < COPY_BREAK_BYTES || length < buffer.capacity() / 2;
    }

    /** Resets the duplicate range. A segment may be inserted in several slices. */
    void beginSegment() {
        duplicateStart = 0;
        duplicateEnd = 0;
    }

    /**
     * Extends the duplicate range by bytes that were held already. Ranges that are not adjacent to it are
     * ignored.
     */
    void addDuplicate(int from, int to) {
        if (!Sequence.before(from, to)) {
            return;
        }
        if (duplicateStart == duplicateEnd) {
            duplicateStart = from;
            duplicateEnd = to;
        } else if (duplicateEnd == from) {
            duplicateEnd = to;
        }
    }

    /** Returns the start of the first duplicate range of the segment. */
    int duplicateStart() {
        return duplicateStart;
    }

    /** Returns the end of the first duplicate range; equal to {@link #duplicateStart()} if there is none. */
    int duplicateEnd() {
        return duplicateEnd;
    }

    /**
     * Stores the new part of the bytes from {@code start} to {@code end}, which lie in {@code buffer} at
     * {@code index}.
     *
     * @param copy whether to copy regardless of the length
     * @return number of bytes stored; -1 if {@code maxBytes} might be exceeded, in which case nothing is stored
     */
    int insert(int start, int end, ByteBuf buffer, int index, boolean copy, int maxBytes) {
        boolean small = copy || isSmall(end - start, buffer);
        // The new bytes of a segment may be many small pieces between held ones. By reference, each would be
        // charged the whole buffer, up to 64 KB.
        int minInPlace = Math.max(COPY_BREAK_BYTES, Math.min(end - start, buffer.capacity() / 2));
        if (chargedBytes + charge(end - start, buffer, copy) > maxBytes) {
            return -1;
        }
        int i = firstEndingAfter(start);
        int at = start;
        int storedBytes = 0;
        while (Sequence.before(at, end)) {
            if (i < last && Sequence.beforeOrAt(starts[i], at)) {
                int pieceEnd = Sequence.max(at, ends[i]);
                addDuplicate(at, Sequence.min(pieceEnd, end));
                at = pieceEnd;
                i++;
                continue;
            }
            int until = i < last ? Sequence.min(end, starts[i]) : end;
            int from = index + (at - start);
            if (!small && until - at >= minInPlace) {
                i = addPiece(i, at, until, buffer.retain(), from, Math.max(until - at, buffer.capacity())) + 1;
            } else if (!extend(i - 1, at, until, buffer, from)) {
                i = addCopy(i, at, until, buffer, from, maxBytes) + 1;
            }
            storedBytes += until - at;
            at = until;
        }
        payloadBytes += storedBytes;
        return storedBytes;
    }

    /** Appends a small piece to the buffer of the preceding one, if they are adjacent and the buffer has room. */
    private boolean extend(int i, int start, int end, ByteBuf buffer, int index) {
        if (i < first || charges[i] >= 0 || ends[i] != start || buffers[i].writableBytes() < end - start) {
            return false;
        }
        buffers[i].writeBytes(buffer, index, end - start);
        ends[i] = end;
        return true;
    }

    private int addCopy(int i, int start, int end, ByteBuf buffer, int index, int maxBytes) {
        int length = end - start;
        int capacity = Math.max(MIN_COPY_BYTES, length);
        if (i > first && ends[i - 1] == start && length < COPY_BREAK_BYTES) {
            int room = Math.min(MAX_COALESCED_COPY_BYTES, COALESCED_COPY_GROWTH * (ends[i - 1] - starts[i - 1]));
            capacity = Math.max(capacity, Math.min(room, maxBytes - chargedBytes - OVERHEAD_BYTES));
        }
        ByteBuf copy = ByteBufAllocator.DEFAULT.directBuffer(capacity, capacity).writeBytes(buffer, index, length);
        return addPiece(i, start, end, copy, 0, -capacity);
    }

    /** Returns the index of the new piece. */
    private int addPiece(int i, int start, int end, ByteBuf buffer, int index, int charge) {
        int at = makeRoom(i);
        starts[at] = start;
        ends[at] = end;
        indices[at] = index;
        buffers[at] = buffer;
        charges[at] = charge;
        chargedBytes += Math.abs(charge) + OVERHEAD_BYTES;
        return at;
    }

    /**
     * Copies up to {@code maxPieces} pieces that reference receive buffers, and releases these buffers. Returns the
     * number of pieces copied.
     */
    int copyOut(int maxPieces) {
        int copied = 0;
        for (int i = first; i < last && copied < maxPieces; i++) {
            if (charges[i] >= 0) {
                int length = ends[i] - starts[i];
                ByteBuf buffer = buffers[i];
                buffers[i] = ByteBufAllocator.DEFAULT.directBuffer(length, length)
                        .writeBytes(buffer, indices[i], length);
                buffer.release();
                indices[i] = 0;
                chargedBytes += length - charges[i];
                charges[i] = -length;
                copied++;
            }
        }
        return copied;
    }

    private int firstEndingAfter(int seq) {
        if (first == last || Sequence.beforeOrAt(ends[last - 1], seq)) {
            return last;
        }
        int low = first;
        int high = last - 1;
        while (low < high) {
            int middle = low + high >>> 1;
            if (Sequence.after(ends[middle], seq)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    /** Makes room for an entry at {@code i}. Returns its index, which differs if the array was moved. */
    private int makeRoom(int i) {
        int at = i;
        if (last == starts.length) {
            int count = last - first;
            int capacity = first >= starts.length / 2 ? starts.length : starts.length * 2;
            int from = first;
            starts = moved(starts, capacity, from, count);
            ends = moved(ends, capacity, from, count);
            indices = moved(indices, capacity, from, count);
            charges = moved(charges, capacity, from, count);
            ByteBuf[] target = new ByteBuf[capacity];
            System.arraycopy(buffers, from, target, 0, count);
            buffers = target;
            first = 0;
            last = count;
            at -= from;
        }
        int tail = last - at;
        if (tail > 0) {
            System.arraycopy(starts, at, starts, at + 1, tail);
            System.arraycopy(ends, at, ends, at + 1, tail);
            System.arraycopy(indices, at, indices, at + 1, tail);
            System.arraycopy(charges, at, charges, at + 1, tail);
            System.arraycopy(buffers, at, buffers, at + 1, tail);
        }
        last++;
        return at;
    }

    private static int[] moved(int[] array, int capacity, int from, int count) {
        int[] target = new int[capacity];
        System.arraycopy(array, from, target, 0, count);
        return target;
    }

    /** Returns whether the first piece starts at or before {@code seq}. */
    boolean startsAtOrBefore(int seq) {
        return first != last && Sequence.beforeOrAt(starts[first], seq);
    }

    int firstStart() {
        return starts[first];
    }

    int firstEnd() {
        return ends[first];
    }

    ByteBuf firstBuffer() {
        return buffers[first];
    }

    /** Returns the buffer index of {@code seq}, which must lie in the first piece. */
    int firstIndexOf(int seq) {
        return indices[first] + (seq - starts[first]);
    }

    /** Removes the first piece. The caller takes over its buffer reference. */
    void removeFirst() {
        payloadBytes -= ends[first] - starts[first];
        chargedBytes -= Math.abs(charges[first]) + OVERHEAD_BYTES;
        buffers[first++] = null;
        if (first == last) {
            first = 0;
            last = 0;
        }
    }

    void release() {
        while (first != last) {
            buffers[first].release();
            removeFirst();
        }
        ranges.clear();
    }
}
