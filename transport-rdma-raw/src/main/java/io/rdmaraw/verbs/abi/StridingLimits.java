package io.rdmaraw.verbs.abi;

/**
 * The limits of a device's striding receive queues. All values are powers of two.
 *
 * @param minStrideBytes minimum length of a stride
 * @param maxStrideBytes maximum length of a stride
 * @param minStrides     minimum number of strides in a request
 * @param maxStrides     maximum number of strides in a request
 */
public record StridingLimits(int minStrideBytes, int maxStrideBytes, int minStrides, int maxStrides) {
}
