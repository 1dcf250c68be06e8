/* SPDX-License-Identifier: Apache-2.0 */
/* Opening devices on AF_XDP, and the reasons for which an interface or a mode is refused. */
#include "wire_fixture.h"

#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __GLIBC__
typedef unsigned long ioctl_request;
#else
typedef int ioctl_request;
#endif

static bool reports_no_channels;
const char *reported_driver;

/*
 * Replaces the C library's function: a driver that does not report its number of queues, and a veth with another driver
 * name.
 */
int ioctl(int fd, ioctl_request request, ...)
{
    static const uint32_t none;
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    const uint32_t *question = request == SIOCETHTOOL ? (void *)((const struct ifreq *)argument)->ifr_data : &none;
    if (reports_no_channels && *question == ETHTOOL_GCHANNELS) {
        errno = EOPNOTSUPP;
        return -1;
    }
    int result = (int)syscall(SYS_ioctl, fd, request, argument);
    if (reported_driver != NULL && result == 0 && *question == ETHTOOL_GDRVINFO) {
        struct ethtool_drvinfo *info = (struct ethtool_drvinfo *)((const struct ifreq *)argument)->ifr_data;
        struct utsname kernel;
        CHECK_EQ(0, uname(&kernel));
        strcpy(info->driver, reported_driver);
        snprintf(info->version, sizeof info->version, "%.31s", kernel.release);     /* it came with the kernel */
    }
    return result;
}

static void check_opens(const char *interface, int error, const char *why)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", interface);
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    struct ibv_device *device = find_device(name);
    struct ibv_context *context = ibv_open_device(device);
    if (error == 0) {
        if (context == NULL)
            test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_open_error(device));
        CHECK_EQ(0, ibv_close_device(context));
        return;
    }
    CHECK(context == NULL);
    CHECK_EQ(error, errno);
    if (strstr(softverbs_open_error(device), why) == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_open_error(device));
}

static void a_kernel_without_multi_buffer_is_reported(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 9000, 1);
    kernel_is_old = true;
    check_opens(wire.name[0], EOPNOTSUPP, "Linux 6.6");
    check_opens(wire.name[0], EOPNOTSUPP, "3822");
    run("ip link set %s mtu 3822", wire.name[0]);
    check_opens(wire.name[0], 0, "");
    kernel_is_old = false;
    if (is_linux_6_6()) {
        run("ip link set %s mtu 3823", wire.name[0]);
        check_opens(wire.name[0], 0, "");
        run("ip link set %s mtu 9001", wire.name[0]);
        check_opens(wire.name[0], EMSGSIZE, "mtu 9000");
    }
    link_close(&wire);
}

static void loopback_is_generic_only(void)
{
    if (!have_namespace())
        return;
    run("ip link set lo mtu 1500");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "fast", 1));
    check_opens("lo", EINVAL, "use auto, generic, native, zerocopy or tap");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "zerocopy", 1));
    check_opens("lo", EOPNOTSUPP, "SOFTVERBS_XDP_MODE=zerocopy");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_opens("lo", EOPNOTSUPP, "SOFTVERBS_XDP_MODE=native");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    check_opens("lo", 0, "");
}

static void check_mode(const char *interface, const char *text)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", interface);
    struct ibv_device *device = find_device(name);
    struct ibv_context *context = ibv_open_device(device);
    if (context == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_open_error(device));
    if (strstr(softverbs_mode(context), text) == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_mode(context));
    /* Without a mode named by the user, the sentence must not suggest to unset it. */
    if (getenv("SOFTVERBS_XDP_MODE") == NULL && strstr(softverbs_mode(context), "SOFTVERBS_XDP_MODE") != NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_mode(context));
    CHECK_EQ(0, strcmp("", softverbs_open_error(device)));
    CHECK_EQ(0, ibv_close_device(context));
}

/* A veth has native mode and no zero copy, whatever driver name it reports. */
static void the_mode_follows_driver_and_kernel(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    check_opens(wire.name[0], 0, "");
    check_mode(wire.name[0], "mode generic: native mode is no faster on veth");
    run("ethtool -K %s rxvlan off", wire.name[0]);      /* without an effect on a veth, and important on others */
    reported_driver = "mlx5_core";
    check_mode(wire.name[0], "mode native, because zerocopy is not available: the interface's driver has no zero copy");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "generic", 1));
    check_mode(wire.name[0], "mode generic: set by SOFTVERBS_XDP_MODE");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "zerocopy", 1));
    check_opens(wire.name[0], EOPNOTSUPP, "no zero copy");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "auto", 1));
    reported_driver = "ice";
    check_mode(wire.name[0], "mode generic: zero copy has corrupted memory with ice");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    reported_driver = NULL;
    link_close(&wire);
}

