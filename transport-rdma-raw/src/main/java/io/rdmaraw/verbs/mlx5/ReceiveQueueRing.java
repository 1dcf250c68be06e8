package io.rdmaraw.verbs.mlx5;

/**
 * Where a receive ring lies: that of a queue pair or of a work queue ({@code struct mlx5dv_rwq}).
 *
 * @param buffer         address of the first request
 * @param entries        how many requests it holds; a power of two
 * @param strideBytes    from one request to the next
 * @param doorbellRecord address of the 32-bit counter of receives
 */
public record ReceiveQueueRing(long buffer, int entries, int strideBytes, long doorbellRecord) {
}
