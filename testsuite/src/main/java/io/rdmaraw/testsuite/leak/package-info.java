/** Finds buffers that tests, or what they test, have not released. */
package io.rdmaraw.testsuite.leak;
