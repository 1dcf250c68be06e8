/* SPDX-License-Identifier: Apache-2.0 */
/* Busy polling with simulated NAPI instances that can be set. */
#include "busy_poll.h"
#include "harness.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdalign.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_INCOMING_NAPI_ID
#define SO_INCOMING_NAPI_ID 56
#endif

/* ---- the kernel ---- */

enum { INSTANCES = 2, FIRST_ID = 300, FAMILY = 77, QUEUE_GET = 10, NAPI_GET = 11, NAPI_SET = 14 };
enum { REQUEST_BYTES = 256, LATE_BYTES = 512, IFINDEX = 1 };

static bool kernel_is_ours;
static bool has_napi_set;
static bool is_down;                    /* the interface is down: the kernel then reports no instance */
static uint32_t socket_napi;            /* the instance that a socket reports */
static uint32_t queue_napi;             /* the instance that the driver reports for a queue; 0: none */
static struct sv_napi_settings instance[INSTANCES];
static int owner[INSTANCES];            /* the interface of each instance */
static alignas(struct nlmsghdr) uint8_t asked[REQUEST_BYTES];
static bool is_late;                    /* the answer arrives with the next one */
static alignas(struct nlmsghdr) uint8_t late[LATE_BYTES];
static size_t late_bytes;

static const struct nlattr *attribute(uint16_t type)
{
    const struct nlmsghdr *request = (const struct nlmsghdr *)asked;
    const uint8_t *at = (const uint8_t *)NLMSG_DATA(request) + GENL_HDRLEN;
    while (at < asked + request->nlmsg_len && ((const struct nlattr *)at)->nla_type != type)
        at += NLA_ALIGN(((const struct nlattr *)at)->nla_len);
    CHECK(at < asked + request->nlmsg_len);
    return (const struct nlattr *)at;
}

static uint32_t number_of(uint16_t type)
{
    uint32_t number;
    memcpy(&number, (const uint8_t *)attribute(type) + NLA_HDRLEN, sizeof number);
    return number;
}

static uint8_t *add(uint8_t *at, uint16_t type, const void *value, uint16_t bytes)
{
    struct nlattr header = {.nla_len = (uint16_t)(NLA_HDRLEN + bytes), .nla_type = type};
    memcpy(at, &header, sizeof header);
    memcpy(at + NLA_HDRLEN, value, bytes);
    return at + NLA_ALIGN(header.nla_len);
}

static size_t acknowledge(uint8_t *at, int error)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr body;
    } message = {.header = {.nlmsg_len = sizeof message, .nlmsg_type = NLMSG_ERROR,
                          .nlmsg_seq = ((const struct nlmsghdr *)asked)->nlmsg_seq},
               .body = {.error = -error}};
    memcpy(at, &message, sizeof message);
    return sizeof message;
}

/* Returns an errno. */
static int carry_out(uint8_t command, uint8_t **at)
{
    if (command == CTRL_CMD_GETFAMILY && ((const struct nlmsghdr *)asked)->nlmsg_type == GENL_ID_CTRL) {
        const uint16_t family = FAMILY;
        *at = add(*at, CTRL_ATTR_FAMILY_ID, &family, sizeof family);
        return 0;
    }
    if (command == QUEUE_GET) {
        if (queue_napi != 0)
            *at = add(*at, 4, &queue_napi, sizeof queue_napi);
        return 0;
    }
    if (!has_napi_set && command == NAPI_SET)
        return EOPNOTSUPP;
    if (number_of(2) - FIRST_ID >= INSTANCES)
        return ENOENT;
    struct sv_napi_settings *settings = &instance[number_of(2) - FIRST_ID];
    if (command == NAPI_SET) {
        settings->defer_hard_irqs = number_of(5);
        memcpy(&settings->gro_flush_timeout_nanos, (const uint8_t *)attribute(6) + NLA_HDRLEN, sizeof(uint64_t));
        return 0;
    }
    CHECK_EQ(NAPI_GET, command);
    if (is_down)
        return ENOENT;
    *at = add(*at, 1, &owner[number_of(2) - FIRST_ID], sizeof owner[0]);
    if (has_napi_set) {
        /* Small values as the kernel writes them. */
        const uint32_t timeout = (uint32_t)settings->gro_flush_timeout_nanos;
        *at = add(*at, 5, &settings->defer_hard_irqs, sizeof(uint32_t));
        *at = add(*at, 6, &timeout, sizeof timeout);
    }
    return 0;
}

