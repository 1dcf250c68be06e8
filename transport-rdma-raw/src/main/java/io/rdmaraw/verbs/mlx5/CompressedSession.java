package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/**
 * Receive completions compressed by the device (PRM, "CQE compression"). A title contains the common fields.
 * Mini entries, eight per ring entry, contain a length and either a hash or a checksum with a stride index.
 *
 * <p>The first eight mini entries are in the ring entry after the title. Each further group of eight is in the
 * ring entry of the completion with which it begins. So the order of ring entries is: title, mini entries 0 to
 * 7, six meaningless entries, mini entries 8 to 15, seven meaningless entries, and so on.
 */
final class CompressedSession {
    static final int SCRATCH_BYTES = 2 * Cqe.SIZE_BYTES;
    private static final int MINI_SIZE_BYTES = 8;
    private static final int MINI_BYTE_CNT_OFFSET = 4;
    private static final int MINIS_PER_ENTRY = Cqe.SIZE_BYTES / MINI_SIZE_BYTES;

    /** Offset of the stride index in a mini entry that contains no hash. */
    private static final int MINI_STRIDE_OFFSET = 2;

    private final boolean hasStrideIndices;
    private final long expanded;
    private final long miniEntries;
    private int firstWqeCounter;
    private int next;

    /**
     * @param hasStrideIndices whether mini entries contain stride indices, as those of striding queues do
     */
    CompressedSession(long scratch, boolean hasStrideIndices) {
        this.hasStrideIndices = hasStrideIndices;
        expanded = scratch;
        miniEntries = scratch + Cqe.SIZE_BYTES;
    }

    /** Begins with a title. Returns the number of completions. */
    int begin(long title) {
        NativeMemory.copy(title, expanded, Cqe.SIZE_BYTES);
        // Callers read the expanded completion as an ordinary one.
        NativeMemory.putByte(expanded + Cqe.OP_OWN_OFFSET, (byte) (Cqe.OPCODE_RESP_SEND << Cqe.OPCODE_SHIFT));
        firstWqeCounter = Cqe.wqeCounter(title);
        next = 0;
        return Cqe.byteCount(title);
    }

    boolean needsMiniEntries() {
        return next % MINIS_PER_ENTRY == 0;
    }

    /** Returns the distance in ring entries from the next completion to its mini entries. */
    int miniEntriesAhead() {
        return next == 0 ? 1 : 0;
    }

    /**
     * Copies a group of mini entries, because their ring entry is returned to the device before all of them are
     * used.
     */
    void readMiniEntries(long entry) {
        NativeMemory.copy(entry, miniEntries, Cqe.SIZE_BYTES);
    }

    /** Expands the next completion and returns its address. */
    long expandNext() {
        long mini = miniEntries + (long) (next % MINIS_PER_ENTRY) * MINI_SIZE_BYTES;
        NativeMemory.putInt(expanded + Cqe.BYTE_CNT_OFFSET, NativeMemory.getInt(mini + MINI_BYTE_CNT_OFFSET));
        int wqeCounter = hasStrideIndices ? NetworkOrder.getU16(mini + MINI_STRIDE_OFFSET)
                : firstWqeCounter + next;
        NetworkOrder.putU16(expanded + Cqe.WQE_COUNTER_OFFSET, wqeCounter);
        next++;
        return expanded;
    }
}
