package io.rdmaraw.verbs.abi;

/**
 * The sizes of striding receive queues that a device offers.
 *
 * @param minStrideBytes the shortest stride; a power of two, as all of these
 * @param maxStrideBytes the longest
 * @param minStrides the fewest strides of a request
 * @param maxStrides the most
 */
public record StridingLimits(int minStrideBytes, int maxStrideBytes, int minStrides, int maxStrides) {
}