/* Replaces the C library's function. */
ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
    if (!kernel_is_ours)
        return syscall(SYS_sendto, fd, data, bytes, flags, NULL, 0);
    CHECK(bytes <= sizeof asked);
    memcpy(asked, data, bytes);
    return (ssize_t)bytes;
}

static size_t answer(void *data)
{
    const struct nlmsghdr *request = (const struct nlmsghdr *)asked;
    uint8_t *at = (uint8_t *)data + NLMSG_LENGTH(GENL_HDRLEN);
    memset(data, 0, NLMSG_LENGTH(GENL_HDRLEN));
    int error = carry_out(((const struct genlmsghdr *)NLMSG_DATA(request))->cmd, &at);
    if (error != 0)
        return acknowledge(data, error);
    *(struct nlmsghdr *)data = (struct nlmsghdr){.nlmsg_len = (uint32_t)(at - (uint8_t *)data),
                                                 .nlmsg_type = request->nlmsg_type, .nlmsg_seq = request->nlmsg_seq};
    return (size_t)(at - (uint8_t *)data) + acknowledge(at, 0);
}

ssize_t (*change_received)(void *data, ssize_t length);

ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
    if (!kernel_is_ours) {
        ssize_t got = syscall(SYS_recvfrom, fd, data, bytes, flags, NULL, NULL);
        return got > 0 && change_received != NULL ? change_received(data, got) : got;
    }
    if (is_late) {
        late_bytes = answer(late);
        is_late = false;
        errno = EAGAIN;
        return -1;
    }
    size_t before = late_bytes;
    memcpy(data, late, before);
    late_bytes = 0;
    return (ssize_t)(before + answer((uint8_t *)data + before));
}

_Thread_local int (*error_of_getsockopt)(int fd, int level, int option);

int getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
    int error = error_of_getsockopt != NULL ? error_of_getsockopt(fd, level, option) : 0;
    if (error != 0) {
        errno = error;
        return -1;
    }
    if (!kernel_is_ours || level != SOL_SOCKET || option != SO_INCOMING_NAPI_ID)
        return (int)syscall(SYS_getsockopt, fd, level, option, value, size);
    memcpy(value, &socket_napi, sizeof socket_napi);
    return 0;
}

/* ---- tests ---- */

static void kernel_ends(void)
{
    kernel_is_ours = false;
    (void)unsetenv("SOFTVERBS_XDP_BUSY_POLL");
}

static void kernel_begins(bool napi_set)
{
    memset(instance, 0, sizeof instance);
    for (int i = 0; i < INSTANCES; i++)
        owner[i] = IFINDEX;
    has_napi_set = napi_set;
    is_down = false;
    is_late = false;
    queue_napi = FIRST_ID;
    kernel_is_ours = true;
    after_failure = kernel_ends;
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_BUSY_POLL", "on", 1));
}

static bool native = true;              /* the mode is a driver mode */

static int add_queue(struct sv_busy_poll *poll, uint32_t queue, uint32_t napi)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    socket_napi = napi;
    int error = sv_busy_poll_add(poll, fd, queue, native);
    close(fd);
    return error;
}

static bool may_poll(void)
{
    const int on = 1;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool may = setsockopt(fd, SOL_SOCKET, 69 /* SO_PREFER_BUSY_POLL */, &on, sizeof on) == 0;
    close(fd);
    if (!may)
        printf("skipped: busy polling needs CAP_NET_ADMIN\n");
    return may;
}

