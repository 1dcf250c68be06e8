/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_SOCKETS_H
#define BROKER_SOCKETS_H

#include "broker.h"

/*
 * The AF_XDP sockets of a device with their memory and rings, bound. A bound socket accepts no setting that costs
 * memory or changes which frames it receives, so a client cannot change them.
 */
struct sockets {
    int ifindex;
    char netdev[IFNAMSIZ];
    bool zero_copy;
    bool jumbo;                     /* frames of the MTU occupy several chunks */
    int memory_fd;                  /* memfd of all queues, or -1 */
    int waiting_fd;                 /* main socket of the next queue, which is not bound yet because of EBUSY, or -1 */
    struct sv_broker_layout layout;
};

void sockets_init(struct sockets *sockets, const struct sv_broker_open *wanted, int ifindex);

/*
 * Opens both sockets of the next queue. Returns 0 or an errno: EINVAL if the interface has no such queue, EBUSY if
 * another socket still has it; then the next call retries. On success fds[0] is the main socket and fds[1] the one for
 * SYNs.
 */
int sockets_add_queue(struct sockets *sockets, int fds[SV_BPF_SOCKETS_PER_QUEUE]);
/* Fixes the size of the memory. Returns 0 or an errno. */
int sockets_seal(const struct sockets *sockets);
/* `free_memory`: frees the memory even if a process keeps its descriptor. */
void sockets_close(struct sockets *sockets, bool free_memory);

/* Returns true if the kernel honours SO_BINDTODEVICE of AF_XDP sockets, as from Linux 6.5 on. */
bool kernel_confines_sockets(void);

/* ---- interface.c ---- */

/* Properties of a network interface. `socket` is any socket of its network namespace. */

/* Returns 0 or an errno: EOPNOTSUPP if the interface is not Ethernet. */
int interface_mac(int socket, const char *netdev, uint8_t mac[6]);
/* Returns the number of receive queues, or 0 if the driver does not report it. */
uint32_t interface_receive_queues(int socket, const char *netdev);

#endif
