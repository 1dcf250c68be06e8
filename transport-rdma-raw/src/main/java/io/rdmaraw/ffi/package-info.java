/**
 * Foreign function support: native memory by absolute address ({@link io.rdmaraw.ffi.NativeMemory}), C
 * functions by pointer ({@link io.rdmaraw.ffi.NativeCall}), shared libraries, and functions of libc. This
 * package depends neither on RDMA nor on Netty.
 */
package io.rdmaraw.ffi;
