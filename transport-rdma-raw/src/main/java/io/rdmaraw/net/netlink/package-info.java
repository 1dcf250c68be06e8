/**
 * The kernel's network by rtnetlink: its links, addresses, routes, rules and neighbours
 * ({@code linux/rtnetlink.h}), and its RDMA devices ({@code rdma/rdma_netlink.h}).
 */
package io.rdmaraw.net.netlink;
