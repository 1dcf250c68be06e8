package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;

/**
 * Where the ring of a completion queue lies ({@code struct mlx5dv_cq}).
 *
 * @param number         the queue's number, which arming it names
 * @param buffer         address of the first entry
 * @param entries        how many it has; a power of two
 * @param strideBytes    64 or 128; the completion is the last 64 bytes of each
 * @param doorbellRecord address of two 32-bit values: consumer index, arming
 * @param uarPage        address of the page of registers in which the queue is armed
 */
public record CompletionRing(int number, long buffer, int entries, int strideBytes, long doorbellRecord, long uarPage) {
    static CompletionRing read(long cq) {
        return new CompletionRing(NativeMemory.getInt(cq + Mlx5dvCqLayout.CQN_OFFSET),
                NativeMemory.getLong(cq + Mlx5dvCqLayout.BUF_OFFSET),
                NativeMemory.getInt(cq + Mlx5dvCqLayout.CQE_CNT_OFFSET),
                NativeMemory.getInt(cq + Mlx5dvCqLayout.CQE_SIZE_OFFSET),
                NativeMemory.getLong(cq + Mlx5dvCqLayout.DBREC_OFFSET),
                NativeMemory.getLong(cq + Mlx5dvCqLayout.CQ_UAR_OFFSET));
    }
}
