/* SPDX-License-Identifier: Apache-2.0 */
/* Common behaviour of devices on network interfaces. */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void frames_pass(const char *kind)
{
    struct wire wire;
    wire_open(&wire, kind, 1500, 1);
    struct ibv_flow *flow = udp_rule(&wire.side[1], 2000);
    for (unsigned i = 0; i < 300; i++) {
        uint8_t frame[2048];
        struct frame_spec spec = default_frame();
        spec.payload = (uint16_t)(18 + i * 4);
        spec.vlan = -1;
        uint32_t length = build_frame(&spec, frame);
        CHECK_EQ(0, post_recv_slot(&wire.side[1], i % 16, SLOT_BYTES));
        CHECK_EQ(0, send_frame(&wire.side[0], frame, length, IBV_SEND_SIGNALED));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[0].cq).status);
        struct ibv_wc wc = wait_one(wire.side[1].cq);
        CHECK_EQ(IBV_WC_SUCCESS, wc.status);
        CHECK_EQ(length, wc.byte_len);
        CHECK(wc.wc_flags & IBV_WC_IP_CSUM_OK);
        CHECK_EQ(0, memcmp(frame, slot_at(&wire.side[1], i % 16), length));
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

static void floods_are_counted(const char *kind)
{
    enum { FRAMES = 20000 };
    struct wire wire;
    struct softverbs_counters counters;
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    uint32_t length = build_frame(&spec, frame);
    wire_open(&wire, kind, 1500, 1);
    struct ibv_flow *flow = udp_rule(&wire.side[1], 2000);
    for (unsigned i = 0; i < 10; i++)
        CHECK_EQ(0, post_recv_slot(&wire.side[1], i, SLOT_BYTES));
    for (unsigned i = 0; i < FRAMES; i++) {
        CHECK_EQ(0, send_frame(&wire.side[0], frame, length, IBV_SEND_SIGNALED));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[0].cq).status);
    }
    CHECK_EQ(0, softverbs_query_counters(wire.world[0].context, &counters));
    CHECK_EQ(FRAMES, counters.sent.frames);
    struct timespec start = now();
    uint64_t accounted = 0;
    unsigned completions = 0;
    while (accounted != FRAMES && !overdue(start)) {
        struct ibv_wc wc;
        completions += (unsigned)ibv_poll_cq(wire.side[1].cq, 1, &wc);
        CHECK_EQ(0, softverbs_query_counters(wire.world[1].context, &counters));
        accounted = counters.received.frames + counters.received.no_receive + counters.received.ring_full;
    }
    CHECK_EQ(FRAMES, accounted);
    CHECK_EQ(10, counters.received.frames);
    CHECK(counters.received.ring_full > 0);
    CHECK(counters.received.no_receive > 1000);
    while (completions < 10 && !overdue(start)) {
        struct ibv_wc wc;
        completions += (unsigned)ibv_poll_cq(wire.side[1].cq, 1, &wc);
    }
    CHECK_EQ(10, completions);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

/* Not on the stack: if the test fails, the thread runs until the test stops it. */
static struct churn {
    struct ibv_qp *qp;
    _Atomic bool stop;
    unsigned rounds;
    pthread_t thread;
} churn_of_test;

static void stop_churn(void)
{
    churn_of_test.stop = true;
    (void)pthread_join(churn_of_test.thread, NULL);
}

static void *change_rules(void *argument)
{
    struct churn *churn = argument;
    /* On a busy machine all frames may have passed before this thread runs. */
    while (!churn->stop || churn->rounds == 0) {
        for (uint16_t port = 3000; port < 3020; port++) {
            struct rule rule;
            rule_init(&rule, port % 5);
            rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, port);
            struct ibv_flow *flow = ibv_create_flow(churn->qp, &rule.attr);
            if (flow == NULL || ibv_destroy_flow(flow) != 0)
                abort();
        }
        churn->rounds++;
    }
    return NULL;
}

