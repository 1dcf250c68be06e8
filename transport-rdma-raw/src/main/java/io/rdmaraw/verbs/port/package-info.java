/**
 * Ports of RDMA devices as seen by the kernel: the network interface of a port, from RDMA netlink
 * ({@code rdma/rdma_netlink.h}) and sysfs; the MAC addresses that the interface receives; hardware counters.
 */
package io.rdmaraw.verbs.port;
