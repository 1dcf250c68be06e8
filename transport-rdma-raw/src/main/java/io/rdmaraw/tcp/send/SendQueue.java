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
    private static final int INITIAL_CAPACITY = 4;

    private ByteBuf[] buffers = new ByteBuf[INITIAL_CAPACITY];
    /** For each buffer the sequence number of its first byte, and its reader index when it came. */
    private int[] places = new int[2 * INITIAL_CAPACITY];
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
        places[2 * slot] = endSeq;
        places[2 * slot + 1] = buffer.readerIndex();
        count++;
        endSeq += length;
    }

    private void grow() {
        int length = buffers.length;
        ByteBuf[] newBuffers = new ByteBuf[length * 2];
        int[] newPlaces = new int[length * 4];
        for (int i = 0; i < count; i++) {
            int slot = head + i & length - 1;
            newBuffers[i] = buffers[slot];
            newPlaces[2 * i] = places[2 * slot];
            newPlaces[2 * i + 1] = places[2 * slot + 1];
        }
        buffers = newBuffers;
        places = newPlaces;
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

    private int startOf(int i) {
        return places[2 * (head + i & buffers.length - 1)];
    }

    private int endOf(int i) {
        return i + 1 < count ? startOf(i + 1) : endSeq;
    }

    /**
     * Lends {@code out} slices for {@code length} bytes from {@code seq}, as far as {@code maxSlices} allow.
     *
     * @return the bytes added, 1 or more when {@code length} is
     * @throws io.netty.util.IllegalReferenceCountException if one of their buffers has been released already
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
            out.borrowSlice(buffer, places[2 * slot + 1] + (at - places[2 * slot]), n);
            at += n;
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
