/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CAPABILITY_PERFMON = 38, CAPABILITY_BPF = 39 /* both of Linux 5.8 */, SECCOMP_FILTERS = 2 };

/*
 * Parses the value of a line such as "CapEff:\t00000000a80425fb".
 */
static bool number_of(const char *status, const char *name, int base, uint64_t *value)
{
    const char *line = strstr(status, name);
    if (line == NULL)
        return false;
    *value = strtoull(line + strlen(name), NULL, base);
    return true;
}

static bool has(uint64_t capabilities, int number)
{
    return (capabilities >> number & 1) != 0;
}

/* The initial user namespace has one line for all users: "0 0 4294967295". */
static bool is_other_user_namespace(const char *uid_map)
{
    char *rest;
    if (*uid_map == '\0')
        return false;
    uint64_t inside = strtoull(uid_map, &rest, 10);
    uint64_t outside = strtoull(rest, &rest, 10);
    return inside != 0 || outside != 0 || strtoull(rest, NULL, 10) != UINT32_MAX;
}

enum sv_refusal sv_refusal_of(const char *status, const char *uid_map)
{
    uint64_t capabilities, filters;
    if (number_of(status, "CapEff:", 16, &capabilities) && !has(capabilities, CAP_SYS_ADMIN)
            && (!has(capabilities, CAPABILITY_BPF) || !has(capabilities, CAP_NET_ADMIN)))
        return SV_REFUSED_CAPABILITIES;
    if (is_other_user_namespace(uid_map))
        return SV_REFUSED_NAMESPACE;
    if (number_of(status, "Seccomp:", 10, &filters) && filters == SECCOMP_FILTERS)
        return SV_REFUSED_SECCOMP;
    return SV_REFUSED_KERNEL;
}

bool sv_is_perfmon_refusal(uint64_t capabilities, int error)
{
    return (error == EACCES || error == EFAULT || error == E2BIG) && !has(capabilities, CAP_SYS_ADMIN) &&
           !has(capabilities, CAPABILITY_PERFMON);
}
