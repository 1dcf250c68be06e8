/**
 * How one loop waits: whether it spins before it sleeps ({@link io.rdmaraw.loop.SpinPolicy}), what ends its sleep
 * ({@link io.rdmaraw.loop.LoopSleeper}), and what it serves beside its queues: kernel sockets
 * ({@link io.rdmaraw.loop.LoopDescriptors}) and ordinary NIO channels ({@link io.rdmaraw.loop.NioLoop}). It knows
 * descriptors and times, no queue and no channel of this transport.
 */
package io.rdmaraw.loop;
