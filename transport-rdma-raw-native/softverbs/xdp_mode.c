/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the mode of a port on AF_XDP. A driver mode enters the path of all the kernel's traffic on the interface, and
 * with some drivers it has crashed the kernel or corrupted memory. So these modes are chosen only for drivers and
 * kernels on which others are known to run them every day. Otherwise the kernel's generic mode is chosen, which no
 * driver implements.
 */
#include "xdp_mode.h"

#include "objects.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINUX(MAJOR, MINOR) ((MAJOR) << 16 | (MINOR))
#define ANY_LATER UINT32_MAX

static const char *const mode_names[SV_XDP_MODE_COUNT] = {"generic", "native", "zerocopy", "tap"};

/*
 * From the table of Firedancer, which is based on tests of kernels (fd_config_auto.c, features "DRV" and "Zero Copy",
 * of 2026-09): driver mode on mlx5_core from 5.15 on except 6.4, and on i40e from 5.19 on; zero copy on mlx5_core from
 * 6.1 on. From that release on the sockets of mlx5_core use the interface's queue numbers. Before, zero copy expects
 * numbers from N to 2N (commit 3db4c85cde7a).
 */
static const struct {
    const char *driver;
    enum sv_xdp_mode mode;
    uint32_t first, last;           /* first and last kernel, both included */
} known_good[] = {
    {"i40e", SV_XDP_MODE_ZERO_COPY, LINUX(5, 19), ANY_LATER},
    {"mlx5_core", SV_XDP_MODE_NATIVE, LINUX(5, 15), LINUX(6, 0)},
    {"mlx5_core", SV_XDP_MODE_ZERO_COPY, LINUX(6, 1), LINUX(6, 3)},
    {"mlx5_core", SV_XDP_MODE_ZERO_COPY, LINUX(6, 5), ANY_LATER},
};

/* Drivers with more than generic mode that do not use it by default, and the reason. */
static const struct {
    const char *driver;
    const char *reason;
} known_problems[] = {
    /* netdev 20260512152658.2818805 (lore.kernel.org); firedancer-io/firedancer pull requests 11245 and 11246. */
    {"ice", "zero copy has corrupted memory with ice"},
    /* amzn/amzn-drivers issues 221, 264 and 330, and README.rst of its driver. */
    {"ena", "native mode takes half of ena's queues, and zero copy has corrupted memory"},
    /* drivers/net/virtio_net.c, virtnet_xdp_set(). */
    {"virtio_net", "native mode needs one more send queue per processor of virtio_net, and ends the kernel's offloads"},
    /* docs.anza.xyz/operations/running-with-af-xdp. */
    {"bnxt_en", "zero copy of bnxt_en is not reliable"},
    /* vlan.h. */
    {"802.1Q VLAN Support", "native mode and zero copy of a VLAN occupy the interface below it"},
    /* Measured: docs/design/design-decisions.md, AF_XDP. */
    {"veth", "native mode is no faster on veth, and ends TSO of the kernel at the other end"},
};

const char *sv_xdp_mode_name(enum sv_xdp_mode mode)
{
    return mode_names[mode];
}

bool sv_xdp_mode_is_forced(enum sv_xdp_mode mode)
{
    const char *env_value = getenv("SOFTVERBS_XDP_MODE");
    return env_value != NULL && strcmp(env_value, mode_names[mode]) == 0;
}

/* Parses a release such as "6.12.117+deb13-amd64". A release that cannot be parsed is older than all others. */
static uint32_t version_of(const char *release)
{
    char *rest;
    unsigned long major = strtoul(release, &rest, 10);
    unsigned long minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
    return major > UINT16_MAX || minor > UINT16_MAX ? 0 : LINUX((uint32_t)major, (uint32_t)minor);
}

static void explain_generic(const char *driver, struct sv_xdp_choice *choice)
{
    for (size_t i = 0; i < sizeof known_problems / sizeof known_problems[0]; i++)
        if (strcmp(driver, known_problems[i].driver) == 0) {
            snprintf(choice->reason, sizeof choice->reason, "%s", known_problems[i].reason);
            return;
        }
    snprintf(choice->reason, sizeof choice->reason, "no faster mode is known to work with %s on this kernel",
             *driver == '\0' ? "this driver" : driver);
}

static void choose_known(const char *driver, const char *release, struct sv_xdp_choice *choice)
{
    uint32_t version = version_of(release);
    for (size_t i = 0; i < sizeof known_good / sizeof known_good[0]; i++)
        if (strcmp(driver, known_good[i].driver) == 0 && version >= known_good[i].first &&
            version <= known_good[i].last) {
            choice->mode = known_good[i].mode;
            snprintf(choice->reason, sizeof choice->reason, "%s is known to work in it on Linux %u.%u", driver,
                     version >> 16, version & UINT16_MAX);
            return;
        }
    explain_generic(driver, choice);
}

int sv_xdp_mode_choose(const char *env_value, const char *driver, const char *release, struct sv_xdp_choice *choice)
{
    memset(choice, 0, sizeof *choice);
    if (env_value == NULL || *env_value == '\0' || strcmp(env_value, "auto") == 0) {
        choose_known(driver, release, choice);
        return 0;
    }
    for (int mode = 0; mode < SV_XDP_MODE_COUNT; mode++)
        if (strcmp(env_value, mode_names[mode]) == 0) {
            choice->mode = (enum sv_xdp_mode)mode;
            choice->forced = true;
            snprintf(choice->reason, sizeof choice->reason, "set by SOFTVERBS_XDP_MODE");
            return 0;
        }
    return sv_explain(EINVAL, "SOFTVERBS_XDP_MODE is '%s': use auto, generic, native, zerocopy or tap", env_value);
}
