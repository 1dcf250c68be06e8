/**
 * From data of a channel to frames: {@link io.rdmaraw.tcp.stack.send.TcpFrameBuilder} makes the frames of a segment,
 * and {@link io.rdmaraw.tcp.stack.send.FileRegionAccess} reads files. Package {@code tcp.stack} decides when to send.
 */
package io.rdmaraw.tcp.stack.send;
