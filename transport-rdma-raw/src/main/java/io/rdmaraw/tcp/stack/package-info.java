/**
 * The TCP of one event loop on one device. It connects the engine in {@code io.rdmaraw.tcp}, which does not depend on a
 * device, with the loop's queue, the networks in {@code io.rdmaraw.host} and the channels. The channels implement
 * {@link io.rdmaraw.tcp.stack.ConnectionOwner} and {@link io.rdmaraw.tcp.stack.ConnectionAcceptor}.
 */
package io.rdmaraw.tcp.stack;