/* Neither a veth nor a mode without a NAPI instance can be polled. */
static void busy_polling_is_refused_without_a_napi_instance(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 2);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_BUSY_POLL", "often", 1));
    check_opens(wire.name[0], EINVAL, "use on or off");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_BUSY_POLL", "on", 1));
    if (is_linux_6_17())
        check_opens(wire.name[0], EOPNOTSUPP, "has no NAPI instance");
    if (is_linux_6_6()) {
        CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
        check_opens(wire.name[0], EOPNOTSUPP, "mode tap has no busy polling");
        CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    }
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_BUSY_POLL", "off", 1));
    check_opens(wire.name[0], 0, "");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_BUSY_POLL"));
    link_close(&wire);
}

/* The kernel refuses this while a queue has an AF_XDP socket, and frees the sockets of a closed port a moment later. */
static void set_channels(const char *interface, const char *channels)
{
    char command[128];
    struct timespec start = now();
    snprintf(command, sizeof command, "ethtool -L %s %s 2>/dev/null", interface, channels);
    while (system(command) != 0) {
        if (overdue(start))
            run("ethtool -L %s %s", interface, channels);       /* it prints the reason */
        poll(NULL, 0, 10);
    }
}

/* A port that served only some queues of an interface would lose the flows of the others. */
static void an_interface_with_too_many_queues_is_refused(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open_with(&wire, 1500, 96, 96);
    check_opens(wire.name[0], EOPNOTSUPP, "ethtool -L");
    check_opens(wire.name[0], EOPNOTSUPP, "64");
    set_channels(wire.name[0], "rx 64");
    reports_no_channels = true;     /* so the number has to be found by binding, which also counts send queues */
    check_opens(wire.name[0], EOPNOTSUPP, "ethtool -L");
    set_channels(wire.name[0], "tx 64");
    check_opens(wire.name[0], 0, "");
    reports_no_channels = false;
    link_close(&wire);
}

/* Opens a device with no other privilege than this limit. */
static bool opens_with_locked(const char *device_name, rlim_t bytes)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct capabilities[2];
    struct rlimit limit = {bytes, bytes};
    if (syscall(SYS_capget, &header, capabilities) != 0)
        return false;
    capabilities[0].effective &= ~(1u << CAP_IPC_LOCK);
    return syscall(SYS_capset, &header, capabilities) == 0 && setrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
           ibv_open_device(find_device(device_name)) != NULL;
}

/* In a separate process. The kernel may free its queue some time after its end. */
static void check_opens_with_locked(const char *interface, rlim_t bytes)
{
    char name[32];
    int status;
    snprintf(name, sizeof name, "xdp:%s", interface);
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    fflush(stdout);
    struct timespec start = now();
    do {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(opens_with_locked(name, bytes) ? 0 : 1);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
    } while (WEXITSTATUS(status) != 0 && !overdue(start));
    CHECK_EQ(0, WEXITSTATUS(status));
}

/* Each queue uses as much memory as it can get, at least 1.6 MB. Nothing may be left to look for another queue. */
static void memory_is_needed_only_for_existing_queues(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    check_opens_with_locked(wire.name[0], 2 << 20);
    check_opens_with_locked(wire.name[0], 7 << 20);
    link_close(&wire);
}

static void check_opens_by_tap(const char *interface)
{
    if (is_linux_6_6())
        check_opens(interface, 0, "");
}

/* A veth has the feature too, where it has no meaning, and is not checked. */
static void an_interface_that_hides_tags_is_refused(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    check_opens(wire.name[0], 0, "");
    reported_driver = "card";
    check_opens(wire.name[0], EOPNOTSUPP, "rxvlan off");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_RXVLAN", "allow", 1));
    check_opens(wire.name[0], 0, "");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_RXVLAN"));
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
    check_opens_by_tap(wire.name[0]);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_opens(wire.name[0], EOPNOTSUPP, "rxvlan off");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    run("ethtool -K %s rxvlan off", wire.name[0]);
    check_opens(wire.name[0], 0, "");
    reported_driver = NULL;
    link_close(&wire);
}

