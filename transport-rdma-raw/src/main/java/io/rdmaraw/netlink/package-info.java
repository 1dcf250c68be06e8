/**
 * Netlink sockets and messages ({@code linux/netlink.h}, RFC 3549). The message families are in other packages:
 * routing in {@code net.rtnetlink}, RDMA devices in {@code verbs.port}.
 */
package io.rdmaraw.netlink;
