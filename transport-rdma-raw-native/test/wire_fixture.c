/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/utsname.h>
#include <unistd.h>

static unsigned pair_number;

bool have_namespace(void)
{
    static int state;
    if (state == 0) {
        const char *env_value = getenv("SOFTVERBS_TEST_NAMESPACES");
        bool wanted = env_value == NULL || strcmp(env_value, "never") != 0;
        state = wanted && unshare(CLONE_NEWNET) == 0 && system("ip link set lo up") == 0 ? 1 : -1;
        if (state < 0)
            printf("left out: tests on network interfaces, which need CAP_SYS_ADMIN, CAP_NET_ADMIN and ip\n");
    }
    return state > 0;
}

static bool is_linux_6_from(unsigned least)
{
    struct utsname kernel;
    unsigned major, minor;
    CHECK_EQ(0, uname(&kernel));
    CHECK_EQ(2, sscanf(kernel.release, "%u.%u", &major, &minor));
    return major > 6 || (major == 6 && minor >= least);
}

bool is_linux_6_2(void)
{
    return is_linux_6_from(2);
}

bool is_linux_6_17(void)
{
    return is_linux_6_from(17);
}

bool is_linux_6_6(void)
{
    static bool told;
    bool is = is_linux_6_from(6);
    if (!is && !told)
        printf("left out: mode tap and long frames of AF_XDP, which need Linux 6.6\n");
    told = true;
    return is;
}

struct timespec now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time;
}

unsigned patience_seconds(void)
{
    const char *value = getenv("SOFTVERBS_TEST_PATIENCE");
    return value == NULL ? 20 : (unsigned)atoi(value);
}

bool overdue(struct timespec since)
{
    return now().tv_sec - since.tv_sec > patience_seconds();
}

void run(const char *format, ...)
{
    char command[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    CHECK_EQ(0, system(command));
}

static void open_end(struct wire *wire, const char *kind, int end)
{
    struct world *world = &wire->world[end];
    char netdev[16];
    memcpy(netdev, wire->name[end], sizeof netdev);
    snprintf(world->device_name, sizeof world->device_name, "%s:%s", kind, netdev);
    CHECK_EQ(0, softverbs_add_device(world->device_name));
    struct ibv_device *device = find_device(world->device_name);
    world->context = ibv_open_device(device);
    if (world->context == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", world->device_name, softverbs_open_error(device));
    world->pd = ibv_alloc_pd(world->context);
    side_open(world, &wire->side[end]);
}

/* A veth has no native mode if the peer has more send queues than it has receive queues. */
void link_open(struct wire *wire, unsigned mtu, unsigned queues)
{
    link_open_with(wire, mtu, queues, 1);
}

/*
 * Waits until the interface is up. The kernel activates the send queue of the end that came up first later, in a work
 * item, and silently drops frames sent before. It sets the operational state in the same section of its lock, which
 * this request acquires too.
 */
static void await_up(const char *interface)
{
    run("timeout 60 sh -c 'until ip link show dev %s | grep -q \"state UP\"; do :; done'", interface);
}

void link_open_with(struct wire *wire, unsigned mtu, unsigned receive_queues, unsigned send_queues)
{
    unsigned number = ++pair_number;
    snprintf(wire->name[0], sizeof wire->name[0], "svt%ua", number);
    snprintf(wire->name[1], sizeof wire->name[1], "svt%ub", number);
    run("ip link add %s numrxqueues %u numtxqueues %u type veth peer name %s numrxqueues %u numtxqueues %u",
        wire->name[0], receive_queues, send_queues, wire->name[1], receive_queues, send_queues);
    for (int end = 0; end < 2; end++) {
        run("sysctl -qw net.ipv6.conf.%s.disable_ipv6=1", wire->name[end]);
        run("ip link set %s mtu %u up", wire->name[end], mtu);
    }
    for (int end = 0; end < 2; end++)
        await_up(wire->name[end]);
}

void link_close(struct wire *wire)
{
    run("ip link del %s 2>/dev/null || true", wire->name[0]);
}

void wire_open(struct wire *wire, const char *kind, unsigned mtu, unsigned queues)
{
    link_open(wire, mtu, queues);
    wire_open_on(wire, kind);
}

void wire_open_on(struct wire *wire, const char *kind)
{
    wire_open_between(wire, kind, kind);
}

void wire_open_between(struct wire *wire, const char *from, const char *to)
{
    open_end(wire, from, 0);
    open_end(wire, to, 1);
    struct timespec start = now();
    for (int end = 0; end < 2; end++) {
        struct ibv_port_attr port = {.state = IBV_PORT_DOWN};
        while (port.state != IBV_PORT_ACTIVE && !overdue(start))
            CHECK_EQ(0, ibv_query_port(wire->world[end].context, 1, &port));
        CHECK_EQ(IBV_PORT_ACTIVE, port.state);
    }
}

void wire_close(struct wire *wire)
{
    for (int end = 0; end < 2; end++) {
        side_close(&wire->side[end]);
        world_close(&wire->world[end]);
    }
    link_close(wire);
}

struct ibv_flow *udp_rule(struct side *side, uint16_t port)
{
    struct rule rule;
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, port);
    struct ibv_flow *flow = ibv_create_flow(side->qp, &rule.attr);
    CHECK(flow != NULL);
    return flow;
}

struct ibv_wc wait_one(struct ibv_cq *cq)
{
    struct ibv_wc wc;
    struct timespec start = now();
    int count = 0;
    while (count == 0 && !overdue(start))
        count = ibv_poll_cq(cq, 1, &wc);
    CHECK_EQ(1, count);
    return wc;
}

bool send_with_offload(const char *interface, const struct virtio_net_hdr *offload, const uint8_t *frame,
                       uint32_t length)
{
    const int on = 1, room = 16 << 20;
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(interface), .sll_halen = 6};
    memcpy(&to.sll_protocol, frame + 12, 2);
    const size_t bytes = sizeof *offload + length;
    uint8_t *packet = malloc(bytes);
    CHECK(packet != NULL);
    memcpy(packet, offload, sizeof *offload);
    memcpy(packet + sizeof *offload, frame, length);
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on));
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room));
    ssize_t sent = sendto(fd, packet, bytes, 0, (struct sockaddr *)&to, sizeof to);
    close(fd);
    free(packet);
    return sent == (ssize_t)bytes;
}

void send_unsegmented(const char *interface, const uint8_t *frame, uint32_t length)
{
    const struct virtio_net_hdr offload = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
                                           .hdr_len = 54, .gso_size = 1000, .csum_start = 34, .csum_offset = 16};
    CHECK(send_with_offload(interface, &offload, frame, length));
}

void for_each_kind(void (*test)(const char *kind))
{
    if (!have_namespace())
        return;
    test("packet");
    test("xdp");
    with_xdp_mode("tap", test);
}

void with_xdp_mode(const char *mode, void (*test)(const char *kind))
{
    if (strcmp(mode, "tap") == 0 && !is_linux_6_6())
        return;
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", mode, 1));
    test("xdp");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
}
