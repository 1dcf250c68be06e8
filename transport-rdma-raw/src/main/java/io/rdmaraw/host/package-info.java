/**
 * The IP networks under the channels: which address and port a channel has, which flow rules steer to it, and which
 * path its packets take. {@link io.rdmaraw.host.DatagramNetwork} serves a datagram channel, {@link
 * io.rdmaraw.host.TcpNetwork} a loop's TCP; {@link io.rdmaraw.host.IpHost} is the host whose addresses they use.
 */
package io.rdmaraw.host;
