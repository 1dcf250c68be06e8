/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that the broker opens for this process. */
#define _GNU_SOURCE
#include "broker_scene.h"

#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif

enum { GRANTED = 2000, NOT_GRANTED = 2001 };
enum { TCP_FLAGS = 47, TCP_SYN = 0x02, TCP_ACK = 0x10 };

/* ---- devices ---- */

static void check_explained(const char *netdev, int error, const char *text)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", netdev);
    CHECK_EQ(error, open_error(netdev));
    const char *explanation = softverbs_open_error(find_device(name));
    if (strstr(explanation, text) == NULL)
        test_failed(__FILE__, __LINE__, "%s", explanation);
}

static void check_delivers(struct wire *wire, uint16_t port, uint16_t from)
{
    struct frame_spec spec = default_frame();
    uint8_t frame[256];
    spec.dst_port = port;
    spec.src_port = from;
    uint32_t length = build_frame(&spec, frame);
    CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&wire->side[0], frame, length, 0));
    struct ibv_wc wc = wait_one(wire->side[1].cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(0, memcmp(slot_at(&wire->side[1], 0), frame, length));
}

static void check_rule_fails(struct side *side, enum ibv_flow_spec_type type, uint16_t port, int error)
{
    struct rule rule;
    rule_init(&rule, 0);
    rule_ports(&rule, type, 0, port);
    CHECK_FAILS(error, ibv_create_flow(side->qp, &rule.attr));
}

static void frames_and_rules(const char *mode, unsigned queues)
{
    struct wire wire;
    struct scene scene;
    link_open(&wire, 1500, queues);
    scene_open_for(&scene, &wire, "modes=generic,native ports=udp:2000,tcp:80 devices=2");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", mode, 1));
    wire_open_on(&wire, "xdp");
    struct ibv_flow *flow = udp_rule(&wire.side[1], GRANTED);
    check_delivers(&wire, GRANTED, 1);
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_UDP, NOT_GRANTED, EACCES);
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_UDP, 80, EACCES);
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_TCP, GRANTED, EACCES);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    flow = udp_rule(&wire.side[1], GRANTED);        /* the broker has let go of the first one */
    check_delivers(&wire, GRANTED, 2);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    for (int end = 0; end < 2; end++) {
        side_close(&wire.side[end]);
        world_close(&wire.world[end]);
    }
    scene_settle(&scene);
    CHECK_EQ(0, server_devices(scene.server));
    CHECK_EQ(3, server_counters(scene.server)->denied);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    scene_close(&scene);
    link_close(&wire);
}

static void test_frames(void)
{
    if (!have_namespace())
        return;
    frames_and_rules("generic", 1);
    frames_and_rules("generic", 3);
    frames_and_rules("native", 2);
}

enum { TCP_PORT = 80, SYNS = 20 };

static void send_segment(struct wire *wire, uint16_t from, uint8_t flags)
{
    struct frame_spec spec = default_frame();
    uint8_t frame[256];
    spec.protocol = 6;
    spec.dst_port = TCP_PORT;
    spec.src_port = from;
    uint32_t length = build_frame(&spec, frame);
    frame[TCP_FLAGS] = flags;
    CHECK_EQ(0, send_frame(&wire->side[0], frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[0].cq).status);
}

/* Nobody polls until all are sent. */
static void check_syns_come_last(struct wire *wire, uint16_t from)
{
    CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
    for (uint16_t i = 0; i < SYNS; i++)
        send_segment(wire, (uint16_t)(from + i), TCP_SYN);
    send_segment(wire, (uint16_t)(from + SYNS), TCP_ACK);
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[1].cq).status);
    CHECK_EQ(TCP_ACK, slot_at(&wire->side[1], 0)[TCP_FLAGS]);
}

/* The program's part that tells SYNs apart is the device's for as long as that is open. */
static void test_syns(void)
{
    struct wire wire;
    struct scene scene;
    struct rule rule;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=tcp:80 devices=2");
    wire_open_on(&wire, "xdp");
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_TCP, 0, TCP_PORT);
    struct ibv_flow *flow = must_create(&wire.side[1], &rule);
    check_syns_come_last(&wire, 1);
    scene_end_broker(&scene);
    check_syns_come_last(&wire, 1000);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
    scene_close(&scene);
}

