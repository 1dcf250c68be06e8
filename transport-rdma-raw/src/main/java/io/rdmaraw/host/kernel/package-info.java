/**
 * Networks with the addresses of the kernel: for TCP ({@link io.rdmaraw.host.kernel.KernelTcpNetwork}) and for
 * datagrams ({@link io.rdmaraw.host.kernel.KernelDatagramNetwork}). {@link io.rdmaraw.host.kernel.KernelIpHost} has
 * the kernel's links, routes and neighbours. Threads read ICMP errors and reassembled segments from sockets of the
 * kernel.
 */
package io.rdmaraw.host.kernel;
