/**
 * {@code report}: runs every measurement there is, each as a command of its own, and writes what they found to one page
 * and one JSON file. {@link io.rdmaraw.microbench.report.Measurements} lists them; nothing here knows a bench by name.
 */
package io.rdmaraw.microbench.report;
