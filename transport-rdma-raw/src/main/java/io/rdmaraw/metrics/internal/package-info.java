/**
 * Tables of metrics, and their export to JMX and the flight recorder.
 */
package io.rdmaraw.metrics.internal;
