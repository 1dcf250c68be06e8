/**
 * Congestion control: CUBIC (RFC 9438) with HyStart++ (RFC 9406), and NewReno (RFC 5681).
 */
package io.rdmaraw.tcp.congestion;
