/* SPDX-License-Identifier: Apache-2.0 */
/* See bpf.h. */
#include "bpf.h"

#include "bpf_programs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_INSTRUCTIONS = 4096, VERIFIER_LOG_BYTES = 1 << 14 };
/* A signal interrupts the verifier (EAGAIN). libbpf tries as often. */
enum { MAX_LOAD_ATTEMPTS = 5 };
/* BPF_LOG_STATS of the kernel's bpf_verifier.h: the reason and the cost, without each verified instruction. */
enum { VERIFIER_LOG_STATS = 4 };

static const struct program {
    const char *name;
    enum bpf_prog_type type;
    uint32_t attach_type;
    const uint64_t *code;
    size_t instruction_count;
    const struct sv_map_use *uses;
    size_t use_count;
} programs[] = {
/* The kernel's names of programs have at most 15 characters. */
#define PROGRAM(SHORT, NAME, TYPE, ATTACH) \
    {"rdma_raw_" SHORT, TYPE, ATTACH, sv_program_##NAME, sizeof sv_program_##NAME / 8, sv_program_##NAME##_maps, \
     sizeof sv_program_##NAME##_maps / sizeof sv_program_##NAME##_maps[0]}
    [SV_PROGRAM_XDP_REDIRECT] = PROGRAM("xdp", xdp_redirect, BPF_PROG_TYPE_XDP, BPF_XDP),
    [SV_PROGRAM_XDP_CLASSIFY] = PROGRAM("classify", xdp_classify, BPF_PROG_TYPE_XDP, BPF_XDP),
    [SV_PROGRAM_TC_REDIRECT] = PROGRAM("redirect", tc_redirect, BPF_PROG_TYPE_SCHED_CLS, 0),
    [SV_PROGRAM_TC_DROP] = PROGRAM("tc", tc_drop, BPF_PROG_TYPE_SCHED_CLS, 0),
    [SV_PROGRAM_SOCKET_MATCHES] = PROGRAM("filter", socket_matches, BPF_PROG_TYPE_SOCKET_FILTER, 0),
    [SV_PROGRAM_SOCKET_COPIES] = PROGRAM("copies", socket_copies, BPF_PROG_TYPE_SOCKET_FILTER, 0),
};

/* Loads a program that was refused a second time, to print the reason. */
static void print_verifier_log(const struct program *program, union bpf_attr *attr)
{
    char *log = calloc(1, VERIFIER_LOG_BYTES);
    if (log == NULL)
        return;
    attr->log_level = VERIFIER_LOG_STATS;
    attr->log_size = VERIFIER_LOG_BYTES;
    attr->log_buf = sv_ptr_to_u64(log);
    int fd = sv_bpf(BPF_PROG_LOAD, attr);
    fprintf(stderr, "softverbs: the verifier on %s: %s\n", program->name, log);
    free(log);
    if (fd >= 0)
        close(fd);
}

int sv_program_load(enum sv_program which, const int map_fds[SV_MAP_COUNT], uint32_t flags)
{
    const struct program *program = &programs[which];
    struct bpf_insn code[MAX_INSTRUCTIONS];
    union bpf_attr attr;
    if (program->instruction_count > MAX_INSTRUCTIONS)
        return -E2BIG;
    memcpy(code, program->code, program->instruction_count * sizeof code[0]);
    for (size_t i = 0; i < program->use_count; i++) {
        struct bpf_insn *load = &code[program->uses[i].instruction];
        load->src_reg = BPF_PSEUDO_MAP_FD;
        load->imm = map_fds[program->uses[i].map];
    }
    memset(&attr, 0, sizeof attr);
    attr.prog_type = program->type;
    attr.prog_flags = flags;
    attr.expected_attach_type = program->attach_type;
    attr.insns = sv_ptr_to_u64(code);
    attr.insn_cnt = (uint32_t)program->instruction_count;
    attr.license = sv_ptr_to_u64("Apache-2.0");
    strncpy(attr.prog_name, program->name, sizeof attr.prog_name - 1);
    int fd;
    int attempts = MAX_LOAD_ATTEMPTS;
    do
        fd = sv_bpf(BPF_PROG_LOAD, &attr);
    while (fd < 0 && errno == EAGAIN && --attempts > 0);
    if (fd >= 0)
        return fd;
    int error = errno;
    if (getenv("SOFTVERBS_BPF_LOG") != NULL)
        print_verifier_log(program, &attr);
    return -error;
}

static uint32_t load_flags(enum sv_xdp_attach_mode mode)
{
    return mode == SV_XDP_ATTACH_NATIVE_FRAGS ? BPF_F_XDP_HAS_FRAGS : 0;
}

/* The XDP program ends with a tail call of the classifier. */
int sv_program_load_classifier(const int map[SV_MAP_COUNT], enum sv_xdp_attach_mode mode)
{
    const uint32_t first = 0;
    int program = sv_program_load(SV_PROGRAM_XDP_CLASSIFY, map, load_flags(mode));
    if (program < 0)
        return program;
    int error = sv_map_update(map[SV_MAP_PROGRAMS], &first, &program);
    close(program);     /* the map keeps the program */
    return -error;
}

int sv_program_load_xdp(enum sv_program which, const int map[SV_MAP_COUNT], enum sv_xdp_attach_mode mode)
{
    return sv_program_load(which, map, load_flags(mode));
}

int sv_program_link(int program_fd, int ifindex, enum sv_xdp_attach_mode mode)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (uint32_t)program_fd;
    attr.link_create.target_ifindex = (uint32_t)ifindex;
    attr.link_create.attach_type = BPF_XDP;
    attr.link_create.flags = mode != SV_XDP_ATTACH_GENERIC ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
    int link_fd = sv_bpf(BPF_LINK_CREATE, &attr);
    return link_fd >= 0 ? link_fd : -errno;
}

int sv_program_replace(int link_fd, int program_fd)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.link_update.link_fd = (uint32_t)link_fd;
    attr.link_update.new_prog_fd = (uint32_t)program_fd;
    return sv_bpf(BPF_LINK_UPDATE, &attr) == 0 ? 0 : errno;
}

int sv_program_attach(enum sv_program which, const int map[SV_MAP_COUNT], int ifindex, enum sv_xdp_attach_mode mode)
{
    int program = which == SV_PROGRAM_XDP_REDIRECT ? sv_program_load_classifier(map, mode) : 0;
    if (program == 0)
        program = sv_program_load_xdp(which, map, mode);
    if (program < 0)
        return program;
    int link = sv_program_link(program, ifindex, mode);
    close(program);     /* the link keeps the program */
    return link;
}
