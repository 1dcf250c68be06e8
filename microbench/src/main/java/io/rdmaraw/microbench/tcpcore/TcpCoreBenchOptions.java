package io.rdmaraw.microbench.tcpcore;

import java.util.List;

/**
 * The options of the TCP core bench.
 *
 * @param connections   numbers of connections, one case each; every connection has one outstanding request
 * @param shuffled      whether connections are served in random order instead of the order of creation
 * @param runs          number of measurements of each case
 * @param runSeconds    duration of one measurement
 * @param warmUpSeconds duration of the warm-up before the first measurement of a case
 */
record TcpCoreBenchOptions(List<Integer> connections, boolean shuffled, int runs, double runSeconds,
        double warmUpSeconds) {
}
