/** Segments in the form that the TCP core uses, and the codec for their headers (RFC 9293 section 3.1). */
package io.rdmaraw.tcp.segment;
