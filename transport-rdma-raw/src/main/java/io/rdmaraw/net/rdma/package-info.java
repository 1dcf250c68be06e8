/**
 * Which network interface a port of an RDMA device has, by RDMA netlink and by sysfs.
 */
package io.rdmaraw.net.rdma;
