/* SPDX-License-Identifier: Apache-2.0 */
/* The reason why bpf(2) is refused, from the texts of /proc/self. */
#include "bpf.h"
#include "harness.h"

#define HOST_USERS "         0          0 4294967295\n"
#define ALL_CAPABILITIES "Name:\tjava\nCapEff:\t000001ffffffffff\n"
/* NET_ADMIN, NET_RAW and BPF. */
#define THREE_CAPABILITIES "Name:\tjava\nCapEff:\t0000008000003000\n"

static void missing_capabilities_are_reported_first(void)
{
    CHECK_EQ(SV_REFUSED_CAPABILITIES, sv_refusal_of("CapEff:\t0000000000003000\nSeccomp:\t2\n", HOST_USERS));
    CHECK_EQ(SV_REFUSED_CAPABILITIES, sv_refusal_of("CapEff:\t0000008000002000\nSeccomp:\t2\n", HOST_USERS));
    CHECK_EQ(SV_REFUSED_CAPABILITIES, sv_refusal_of("CapEff:\t0000000000000000\n", "0 100000 65536\n"));
}

static void capabilities_of_a_user_namespace_are_recognized(void)
{
    CHECK_EQ(SV_REFUSED_NAMESPACE,
             sv_refusal_of(ALL_CAPABILITIES "Seccomp:\t2\n", "         0     100000      65536\n"));
    CHECK_EQ(SV_REFUSED_NAMESPACE, sv_refusal_of(THREE_CAPABILITIES, "      1000          0          1\n"));
    CHECK_EQ(SV_REFUSED_NAMESPACE, sv_refusal_of(THREE_CAPABILITIES, "         0          0          1\n"));
}

static void a_seccomp_filter_is_recognized(void)
{
    CHECK_EQ(SV_REFUSED_SECCOMP, sv_refusal_of(THREE_CAPABILITIES "Seccomp:\t2\nSeccomp_filters:\t1\n", HOST_USERS));
    CHECK_EQ(SV_REFUSED_SECCOMP, sv_refusal_of("CapEff:\t0000000000200000\nSeccomp:\t2\n", HOST_USERS));
}

static void otherwise_the_kernel_is_the_reason(void)
{
    CHECK_EQ(SV_REFUSED_KERNEL, sv_refusal_of(THREE_CAPABILITIES "Seccomp:\t0\nSeccomp_filters:\t0\n", HOST_USERS));
    CHECK_EQ(SV_REFUSED_KERNEL, sv_refusal_of("", ""));
}

static void a_missing_cap_perfmon_is_recognized(void)
{
    /* CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF; with CAP_PERFMON; with CAP_SYS_ADMIN. */
    CHECK(sv_is_perfmon_refusal(0x8000003000, EACCES));
    CHECK(sv_is_perfmon_refusal(0x8000003000, EFAULT));
    CHECK(!sv_is_perfmon_refusal(0x8000003000, EPERM));
    CHECK(!sv_is_perfmon_refusal(0xc000003000, EACCES));
    CHECK(!sv_is_perfmon_refusal(0x8000203000, EACCES));
}

const struct test refusal_tests[] = {
    {"refusals: missing capabilities are reported first", missing_capabilities_are_reported_first},
    {"refusals: capabilities of a user namespace are recognized", capabilities_of_a_user_namespace_are_recognized},
    {"refusals: a missing CAP_PERFMON is recognized", a_missing_cap_perfmon_is_recognized},
    {"refusals: a seccomp filter is recognized", a_seccomp_filter_is_recognized},
    {"refusals: otherwise the kernel is the reason", otherwise_the_kernel_is_the_reason},
    {NULL, NULL},
};
