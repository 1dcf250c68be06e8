/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_PASSED_H
#define BROKER_PASSED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Descriptors that a client passes to resume a device (SV_BROKER_RESUME). A hostile client passes anything. The session
 * forwards only descriptors that the broker can query and close without waiting for the client. It also checks the mode
 * of the sockets, for which the kernel acquires a mutex that a client can hold. The broker checks everything else.
 *
 * An AF_XDP socket of the broker's network namespace is one that this or an earlier broker handed out, or that of a
 * process with CAP_NET_RAW: without it, a process can create such sockets only in a namespace of its own. A bound
 * socket receives only frames of its interface and queue, whatever map contains it. So a client gains nothing with the
 * socket of another device or user, except that its own frames arrive there.
 */

/* Returns the cookie of a socket's network namespace, or 0. */
uint64_t passed_netns_cookie(int socket);
/*
 * For the session. Returns true if the descriptors are an XDP link, arrays of eBPF, and AF_XDP sockets of this network
 * namespace, in the order of SV_BROKER_RESUME.
 */
bool passed_are_harmless(const int *fds, unsigned count, uint64_t netns_cookie);

/*
 * For the session, which it may block. Checks that all sockets among harmless descriptors are in zerocopy mode, or that
 * none is. Returns 0 or an errno with sv_explain().
 */
int passed_check_mode(const int *fds, unsigned count, bool zero_copy);

/* The interface that the policy grants, and the mode. */
struct passed_device {
    const char *netdev;
    int ifindex;
    bool native;
    uint64_t netns_cookie;
};

/* For the broker. Return 0 or an errno with sv_explain(). */

/* Checks that the link holds the interface's XDP program, in driver mode or not. Stores the program's id. */
int passed_check_link(int link_fd, const struct passed_device *device, uint32_t *program_id);
/* Returns the id of the program that an XDP link holds, or 0. */
uint32_t passed_link_program(int link_fd);
/* Checks that the socket is an AF_XDP socket for this interface. */
int passed_check_socket(int socket, const struct passed_device *device);

#endif
