package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvCqLayout;

/**
 * The location of a completion queue's ring ({@code struct mlx5dv_cq}).
 *
 * @param number         number of the queue, used to arm it
 * @param buffer         address of the first entry
 * @param entries        number of entries, a power of two
 * @param entryBytes     size of an entry, 64 or 128; the completion is in its last 64 bytes
 * @param doorbellRecord address of two 32-bit values: consumer index and arming
 * @param uarPage        address of the register page in which the queue is armed
 */
public record CompletionRing(int number, long buffer, int entries, int entryBytes, long doorbellRecord, long uarPage) {
    static CompletionRing read(long cq) {
        return new CompletionRing(NativeMemory.getInt(cq + Mlx5dvCqLayout.CQN_OFFSET),
                NativeMemory.getLong(cq + Mlx5dvCqLayout.BUF_OFFSET),
                NativeMemory.getInt(cq + Mlx5dvCqLayout.CQE_CNT_OFFSET),
                NativeMemory.getInt(cq + Mlx5dvCqLayout.CQE_SIZE_OFFSET),
                NativeMemory.getLong(cq + Mlx5dvCqLayout.DBREC_OFFSET),
                NativeMemory.getLong(cq + Mlx5dvCqLayout.CQ_UAR_OFFSET));
    }
}
