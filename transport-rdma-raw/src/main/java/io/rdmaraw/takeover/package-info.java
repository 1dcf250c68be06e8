/**
 * Rolling restarts: a process passes its listening TCP ports to another process of the same user on the same device.
 * {@link io.rdmaraw.takeover.Takeover} is one process's side. It finds the running process
 * ({@link io.rdmaraw.takeover.TakeoverPredecessor}), takes over the ports, and later offers them to the next process
 * ({@link io.rdmaraw.takeover.SuccessorAcceptor}). The two processes exchange
 * {@link io.rdmaraw.takeover.TakeoverMessage}s and socket descriptors over a Unix socket.
 *
 * <p>The package knows TCP stacks, their listening ports, and the kernel's side of such a port. It knows no channel.
 */
package io.rdmaraw.takeover;
