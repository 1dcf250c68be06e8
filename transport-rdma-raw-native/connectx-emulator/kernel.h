/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_KERNEL_H
#define CX_KERNEL_H

/* The files of the kernel through which programs reach the devices: uverbs and RDMA netlink. */

#include "commands.h"

/* ---- uverbs_write.c, uverbs_ioctl.c ---- */

/* Both return 0 or an errno. */
int cx_uverbs_write(struct cx_context *context, const void *from, size_t bytes);
int cx_uverbs_ioctl(struct cx_context *context, void *request);

void cx_uar_destroy(struct cx_object *object);

/* ---- contexts.c ---- */

/* The first two are called without a lock held. */
struct cx_context *cx_context_open(struct cx_device *device);
void cx_context_close(struct cx_context *context);
/* Returns the page of a mapping offset, or fails with an errno. */
int cx_context_map(struct cx_context *context, uint64_t offset, uint32_t *page);

/* ---- rdma_netlink.c ---- */

/*
 * The netlink family of RDMA devices (rdma/rdma_netlink.h), with the answers of ib_core's nldev.c. Programs query it
 * for the network interface of a port; libibverbs finds devices by it.
 *
 * The program's socket is of NETLINK_USERSOCK, so that it has an address and can be waited for. As in the kernel,
 * requests are answered before the send call returns; the answer comes from a second socket.
 */

/* Returns the index of a port's interface, or 0 if it has none or the interface is in another network namespace. */
unsigned cx_interface_index(const struct cx_device *device, uint32_t port);
/* Returns a socket for the program, or -1 and errno. */
int cx_netlink_socket(int type);
void cx_netlink_close(struct cx_netlink *netlink);
/* Handle a request. Return the result of send(2), with errno. */
ssize_t cx_netlink_send(struct cx_netlink *netlink, int fd, const void *from, size_t bytes);
ssize_t cx_netlink_sendmsg(struct cx_netlink *netlink, int fd, const struct msghdr *message);

/* ---- packet_sockets.c ---- */

/*
 * Packet sockets add addresses to the lists of a network interface (packet_mc_add() and packet_dev_mc() of
 * net/packet/af_packet.c). The kernel does not have the interfaces of emulated ports, nor their lists.
 */

/*
 * Adds an address for a socket, until it is closed. Returns false if the interface is one of the kernel's; otherwise
 * *error is 0 or an errno.
 */
bool cx_membership_add(int fd, const void *value, size_t bytes, int *error);

#endif
