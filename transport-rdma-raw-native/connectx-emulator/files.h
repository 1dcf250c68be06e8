/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_FILES_H
#define CX_FILES_H

/* The emulator's descriptors: opened devices, event files and netlink sockets. */

#include <stdbool.h>
#include <stdint.h>

struct cx_context;
struct cx_events;
struct cx_netlink;

struct cx_file {
    struct cx_context *context;     /* either a device, */
    struct cx_events *events;       /* or events, */
    struct cx_netlink *netlink;     /* or a socket of RDMA netlink */
    uint32_t references;
};

/* Whether a descriptor may be the emulator's. Fast, and without a lock. */
bool cx_file_is_ours(int fd);
/* Returns 0 or an errno. The file owns its context or events. */
int cx_file_add(int fd, struct cx_context *context, struct cx_events *events);
/* The same for a socket. */
int cx_file_add_netlink(int fd, struct cx_netlink *netlink);
/* Returns NULL for other descriptors. The caller puts back each file that it gets. */
struct cx_file *cx_file_get(int fd);
void cx_file_put(struct cx_file *file);
/* Removes the descriptor before it is closed. The file is freed with its last reference. */
void cx_file_remove(int fd);

#endif
