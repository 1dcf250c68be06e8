/** What commands say, kept in files that a test compares. */
package io.rdmaraw.testsuite.golden;