/* With ports of their own users may not have rules that take other ports, or make the interface promiscuous. */
static void test_rules_without_a_port(void)
{
    struct wire wire;
    struct scene scene;
    struct rule rule;
    static const uint8_t foreign[6] = {2, 0, 0, 0, 0, 0x77};
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000 devices=2");
    wire_open_on(&wire, "xdp");
    rule_init(&rule, 0);
    rule_eth(&rule, mac_a, NULL, 0, -1);
    CHECK_FAILS(EACCES, ibv_create_flow(wire.side[1].qp, &rule.attr));
    rule_init(&rule, 0);
    rule_ipv4(&rule, NULL, "192.0.2.2");
    CHECK_FAILS(EACCES, ibv_create_flow(wire.side[1].qp, &rule.attr));
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_UDP, 0, EACCES);
    rule_init(&rule, 0);
    rule.attr.type = IBV_FLOW_ATTR_SNIFFER;
    CHECK_FAILS(EOPNOTSUPP, ibv_create_flow(wire.side[1].qp, &rule.attr));
    /* A veth end has no filter of unicast addresses: one that is not its own would make it promiscuous. */
    rule_init(&rule, 0);
    rule_eth(&rule, foreign, NULL, 0, -1);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, GRANTED);
    CHECK_FAILS(EACCES, ibv_create_flow(wire.side[1].qp, &rule.attr));
    rule_init(&rule, 0);
    rule_eth(&rule, mac_multicast, NULL, 0, -1);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, GRANTED);
    struct ibv_flow *flow = ibv_create_flow(wire.side[1].qp, &rule.attr);
    CHECK(flow != NULL);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
    scene_close(&scene);
}

static void test_refused_devices(void)
{
    struct wire wire;
    struct scene scene;
    char policy[128];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    snprintf(policy, sizeof policy, "user=me interface=%s modes=generic ports=any", wire.name[0]);
    scene_open(&scene, policy);
    check_explained(wire.name[1], EACCES, "the policy does not grant");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_explained(wire.name[0], EACCES, "in native mode");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    CHECK_EQ(0, open_error(wire.name[0]));
    CHECK_EQ(0, open_error(wire.name[0]));
    scene_end_broker(&scene);
    check_explained(wire.name[0], ENOENT, "there is no rdma-raw-broker at");
    scene_close(&scene);
    link_close(&wire);
}

/* As many as the policy says, and no other user's. */
static void test_number_of_devices(void)
{
    struct wire wire;
    struct scene scene;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=any");
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", wire.name[0]);
    CHECK_EQ(0, softverbs_add_device(name));
    struct ibv_context *context = ibv_open_device(find_device(name));
    CHECK(context != NULL);
    check_explained(wire.name[1], EACCES, "as many as the policy grants");
    CHECK_EQ(0, ibv_close_device(context));
    CHECK_EQ(0, open_error(wire.name[1]));
    scene_close(&scene);
    link_close(&wire);
}

/* What is open goes on, and new rules fail. */
static void test_end_of_the_broker(void)
{
    struct wire wire;
    struct scene scene;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000,udp:3000 devices=2");
    wire_open_on(&wire, "xdp");
    struct ibv_flow *flow = udp_rule(&wire.side[1], GRANTED);
    check_delivers(&wire, GRANTED, 1);
    scene_end_broker(&scene);
    check_delivers(&wire, GRANTED, 2);
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_UDP, 3000, ECONNRESET);
    check_delivers(&wire, GRANTED, 3);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
    scene_close(&scene);
}

/* ---- what is handed over ---- */

static unsigned take(int fd, struct sv_broker_reply *reply, int *fds)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct iovec part = {reply, sizeof *reply};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    CHECK_EQ(sizeof *reply, recvmsg(fd, &message, MSG_CMSG_CLOEXEC));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    CHECK(rights != NULL && rights->cmsg_type == SCM_RIGHTS);
    memcpy(fds, CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
    return (unsigned)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

static int bind_error(int fd, const char *netdev)
{
    const uint32_t entries = 64;
    struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY,
                                   .sxdp_ifindex = (uint32_t)if_nametoindex(netdev)};
    void *memory = aligned_alloc(4096, 64 * 4096);
    struct xdp_umem_reg umem;
    memset(&umem, 0, sizeof umem);
    umem.addr = (uint64_t)(uintptr_t)memory;
    umem.len = 64 * 4096;
    umem.chunk_size = 4096;
    CHECK(memory != NULL);
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem));
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &entries, sizeof entries));
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &entries, sizeof entries));
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof entries));
    int error = bind(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    close(fd);
    free(memory);
    return error;
}

