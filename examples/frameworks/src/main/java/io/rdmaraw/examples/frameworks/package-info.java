/** Servers of frameworks on this transport, each in as few lines as it takes. */
package io.rdmaraw.examples.frameworks;
