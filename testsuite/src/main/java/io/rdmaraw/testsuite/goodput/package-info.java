/**
 * Goodput of bulk transfers over impaired paths: the TCP core in virtual time, and in real time through a link
 * emulator beside the Linux kernel.
 */
package io.rdmaraw.testsuite.goodput;
