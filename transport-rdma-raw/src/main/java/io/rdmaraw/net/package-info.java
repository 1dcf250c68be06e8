/**
 * Addresses, links, routes, neighbours and fragments of IP hosts. This package depends neither on Netty's
 * channels nor on event loops.
 */
package io.rdmaraw.net;
