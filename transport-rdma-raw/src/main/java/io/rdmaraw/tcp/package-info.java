/**
 * A TCP protocol engine that performs no input and output itself.
 *
 * <p>Its inputs are parsed {@linkplain io.rdmaraw.tcp.segment.Segment segments}, the time in nanoseconds, calls
 * of the user, and ICMP errors. The event loop polls it for segments to send and for the next deadline.
 * Deliveries and state changes are reported as events to one {@link io.rdmaraw.tcp.TcpEvents}. There is no
 * channel, clock, thread or global state in this package. The same bytes at the same times with the same random
 * source always produce the same run.
 *
 * <p>All objects belong to one thread, the event loop that owns the {@link io.rdmaraw.tcp.TcpEngine}. Time is any
 * monotonic count of nanoseconds below 2<sup>62</sup>.
 *
 * <p>Addresses are two longs, high and low. An IPv4 address is stored in its IPv4-mapped form: high 0, low
 * {@code 0x0000_FFFF_aabb_ccdd} for a.b.c.d.
 */
package io.rdmaraw.tcp;
