/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_CONFINEMENT_H
#define BROKER_CONFINEMENT_H

#include <stdbool.h>

/*
 * Restricts this process to the system calls that it makes while serving, by seccomp(2): any other call kills it. None
 * of the allowed calls can execute a program, open a file, or change the user. Each function returns false, with errno,
 * if the kernel has no such filters.
 */
bool confine_broker(void);
bool confine_acceptor(void);
bool confine_session(void);

/* ---- privileges.c ---- */

/*
 * Drops all capabilities except CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and CAP_IPC_LOCK, irreversibly. Returns the name of
 * one of the first three that this process lacks, or NULL.
 */
const char *drop_privileges(void);
/* drop_all_but_net_admin() drops all but CAP_NET_ADMIN, which a session needs to attach filters to sockets. */
void drop_all_but_net_admin(void);
void drop_all_privileges(void);

/* Makes the kernel end this process when its parent ends for any reason. */
void die_with_parent(void);

#endif
