/** Tables of metrics, and their export through JMX and JFR. */
package io.rdmaraw.metrics.internal;
