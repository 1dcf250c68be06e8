package io.rdmaraw.tcp.send;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;
import java.util.Arrays;

/**
 * The bytes that the user has passed to the connection and the peer has not acknowledged. It is a ring of buffers
 * ordered by sequence number and owns one reference to each. Only data is counted: a FIN follows after
 * {@link #endSeq()}.
 */
public final class SendQueue {
    private static final int INITIAL_CAPACITY = 4;
    /** Sign bit of a reader index: a user's write ends with this buffer. */
    private static final int PUSHED = 0x8000_0000;

    private ByteBuf[] buffers = new ByteBuf[INITIAL_CAPACITY];
    /**
     * Two values per buffer: the sequence number of its first byte, and its reader index when it was added, with
     * {@link #PUSHED}.
     */
    private int[] positions = new int[2 * INITIAL_CAPACITY];
    private int head;
    private int count;
    private int startSeq;
    private int endSeq;
    /** Index of the buffer at which the last slice ended. The next one usually starts there. */
    private int cursor;

    public void reset(int seq) {
        startSeq = seq;
        endSeq = seq;
        cursor = 0;
    }

    public boolean isEmpty() {
        return count == 0;
    }

    /** Returns the sequence number after the last byte. */
    public int endSeq() {
        return endSeq;
    }

    public int lengthBytes() {
        return endSeq - startSeq;
    }

    int capacity() {
        return buffers.length;
    }

    int bufferCount() {
        return count;
    }

    /** Appends the readable bytes of a buffer and takes over the reference. */
    public void add(ByteBuf buffer, int length) {
        if (count == buffers.length) {
            grow();
        }
        int slot = head + count & buffers.length - 1;
        buffers[slot] = buffer;
        positions[2 * slot] = endSeq;
        positions[2 * slot + 1] = buffer.readerIndex();
        count++;
        endSeq += length;
    }

    /**
     * Marks the end of a write. The segment with the present last byte gets PSH, even if more data is queued later.
     */
    public void push() {
        if (count > 0) {
            positions[2 * (head + count - 1 & buffers.length - 1) + 1] |= PUSHED;
        }
    }

    private void grow() {
        int length = buffers.length;
        ByteBuf[] newBuffers = new ByteBuf[length * 2];
        int[] newPositions = new int[length * 4];
        for (int i = 0; i < count; i++) {
            int slot = head + i & length - 1;
            newBuffers[i] = buffers[slot];
            newPositions[2 * i] = positions[2 * slot];
            newPositions[2 * i + 1] = positions[2 * slot + 1];
        }
        buffers = newBuffers;
        positions = newPositions;
        head = 0;
    }

    /** Removes the bytes before {@code seq}, which are acknowledged. Returns their number. */
    public int acknowledge(int seq) {
        int to = Sequence.min(seq, endSeq);
        int bytes = to - startSeq;
        if (bytes <= 0) {
            return 0;
        }
        int mask = buffers.length - 1;
        while (count > 0 && Sequence.beforeOrAt(endOf(0), to)) {
            release(buffers[head]);
            buffers[head] = null;
            head = head + 1 & mask;
            count--;
            cursor = Math.max(0, cursor - 1);
        }
        startSeq = to;
        return bytes;
    }

    private int startOf(int i) {
        return positions[2 * (head + i & buffers.length - 1)];
    }

    private int endOf(int i) {
        return i + 1 < count ? startOf(i + 1) : endSeq;
    }

    /**
     * Adds borrowed slices for {@code length} bytes from {@code seq} to {@code out}, as far as {@code maxSlices}
     * permits. Sets PSH if a write ends within them.
     *
     * @return the number of bytes added, at least 1 unless {@code length} is 0
     * @throws io.netty.util.IllegalReferenceCountException if one of the buffers was already released
     */
    public int slice(int seq, int length, int maxSlices, Segment out) {
        int mask = buffers.length - 1;
        int i = locate(seq);
        int at = seq;
        int left = length;
        while (left > 0 && out.sliceCount < maxSlices) {
            int slot = head + i & mask;
            int n = Math.min(left, endOf(i) - at);
            ByteBuf buffer = buffers[slot];
            int position = positions[2 * slot + 1];
            out.borrowSlice(buffer, (position & ~PUSHED) + (at - positions[2 * slot]), n);
            at += n;
            if (position < 0 && at == endOf(i)) {
                out.flags |= TcpFlags.PSH;
            }
            left -= n;
            i++;
        }
        cursor = i - 1;
        return length - left;
    }

    private int locate(int seq) {
        int low = 0;
        int high = count - 1;
        for (int guess = cursor; guess < Math.min(count, cursor + 2); guess++) {
            if (Sequence.afterOrAt(seq, startOf(guess)) && Sequence.before(seq, endOf(guess))) {
                return guess;
            }
        }
        while (low < high) {
            int middle = low + high + 1 >>> 1;
            if (Sequence.afterOrAt(seq, startOf(middle))) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    /** Releases a buffer unless a handler has wrongly released it before. */
    private static void release(ByteBuf buffer) {
        if (buffer.refCnt() > 0) {
            buffer.release();
        }
    }

    /** Releases all unacknowledged data. */
    public void release() {
        int mask = buffers.length - 1;
        for (int i = 0; i < count; i++) {
            release(buffers[head + i & mask]);
        }
        Arrays.fill(buffers, null);
        count = 0;
        head = 0;
        startSeq = endSeq;
    }
}
