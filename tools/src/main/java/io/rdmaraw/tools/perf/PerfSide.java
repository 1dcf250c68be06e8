package io.rdmaraw.tools.perf;

/**
 * The device of one side.
 *
 * @param allowHostTraffic whether flow rules may redirect traffic that the host needs
 */
record PerfSide(String device, int portNumber, boolean allowHostTraffic) {
}
