/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_STEERING_LOAD_H
#define SV_STEERING_LOAD_H

#include "steering.h"
#include "steering_maps.h"

/*
 * Loads the programs of bpf/steer.bpf.c with the maps that they use, and puts them on interfaces. Each returns a
 * descriptor or a negative errno.
 */
int sv_program_load(enum sv_program which, const int map[SV_MAP_COUNT], uint32_t flags);
/* As sv_steering_attach(). */
int sv_program_attach(enum sv_program which, const int map[SV_MAP_COUNT], int ifindex, enum sv_xdp_mode mode);

#endif
