package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/**
 * The ring of a completion queue, read in place.
 *
 * <p>The device writes an entry's last byte last. Its lowest bit changes from one round of the ring to the next, which
 * tells new entries from those of the round before.
 */
public final class Mlx5CompletionQueue {
    /** Native memory that a queue needs beside its ring. */
    public static final int SCRATCH_BYTES = CompressedSession.SCRATCH_BYTES;

    private static final int ARM_OFFSET = 4;
    /** {@code MLX5_CQ_DOORBELL}: the register in which queues are armed. */
    private static final int ARM_REGISTER_OFFSET = 0x20;
    private static final int SEQUENCE_SHIFT = 28;
    private static final int SEQUENCE_MASK = 3;
    private static final int INDEX_MASK = 0xffffff;

    private final int number;
    private final long buffer;
    private final int mask;
    private final int roundShift;
    private final int strideShift;
    private final long doorbellRecord;
    private final long armRegister;
    private final CompressedSession session;
    private int consumer;
    private int compressedLeft;

    /**
     * Makes the reader of a queue of which nothing was polled yet.
     *
     * @param scratch address of {@link #SCRATCH_BYTES} bytes
     */
    public Mlx5CompletionQueue(CompletionRing ring, long scratch) {
        this(ring, scratch, false);
    }

    /**
     * As {@link #Mlx5CompletionQueue(CompletionRing, long)}.
     *
     * @param striding whether it is the completion queue of a striding receive queue
     */
    public Mlx5CompletionQueue(CompletionRing ring, long scratch, boolean striding) {
        number = ring.number();
        buffer = ring.buffer() + ring.strideBytes() - Cqe.SIZE_BYTES;
        mask = ring.entries() - 1;
        roundShift = Integer.numberOfTrailingZeros(ring.entries());
        strideShift = Integer.numberOfTrailingZeros(ring.strideBytes());
        doorbellRecord = ring.doorbellRecord();
        armRegister = ring.uarPage() + ARM_REGISTER_OFFSET;
        session = new CompressedSession(scratch, striding);
    }

    /**
     * Takes the next completion. Hot.
     *
     * @return the address of its {@link Cqe}, valid until the next call; 0 when there is none
     */
    public long next() {
        if (compressedLeft > 0) {
            return nextCompressed();
        }
        int index = consumer;
        long cqe = entry(index);
        byte opOwn = NativeMemory.getByteAcquire(cqe + Cqe.OP_OWN_OFFSET);
        if (((opOwn ^ index >>> roundShift) & Cqe.OWNER_MASK) != 0 || Cqe.opcode(opOwn) == Cqe.OPCODE_INVALID) {
            return 0;
        }
        if (Cqe.format(opOwn) == Cqe.FORMAT_COMPRESSED) {
            compressedLeft = session.begin(cqe);
            return nextCompressed();
        }
        consumer = index + 1;
        return cqe;
    }

    private long entry(int index) {
        return NativeMemory.base(buffer + ((long) (index & mask) << strideShift));
    }

    private long nextCompressed() {
        if (session.needsMiniEntries()) {
            session.readMiniEntries(entry(consumer + session.miniEntriesAhead()));
        }
        // A session takes as many entries as it has completions. The device has written few of them in full: what the
        // others hold must not pass for completions of the next round.
        NativeMemory.putByte(entry(consumer) + Cqe.OP_OWN_OFFSET, (byte) (consumer >>> roundShift & Cqe.OWNER_MASK));
        consumer++;
        compressedLeft--;
        return session.expandNext();
    }

    /** Tells the device which entries it may write to again: to be called after a burst that had completions. */
    public void release() {
        Doorbell.writeRecord(doorbellRecord, consumer & INDEX_MASK);
    }

    /**
     * Takes all completions that are there and forgets them: the queue whose requests they were of was reset.
     *
     * @return how many there were
     */
    public int discardAll() {
        int discarded = 0;
        while (next() != 0) {
            discarded++;
        }
        release();
        return discarded;
    }

    /**
     * Asks for an event for the next completion after those that were taken.
     *
     * @param eventsTaken how many events of this queue have been taken so far: each arming is for one event
     */
    public void arm(int eventsTaken) {
        int request = (eventsTaken & SEQUENCE_MASK) << SEQUENCE_SHIFT | consumer & INDEX_MASK;
        Doorbell.writeRecord(doorbellRecord, consumer & INDEX_MASK);
        Doorbell.writeRecord(doorbellRecord + ARM_OFFSET, request);
        Doorbell.write(armRegister, NetworkOrder.swap64((long) request << 32 | number & 0xffffffffL));
    }
}
