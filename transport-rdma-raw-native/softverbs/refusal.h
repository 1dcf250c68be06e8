/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTVERBS_REFUSAL_H
#define SOFTVERBS_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Why bpf(2) is refused, as far as a process can tell by itself: what helps depends on it, and "permission denied" does
 * not say it. Containers have each of these.
 */
enum sv_refusal {
    SV_REFUSED_CAPABILITIES,    /* CAP_BPF or CAP_NET_ADMIN is missing */
    SV_REFUSED_NAMESPACE,       /* they are those of a user namespace: a rootless container */
    SV_REFUSED_SECCOMP,         /* they are there, and a seccomp filter is in force */
    SV_REFUSED_KERNEL           /* something else of the kernel's */
};

/*
 * `status` and `uid_map` are what /proc/self has under these names; "" where it cannot be read. The last of the possible
 * reasons is the answer where the text does not tell.
 */
enum sv_refusal sv_refusal_of(const char *status, const char *uid_map);

/* Stores a sentence with what helps against bpf(2)'s error for softverbs_open_error(); returns `error`. */
int sv_explain_bpf(int error, const char *what);

/*
 * Whether the verifier refused a program with this error for want of CAP_PERFMON. Without it the verifier also follows
 * what a processor may do ahead of a branch (Spectre v1), as one more turn of a loop. From Linux 6.17 on it puts a barrier
 * there; before, it refuses the program.
 */
bool sv_lacks_perfmon(uint64_t capabilities, int error);
/* If so, stores a sentence with what helps. */
bool sv_explain_verifier(int error);

#endif
