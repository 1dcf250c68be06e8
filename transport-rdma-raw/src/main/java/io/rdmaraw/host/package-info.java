/**
 * The IP networks of the channels. They provide the address and port of a channel, its flow rules, and the paths of its
 * packets. {@link io.rdmaraw.host.DatagramNetwork} is the network of a datagram channel and
 * {@link io.rdmaraw.host.TcpNetwork} that of a loop's TCP. {@link io.rdmaraw.host.IpHost} is the host that owns the
 * addresses.
 */
package io.rdmaraw.host;
