package io.rdmaraw.tcp;

import io.netty.buffer.ByteBuf;

/**
 * Data that arrived ahead of RCV.NXT: pieces in order of sequence number, without overlaps, each with a reference to
 * the buffer it lies in; and the ranges they make up, for SACK (RFC 2018). Of bytes that arrive twice the first are
 * kept. Pieces are a sorted array with a gap in front: the usual arrival is appended, the usual departure is the first.
 */
final class Reassembly {
    /** Charged for each piece on top of its bytes, since a tiny one can pin a whole receive slot. */
    static final int OVERHEAD_BYTES = 256;
    private static final int INITIAL_CAPACITY = 16;
    private static final int MAX_POOLED_CAPACITY = 256;

    private int[] starts = new int[INITIAL_CAPACITY];
    private int[] ends = new int[INITIAL_CAPACITY];
    private int[] indices = new int[INITIAL_CAPACITY];
    private ByteBuf[] buffers = new ByteBuf[INITIAL_CAPACITY];
    private int first;
    private int last;
    private int payloadBytes;
    private final SackRanges ranges = new SackRanges();

    boolean isEmpty() {
        return first == last && ranges.isEmpty();
    }

    int payloadBytes() {
        return payloadBytes;
    }

    boolean isPoolable() {
        return starts.length <= MAX_POOLED_CAPACITY;
    }

    SackRanges ranges() {
        return ranges;
    }

    /**
     * Keeps what is new of the bytes from {@code start} to {@code end}, which lie in {@code buffer} from {@code index}.
     *
     * @return the bytes kept; -1 if {@code maxBytes} would be exceeded and nothing was kept
     */
    int insert(int start, int end, ByteBuf buffer, int index, int maxBytes) {
        int held = payloadBytes + (last - first) * OVERHEAD_BYTES;
        if (held + (end - start) + OVERHEAD_BYTES > maxBytes) {
            return -1;
        }
        int i = firstEndingAfter(start);
        int at = start;
        int kept = 0;
        while (Sequence.before(at, end)) {
            if (i < last && Sequence.beforeOrAt(starts[i], at)) {
                at = Sequence.max(at, ends[i]);
                i++;
                continue;
            }
            int until = i < last ? Sequence.min(end, starts[i]) : end;
            i = makeRoom(i);
            starts[i] = at;
            ends[i] = until;
            indices[i] = index + (at - start);
            buffers[i] = buffer.retain();
            kept += until - at;
            at = until;
            i++;
        }
        payloadBytes += kept;
        return kept;
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
