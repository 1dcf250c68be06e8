/**
 * Queues of frames on a device: {@link io.rdmaraw.queue.FrameQueue} receives and sends bursts, waits, and recovers.
 *
 * <p>{@link io.rdmaraw.queue.VerbsFrameQueue} is one on a queue pair. Its two halves keep slots and count:
 * {@code ReceiveRing} and {@code SendRing}. Their subclasses talk to the device: by calls of libibverbs
 * ({@code Verbs*}), or in the rings of the device where a {@link io.rdmaraw.queue.DirectRings} knows it.
 * {@code Striding*} receives several frames in one request. {@link io.rdmaraw.queue.SharedDevice} is what all queues
 * of a process on one device share; {@link io.rdmaraw.queue.RssFlows} has the rules that lead to several of them. A
 * queue belongs to one thread.
 */
package io.rdmaraw.queue;
