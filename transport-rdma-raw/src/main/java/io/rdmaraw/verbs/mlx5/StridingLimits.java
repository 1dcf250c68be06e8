package io.rdmaraw.verbs.mlx5;

/**
 * What striding receive queues a device can have ({@code struct mlx5dv_striding_rq_caps}).
 *
 * @param minStrideBytes the shortest stride; a power of two, as all of these
 * @param maxStrideBytes the longest
 * @param minStrides the fewest strides of a request
 * @param maxStrides the most
 */
public record StridingLimits(int minStrideBytes, int maxStrideBytes, int minStrides, int maxStrides) {
}
