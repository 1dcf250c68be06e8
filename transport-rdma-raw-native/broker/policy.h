/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_POLICY_H
#define BROKER_POLICY_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Who may open what. A line grants a user or the members of a group an interface:
 *
 *   user=www interface=eth1 modes=generic,native ports=tcp:80,tcp:443,udp:50000-50999 devices=1
 *   group=netdev interface=eth2 modes=generic ports=any
 *
 * Lines add up. What no line grants is refused. Blank lines and lines that begin with # say nothing. Everything else
 * is an error: a policy that is not understood as a whole grants nothing at all.
 */
enum {
    POLICY_MAX_LINES = 256,         /* that grant something */
    POLICY_MAX_RANGES = 64,         /* of ports in a line */
    POLICY_MAX_BYTES = 65536,
    POLICY_MAX_GROUPS = 256,        /* of a user */
    POLICY_MAX_DEVICES = 16,        /* of a line, and its default is POLICY_DEVICES */
    POLICY_DEVICES = 1,
};

#define POLICY_ANY_MODE UINT32_MAX

struct policy_range {
    uint8_t protocol;               /* IPPROTO_TCP or IPPROTO_UDP */
    uint16_t first;
    uint16_t last;
};

struct policy_line {
    bool is_group;
    uint32_t id;
    char netdev[IFNAMSIZ];
    uint32_t modes;                 /* 1 << enum sv_broker_mode */
    uint32_t devices;               /* that the user may have open at a time, on all interfaces */
    bool any_port;
    uint32_t ranges;
    struct policy_range range[POLICY_MAX_RANGES];
};

struct policy {
    uint32_t lines;
    struct policy_line line[POLICY_MAX_LINES];
};

struct policy_user {
    uid_t uid;
    uint32_t groups;
    gid_t group[POLICY_MAX_GROUPS];
};

/* Finds the number of a user or a group; false: there is none of this name. */
typedef bool policy_lookup(bool is_group, const char *name, uint32_t *id);
bool policy_system_lookup(bool is_group, const char *name, uint32_t *id);

/* Returns true, or writes a sentence with the number of the line to `why`, and leaves no lines in the policy. */
bool policy_parse(struct policy *policy, const char *text, size_t bytes, policy_lookup *lookup, char *why,
                  size_t why_bytes);
/* Reads a file, which only root or this program's user may be able to write. As above. */
bool policy_read(struct policy *policy, const char *path, char *why, size_t why_bytes);

/* Whether it can be asked: a policy that another process has made may have any bytes. */
bool policy_is_sound(const struct policy *policy);

/* How many devices the user may have open if one of them is this; 0: it is refused. */
uint32_t policy_devices(const struct policy *policy, const struct policy_user *user, const char *netdev,
                        uint32_t mode);
/* Whether some line grants the user the interface, in whatever mode. */
bool policy_has_interface(const struct policy *policy, const struct policy_user *user, const char *netdev);
/* Some TCP port of some interface. */
bool policy_has_tcp_port(const struct policy *policy, const struct policy_user *user);

/* Where a port is asked for: one line has to grant all of it. */
struct policy_place {
    const char *netdev;             /* NULL: any */
    uint32_t modes;                 /* 1 << enum sv_broker_mode, or POLICY_ANY_MODE */
};

bool policy_has_port(const struct policy *policy, const struct policy_user *user, const struct policy_place *place,
                     uint8_t protocol, uint16_t port);
bool policy_has_any_port(const struct policy *policy, const struct policy_user *user,
                         const struct policy_place *place);

#endif