static void test_settings_of_napi_instances_are_restored(void)
{
    struct sv_busy_poll poll;
    if (!may_poll())
        return;
    kernel_begins(true);
    instance[1] = (struct sv_napi_settings){.defer_hard_irqs = 1, .gro_flush_timeout_nanos = 5000};
    CHECK_EQ(0, sv_busy_poll_init(&poll, "lo", 1));
    CHECK_EQ(0, add_queue(&poll, 0, FIRST_ID));
    CHECK_EQ(0, add_queue(&poll, 1, FIRST_ID + 1));
    CHECK_EQ(0, add_queue(&poll, 2, FIRST_ID + 1));     /* two queues of one instance */
    for (int i = 0; i < INSTANCES; i++)
        CHECK(sv_busy_poll_is_leftover(&instance[i]));
    sv_busy_poll_restore(&poll);
    CHECK_EQ(0, instance[0].defer_hard_irqs);
    CHECK_EQ(0, instance[0].gro_flush_timeout_nanos);
    CHECK_EQ(1, instance[1].defer_hard_irqs);
    CHECK_EQ(5000, instance[1].gro_flush_timeout_nanos);
    kernel_ends();
}

static void test_settings_left_by_a_killed_process_are_not_restored(void)
{
    struct sv_busy_poll killed, next;
    if (!may_poll())
        return;
    kernel_begins(true);
    CHECK_EQ(0, sv_busy_poll_init(&killed, "lo", 1));
    CHECK_EQ(0, add_queue(&killed, 0, FIRST_ID));
    CHECK_EQ(0, sv_busy_poll_init(&next, "lo", 1));
    CHECK_EQ(0, add_queue(&next, 0, FIRST_ID));
    sv_busy_poll_restore(&next);
    CHECK_EQ(0, instance[0].defer_hard_irqs);
    CHECK_EQ(0, instance[0].gro_flush_timeout_nanos);
    sv_busy_poll_restore(&killed);
    kernel_ends();
}

/* A program may exit with its devices open, as a JVM does on exit(). */
static void test_settings_are_restored_at_exit(void)
{
    struct sv_busy_poll poll;
    if (!may_poll())
        return;
    kernel_begins(true);
    CHECK_EQ(0, sv_busy_poll_init(&poll, "lo", 1));
    CHECK_EQ(0, add_queue(&poll, 0, FIRST_ID));
    poll.pid++;
    sv_busy_poll_restore_all();
    CHECK(sv_busy_poll_is_leftover(&instance[0]));
    poll.pid--;
    sv_busy_poll_restore_all();
    CHECK_EQ(0, instance[0].defer_hard_irqs);
    CHECK_EQ(0, instance[0].gro_flush_timeout_nanos);
    sv_busy_poll_restore(&poll);
    kernel_ends();
}

/* Since Linux 6.14 a bound socket knows whether it has an instance. */
static void test_a_queue_without_an_instance(void)
{
    struct sv_busy_poll poll;
    if (!may_poll())
        return;
    kernel_begins(true);
    CHECK_EQ(0, sv_busy_poll_init(&poll, "lo", 1));
    CHECK_EQ(EOPNOTSUPP, add_queue(&poll, 0, 0));
    sv_busy_poll_restore(&poll);
    kernel_ends();
}

/* Before Linux 6.13, files of the interface set all instances. */
static void test_an_old_kernel_needs_the_interfaces_files(void)
{
    struct sv_busy_poll poll;
    if (!may_poll())
        return;
    kernel_begins(false);
    CHECK_EQ(0, sv_busy_poll_init(&poll, "svt-none", 1));
    CHECK_EQ(ENOENT, add_queue(&poll, 0, 0));
    CHECK_EQ(ENOENT, add_queue(&poll, 0, FIRST_ID));
    sv_busy_poll_restore(&poll);
    kernel_ends();
}

/* From Linux 6.8 to 6.12, drivers such as i40e report no instance of a queue, and its socket learns it from a frame. */
static void test_an_old_kernel_needs_no_napi_report_by_the_driver(void)
{
    struct sv_busy_poll poll;
    if (!may_poll())
        return;
    kernel_begins(false);
    queue_napi = 0;
    CHECK_EQ(0, sv_busy_poll_init(&poll, "svt-none", 1));
    CHECK_EQ(ENOENT, add_queue(&poll, 0, 0));
    native = false;
    CHECK_EQ(EOPNOTSUPP, add_queue(&poll, 0, 0));       /* frames in generic mode have no instance */
    native = true;
    sv_busy_poll_restore(&poll);
    kernel_ends();
}

