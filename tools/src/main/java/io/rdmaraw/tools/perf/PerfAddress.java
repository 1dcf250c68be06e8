package io.rdmaraw.tools.perf;

/**
 * The addresses of one side.
 *
 * @param mac  as text
 * @param ip   as text, or null
 * @param port the first one, or -1
 */
record PerfAddress(String mac, String ip, int port) {
}
