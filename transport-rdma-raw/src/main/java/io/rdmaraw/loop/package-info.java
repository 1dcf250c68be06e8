/**
 * How an event loop waits. {@link io.rdmaraw.loop.SpinPolicy} decides whether it spins before it sleeps, and
 * {@link io.rdmaraw.loop.LoopSleeper} ends the sleep when there is work. A loop also serves kernel sockets
 * ({@link io.rdmaraw.loop.LoopDescriptors}), NIO channels ({@link io.rdmaraw.loop.NioLoop}) and the Unix domain
 * sockets of Netty's epoll transport ({@link io.rdmaraw.loop.EpollLoop}). This package
 * depends neither on queues nor on channels of this transport. {@link io.rdmaraw.loop.LoopTasks},
 * {@link io.rdmaraw.loop.OutboundMessages} and {@link io.rdmaraw.loop.LastShutdownHook} are helpers for the layers
 * above.
 */
package io.rdmaraw.loop;
