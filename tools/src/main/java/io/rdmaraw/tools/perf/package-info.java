/**
 * {@code bw}, {@code lat}, {@code burst-lat} and {@code flow-rate}: the family of perftest's raw_ethernet programs,
 * with their columns, on any provider, driven by verbs calls alone. {@link io.rdmaraw.tools.perf.PerfEndpoint} is one
 * side.
 */
package io.rdmaraw.tools.perf;
