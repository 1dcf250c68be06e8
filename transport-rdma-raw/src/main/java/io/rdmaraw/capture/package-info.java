/**
 * Captures the frames of all loops for {@code ./rdma-raw dump}. A loop copies matching frames into a ring of bounded
 * size; the tool reads the rings through the MBean of the transport.
 */
package io.rdmaraw.capture;