static void check_hides_tags(const char *interface)
{
    check_opens(interface, EOPNOTSUPP, "stacked on another interface");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_RXVLAN", "allow", 1));
    check_opens(interface, 0, "");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_RXVLAN"));
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
    check_opens_by_tap(interface);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
}

/* On such an interface the tag has been removed, whatever the driver does. */
static void a_stacked_interface_is_refused(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    run("ip link add link %s name svtabove type macvlan && ip link set svtabove up", wire.name[0]);
    check_hides_tags("svtabove");
    run("ip link del svtabove");
    run("ip link add svtbridge type bridge && ip link set %s master svtbridge && ip link set svtbridge up",
        wire.name[0]);
    check_opens(wire.name[0], 0, "");
    check_hides_tags("svtbridge");
    run("ip link del svtbridge");
    link_close(&wire);
}

static void a_driver_without_zero_copy_is_reported(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "zerocopy", 1));
    check_opens(wire.name[0], EOPNOTSUPP, "no zero copy");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    link_close(&wire);
}

/* ---- frames that the kernel has merged ---- */

/*
 * A frame as GRO leaves it after merging two segments that fit the MTU: the field holds the sum of the pseudo header.
 * The sender sends it as a complete frame.
 */
static void check_merged(const char *receiver, bool partial)
{
    struct wire wire;
    uint8_t frame[2048];
    struct softverbs_counters counters;
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    spec.payload = 900;
    uint32_t length = build_frame(&spec, frame);
    uint16_t pseudo = (uint16_t)~internet_checksum(frame + 26, 8, 6 + length - 34);
    const uint8_t complete[2] = {frame[50], frame[51]};
    frame[50] = (uint8_t)(pseudo >> 8);
    frame[51] = (uint8_t)pseudo;
    link_open(&wire, 1500, 1);
    reported_driver = receiver;
    wire_open_between(&wire, "packet", "xdp");
    struct ibv_flow *flow = steer_mac(&wire.side[1], mac_b);
    CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&wire.side[0], frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[0].cq).status);
    struct ibv_wc wc = wait_one(wire.side[1].cq);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(partial ? IBV_WC_IP_CSUM_OK : 0, wc.wc_flags & IBV_WC_IP_CSUM_OK);
    CHECK_EQ(0, memcmp(slot_at(&wire.side[1], 0) + 50, partial ? complete : frame + 50, 2));
    CHECK_EQ(0, softverbs_query_counters(wire.world[1].context, &counters));
    CHECK_EQ(partial, counters.received.partial_checksums);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
    reported_driver = NULL;
}

/*
 * In generic mode a card's frames are seen before GRO. The tc program, and a program on a stacked interface, see them
 * after it.
 */
static void checksums_of_merged_frames_are_completed(void)
{
    if (!have_namespace())
        return;
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_RXVLAN", "allow", 1));
    check_merged("card", false);
    check_merged("802.1Q VLAN Support", true);
    check_merged("bonding", true);
    check_merged("vxlan", true);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_merged("bonding", false);
    if (is_linux_6_6()) {
        CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "tap", 1));
        check_merged("card", true);
        CHECK_EQ(0, setenv("SOFTVERBS_PARTIAL_CHECKSUMS", "off", 1));
        check_merged("card", false);
        CHECK_EQ(0, unsetenv("SOFTVERBS_PARTIAL_CHECKSUMS"));
    }
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_RXVLAN"));
}

const struct test xdp_open_tests[] = {
    {"xdp: checksums of merged frames are completed", checksums_of_merged_frames_are_completed},
    {"xdp: a kernel without multi-buffer is reported", a_kernel_without_multi_buffer_is_reported},
    {"xdp: the mode follows driver and kernel", the_mode_follows_driver_and_kernel},
    {"xdp: busy polling is refused without a NAPI instance", busy_polling_is_refused_without_a_napi_instance},
    {"xdp: the loopback interface has no native mode", loopback_is_generic_only},
    {"xdp: an interface that hides VLAN tags is refused", an_interface_that_hides_tags_is_refused},
    {"xdp: a stacked interface is refused", a_stacked_interface_is_refused},
    {"xdp: a driver without zero copy is reported", a_driver_without_zero_copy_is_reported},
    {"xdp: an interface with too many queues is refused", an_interface_with_too_many_queues_is_refused},
    {"xdp: memory is needed only for existing queues", memory_is_needed_only_for_existing_queues},
    {NULL, NULL},
};
