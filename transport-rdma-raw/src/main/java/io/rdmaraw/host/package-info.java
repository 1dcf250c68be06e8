/**
 * The IP layer below UDP and TCP. It binds addresses and ports, creates the flow rules that match their packets, and
 * finds the path to a destination: route, next hop and MTU.
 *
 * <p>{@link io.rdmaraw.host.DatagramNetwork} provides this to one datagram channel, and
 * {@link io.rdmaraw.host.TcpNetwork} to the TCP stack of one loop. {@link io.rdmaraw.host.IpHost} is the host that owns
 * the addresses: the host of the process, or a userspace host.
 */
package io.rdmaraw.host;
