/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_PROGRAMS_H
#define BROKER_PROGRAMS_H

#include "kernel_steering.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Programs of closed devices, loaded, with the maps that they use. The next device of the same user on the same
 * interface reuses them, so that the verifier need not run again. It takes milliseconds, in which the broker serves no
 * other client.
 *
 * A client may keep descriptors of the maps that it shared, and of the link by which the program ran. Therefore no
 * other user and no other interface gets them.
 */
enum {
    PROGRAMS_MAX_KEPT = 8,
    PROGRAMS_MAX_RULES = 256,       /* a device with more rules is not kept: each rule is kernel memory */
};

struct programs_of {
    uid_t uid;
    int ifindex;
    bool fragments;                 /* loaded for SV_XDP_ATTACH_NATIVE_FRAGS */
};

/* Keeps both, perhaps in place of others. `program` is the loaded SV_PROGRAM_XDP_REDIRECT. */
void programs_keep(const struct programs_of *of, struct sv_kernel_steering *steering, int program);
/* Returns steering with its program, or NULL. They then belong to the caller. */
struct sv_kernel_steering *programs_take(const struct programs_of *of, int *program);
void programs_close_all(void);

#endif
