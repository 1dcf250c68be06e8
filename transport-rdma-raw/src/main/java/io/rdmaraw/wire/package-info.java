/**
 * Packet formats: Ethernet, 802.1Q, ARP, IPv4, IPv6, ICMP, ICMPv6 with neighbour discovery, UDP and TCP.
 *
 * <p>Header classes are stateless flyweights: static accessors with the absolute address of the header as a
 * parameter. Frames are slots in registered native memory, so an object per header would only be additional
 * state. The accessors check nothing; the caller must know that the header lies within the frame. For received
 * frames, exactly one class verifies that: {@link io.rdmaraw.wire.FrameParser}. It fills a
 * {@link io.rdmaraw.wire.ParsedFrame} and returns a {@link io.rdmaraw.wire.ParseVerdict}. Nothing in this package
 * throws because of network data, allocates, reads a clock or has global state.
 *
 * <p>Values are plain Java numbers: ports, lengths and checksums are non-negative {@code int}s, IPv4 addresses
 * {@code int}s with the first octet in the highest byte, IPv6 addresses two {@code long}s, MAC addresses the low
 * 48 bits of a {@code long}.
 */
package io.rdmaraw.wire;
