/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_GRANT_H
#define BROKER_GRANT_H

#include "broker.h"
#include "policy.h"
#include "sockets.h"

/* Limits: each rule is kernel memory, and each address in the MAC filter is work for the kernel. */
enum { GRANT_MAX_RULES = 16384, GRANT_MAX_MEMBERSHIPS = 256, GRANT_MAX_SUBTABLES = 16 };

/* A MAC filter entry of the interface that a rule needs. */
struct grant_membership {
    int type;                       /* PACKET_MR_* */
    uint8_t mac[6];
};

/*
 * A device granted to a client: its maps and programs with the rules, its memory, and the packet socket with the MAC
 * filter entries for the rules. The AF_XDP sockets and the link belong to the client alone once their descriptors have
 * been sent.
 */
struct grant {
    bool in_use;
    char netdev[IFNAMSIZ];
    uint32_t mode;                  /* enum sv_broker_mode */
    int ifindex;
    uint8_t mac[6];
    uint32_t rule_count;
    uint32_t membership_count;
    struct grant_membership membership[GRANT_MAX_MEMBERSHIPS];
    struct sv_kernel_steering *steering;
    uid_t uid;                      /* user of the client */
    int program;                    /* the loaded SV_PROGRAM_XDP_REDIRECT, or negative */
    bool has_classifier;            /* the program that SV_PROGRAM_XDP_REDIRECT calls is loaded */
    bool is_reused;                 /* steering and program are those of a closed device (programs.h) */
    bool is_resumed;                /* an ended broker has opened the device, and the client has its sockets */
    int link_fd;                    /* link of a resumed device until its program is replaced, or -1 */
    uint32_t replaced_program_id;   /* id of that program */
    int mac_filter_fd;
    struct sockets sockets;
    /* Used while the device is opened: */
    bool is_opening;
    struct sv_broker_open wanted;
    int64_t retry_until_millis;     /* a queue that another socket has is retried until then; 0: no queue was busy */
    int fds[SV_BROKER_MAX_FDS];     /* descriptors to be sent */
    unsigned fd_count;
    int passed[SV_BROKER_RESUME_MAX_FDS];   /* descriptors that the client has passed to resume the device; -1: taken */
    unsigned passed_count;
};

/* Returns false with sv_explain() if this process may not create eBPF maps or load the programs. */
bool grant_may_use_bpf(void);

/*
 * Takes the grant into use and checks cheaply whether the interface can be opened. Returns EINPROGRESS, and
 * grant_continue_opening() opens it. Otherwise returns an errno with sv_explain(), and the grant is free again: EBUSY
 * if the interface is in use.
 */
int grant_begin_opening(struct grant *grant, const struct sv_broker_open *wanted, uid_t uid);
/*
 * Creates the maps of a device, loads and attaches its programs, or creates the sockets of one more queue. Returns 0 or
 * an errno with sv_explain(). Returns EINPROGRESS until all is created, and while a socket that was closed a moment ago
 * still has the queue (grant_is_waiting()). On success the caller sends the grant's descriptors and closes them with
 * grant_close_sent_fds().
 */
int grant_continue_opening(struct grant *grant);
bool grant_is_waiting(const struct grant *grant);
/*
 * Returns true if adding the rule rewrites the directory of the programs, which waits milliseconds for a grace period.
 */
bool grant_rule_is_slow(const struct grant *grant, const struct sv_broker_rule *rule);
void grant_close_sent_fds(struct grant *grant);
/*
 * Closes the device. `free_memory`: the client has closed it, so the memory is freed even if the client keeps a
 * descriptor of it.
 */
void grant_close(struct grant *grant, bool free_memory);

/* ---- grant_resume.c ---- */

/*
 * Checks the descriptors by which a client resumes a device (SV_BROKER_RESUME), and takes them in any case. Returns
 * EINPROGRESS, or an errno with sv_explain(). grant_continue_opening() follows. The device then has no rules, and the
 * program of the ended broker still runs.
 */
int grant_resume(struct grant *grant, const struct sv_broker_resume *wanted, uid_t uid, uint64_t netns_cookie,
                 const int *fds, unsigned count);
/*
 * Replaces the program of a resumed device by that with the rules of this grant. Returns 0 or an errno with
 * sv_explain().
 */
int grant_commit(struct grant *grant);

/* ---- shared by grant.c and grant_resume.c ---- */

/* Begins to open a device. */
void grant_init(struct grant *grant, const struct sv_broker_open *wanted, uid_t uid);
/* Opens the packet socket, and reads the MAC address of the interface. */
int grant_open_packet_socket(struct grant *grant);
/* Loads the next program. Returns EINPROGRESS or an errno with sv_explain(). */
int grant_load_program(struct grant *grant);
/* Does one piece of the work of grant_continue_opening(). */
int grant_resume_step(struct grant *grant);

/* ---- grant_rules.c ---- */

/* The following functions return 0 or an errno with sv_explain(). */
int grant_add_rule(struct grant *grant, const struct policy *policy, const struct policy_user *user,
                   const struct sv_broker_rule *rule);
int grant_remove_rule(struct grant *grant, const struct sv_broker_rule *rule);
int grant_update_mac(struct grant *grant);

#endif
