/** Integration of the transport with Reactor Netty. */
package io.rdmaraw.reactornetty;
