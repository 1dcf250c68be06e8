/** Settings of the rival transports, with which the benches compare this transport. */
package io.rdmaraw.microbench.rival;
