/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_BPF_MAP_H
#define SV_BPF_MAP_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bpf(2), and what it does with maps. */

/* Returns what the call returns, and sets errno. */
int sv_bpf(enum bpf_cmd command, union bpf_attr *attr);
/* As attributes have addresses. */
uint64_t sv_bpf_address(const void *address);

/* A descriptor, or -1 with errno. */
int sv_map_create(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags);
/* Returns 0 or an errno. */
int sv_map_update(int map, const void *key, const void *value);
bool sv_map_lookup(int map, const void *key, void *value);
void sv_map_delete(int map, const void *key);
/* No process can change the map from now on, whatever descriptor it has. Returns 0 or an errno. */
int sv_map_freeze(int map);
/* The memory of an array that is BPF_F_MMAPABLE, or NULL with errno. */
void *sv_map_memory(int map, size_t bytes);

#endif