/* A map of rules would have keys of more than four bytes; see proc_pid_fdinfo(5). */
static void check_is_map(int fd, enum bpf_map_type type, bool frozen)
{
    char line[64];
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    snprintf(line, sizeof line, "map_type:\t%d\n", type);
    CHECK(strstr(text, line) != NULL);
    snprintf(line, sizeof line, "frozen:\t%d\n", frozen);
    CHECK(strstr(text, line) != NULL);
    CHECK(strstr(text, "key_size:\t4\n") != NULL);
}

static void test_descriptors(void)
{
    struct wire wire;
    struct scene scene;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 2);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000");
    int fd = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_MAC);
    CHECK_EQ(ENOTCONN, broker_ask(fd, &request));          /* so it was accepted */
    request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, wire.name[0]);
    request.open.queues = 2;
    unsigned before = open_descriptors();
    CHECK_EQ(sizeof request, send(fd, &request, sizeof request, 0));
    CHECK_EQ(SV_BROKER_SOCKETS + 4, take(fd, &reply, fds));
    CHECK_EQ(0, reply.error);
    CHECK_EQ(if_nametoindex(wire.name[0]), reply.ifindex);
    for (int i = SV_BROKER_MAPS; i < SV_BROKER_SOCKETS; i++)
        check_is_map(fds[i], i < SV_BROKER_SOCKETS - 1 ? BPF_MAP_TYPE_ARRAY : BPF_MAP_TYPE_PROG_ARRAY,
                     i == SV_BROKER_SOCKETS - 1);
    CHECK_EQ(EINVAL, bind_error(fds[SV_BROKER_SOCKETS], wire.name[1]));
    CHECK_EQ(EINVAL, bind_error(fds[SV_BROKER_SOCKETS + 1], "lo"));
    CHECK_EQ(0, bind_error(fds[SV_BROKER_SOCKETS + 2], wire.name[0]));
    close(fds[SV_BROKER_SOCKETS + 3]);
    request.open.queues = 1;
    CHECK_EQ(EISCONN, broker_ask(fd, &request));
    for (int i = 0; i < SV_BROKER_SOCKETS; i++)
        close(fds[i]);
    /* Two maps of rules and the packet socket are the broker's. */
    CHECK_EQ(before + 3, open_descriptors());
    close(fd);
    scene_close(&scene);
    CHECK_EQ(before - 5, open_descriptors());       /* the connection, two of its session, the acceptor, the listener */
    link_close(&wire);
}

/* The client learns why, and may try again on the same connection. */
static void test_interface_in_use(void)
{
    struct wire wire;
    struct scene scene;
    char name[32];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=any devices=2");
    snprintf(name, sizeof name, "xdp:%s", wire.name[0]);
    CHECK_EQ(0, softverbs_add_device(name));
    struct ibv_context *context = ibv_open_device(find_device(name));
    CHECK(context != NULL);
    int fd = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, wire.name[0]);
    request.open.queues = 1;
    CHECK_EQ(EBUSY, broker_ask(fd, &request));
    CHECK_EQ(EBUSY, broker_ask(fd, &request));
    close(fd);
    CHECK_EQ(0, ibv_close_device(context));
    scene_close(&scene);
    link_close(&wire);
}

const struct test broker_device_tests[] = {
    {"broker: xdp frames and rules of a device that it opened", test_frames},
    {"broker: xdp SYNs come after all else, also when it has ended", test_syns},
    {"broker: xdp rules that name no port of the policy", test_rules_without_a_port},
    {"broker: xdp devices that the policy refuses", test_refused_devices},
    {"broker: xdp as many devices as the policy grants", test_number_of_devices},
    {"broker: xdp an interface that is in use", test_interface_in_use},
    {"broker: xdp its end leaves what is open", test_end_of_the_broker},
    {"broker: xdp descriptors are confined", test_descriptors},
    {NULL, NULL},
};
