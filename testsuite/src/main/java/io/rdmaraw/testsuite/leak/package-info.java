/** Detects buffers that tests, or the code under test, have not released. */
package io.rdmaraw.testsuite.leak;
