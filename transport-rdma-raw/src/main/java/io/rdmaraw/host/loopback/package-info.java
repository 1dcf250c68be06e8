/**
 * The host behind a loopback device ({@code soft:loop}), which connects channels of one process in memory. It has the
 * addresses {@code 127.0.0.0/8} and {@code ::1}, and no network interface, routes or neighbours. The host of the
 * unnamed device also has the addresses of this computer and shares ports with the kernel's sockets.
 */
package io.rdmaraw.host.loopback;
