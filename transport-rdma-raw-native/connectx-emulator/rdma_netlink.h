/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_RDMA_NETLINK_H
#define CX_RDMA_NETLINK_H

/*
 * The netlink family of RDMA devices (rdma/rdma_netlink.h): what ib_core's nldev.c answers. Programs ask it which network
 * interface a port has; libibverbs finds devices by it.
 *
 * A program's socket is one of NETLINK_USERSOCK, so that it has an address and can be waited on. Requests are answered
 * before the call that sends them returns, as the kernel does it, from a second socket.
 */

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

struct cx_netlink;

/* Returns a socket of the program's, or -1 and errno. */
int cx_netlink_socket(int type);
void cx_netlink_close(struct cx_netlink *netlink);
/*
 * RTM_NEWNEIGH or RTM_DELNEIGH with NTF_SELF for the interface of an emulated port: the list of addresses that it lets in.
 * Changes the message to one that the kernel acknowledges and does nothing about. The socket is of NETLINK_ROUTE.
 */
void cx_netlink_take_address(void *message, size_t bytes);
/* A request: result of send(2), with errno. */
ssize_t cx_netlink_send(struct cx_netlink *netlink, int fd, const void *from, size_t bytes);
ssize_t cx_netlink_sendmsg(struct cx_netlink *netlink, int fd, const struct msghdr *message);

#endif
