/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_BPF_H
#define SV_BPF_H

/*
 * eBPF: maps, the programs of bpf/programs.bpf.c, the programs on an interface, and the reasons for which the kernel
 * refuses them. bpf_layout.h has the layout of the maps.
 */

#include "bpf_layout.h"
#include "kernel_steering.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- bpf_map.c ---- */

/* The bpf(2) system call and its operations on maps. */

/* Returns the result of the call and sets errno. */
int sv_bpf(enum bpf_cmd command, union bpf_attr *attr);
/* Returns an address in the form of bpf(2)'s attributes. */
uint64_t sv_ptr_to_u64(const void *address);

/* Returns a descriptor, or -1 with errno. */
int sv_map_create(enum bpf_map_type type, uint32_t key_bytes, uint32_t value_bytes, uint32_t max_entries,
                  uint32_t flags);
/* Returns 0 or an errno. */
int sv_map_update(int map_fd, const void *key, const void *value);
bool sv_map_lookup(int map_fd, const void *key, void *value);
void sv_map_delete(int map_fd, const void *key);
/* Removes all elements. The buffer holds one key. */
void sv_map_clear(int map_fd, void *key);
/* Freezes a map: no process can change it through any descriptor from then on. Returns 0 or an errno. */
int sv_map_freeze(int map_fd);
/*
 * Reads struct bpf_map_info, bpf_prog_info or bpf_link_info. Needs no capability. For a link the kernel acquires
 * rtnl_lock. Returns false if the descriptor is no object of eBPF. The kind of the object is not checked.
 */
bool sv_object_read_info(int fd, void *info, uint32_t bytes);
/* The arguments of sv_map_create(). */
struct sv_map_form {
    uint32_t type, key_bytes, value_bytes, max_entries, flags;
};
bool sv_map_has_form(int map_fd, const struct sv_map_form *form);
/* Maps an array created with BPF_F_MMAPABLE. Returns its memory, or NULL with errno. */
void *sv_map_mmap(int map_fd, size_t bytes);

/* ---- bpf_load.c ---- */

/* Loads a program of bpf/programs.bpf.c with its maps. Returns a descriptor or a negative errno. */
int sv_program_load(enum sv_program which, const int map_fds[SV_MAP_COUNT], uint32_t flags);
/*
 * Loads SV_PROGRAM_XDP_CLASSIFY for this mode and stores it where SV_PROGRAM_XDP_REDIRECT calls it. Returns 0 or a
 * negative errno.
 */
int sv_program_load_classifier(const int map_fds[SV_MAP_COUNT], enum sv_xdp_attach_mode mode);
/* Loads SV_PROGRAM_XDP_REDIRECT or _CLASSIFY, to be attached in this mode. Returns as sv_program_load(). */
int sv_program_load_xdp(enum sv_program which, const int map_fds[SV_MAP_COUNT], enum sv_xdp_attach_mode mode);
/* Attaches a loaded XDP program to an interface, until the returned descriptor is closed. Returns as above. */
int sv_program_link(int program_fd, int ifindex, enum sv_xdp_attach_mode mode);
/* Replaces the XDP program of a link. The interface has a program at all times. Returns 0 or an errno. */
int sv_program_replace(int link_fd, int program_fd);
/* Loads an XDP program and attaches it to an interface, as sv_kernel_steering_attach() does. */
int sv_program_attach(enum sv_program which, const int map_fds[SV_MAP_COUNT], int ifindex,
                      enum sv_xdp_attach_mode mode);

/* ---- attached.c ---- */

/*
 * The eBPF programs on an interface: one XDP program, and a list of tc ingress programs (TCX, Linux 6.6). The kernel
 * reports their ids to processes with CAP_NET_ADMIN, and their names to processes with CAP_SYS_ADMIN.
 */
enum { SV_ATTACHED_NAME_BYTES = 16, SV_ATTACHED_MAX = 64, SV_ATTACHED_TEXT_BYTES = 48 };

struct sv_attached_program {
    uint32_t id;
    bool in_driver_mode;                    /* an XDP program in the driver rather than in generic mode */
    char name[SV_ATTACHED_NAME_BYTES];      /* "" if it cannot be read */
};

/* The tc ingress programs in the order in which the kernel runs them, and the revision of the list. */
struct sv_attached_list {
    uint32_t count;
    uint64_t revision;
    uint32_t id[SV_ATTACHED_MAX];
};

/* Finds the XDP program of an interface. Returns false if it has none or the kernel does not report it. */
bool sv_attached_find_xdp(int ifindex, struct sv_attached_program *program);
/* Returns 0 or an errno: EINVAL before Linux 6.6. */
int sv_attached_list_tc(int ifindex, struct sv_attached_list *list);
/* Reads the name of the program with this id. */
void sv_attached_read_name(uint32_t id, char name[SV_ATTACHED_NAME_BYTES]);
/* Returns true if the name of the program is one of this project's. */
bool sv_attached_is_own(const struct sv_attached_program *program);
/* Writes "'NAME' (id N)", or "id N" if the name cannot be read. Returns `text`. */
const char *sv_attached_format(const struct sv_attached_program *program, char text[SV_ATTACHED_TEXT_BYTES]);
/* Returns the id of a loaded program, or 0. */
uint32_t sv_program_id(int program_fd);
/*
 * Attaches a tc program after the last program of the list that `is_own` accepts, or before all programs if there is
 * none. Returns the link's descriptor or a negative errno.
 */
int sv_attach_tc(int program_fd, int ifindex, bool (*is_own)(uint32_t id));

/* ---- refusal.c, explain_bpf.c ---- */

/*
 * The reasons for which bpf(2) is refused. The remedy depends on the reason, and "permission denied" does not name it.
 * All of them occur in containers.
 */
enum sv_refusal {
    SV_REFUSED_CAPABILITIES,    /* CAP_BPF or CAP_NET_ADMIN is missing */
    SV_REFUSED_NAMESPACE,       /* the capabilities belong to a user namespace: a rootless container */
    SV_REFUSED_SECCOMP,         /* the capabilities exist, and a seccomp filter is in force */
    SV_REFUSED_KERNEL           /* any other reason in the kernel */
};

/*
 * Finds the reason from the texts of /proc/self/status and /proc/self/uid_map; "" if a file cannot be read. Returns
 * SV_REFUSED_KERNEL if the texts show no other reason.
 */
enum sv_refusal sv_refusal_of(const char *status, const char *uid_map);

/* Stores a sentence with the remedy for an error of bpf(2) for softverbs_open_error(). Returns `error`. */
int sv_explain_bpf(int error, const char *what);

/*
 * Returns true if the verifier refused a program with this error because CAP_PERFMON is missing. Without it the
 * verifier also follows speculative execution after a branch (Spectre v1), as one more turn of a loop. From Linux 6.17
 * on the verifier inserts a barrier there; before, it refuses the program.
 */
bool sv_is_perfmon_refusal(uint64_t capabilities, int error);
/* If CAP_PERFMON is missing, stores a sentence with the remedy and returns true. */
bool sv_explain_missing_perfmon(int error);

#endif
