package io.rdmaraw.tcp.send;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import java.util.Arrays;

/**
 * The bytes a user has handed over and the peer has not acknowledged, as a ring of buffers ordered by sequence number.
 * It owns one reference to each buffer. Sequence numbers here count data only: our FIN lies behind {@link #endSeq()}.
 */
public final class SendQueue {
    private static final int INITIAL_CAPACITY = 8;

    private ByteBuf[] buffers = new ByteBuf[INITIAL_CAPACITY];
    /** Sequence number of the first byte of each buffer. */
    private int[] starts = new int[INITIAL_CAPACITY];
    /** Reader index of each buffer when it came. */
    private int[] indices = new int[INITIAL_CAPACITY];
    private int head;
    private int count;
    private int startSeq;
    private int endSeq;
    /** The entry where the last slice ended: the next one usually begins there. */
    private int cursor;

    public void reset(int seq) {
        startSeq = seq;
        endSeq = seq;
        cursor = 0;
    }

    public boolean isEmpty() {
        return count == 0;
    }

    /** Sequence number after the last byte. */
    public int endSeq() {
        return endSeq;
    }

    public int lengthBytes() {
        return endSeq - startSeq;
    }

    int capacity() {
        return buffers.length;
    }

    /** Appends the readable bytes and takes over the reference. */
    public void add(ByteBuf buffer, int length) {
        if (count == buffers.length) {
            grow();
        }
        int slot = head + count & buffers.length - 1;
        buffers[slot] = buffer;
        starts[slot] = endSeq;
        indices[slot] = buffer.readerIndex();
        count++;
        endSeq += length;
    }

    private void grow() {
        int length = buffers.length;
        ByteBuf[] newBuffers = new ByteBuf[length * 2];
        int[] newStarts = new int[length * 2];
        int[] newIndices = new int[length * 2];
        for (int i = 0; i < count; i++) {
            int slot = head + i & length - 1;
            newBuffers[i] = buffers[slot];
            newStarts[i] = starts[slot];
            newIndices[i] = indices[slot];
        }
        buffers = newBuffers;
        starts = newStarts;
        indices = newIndices;
        head = 0;
    }

    /** Everything before {@code seq} is acknowledged; returns the number of bytes that leave. */
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

    private int endOf(int i) {
        return i + 1 < count ? starts[head + i + 1 & buffers.length - 1] : endSeq;
    }

    /**
     * Adds slices for {@code length} bytes from {@code seq} to {@code out}, each with a reference of its own, as far as
     * {@code maxSlices} allow.
     *
     * @return the bytes added, 1 or more when {@code length} is
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
            buffer.retain();
            out.addSlice(buffer, indices[slot] + (at - starts[slot]), n);
            at += n;
            left -= n;
            i++;
        }
        cursor = i - 1;
        return length - left;
    }

    private int locate(int seq) {
        int mask = buffers.length - 1;
        int low = 0;
        int high = count - 1;
        for (int guess = cursor; guess < Math.min(count, cursor + 2); guess++) {
            if (Sequence.afterOrAt(seq, starts[head + guess & mask]) && Sequence.before(seq, endOf(guess))) {
                return guess;
            }
        }
        while (low < high) {
            int middle = low + high + 1 >>> 1;
            if (Sequence.afterOrAt(seq, starts[head + middle & mask])) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    /** A handler without a reference may have released it: there is nothing to release then. */
    private static void release(ByteBuf buffer) {
        if (buffer.refCnt() > 0) {
            buffer.release();
        }
    }

    /** Gives up everything that is not acknowledged. */
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
