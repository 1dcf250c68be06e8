/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_PASSED_H
#define BROKER_PASSED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Descriptors that a client passes to resume a device (SV_BROKER_RESUME). A hostile client passes anything. The session
 * forwards only descriptors that the broker can query and close without waiting for the client. The broker checks
 * everything else.
 *
 * An AF_XDP socket of the broker's network namespace is one that this or an earlier broker handed out: a client can
 * create such sockets only in a namespace of its own. It is bound, and the kernel lets nobody change its interface, its
 * queue or its mode. It receives only frames of that queue, whatever map contains it. So a client gains nothing with
 * the socket of another device or user, except that its own frames arrive there.
 */

/* Returns the cookie of a socket's network namespace, or 0. */
uint64_t passed_netns_cookie(int socket);
/*
 * For the session. Returns true if the descriptors are an XDP link, arrays of eBPF, and AF_XDP sockets of this network
 * namespace, in the order of SV_BROKER_RESUME.
 */
bool passed_are_harmless(const int *fds, unsigned count, uint64_t netns_cookie);

/* The interface that the policy grants, and the mode. */
struct passed_device {
    const char *netdev;
    int ifindex;
    bool native;
    bool zero_copy;
    uint64_t netns_cookie;
};

/* For the broker. Return 0 or an errno with sv_explain(). */

/* Checks that the link holds the interface's XDP program, in the mode. */
int passed_check_link(int link_fd, const struct passed_device *device);
/* Checks that the socket is an AF_XDP socket for this interface, in the mode. */
int passed_check_socket(int socket, const struct passed_device *device);

#endif
