package io.rdmaraw.tools.perf;

import io.rdmaraw.verbs.objects.VerbsContext;

/**
 * The device of one side.
 *
 * @param portNumber       number of the port, or 0 for the device's own
 * @param allowHostTraffic whether flow rules may redirect traffic that the host needs
 */
record PerfSide(String device, int portNumber, boolean allowHostTraffic) {
    /** Returns the port of the opened device. */
    int portOf(VerbsContext context) {
        return portNumber == 0 ? context.ownPort() : portNumber;
    }
}
