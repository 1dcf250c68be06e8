/**
 * Frame queues on devices. {@link io.rdmaraw.queue.FrameQueue} sends and receives bursts of Ethernet frames and
 * recovers from device errors. A queue belongs to one thread.
 *
 * <p>Its two halves, {@code ReceiveRing} and {@code SendRing}, manage memory and counters. Their subclasses
 * drive the device: {@code Verbs*} through libibverbs, and implementations of
 * {@link io.rdmaraw.queue.DirectRingDriver} by direct access to the device's rings. {@code Striding*} receives
 * several frames per request. {@code QueuePairResources} opens and closes the verbs objects of a queue, and
 * {@code QueueReset} resets them after a failure. {@link io.rdmaraw.queue.SharedDevice} is shared by all queues
 * on a device. {@link io.rdmaraw.queue.RssFlows} distributes frames over several queues.
 *
 * <p>Two interfaces have a single implementation, in packages on which this one must not depend:
 * {@link io.rdmaraw.queue.DirectRingDriver} in a vendor's package, and
 * {@link io.rdmaraw.queue.SharedDevice.AsyncListener} in {@code device}.
 */
package io.rdmaraw.queue;
