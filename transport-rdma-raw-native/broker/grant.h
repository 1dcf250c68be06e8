/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_GRANT_H
#define BROKER_GRANT_H

#include "broker.h"
#include "policy.h"

/*
 * A device that was granted to a client: the rules of its program, and the packet socket that has the interface let in
 * what they name. All else belongs to the client alone once its descriptors are sent.
 */
struct grant {
    bool open;
    char netdev[IFNAMSIZ];
    uint32_t mode;                  /* enum sv_broker_mode */
    int ifindex;
    uint8_t mac[6];
    uint32_t rules;
    uint32_t memberships;
    struct sv_steering *steering;
    int members;
};

/* Each is memory of the kernel, and each address that is let in is work for it. */
enum { GRANT_MAX_RULES = 16384, GRANT_MAX_MEMBERSHIPS = 256 };

/* The kernel honours SO_BINDTODEVICE of AF_XDP sockets: from Linux 6.5 on. Else a socket could not be confined. */
bool grant_is_confined(void);
/* This process may make maps of eBPF. False with sv_explain(). */
bool grant_may_use_bpf(void);

/*
 * Makes a device. Returns 0 or an errno with sv_explain(). On success `fds` has *count descriptors, which the caller
 * sends, and then gives to grant_sent(), which closes them.
 */
int grant_open(struct grant *grant, const struct sv_broker_open *wanted, int fds[SV_BROKER_MAX_FDS], unsigned *count);
void grant_sent(struct grant *grant, int fds[SV_BROKER_MAX_FDS], unsigned count);
void grant_close(struct grant *grant);

/* The rest returns 0 or an errno with sv_explain(). */
int grant_add_rule(struct grant *grant, const struct policy *policy, const struct policy_user *user,
                   const struct sv_broker_rule *rule);
int grant_remove_rule(struct grant *grant, const struct sv_broker_rule *rule);
int grant_mac_changed(struct grant *grant);

#endif
