/* SPDX-License-Identifier: Apache-2.0 */
/* See confinement.h. */
#include "confinement.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static const struct {
    unsigned number;
    const char *name;
} needed[] = {{CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {CAP_NET_RAW, "CAP_NET_RAW"}, {CAP_BPF, "CAP_BPF"}};

enum { NEEDED = sizeof needed / sizeof needed[0] };

/*
 * With CAP_IPC_LOCK, memory of sockets does not count against the limit of locked memory. The number of receive
 * queues limits it instead.
 */
static uint64_t kept_set(void)
{
    uint64_t set = UINT64_C(1) << CAP_IPC_LOCK;
    for (unsigned i = 0; i < NEEDED; i++)
        set |= UINT64_C(1) << needed[i].number;
    return set;
}

/* Returns the remaining permitted set, which becomes the effective one, or 0 if the kernel refuses. */
static uint64_t restrict_capabilities(uint64_t set)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    memset(data, 0, sizeof data);
    if (syscall(SYS_capget, &header, data) != 0)
        return 0;
    set &= data[0].permitted | (uint64_t)data[1].permitted << 32;
    for (unsigned i = 0; i < 2; i++) {
        data[i].permitted = data[i].effective = (uint32_t)(set >> (32 * i));
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, data) == 0 ? set : 0;
}

const char *drop_privileges(void)
{
    uint64_t set = kept_set();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    /* Fails without CAP_SETPCAP, which is harmless because nothing is ever executed. */
    for (unsigned capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (capability >= 64 || !(set >> capability & 1))
            (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    uint64_t has = restrict_capabilities(set);
    for (unsigned i = 0; i < NEEDED; i++)
        if (!(has >> needed[i].number & 1))
            return needed[i].name;
    return NULL;
}

void drop_all_but_net_admin(void)
{
    (void)restrict_capabilities(UINT64_C(1) << CAP_NET_ADMIN);
}

void drop_all_privileges(void)
{
    (void)restrict_capabilities(0);
}

void die_with_parent(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}
