/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_PRIVILEGES_H
#define BROKER_PRIVILEGES_H

/*
 * Gives up for good all capabilities but CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, and the ways to others. Returns the
 * name of one of them that this process has not, or NULL when it has all three.
 */
const char *drop_privileges(void);
/* What a process that serves a client keeps, for filters on sockets: CAP_NET_ADMIN. */
void keep_net_admin(void);
void drop_all_privileges(void);

/* Ends this process as soon as its parent ends, in whatever way. */
void end_with_parent(void);

#endif
