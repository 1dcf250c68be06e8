/**
 * The kernel's links, addresses, routes, rules and neighbours, read through rtnetlink
 * ({@code linux/rtnetlink.h}).
 */
package io.rdmaraw.net.rtnetlink;
