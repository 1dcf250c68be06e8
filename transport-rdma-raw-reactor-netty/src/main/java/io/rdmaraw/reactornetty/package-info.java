/** The transport for Reactor Netty. */
package io.rdmaraw.reactornetty;
