/**
 * What Java needs of C, by the foreign function and memory API: native memory by absolute address
 * ({@link io.rdmaraw.ffi.NativeMemory}), functions by pointer ({@link io.rdmaraw.ffi.NativeCall}), libraries, and the
 * calls of libc that waiting takes. Knows nothing of RDMA or Netty.
 */
package io.rdmaraw.ffi;
