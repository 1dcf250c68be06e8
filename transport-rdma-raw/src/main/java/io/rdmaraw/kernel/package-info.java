/**
 * TCP sockets of the kernel behind the channels of this transport. {@link io.rdmaraw.kernel.KernelPort} is the kernel's
 * side of a server channel: a {@link io.rdmaraw.kernel.KernelListener} listens on the port and accepts the connections
 * that do not arrive through the device.
 * {@link io.rdmaraw.kernel.KernelTransport} carries the connection of a socket channel to a peer that the device cannot
 * reach. Both use {@link io.rdmaraw.kernel.KernelStreamSocket}, an NIO channel of Netty.
 *
 * <p>The package knows Netty's channels and the interfaces of {@code tcp.stack}. It knows neither devices nor the
 * channel classes of this transport, which implement {@link io.rdmaraw.kernel.KernelPort.Server} and
 * {@link io.rdmaraw.kernel.KernelTransport.Owner}. UDP sockets of the kernel are {@code host.KernelSocket}.
 */
package io.rdmaraw.kernel;
