/**
 * The kernel's network by rtnetlink: its links, addresses, routes, rules and neighbours ({@code linux/rtnetlink.h}).
 */
package io.rdmaraw.net.netlink;
