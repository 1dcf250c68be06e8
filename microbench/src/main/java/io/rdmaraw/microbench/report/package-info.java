/**
 * Implements {@code report}, which runs each measurement in a separate process and writes the results to one page and
 * one JSON file. {@link io.rdmaraw.microbench.report.Measurements} lists the measurements.
 */
package io.rdmaraw.microbench.report;
