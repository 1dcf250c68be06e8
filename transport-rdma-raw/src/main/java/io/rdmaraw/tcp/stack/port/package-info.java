/** The ports of a TCP stack: {@link io.rdmaraw.tcp.stack.port.TcpPort} and those that are only in TIME-WAIT. */
package io.rdmaraw.tcp.stack.port;
