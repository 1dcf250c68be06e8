/**
 * The formats of the wire: Ethernet, 802.1Q, ARP, IPv4, IPv6, ICMP, ICMPv6 with neighbour discovery, UDP and TCP.
 *
 * <p>Header classes are stateless flyweights: static accessors that take the absolute address of the header, because
 * frames are slots in registered native memory and an object per header would be state to keep right for no gain. They
 * check nothing. The caller knows that the header is inside the frame, and for received frames exactly one
 * class establishes that: {@link io.rdmaraw.wire.FrameParser}, which fills a {@link io.rdmaraw.wire.ParsedFrame} and
 * returns a {@link io.rdmaraw.wire.ParseVerdict}. Nothing here throws on what the network sent, allocates, reads a
 * clock or keeps global state.
 *
 * <p>Numbers are plain Java values: ports, lengths and checksums as non-negative {@code int}, IPv4 addresses as
 * {@code int} with the first octet in the highest byte, IPv6 addresses as two {@code long}s, MAC addresses as the low
 * 48 bits of a {@code long}.
 */
package io.rdmaraw.wire;
