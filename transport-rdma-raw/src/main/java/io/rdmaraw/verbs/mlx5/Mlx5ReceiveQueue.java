package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/**
 * Writes the receive ring of a raw-packet queue pair or of a work queue. Every request has one buffer, and all
 * buffers have the same length and lkey, so posting a buffer writes only its address.
 *
 * <p>libmlx5 resets the doorbell record when the queue becomes ready to receive. {@link #ringDoorbell} may only be
 * called after that.
 */
public final class Mlx5ReceiveQueue {
    private final long buffer;
    private final int mask;
    private final int strideShift;
    private final long doorbellRecord;
    private int producer;

    /** Prepares the ring for buffers of the given length and lkey. */
    public Mlx5ReceiveQueue(ReceiveQueueRing ring, int bufferBytes, int lkey) {
        this(ring, 0, bufferBytes, lkey);
    }

    private Mlx5ReceiveQueue(ReceiveQueueRing ring, int dataOffset, int bufferBytes, int lkey) {
        buffer = ring.buffer() + dataOffset;
        mask = ring.entries() - 1;
        strideShift = Integer.numberOfTrailingZeros(ring.strideBytes());
        doorbellRecord = ring.doorbellRecord();
        for (int i = 0; i <= mask; i++) {
            long wqe = ring.buffer() + ((long) i << strideShift);
            NativeMemory.fill(wqe, dataOffset, (byte) 0);
            prepare(wqe + dataOffset, ring.strideBytes() - dataOffset, bufferBytes, lkey);
        }
    }

    /**
     * Prepares the ring of a striding queue. A buffer comprises all strides of a request.
     *
     * @param requestBytes length of a buffer
     */
    public static Mlx5ReceiveQueue striding(ReceiveQueueRing ring, int requestBytes, int lkey) {
        return new Mlx5ReceiveQueue(ring, Wqe.NEXT_SIZE_BYTES, requestBytes, lkey);
    }

    private static void prepare(long data, int roomBytes, int bufferBytes, int lkey) {
        NetworkOrder.putInt(data + Wqe.DATA_BYTE_COUNT_OFFSET, bufferBytes);
        NetworkOrder.putInt(data + Wqe.DATA_LKEY_OFFSET, lkey);
        if (roomBytes > Wqe.DATA_SIZE_BYTES) {
            long end = data + Wqe.DATA_SIZE_BYTES;
            NetworkOrder.putInt(end + Wqe.DATA_BYTE_COUNT_OFFSET, 0);
            NetworkOrder.putInt(end + Wqe.DATA_LKEY_OFFSET, Wqe.INVALID_LKEY);
            NativeMemory.putLong(end + Wqe.DATA_ADDR_OFFSET, 0);
        }
    }

    /** Returns the capacity of the ring in buffers. */
    public int entries() {
        return mask + 1;
    }

    /** Returns the place in the ring that a completion's counter refers to. */
    public int ringIndexOf(int wqeCounter) {
        return wqeCounter & mask;
    }

    /** Restarts the ring after a reset of the queue. */
    public void reset() {
        producer = 0;
    }

    /**
     * Adds a buffer. The ring does not check whether it is full: the caller must not exceed its capacity. Hot
     * path.
     *
     * @return the place of the buffer in the ring
     */
    public int put(long address) {
        int place = producer++ & mask;
        NetworkOrder.putLong(buffer + ((long) place << strideShift) + Wqe.DATA_ADDR_OFFSET, address);
        return place;
    }

    /** Posts the added buffers to the device. */
    public void ringDoorbell() {
        Doorbell.writeRecord(doorbellRecord, producer & 0xffff);
    }
}
