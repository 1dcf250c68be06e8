/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_KERNEL_CALLS_H
#define BROKER_KERNEL_CALLS_H

#include "broker.h"
#include "policy.h"

struct sock_filter;

/*
 * What else a process without capabilities has to ask for. Both return 0 or an errno with sv_explain().
 */

/*
 * Puts a filter on a TCP socket of the client's, which the kernel wants CAP_NET_ADMIN for (seen with Linux 6.18). The
 * socket must be bound to a port that the policy grants. The program may take a packet whole or refuse it, nothing in
 * between.
 */
int put_filter(const struct policy *policy, const struct policy_user *user, int socket, const struct sock_filter *code,
               uint32_t instructions);

/* Has the kernel find out a neighbour's MAC address, on an interface that the policy grants. */
int solicit(const struct policy *policy, const struct policy_user *user, const struct sv_broker_solicit *wanted);

#endif
