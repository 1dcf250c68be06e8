/* SPDX-License-Identifier: Apache-2.0 */
/* Why bpf(2) is refused, by what /proc/self says. */
#include "harness.h"
#include "refusal.h"

#define HOST_USERS "         0          0 4294967295\n"
#define ALL_CAPABILITIES "Name:\tjava\nCapEff:\t000001ffffffffff\n"
/* NET_ADMIN, NET_RAW and BPF. */
#define THREE_CAPABILITIES "Name:\tjava\nCapEff:\t0000008000003000\n"

static void missing_capabilities_come_first(void)
{
    CHECK_EQ(SV_REFUSED_CAPABILITIES, sv_refusal_of("CapEff:\t0000000000003000\nSeccomp:\t2\n", HOST_USERS));
    CHECK_EQ(SV_REFUSED_CAPABILITIES, sv_refusal_of("CapEff:\t0000008000002000\nSeccomp:\t2\n", HOST_USERS));
    CHECK_EQ(SV_REFUSED_CAPABILITIES, sv_refusal_of("CapEff:\t0000000000000000\n", "0 100000 65536\n"));
}

static void capabilities_of_a_user_namespace_are_told(void)
{
    CHECK_EQ(SV_REFUSED_NAMESPACE, sv_refusal_of(ALL_CAPABILITIES "Seccomp:\t2\n", "         0     100000      65536\n"));
    CHECK_EQ(SV_REFUSED_NAMESPACE, sv_refusal_of(THREE_CAPABILITIES, "      1000          0          1\n"));
    CHECK_EQ(SV_REFUSED_NAMESPACE, sv_refusal_of(THREE_CAPABILITIES, "         0          0          1\n"));
}

static void a_seccomp_filter_is_told(void)
{
    CHECK_EQ(SV_REFUSED_SECCOMP, sv_refusal_of(THREE_CAPABILITIES "Seccomp:\t2\nSeccomp_filters:\t1\n", HOST_USERS));
    CHECK_EQ(SV_REFUSED_SECCOMP, sv_refusal_of("CapEff:\t0000000000200000\nSeccomp:\t2\n", HOST_USERS));
}

static void what_cannot_be_told_is_the_kernel(void)
{
    CHECK_EQ(SV_REFUSED_KERNEL, sv_refusal_of(THREE_CAPABILITIES "Seccomp:\t0\nSeccomp_filters:\t0\n", HOST_USERS));
    CHECK_EQ(SV_REFUSED_KERNEL, sv_refusal_of("", ""));
}

static void what_the_verifier_wants_is_told(void)
{
    /* CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF; with CAP_PERFMON; with CAP_SYS_ADMIN. */
    CHECK(sv_lacks_perfmon(0x8000003000, EACCES));
    CHECK(sv_lacks_perfmon(0x8000003000, EFAULT));
    CHECK(!sv_lacks_perfmon(0x8000003000, EPERM));
    CHECK(!sv_lacks_perfmon(0xc000003000, EACCES));
    CHECK(!sv_lacks_perfmon(0x8000203000, EACCES));
}

const struct test refusal_tests[] = {
    {"refusals: missing capabilities come first", missing_capabilities_come_first},
    {"refusals: capabilities of a user namespace are told", capabilities_of_a_user_namespace_are_told},
    {"refusals: what the verifier wants is told", what_the_verifier_wants_is_told},
    {"refusals: a seccomp filter is told", a_seccomp_filter_is_told},
    {"refusals: what cannot be told is the kernel", what_cannot_be_told_is_the_kernel},
    {NULL, NULL},
};
