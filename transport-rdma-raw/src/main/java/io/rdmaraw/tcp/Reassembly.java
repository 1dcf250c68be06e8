package io.rdmaraw.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.tcp.segment.SackRanges;
import io.rdmaraw.tcp.segment.Sequence;

/**
 * Data that arrived ahead of RCV.NXT: pieces in order of sequence number, without overlaps, and the ranges they make
 * up, for SACK (RFC 2018). Of bytes that arrive twice the first are kept. Pieces are a sorted array with a gap in
 * front: the usual arrival is appended, the usual departure is the first.
 *
 * <p>A large piece is a reference to the buffer it came in, a receive slot, and is charged all of that. A small one
 * would pin a slot for next to nothing: it is copied, and such as follow each other share a buffer.
 */
final class Reassembly {
    /** Charged for each piece on top of what its buffer holds. */
    static final int OVERHEAD_BYTES = 256;
    /** What is shorter is copied: it would leave more than half of a receive slot unused. */
    static final int COPY_BREAK_BYTES = 1024;
    private static final int LEAST_COPY_BYTES = 64;
    /** For small pieces that follow another small one: more of them will come. */
    private static final int SHARED_COPY_BYTES = 4096;
    private static final int INITIAL_CAPACITY = 16;
    private static final int MAX_POOLED_CAPACITY = 256;

    private int[] starts = new int[INITIAL_CAPACITY];
    private int[] ends = new int[INITIAL_CAPACITY];
    private int[] indices = new int[INITIAL_CAPACITY];
    /** What a piece is charged; below 0 for a copy, which has a buffer of its own. */
    private int[] charges = new int[INITIAL_CAPACITY];
    private ByteBuf[] buffers = new ByteBuf[INITIAL_CAPACITY];
    private int first;
    private int last;
    private int payloadBytes;
    private int chargedBytes;
    /** Of what a segment brought that was held already, the first stretch; from its start to its end. */
    private int duplicateStart;
    private int duplicateEnd;
    private final SackRanges ranges = new SackRanges();

    // ---- kept by ReceiveMemory ----
    TcpConnection owner;
    Reassembly older;
    Reassembly newer;
    /** As of the last time that it was counted. */
    int countedBytes;

    boolean isEmpty() {
        return first == last && ranges.isEmpty();
    }

    int payloadBytes() {
        return payloadBytes;
    }

    /** What the pieces hold in memory. */
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

    /** What keeping {@code length} bytes of {@code buffer} is charged, in a piece of its own. */
    static int charge(int length, ByteBuf buffer, boolean copy) {
        return OVERHEAD_BYTES + (copy || length < COPY_BREAK_BYTES ? Math.max(LEAST_COPY_BYTES, length)
                : Math.max(length, buffer.capacity()));
    }

    /** What {@link #insert} finds to be held already is noted from here on: a segment may have several slices. */
    void beginSegment() {
        duplicateStart = 0;
        duplicateEnd = 0;
    }

    /** Notes that the segment brought these again, unless there are none; behind a gap it is too late to be told. */
    void noteDuplicate(int from, int to) {
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

    /** Where that begins of which the segment brought a second copy; the first stretch, if there are several. */
    int duplicateStart() {
        return duplicateStart;
    }

    /** The same as {@link #duplicateStart()} when the segment brought no second copy. */
    int duplicateEnd() {
        return duplicateEnd;
    }

    /**
     * Keeps what is new of the bytes from {@code start} to {@code end}, which lie in {@code buffer} from {@code index}.
     *
     * @param copy whether to copy whatever the length
     * @return the bytes kept; -1 if {@code maxBytes} might be exceeded and nothing was kept
     */
    int insert(int start, int end, ByteBuf buffer, int index, boolean copy, int maxBytes) {
        boolean small = copy || end - start < COPY_BREAK_BYTES;
        // What others leave of a segment may be many pieces: each would be charged all of a buffer, of 64 KB perhaps.
        int leastInPlace = Math.max(COPY_BREAK_BYTES, Math.min(end - start, buffer.capacity() / 2));
        if (chargedBytes + charge(end - start, buffer, copy) > maxBytes) {
            return -1;
        }
        int i = firstEndingAfter(start);
        int at = start;
        int kept = 0;
        while (Sequence.before(at, end)) {
            if (i < last && Sequence.beforeOrAt(starts[i], at)) {
                int behind = Sequence.max(at, ends[i]);
                noteDuplicate(at, Sequence.min(behind, end));
                at = behind;
                i++;
                continue;
            }
            int until = i < last ? Sequence.min(end, starts[i]) : end;
            int from = index + (at - start);
            if (!small && until - at >= leastInPlace) {
                i = addPiece(i, at, until, buffer.retain(), from, Math.max(until - at, buffer.capacity())) + 1;
            } else if (!extend(i - 1, at, until, buffer, from)) {
                i = addCopy(i, at, until, buffer, from, maxBytes) + 1;
            }
            kept += until - at;
            at = until;
        }
        payloadBytes += kept;
        return kept;
    }

    /** Writes a small piece behind another in the same buffer, if that one ends where it begins and has room. */
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
        int capacity = Math.max(LEAST_COPY_BYTES, length);
        if (i > first && ends[i - 1] == start && length < COPY_BREAK_BYTES) {
            capacity = Math.max(capacity, Math.min(SHARED_COPY_BYTES, maxBytes - chargedBytes - OVERHEAD_BYTES));
        }
        ByteBuf copy = ByteBufAllocator.DEFAULT.directBuffer(capacity, capacity).writeBytes(buffer, index, length);
        return addPiece(i, start, end, copy, 0, -capacity);
    }

    /** Returns where it is. */
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

    /** Copies pieces that lie in buffers they came in, {@code most} at most, and gives those back. Returns how many. */
    int copyOut(int most) {
        int copied = 0;
        for (int i = first; i < last && copied < most; i++) {
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

    /** Opens a place at {@code i}; returns where it now is. */
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

    /** Whether the first piece begins at or before {@code seq}. */
    boolean hasAt(int seq) {
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

    /** Where {@code seq}, which lies in the first piece, is in its buffer. */
    int firstIndexOf(int seq) {
        return indices[first] + (seq - starts[first]);
    }

    /** Drops the first piece; its reference passes to the caller. */
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