/* A poller, the receive thread (the queue is always armed) and a thread that changes rules run at once. */
static void threads_share_a_port(const char *kind)
{
    enum { FRAMES = 3000 };
    struct wire wire;
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    uint32_t length = build_frame(&spec, frame);
    wire_open(&wire, kind, 1500, 1);
    struct ibv_flow *flow = udp_rule(&wire.side[1], 2000);
    struct churn *churn = &churn_of_test;
    churn->qp = wire.side[1].qp;
    churn->stop = false;
    churn->rounds = 0;
    CHECK_EQ(0, pthread_create(&churn->thread, NULL, change_rules, churn));
    after_failure = stop_churn;
    for (unsigned i = 0; i < FRAMES; i++) {
        CHECK_EQ(0, ibv_req_notify_cq(wire.side[1].cq, 0));
        CHECK_EQ(0, post_recv_slot(&wire.side[1], i % 16, SLOT_BYTES));
        CHECK_EQ(0, send_frame(&wire.side[0], frame, length, IBV_SEND_SIGNALED));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[0].cq).status);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[1].cq).status);
    }
    after_failure = NULL;
    stop_churn();
    CHECK(churn->rounds > 0);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

static void an_interface_can_go(const char *kind)
{
    struct wire wire;
    wire_open(&wire, kind, 1500, 1);
    CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
    run("ip link del %s", wire.name[0]);
    for (int end = 0; end < 2; end++) {
        struct ibv_async_event event = {.event_type = IBV_EVENT_CQ_ERR};
        while (event.event_type != IBV_EVENT_DEVICE_FATAL) {
            struct pollfd readable = {.fd = wire.world[end].context->async_fd, .events = POLLIN};
            CHECK_EQ(1, poll(&readable, 1, 20000));
            CHECK_EQ(0, ibv_get_async_event(wire.world[end].context, &event));
            ibv_ack_async_event(&event);
        }
    }
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, wait_one(wire.side[1].cq).status);
    wire_close(&wire);
}

/*
 * Gives the process a separate real user. Locked memory counts for the user, not for the process (RLIMIT_MEMLOCK), so
 * tests at the same time would take it from each other. Access to files stays as before.
 */
static bool keep_only(uint64_t capabilities)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    for (int i = 0; i < 2; i++) {
        data[i].effective = data[i].permitted = (uint32_t)(capabilities >> (32 * i));
        data[i].inheritable = 0;
    }
    uid_t user = 0x10000u + (uid_t)getpid();
    /* For this thread only, as capset() does: a sanitizer's thread lacks SECBIT_NO_SETUID_FIXUP. */
    return syscall(SYS_setresuid, user, -1, -1) == 0 && syscall(SYS_capset, &header, data) == 0;
}

