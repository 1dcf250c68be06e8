/**
 * Packet formats: Ethernet, 802.1Q, ARP, IPv4, IPv6, ICMP, ICMPv6 with neighbour discovery, IGMP, MLD, UDP and TCP.
 *
 * <p>Header classes are stateless flyweights: static accessors with the absolute address of the header as a
 * parameter. Frames are slots in registered native memory, so an object per header would only be additional
 * state. The accessors check nothing; the caller must know that the header lies within the frame.
 *
 * <p>UDP, TCP and the userspace host receive through {@link io.rdmaraw.wire.FrameParser}. It verifies that the headers
 * lie within the frame, fills a {@link io.rdmaraw.wire.ParsedFrame} and returns a {@link io.rdmaraw.wire.ParseVerdict}.
 * It has two faster methods for frames whose checksums the device has verified. One parses UDP over IPv4 in the common
 * format ({@link io.rdmaraw.wire.UdpIpv4HeaderCodec}). The other one recognizes a TCP frame that continues the previous
 * one ({@link io.rdmaraw.wire.GroAggregator}). The parser does not check TCP options and group membership queries:
 * {@link io.rdmaraw.wire.TcpOptions#parse} and {@link io.rdmaraw.wire.GroupMessage#queryVersion} do.
 *
 * <p>Nothing in this package throws because of network data, reads a clock or has mutable global state. Parsing a frame
 * allocates nothing.
 *
 * <p>Values are plain Java numbers: ports, lengths and checksums are non-negative {@code int}s, IPv4 addresses
 * {@code int}s with the first octet in the highest byte, IPv6 addresses two {@code long}s, MAC addresses the low
 * 48 bits of a {@code long}.
 */
package io.rdmaraw.wire;
