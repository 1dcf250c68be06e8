/**
 * The parts of an event loop of this transport. {@link io.rdmaraw.channel.loop.LoopTurn} is one turn over the queues
 * and the place to begin. {@link io.rdmaraw.channel.loop.LoopQueues} opens and closes the queues, and {@link
 * io.rdmaraw.channel.loop.TcpStackFactory} the TCP stack. {@link io.rdmaraw.channel.loop.LoopStatistics} are the
 * counters. How a loop waits is in package {@code loop}.
 */
package io.rdmaraw.channel.loop;
