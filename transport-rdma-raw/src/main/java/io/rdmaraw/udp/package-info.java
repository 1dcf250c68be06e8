/**
 * UDP on raw frames for datagram channels, the counterpart of {@code io.rdmaraw.tcp.stack} for socket channels.
 *
 * <p>{@link io.rdmaraw.udp.DatagramEndpoint} manages the port of one channel. {@link io.rdmaraw.udp.DatagramReceiver}
 * converts frames into datagrams, and {@link io.rdmaraw.udp.DatagramSender} converts messages into frames.
 * {@link io.rdmaraw.udp.DatagramFlowRules} steers the port's frames to the queue of the channel's loop. The package
 * uses Netty's interface {@code DatagramChannel} and does not depend on this transport's channel classes.
 */
package io.rdmaraw.udp;
