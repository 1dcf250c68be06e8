/**
 * Congestion control: CUBIC (RFC 9438) with HyStart++ (RFC 9406), NewReno (RFC 5681), DCTCP (RFC 8257) and BBR
 * version 3.
 */
package io.rdmaraw.tcp.congestion;
