/**
 * What the transport counts: {@link io.rdmaraw.metrics.RdmaRawMetrics} has each event loop, its ports and their
 * channels; JMX, Micrometer and the flight recorder show the same counts.
 */
package io.rdmaraw.metrics;
