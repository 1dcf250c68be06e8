package io.rdmaraw.tools.perf;

/**
 * Where one side runs.
 *
 * @param allowHostTraffic whether its rules may take traffic that the host needs
 */
record PerfSide(String device, int portNumber, boolean allowHostTraffic) {
}
