/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_POLICY_H
#define BROKER_POLICY_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The policy: which user may open which interface. A line grants an interface to a user or to the members of a group:
 *
 *   user=www interface=eth1 modes=generic,native ports=tcp:80,tcp:443,udp:50000-50999 devices=1
 *   group=netdev interface=eth2 modes=generic ports=any
 *   user=router interface=eth3 modes=zerocopy ports=any
 *
 * The grants of all lines add up. Everything that no line grants is refused. Blank lines and lines that begin with #
 * are ignored. Anything else is an error, and a policy with an error grants nothing at all.
 */
enum {
    POLICY_MAX_LINES = 256,         /* lines with a grant */
    POLICY_MAX_RANGES = 64,         /* port ranges per line */
    POLICY_MAX_BYTES = 65536,
    POLICY_MAX_GROUPS = 256,        /* groups per user */
    POLICY_MAX_DEVICES = 16,        /* devices per line; the default is POLICY_DEFAULT_DEVICES */
    POLICY_DEFAULT_DEVICES = 1,
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
    uint32_t devices;               /* maximum open at a time, on all interfaces */
    bool any_port;
    uint32_t range_count;
    struct policy_range range[POLICY_MAX_RANGES];
};

struct policy {
    uint32_t line_count;
    struct policy_line line[POLICY_MAX_LINES];
};

struct policy_user {
    uid_t uid;
    uint32_t group_count;
    gid_t group[POLICY_MAX_GROUPS];
};

/* Finds the number of a user or a group. Returns false if the name does not exist. */
typedef bool policy_lookup(bool is_group, const char *name, uint32_t *id);
bool policy_system_lookup(bool is_group, const char *name, uint32_t *id);

/*
 * Parses a policy. On an error returns false, writes a sentence with the line number to `error_text`, and clears the
 * policy.
 */
bool policy_parse(struct policy *policy, const char *text, size_t bytes, policy_lookup *lookup, char *error_text,
                  size_t error_text_bytes);
/* Parses a file, which must be writable only for root or this program's user. Returns as above. */
bool policy_read(struct policy *policy, const char *path, char *error_text, size_t error_text_bytes);

/* Returns true if the policy is valid. A policy from another process may contain any bytes. */
bool policy_is_valid(const struct policy *policy);

/* Returns how many devices the user may have open if one of them is this; 0: the device is not granted. */
uint32_t policy_max_devices(const struct policy *policy, const struct policy_user *user, const char *netdev,
                            uint32_t mode);
/* Returns true if a line grants the user the interface, in any mode. */
bool policy_has_interface(const struct policy *policy, const struct policy_user *user, const char *netdev);
/* Returns true if a line grants the user a TCP port. */
bool policy_has_tcp_port(const struct policy *policy, const struct policy_user *user);

/* The interface and modes for which a port is requested. A single line has to grant it completely. */
struct policy_scope {
    const char *netdev;             /* NULL: any */
    uint32_t modes;                 /* 1 << enum sv_broker_mode, or POLICY_ANY_MODE */
};

bool policy_has_port(const struct policy *policy, const struct policy_user *user, const struct policy_scope *scope,
                     uint8_t protocol, uint16_t port);
bool policy_has_any_port(const struct policy *policy, const struct policy_user *user,
                         const struct policy_scope *scope);

#endif
