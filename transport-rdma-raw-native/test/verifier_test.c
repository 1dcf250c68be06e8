/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of instructions that the kernel's verifier follows for each program, for a process with the fewest
 * capabilities. The verifier refuses a program at a million. Kernels differ, and opening a device waits for the
 * verifier.
 */
#include "bpf.h"
#include "harness.h"
#include "objects.h"
#include "kernel_steering.h"
#include "wire_fixture.h"

#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_INSTRUCTIONS = 300000, CAPABILITY_PERFMON = 38, CAPABILITY_BPF = 39, REFUSED = 3, TOO_MANY = 4 };

static void keep_capabilities(uint64_t capabilities)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    memset(data, 0, sizeof data);
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        data[i].effective = data[i].permitted = (uint32_t)(capabilities >> (32 * i));
    if (syscall(SYS_capset, &header, data) != 0)
        _exit(errno);
}

static uint32_t instructions_followed(int program)
{
    struct bpf_prog_info info;
    union bpf_attr attr;
    memset(&info, 0, sizeof info);
    memset(&attr, 0, sizeof attr);
    attr.info.bpf_fd = (uint32_t)program;
    attr.info.info_len = sizeof info;
    attr.info.info = sv_ptr_to_u64(&info);
    return sv_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0 ? info.verified_insns : UINT32_MAX;
}

static void load_programs(void)
{
    static const char *const names[] = {"xdp", "classify", "redirect", "tc", "filter", "copies"};
    const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
    struct sv_kernel_steering *steering;
    int status = 0;
    keep_capabilities(1ull << CAP_NET_RAW | 1ull << CAP_NET_ADMIN | 1ull << CAPABILITY_BPF |
                      (is_linux_6_17() ? 0 : 1ull << CAPABILITY_PERFMON));
    if (sv_kernel_steering_open(&steering, mac, true) != 0) {
        printf("%s\n", sv_explanation());
        _exit(REFUSED);
    }
    for (int i = SV_PROGRAM_XDP_REDIRECT; i <= SV_PROGRAM_SOCKET_COPIES; i++) {
        int program = sv_kernel_steering_load(steering, (enum sv_program)i);
        uint32_t followed = program < 0 ? 0 : instructions_followed(program);
        if (program < 0)
            printf("the verifier refuses %s: %s\n", names[i], strerror(-program));
        else
            printf("the verifier follows %u instructions of %s\n", followed, names[i]);
        status = program < 0 ? REFUSED : followed > MAX_INSTRUCTIONS ? TOO_MANY : status;
    }
    fflush(stdout);
    _exit(status);
}

static void it_accepts_the_programs_with_the_fewest_capabilities(void)
{
    int status;
    if (!have_namespace())
        return;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        load_programs();
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_EQ(0, WEXITSTATUS(status));
}

const struct test verifier_tests[] = {
    {"verifier: it accepts the programs with the fewest capabilities",
     it_accepts_the_programs_with_the_fewest_capabilities},
    {NULL, NULL},
};