/* Opens the device in a process with these capabilities only. Returns 0 or the errno. */
static int open_with(const char *device_name, uint64_t capabilities)
{
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (!keep_only(capabilities))
            _exit(255);
        struct ibv_device *device = find_device(device_name);
        bool opened = ibv_open_device(device) != NULL;
        int error = errno;
        /* Every missing permission is explained. */
        const char *named = error == EPERM ? "CAP_" : "CAP_PERFMON";
        if (!opened && strstr(softverbs_open_error(device), named) == NULL) {
            fprintf(stderr, "%s\n", softverbs_open_error(device));
            _exit(254);
        }
        _exit(opened ? 0 : error);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const uint64_t raw = 1ull << CAP_NET_RAW, admin = 1ull << CAP_NET_ADMIN, bpf = 1ull << 39 /* CAP_BPF */;
static const uint64_t perfmon = 1ull << 38 /* CAP_PERFMON */;

static void check_least_capabilities(void)
{
    int error = open_with("xdp:svtcap0", raw | admin | bpf);
    CHECK(is_linux_6_17() ? error == 0 : error == EACCES || error == EFAULT || error == E2BIG);
    CHECK_EQ(0, open_with("xdp:svtcap0", raw | admin | bpf | perfmon));
}

/* The file has no permissions for others if udev did not set them. */
static void check_tun_of_others(void)
{
    struct stat tun;
    if (stat("/dev/net/tun", &tun) != 0 || (tun.st_mode & S_IWOTH))
        return;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct ibv_device *device = find_device("xdp:svtcap0");
        bool other = prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) == 0 &&
                     syscall(SYS_setresuid, -1, 65534, -1) == 0 &&
                     keep_only(raw | admin | bpf | perfmon | 1ull << CAP_SETUID);
        bool refused = other && ibv_open_device(device) == NULL && errno == EACCES;
        _exit(refused && strstr(softverbs_open_error(device), "chmod 0666 /dev/net/tun") != NULL ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Mode tap needs no further permission. */
static void permissions_of_mode_tap(const char *kind)
{
    (void)kind;
    CHECK_EQ(EPERM, open_with("xdp:svtcap0", raw));
    CHECK_EQ(EPERM, open_with("xdp:svtcap0", raw | bpf));
    CHECK_EQ(EPERM, open_with("xdp:svtcap0", raw | admin));
    check_least_capabilities();
    check_tun_of_others();
}

static void test_missing_permissions_are_named(void)
{
    if (!have_namespace())
        return;
    run("ip link add %s type veth peer name %s", "svtcap0", "svtcap1");
    run("ip link set %s up && ip link set %s up", "svtcap0", "svtcap1");
    CHECK_EQ(0, softverbs_add_device("packet:svtcap0"));
    CHECK_EQ(0, softverbs_add_device("xdp:svtcap0"));
    CHECK_EQ(EPERM, open_with("packet:svtcap0", 0));
    CHECK_EQ(0, open_with("packet:svtcap0", raw));
    CHECK_EQ(0, open_with("packet:svtcap0", raw | admin | bpf));
    CHECK_EQ(EPERM, open_with("xdp:svtcap0", 0));
    CHECK_EQ(EPERM, open_with("xdp:svtcap0", raw));
    CHECK_EQ(EPERM, open_with("xdp:svtcap0", raw | bpf));
    check_least_capabilities();
    with_xdp_mode("tap", permissions_of_mode_tap);
    run("ip link del %s", "svtcap0");
}

/* The sentence names the version that the user needs. */
static void check_wants_linux_6_6(const char *device_name)
{
    struct ibv_device *device = find_device(device_name);
    CHECK(device != NULL);
    CHECK(ibv_open_device(device) == NULL);
    CHECK(strstr(softverbs_open_error(device), "Linux 6.6") != NULL);
}

static void test_errors_name_the_linux_version_for_mode_tap_and_long_frames(void)
{
    struct wire wire;
    if (!have_namespace() || is_linux_6_6())
        return;
    link_open(&wire, 9000, 1);
    char device_name[64];
    snprintf(device_name, sizeof device_name, "xdp:%s", wire.name[0]);
    CHECK_EQ(0, softverbs_add_device(device_name));
    check_wants_linux_6_6(device_name);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_wants_linux_6_6(device_name);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
    run("ip link set %s mtu 1500", wire.name[0]);
    check_wants_linux_6_6(device_name);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    link_close(&wire);
}

static void test_frames(void)
{
    for_each_kind(frames_pass);
}

static void test_frames_lost_in_a_flood_are_counted(void)
{
    for_each_kind(floods_are_counted);
}

static void test_threads(void)
{
    for_each_kind(threads_share_a_port);
}

static void test_removing_an_interface_raises_a_fatal_event(void)
{
    for_each_kind(an_interface_can_go);
}

const struct test wire_tests[] = {
    {"wire: frames of every length pass", test_frames},
    {"wire: frames lost in a flood are counted", test_frames_lost_in_a_flood_are_counted},
    {"wire: threads share a port while rules change", test_threads},
    {"wire: removing an interface raises a fatal event", test_removing_an_interface_raises_a_fatal_event},
    {"wire: missing permissions are named", test_missing_permissions_are_named},
    {"wire: errors name the Linux version for mode tap and long frames",
     test_errors_name_the_linux_version_for_mode_tap_and_long_frames},
    {NULL, NULL},
};
