package io.rdmaraw.tools.bench.tcp;

import io.rdmaraw.examples.server.Transport;
import java.util.List;

/**
 * How much is measured.
 *
 * @param transports    in the order of a run
 * @param settleSeconds under load before each measurement
 */
record StreamOptions(List<Transport> transports, int runs, double settleSeconds, double seconds) {
}
