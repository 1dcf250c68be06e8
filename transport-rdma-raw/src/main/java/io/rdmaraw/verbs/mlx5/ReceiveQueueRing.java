package io.rdmaraw.verbs.mlx5;

/**
 * The location of a receive ring, which belongs to a queue pair or a work queue ({@code struct mlx5dv_rwq}).
 *
 * @param buffer         address of the first request
 * @param entries        capacity in requests, a power of two
 * @param strideBytes    distance of two requests
 * @param doorbellRecord address of the 32-bit counter of receives
 */
public record ReceiveQueueRing(long buffer, int entries, int strideBytes, long doorbellRecord) {
}
