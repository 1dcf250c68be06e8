package io.rdmaraw.net;

import io.rdmaraw.wire.IcmpErrorKind;

/**
 * An ICMP or ICMPv6 error about a packet that this host is said to have sent. Whether it did is for the owner of the
 * flow to check (RFC 5927).
 *
 * @param kind what went wrong
 * @param nextHopMtuBytes for {@link IcmpErrorKind#PACKET_TOO_BIG} the MTU, 0 when the router does not say
 * @param reporter who says so
 * @param protocol the quoted packet's IP protocol
 * @param source the quoted packet's source
 * @param sourcePort its port; of TCP and UDP
 * @param destination the quoted packet's destination
 * @param destinationPort its port
 * @param transportWord the four bytes behind the ports: TCP's sequence number, UDP's length and checksum
 */
public record IcmpError(IcmpErrorKind kind, int nextHopMtuBytes, IpAddress reporter, int protocol, IpAddress source,
                        int sourcePort, IpAddress destination, int destinationPort, int transportWord) {
}
