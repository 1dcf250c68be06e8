/**
 * The commands {@code bw}, {@code lat}, {@code burst-lat} and {@code flow-rate}: counterparts of perftest's
 * raw_ethernet programs with the same columns. They run on any provider and use verbs calls only.
 * {@link io.rdmaraw.tools.perf.PerfEndpoint} is one side of a measurement.
 */
package io.rdmaraw.tools.perf;
