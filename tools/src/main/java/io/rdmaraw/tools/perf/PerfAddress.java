package io.rdmaraw.tools.perf;

/**
 * The addresses of one side.
 *
 * @param mac  MAC address in text form
 * @param ip   IP address in text form, or null
 * @param port port of the first flow, or -1
 */
record PerfAddress(String mac, String ip, int port) {
}
