/**
 * Segments as the TCP core sees them, and the headers that carry them (RFC 9293 section 3.1).
 */
package io.rdmaraw.tcp.segment;
