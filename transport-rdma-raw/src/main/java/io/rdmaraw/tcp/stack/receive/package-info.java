/**
 * From frames to data of a channel: {@link io.rdmaraw.tcp.stack.receive.ReceivedFrames} has the frames of the segment
 * that is processed, and {@link io.rdmaraw.tcp.stack.receive.StreamReceiveQueue} the data that a channel has not read.
 */
package io.rdmaraw.tcp.stack.receive;
