package io.rdmaraw.microbench.tcpcore;

import java.util.List;

/**
 * The size of the measurement.
 *
 * @param connections   connections with one request each under way, one case each
 * @param shuffled      whether they take turns in an order of chance
 * @param runs          measurements of each case
 * @param runSeconds    length of one measurement
 * @param warmUpSeconds before the first measurement of a case
 */
record TcpCoreBenchOptions(List<Integer> connections, boolean shuffled, int runs, double runSeconds,
        double warmUpSeconds) {
}
