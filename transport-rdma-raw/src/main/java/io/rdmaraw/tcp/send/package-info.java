/**
 * What a connection has sent and has not been acknowledged: the queue of its bytes and the SACK scoreboard (RFC 6675,
 * RFC 8985).
 */
package io.rdmaraw.tcp.send;
