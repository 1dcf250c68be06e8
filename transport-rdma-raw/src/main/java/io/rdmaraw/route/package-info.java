/**
 * Where packets go: addresses, ports, routes and neighbours, of the host behind a loop device and of the Linux host.
 * Knows neither Netty's channels nor event loops.
 */
package io.rdmaraw.route;
