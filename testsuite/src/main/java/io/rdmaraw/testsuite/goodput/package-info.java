/**
 * Goodput measurements of bulk transfers over impaired paths: of the TCP core in virtual time, and of the core
 * and the Linux kernel in real time through a link emulator.
 */
package io.rdmaraw.testsuite.goodput;
