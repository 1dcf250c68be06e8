/** Minimal servers of several frameworks on this transport. */
package io.rdmaraw.examples.frameworks;
