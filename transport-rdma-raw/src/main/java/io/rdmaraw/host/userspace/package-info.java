/**
 * A userspace host on the link, with addresses that the kernel does not have. It implements ARP (RFC 826, RFC 5227),
 * neighbour discovery (RFC 4861, RFC 4862), ICMP, IGMP and MLD.
 */
package io.rdmaraw.host.userspace;
