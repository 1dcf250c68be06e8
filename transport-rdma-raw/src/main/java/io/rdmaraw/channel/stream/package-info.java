/**
 * Parts of the life of a socket channel: the attempt to connect ({@link io.rdmaraw.channel.stream.StreamConnector}),
 * the close that waits for {@code SO_LINGER} ({@link io.rdmaraw.channel.stream.LingeringClose}), and captures of a
 * connection ({@link io.rdmaraw.channel.stream.CaptureStarter}).
 */
package io.rdmaraw.channel.stream;
