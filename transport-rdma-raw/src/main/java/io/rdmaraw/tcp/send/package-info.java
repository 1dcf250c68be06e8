/**
 * Data that a connection has queued or sent and that is not acknowledged yet: the send queue and the SACK
 * scoreboard (RFC 6675, RFC 8985).
 */
package io.rdmaraw.tcp.send;
