package io.rdmaraw.tools.bench;

import java.util.List;

/**
 * How to measure.
 *
 * @param connections   connections with one request each under way, one case each
 * @param runs          measurements of each case
 * @param runSeconds    length of one measurement
 * @param warmUpSeconds before the first measurement of a case
 */
record TcpCoreBenchOptions(List<Integer> connections, int runs, double runSeconds, double warmUpSeconds) {
}