/* The kernel may need longer than the answer is waited for. */
static void test_a_late_answer_is_ignored(void)
{
    struct sv_netdev_family family;
    struct sv_napi_settings settings;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (fd < 0 && errno == EPROTONOSUPPORT) {
        printf("skipped: there is no generic netlink, as under QEMU's emulation of programs\n");
        return;
    }
    close(fd);
    kernel_begins(true);
    instance[0].gro_flush_timeout_nanos = 1000;
    instance[1].gro_flush_timeout_nanos = 2000;
    CHECK_EQ(0, sv_netdev_family_open(&family));
    is_late = true;
    CHECK_EQ(ETIMEDOUT, sv_netdev_get_napi(&family, FIRST_ID, &settings));
    CHECK_EQ(0, sv_netdev_get_napi(&family, FIRST_ID + 1, &settings));
    CHECK_EQ(2000, settings.gro_flush_timeout_nanos);
    sv_netdev_family_close(&family);
    kernel_ends();
}

/* After `ethtool -L` and many other instances, the number belongs to another interface. */
static void test_an_instance_of_another_interface_is_left_alone(void)
{
    struct sv_busy_poll poll;
    if (!may_poll())
        return;
    kernel_begins(true);
    CHECK_EQ(0, sv_busy_poll_init(&poll, "lo", IFINDEX));
    CHECK_EQ(0, add_queue(&poll, 0, FIRST_ID));
    CHECK_EQ(0, add_queue(&poll, 1, FIRST_ID + 1));
    owner[0] = IFINDEX + 1;
    instance[0] = (struct sv_napi_settings){.defer_hard_irqs = 7, .gro_flush_timeout_nanos = 7000};
    sv_busy_poll_restore(&poll);
    CHECK_EQ(7, instance[0].defer_hard_irqs);
    CHECK_EQ(7000, instance[0].gro_flush_timeout_nanos);
    CHECK_EQ(0, instance[1].defer_hard_irqs);
    kernel_ends();
}

static void test_settings_are_restored_while_the_interface_is_down(void)
{
    struct sv_busy_poll poll;
    if (!may_poll())
        return;
    kernel_begins(true);
    CHECK_EQ(0, sv_busy_poll_init(&poll, "lo", IFINDEX));
    CHECK_EQ(0, add_queue(&poll, 0, FIRST_ID));
    CHECK(instance[0].defer_hard_irqs != 0);
    is_down = true;
    sv_busy_poll_restore(&poll);
    CHECK_EQ(0, instance[0].defer_hard_irqs);
    kernel_ends();
}

static void test_it_is_off_by_default(void)
{
    struct sv_busy_poll poll;
    CHECK_EQ(0, sv_busy_poll_init(&poll, "lo", 1));
    CHECK(!poll.enabled);
    CHECK_EQ(0, add_queue(&poll, 0, 0));
    sv_busy_poll_restore(&poll);
}

const struct test busy_poll_tests[] = {
    {"busy poll: settings of NAPI instances are restored", test_settings_of_napi_instances_are_restored},
    {"busy poll: settings left by a killed process are not restored",
     test_settings_left_by_a_killed_process_are_not_restored},
    {"busy poll: settings are restored at exit", test_settings_are_restored_at_exit},
    {"busy poll: a queue without a NAPI instance is refused", test_a_queue_without_an_instance},
    {"busy poll: an old kernel needs the interface's files", test_an_old_kernel_needs_the_interfaces_files},
    {"busy poll: an old kernel needs no NAPI report by the driver",
     test_an_old_kernel_needs_no_napi_report_by_the_driver},
    {"busy poll: a late answer is ignored", test_a_late_answer_is_ignored},
    {"busy poll: an instance of another interface is left alone", test_an_instance_of_another_interface_is_left_alone},
    {"busy poll: settings are restored while the interface is down",
     test_settings_are_restored_while_the_interface_is_down},
    {"busy poll: it is off by default", test_it_is_off_by_default},
    {NULL, NULL},
};
