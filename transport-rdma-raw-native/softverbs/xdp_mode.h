/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_XDP_MODE_H
#define SV_XDP_MODE_H

#include <stdbool.h>

/*
 * The modes of a port on AF_XDP (port_xdp.c). Of the first three each wants more of the driver than the one before, and
 * the one before stands in for it.
 */
enum sv_xdp_port_mode { SV_XDP_MODE_GENERIC, SV_XDP_MODE_NATIVE, SV_XDP_MODE_ZERO_COPY, SV_XDP_MODE_TAP, SV_XDP_MODES };

enum { SV_XDP_WHY_BYTES = 160 };

struct sv_xdp_choice {
    enum sv_xdp_port_mode mode;
    bool forced;                    /* the user named it: no other one stands in for it */
    char why[SV_XDP_WHY_BYTES];     /* the end of a sentence */
};

/* As users write it. */
const char *sv_xdp_mode_name(enum sv_xdp_port_mode mode);

/*
 * Chooses the mode for a driver, by its name in ethtool, on a kernel, by its release in uname(2). `wish` is that of the
 * user, or NULL. Returns 0, or EINVAL with an explanation.
 */
int sv_xdp_mode_choose(const char *wish, const char *driver, const char *release, struct sv_xdp_choice *choice);

/*
 * Whether the user has named it. An error says only then what to name in its place: one that was chosen is not the user's
 * to change, and the next one is tried by itself.
 */
bool sv_xdp_mode_is_named(enum sv_xdp_port_mode mode);

#endif
