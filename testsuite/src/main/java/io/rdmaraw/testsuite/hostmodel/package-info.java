/**
 * Compares our host with the kernel's; the kernel alone defines the expected behaviour. Seeds generate hosts with
 * links, addresses, routes, rules and neighbours, and change them while a server runs. After each change, packets are
 * sent to our host and to its twin: a second namespace with the same configuration, in which the program uses kernel
 * sockets. A difference is a fault, or an entry in {@link io.rdmaraw.testsuite.hostmodel.AcceptedDifferences}.
 */
package io.rdmaraw.testsuite.hostmodel;
