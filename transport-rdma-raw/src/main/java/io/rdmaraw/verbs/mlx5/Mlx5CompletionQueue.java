package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/**
 * Reads the ring of a completion queue.
 *
 * <p>The device writes the last byte of an entry last. The lowest bit of that byte changes with each round of
 * the ring, which distinguishes new entries from those of the previous round.
 */
public final class Mlx5CompletionQueue {
    /** Size of the native scratch memory that a queue needs. */
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
    private final int entryShift;
    private final long doorbellRecord;
    private final long armRegister;
    private final CompressedSession session;
    private int consumer;
    private int compressedLeft;

    /**
     * Creates a reader for a queue that has not been polled yet.
     *
     * @param scratch address of {@link #SCRATCH_BYTES} bytes
     */
    public Mlx5CompletionQueue(CompletionRing ring, long scratch) {
        this(ring, scratch, false);
    }

    /**
     * Creates a reader for a queue that has not been polled yet.
     *
     * @param scratch  address of {@link #SCRATCH_BYTES} bytes
     * @param striding whether the completions are those of a striding receive queue
     */
    public Mlx5CompletionQueue(CompletionRing ring, long scratch, boolean striding) {
        number = ring.number();
        buffer = ring.buffer() + ring.entryBytes() - Cqe.SIZE_BYTES;
        mask = ring.entries() - 1;
        roundShift = Integer.numberOfTrailingZeros(ring.entries());
        entryShift = Integer.numberOfTrailingZeros(ring.entryBytes());
        doorbellRecord = ring.doorbellRecord();
        armRegister = ring.uarPage() + ARM_REGISTER_OFFSET;
        session = new CompressedSession(scratch, striding);
    }

    /**
     * Takes the next completion. Hot path.
     *
     * @return the address of a {@link Cqe}, valid until the next call; 0 if there is none
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
        return NativeMemory.assumeUserSpace(buffer + ((long) (index & mask) << entryShift));
    }

    private long nextCompressed() {
        if (session.needsMiniEntries()) {
            session.readMiniEntries(entry(consumer + session.miniEntriesAhead()));
        }
        // A session occupies as many entries as it has completions, but the device writes few of them completely.
        // Mark each entry, so that its old content is not mistaken for a completion of the next round.
        NativeMemory.putByte(entry(consumer) + Cqe.OP_OWN_OFFSET, (byte) (consumer >>> roundShift & Cqe.OWNER_MASK));
        consumer++;
        compressedLeft--;
        return session.expandNext();
    }

    /** Returns the consumed entries to the device. Must be called after a burst with completions. */
    public void releaseEntries() {
        Doorbell.writeRecord(doorbellRecord, consumer & INDEX_MASK);
    }

    /**
     * Discards all completions after the queue of their requests was reset.
     *
     * @return the number of discarded completions
     */
    public int discardAll() {
        int discarded = 0;
        while (next() != 0) {
            discarded++;
        }
        releaseEntries();
        return discarded;
    }

    /**
     * Requests an event for the next completion.
     *
     * @param eventsTaken number of events of this queue taken so far, since each arming is for one event
     */
    public void arm(int eventsTaken) {
        int request = (eventsTaken & SEQUENCE_MASK) << SEQUENCE_SHIFT | consumer & INDEX_MASK;
        Doorbell.writeRecord(doorbellRecord, consumer & INDEX_MASK);
        Doorbell.writeRecord(doorbellRecord + ARM_OFFSET, request);
        Doorbell.writeRegister(armRegister, NetworkOrder.swap64((long) request << 32 | number & 0xffffffffL));
    }
}
