/**
 * The metrics of the transport. {@link io.rdmaraw.metrics.RdmaRawMetrics} lists the event loops, their queues and
 * the channels on these. JMX, Micrometer and JFR report the same metrics.
 */
package io.rdmaraw.metrics;
