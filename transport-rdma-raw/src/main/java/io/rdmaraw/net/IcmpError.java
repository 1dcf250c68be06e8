package io.rdmaraw.net;

import io.rdmaraw.wire.IcmpErrorKind;

/**
 * An ICMP or ICMPv6 error about a packet that this host supposedly sent. The owner of the flow must check
 * whether it did (RFC 5927).
 *
 * @param kind            the kind of error
 * @param nextHopMtuBytes for {@link IcmpErrorKind#PACKET_TOO_BIG} the MTU, or 0 if the router does not report
 *                        it
 * @param reporter        the address that reported the error
 * @param protocol        IP protocol of the quoted packet
 * @param source          source address of the quoted packet
 * @param sourcePort      source port of the quoted packet
 * @param destination     destination address of the quoted packet
 * @param destinationPort destination port of the quoted packet
 * @param transportWord   the four bytes after the ports: the TCP sequence number, or the UDP length and
 *                        checksum
 */
public record IcmpError(IcmpErrorKind kind, int nextHopMtuBytes, IpAddress reporter, int protocol, IpAddress source,
                        int sourcePort, IpAddress destination, int destinationPort, int transportWord) {
}
