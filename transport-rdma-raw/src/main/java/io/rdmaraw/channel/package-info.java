/**
 * The Netty transport: channels of frames, datagrams and streams, and the event loops that drive their queues. Begin
 * with {@link io.rdmaraw.channel.RdmaRawIoHandler} and {@link io.rdmaraw.channel.RdmaRawChannel}.
 */
package io.rdmaraw.channel;
