/**
 * The TCP of one event loop on one device: joins the core in {@code io.rdmaraw.tcp}, which knows no device, with the
 * loop's queue, the networks in {@code io.rdmaraw.host} and the channels, which it knows as {@link
 * io.rdmaraw.tcp.stack.ConnectionListener} and {@link io.rdmaraw.tcp.stack.ConnectionAcceptor}.
 */
package io.rdmaraw.tcp.stack;
