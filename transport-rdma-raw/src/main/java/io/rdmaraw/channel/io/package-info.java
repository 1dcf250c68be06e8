/**
 * The queues between the handlers of a channel and its transport. An {@link io.rdmaraw.channel.io.Inbox} fires
 * received messages while the user reads: datagrams ({@link io.rdmaraw.channel.io.DatagramInbox}) and accepted
 * connections ({@link io.rdmaraw.channel.io.AcceptInbox}). {@link io.rdmaraw.channel.io.StreamInbox} does so for the
 * bytes of a connection. {@link io.rdmaraw.channel.io.DirectSends} are the written frames of a raw channel.
 *
 * <p>The package knows Netty's channels, but not the channel classes of this transport.
 */
package io.rdmaraw.channel.io;
