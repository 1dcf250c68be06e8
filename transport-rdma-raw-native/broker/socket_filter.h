/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_SOCKET_FILTER_H
#define BROKER_SOCKET_FILTER_H

#include <linux/filter.h>
#include <stdint.h>

/*
 * Filters on TCP sockets of a client's, which the kernel wants CAP_NET_ADMIN for (seen with Linux 6.18). Each call may
 * wait for a lock of the socket, which the client can hold as long as it likes.
 */

/* The port that a TCP socket is bound to, or 0. */
uint16_t socket_filter_port(int socket);

/*
 * Puts a filter on the socket. The program may take a packet whole or refuse it, nothing in between. Returns 0 or an
 * errno with sv_explain().
 */
int socket_filter_attach(int socket, uint16_t port, const struct sock_filter *code, uint32_t instructions);

#endif
