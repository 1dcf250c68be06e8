/**
 * A TCP that does no input or output of its own: a pure protocol engine.
 *
 * <p>What goes in: parsed {@linkplain io.rdmaraw.tcp.segment.Segment segments}, the time in nanoseconds, calls of the
 * user and
 * ICMP verdicts. What comes out is pulled: segments to send, the next deadline; deliveries and state changes are events
 * on one {@link io.rdmaraw.tcp.TcpEvents} sink. There is no channel, no clock, no thread and no global state here; the
 * same bytes at the same times with the same random source give the same run.
 *
 * <p>Everything belongs to one thread, the event loop that owns the {@link io.rdmaraw.tcp.TcpEngine}. Time is any
 * monotonic count of nanoseconds whose values stay below 2<sup>62</sup>.
 *
 * <p>Addresses are two longs, high and low. An IPv4 address is its IPv4-mapped form: high 0, low
 * {@code 0x0000_FFFF_aabb_ccdd} for a.b.c.d.
 */
package io.rdmaraw.tcp;
