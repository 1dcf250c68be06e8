package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvQpLayout;

/**
 * The location of a queue pair's rings ({@code struct mlx5dv_qp}).
 *
 * @param number            queue pair number, contained in every send request
 * @param sendBuffer        address of the send ring
 * @param sendBlocks        length of the send ring in blocks of {@link Wqe#BLOCK_BYTES}, a power of two
 * @param receive           the receive ring
 * @param doorbellRecord    address of two 32-bit counters: receives and sends
 * @param blueFlameRegister address of the doorbell register
 * @param blueFlameBytes    distance of its two halves, which are used alternately; 0 if it has only one
 */
public record QueuePairRings(int number, long sendBuffer, int sendBlocks, ReceiveQueueRing receive, long doorbellRecord,
        long blueFlameRegister, int blueFlameBytes) {
    static QueuePairRings read(long qp, int number) {
        long doorbellRecord = NativeMemory.getLong(qp + Mlx5dvQpLayout.DBREC_OFFSET);
        int stride = NativeMemory.getInt(qp + Mlx5dvQpLayout.SQ_STRIDE_OFFSET);
        if (stride != Wqe.BLOCK_BYTES) {
            throw new IllegalStateException("the send ring of queue pair " + number + " has blocks of " + stride
                    + " bytes, not " + Wqe.BLOCK_BYTES);
        }
        ReceiveQueueRing receive = new ReceiveQueueRing(NativeMemory.getLong(qp + Mlx5dvQpLayout.RQ_BUF_OFFSET),
                NativeMemory.getInt(qp + Mlx5dvQpLayout.RQ_WQE_CNT_OFFSET),
                NativeMemory.getInt(qp + Mlx5dvQpLayout.RQ_STRIDE_OFFSET), doorbellRecord);
        return new QueuePairRings(number, NativeMemory.getLong(qp + Mlx5dvQpLayout.SQ_BUF_OFFSET),
                NativeMemory.getInt(qp + Mlx5dvQpLayout.SQ_WQE_CNT_OFFSET), receive, doorbellRecord,
                NativeMemory.getLong(qp + Mlx5dvQpLayout.BF_REG_OFFSET),
                NativeMemory.getInt(qp + Mlx5dvQpLayout.BF_SIZE_OFFSET));
    }
}
