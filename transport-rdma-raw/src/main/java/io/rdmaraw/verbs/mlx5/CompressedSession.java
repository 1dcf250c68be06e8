package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/**
 * Receive completions that the device has compressed (PRM, "CQE compression"): a title, of which all take the fields
 * that they share, and entries that hold eight miniature ones each, with a length and a hash or checksum.
 *
 * <p>The first miniature entries lie in the entry behind the title, every eight further ones in that of the completion
 * that they begin with: title, 0 to 7, six entries without meaning, 8 to 15, seven without meaning, and so on.
 */
final class CompressedSession {
    static final int SCRATCH_BYTES = 2 * Cqe.SIZE_BYTES;
    private static final int MINI_SIZE_BYTES = 8;
    private static final int MINI_BYTE_CNT_OFFSET = 4;
    private static final int MINIS_PER_ENTRY = Cqe.SIZE_BYTES / MINI_SIZE_BYTES;

    /** The lower half of a miniature entry's first word, where that is a stride and not part of a hash. */
    private static final int MINI_STRIDE_OFFSET = 2;

    private final boolean strides;
    private final long expanded;
    private final long minis;
    private int firstWqeCounter;
    private int next;

    /** @param strides whether miniature entries say where a frame begins, as those of striding queues do */
    CompressedSession(long scratch, boolean strides) {
        this.strides = strides;
        expanded = scratch;
        minis = scratch + Cqe.SIZE_BYTES;
    }

    /** Begins with a title; returns the number of completions. */
    int begin(long title) {
        NativeMemory.copy(title, expanded, Cqe.SIZE_BYTES);
        // What follows reads it as an ordinary one.
        NativeMemory.putByte(expanded + Cqe.OP_OWN_OFFSET, (byte) (Cqe.OPCODE_RESP_SEND << Cqe.OPCODE_SHIFT));
        firstWqeCounter = Cqe.wqeCounter(title);
        next = 0;
        return Cqe.byteCount(title);
    }

    boolean needsMiniEntries() {
        return next % MINIS_PER_ENTRY == 0;
    }

    /** Returns how many entries ahead of that of the next completion its miniature entry lies. */
    int miniEntriesAhead() {
        return next == 0 ? 1 : 0;
    }

    /** Copies them: their entry goes back to the device before all of them have been used. */
    void readMiniEntries(long entry) {
        NativeMemory.copy(entry, minis, Cqe.SIZE_BYTES);
    }

    /** Returns the address of the next completion in full. */
    long expandNext() {
        long mini = minis + (long) (next % MINIS_PER_ENTRY) * MINI_SIZE_BYTES;
        NativeMemory.putInt(expanded + Cqe.BYTE_CNT_OFFSET, NativeMemory.getInt(mini + MINI_BYTE_CNT_OFFSET));
        int wqeCounter = strides ? NetworkOrder.getU16(mini + MINI_STRIDE_OFFSET)
                : firstWqeCounter + next;
        NetworkOrder.putU16(expanded + Cqe.WQE_COUNTER_OFFSET, wqeCounter);
        next++;
        return expanded;
    }
}
