/* SPDX-License-Identifier: Apache-2.0 */
/* Which virtio network devices run an XDP program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "xdp_mode.h"

/* Bits of <linux/virtio_net.h>. */
enum { CHECKSUM = 1, MTU = 3, MAC = 5, TSO4 = 7, TSO6 = 8, ECN = 9, UFO = 10, MERGEABLE = 15, USO4 = 54, USO6 = 55 };

static bool runs_with_file(const char *content, uint32_t max_mtu)
{
    char path[] = "/tmp/softverbs-features-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ((ssize_t)strlen(content), write(fd, content, strlen(content)));
    close(fd);
    bool runs = sv_xdp_virtio_runs_programs(path, max_mtu);
    unlink(path);
    return runs;
}

static bool runs(uint32_t max_mtu, unsigned count, const unsigned *bits)
{
    char features[66];
    memset(features, '0', 64);
    memcpy(features + 64, "\n", 2);
    for (unsigned i = 0; i < count; i++)
        features[bits[i]] = '1';
    return runs_with_file(features, max_mtu);
}

static void test_programs_do_not_run_if_the_host_may_send_gso_frames(void)
{
    CHECK(runs(65535, 2, (unsigned[]){MAC, CHECKSUM}));
    CHECK(runs(65535, 1, (unsigned[]){USO4}));
    CHECK(runs(65535, 1, (unsigned[]){USO6}));
    CHECK(!runs(65535, 2, (unsigned[]){USO4, USO6}));
    CHECK(!runs(65535, 1, (unsigned[]){TSO4}));
    CHECK(!runs(65535, 1, (unsigned[]){TSO6}));
    CHECK(!runs(65535, 1, (unsigned[]){ECN}));
    CHECK(!runs(65535, 1, (unsigned[]){UFO}));
    CHECK(runs(65535, 7, (unsigned[]){MERGEABLE, TSO4, TSO6, ECN, UFO, USO4, USO6}));
}

/* The device states its MTU. The interface's present MTU may be smaller. */
static void test_programs_do_not_run_if_the_host_may_send_large_frames(void)
{
    CHECK(runs(1500, 1, (unsigned[]){MTU}));
    CHECK(!runs(1501, 1, (unsigned[]){MTU}));
    CHECK(!runs(9000, 2, (unsigned[]){MTU, CHECKSUM}));
    CHECK(runs(9000, 2, (unsigned[]){MTU, MERGEABLE}));
    CHECK(!runs(1500, 2, (unsigned[]){MTU, TSO4}));
}

static void test_an_unreadable_feature_file_is_ignored(void)
{
    CHECK(sv_xdp_virtio_runs_programs("/nonexistent/features", 9000));
    CHECK(runs_with_file("", 9000));
    CHECK(runs_with_file("0001000100\n", 9000));
}

static void test_other_drivers_are_not_checked(void)
{
    CHECK(sv_xdp_runs_programs("lo", 1));
}

const struct test xdp_virtio_tests[] = {
    {"xdp virtio: programs do not run if the host may send GSO frames",
     test_programs_do_not_run_if_the_host_may_send_gso_frames},
    {"xdp virtio: programs do not run if the host may send large frames",
     test_programs_do_not_run_if_the_host_may_send_large_frames},
    {"xdp virtio: an unreadable feature file is ignored", test_an_unreadable_feature_file_is_ignored},
    {"xdp virtio: other drivers are not checked", test_other_drivers_are_not_checked},
    {NULL, NULL},
};
