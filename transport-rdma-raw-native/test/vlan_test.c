/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VLAN interface in the modes that open the interface below it. Not every kernel has VLAN interfaces, so a veth
 * stands for one: its description by netlink becomes that of a VLAN. The tests of kernels have a real one (ci/lab).
 */
#include "wire_fixture.h"

#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { VLAN = 0x123, OTHER_VLAN = 0x124, PRIORITY = 3 << 13, TAG_BYTES = 4, MAX_KERNEL_FRAMES = 4 };

static char device[16];
static bool in_other_namespace;
static uint16_t protocol;
static unsigned parent, ifindex;    /* of the interface below and of the veth that stands for a VLAN interface */

/* ---- the description of a VLAN interface ---- */

static struct rtattr *add_attribute(uint8_t *message, unsigned short type, const void *value, size_t length)
{
    struct nlmsghdr *header = (struct nlmsghdr *)message;
    struct rtattr *attribute = (struct rtattr *)(message + NLMSG_ALIGN(header->nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(length);
    if (length > 0)
        memcpy(RTA_DATA(attribute), value, length);
    header->nlmsg_len = NLMSG_ALIGN(header->nlmsg_len) + RTA_ALIGN(attribute->rta_len);
    return attribute;
}

static void end_nested(const uint8_t *message, struct rtattr *attribute)
{
    const struct nlmsghdr *header = (const struct nlmsghdr *)message;
    attribute->rta_len = (unsigned short)(message + header->nlmsg_len - (const uint8_t *)attribute);
}

static size_t describe_vlan(uint8_t *message)
{
    const uint16_t id = VLAN;
    const uint32_t namespace = 0;
    struct nlmsghdr *header = (struct nlmsghdr *)message;
    header->nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg));
    add_attribute(message, IFLA_LINK, &parent, sizeof parent);
    if (in_other_namespace)
        add_attribute(message, IFLA_LINK_NETNSID, &namespace, sizeof namespace);
    struct rtattr *info = add_attribute(message, IFLA_LINKINFO, NULL, 0);
    add_attribute(message, IFLA_INFO_KIND, "vlan", sizeof "vlan");
    struct rtattr *data = add_attribute(message, IFLA_INFO_DATA, NULL, 0);
    add_attribute(message, IFLA_VLAN_ID, &id, sizeof id);
    add_attribute(message, IFLA_VLAN_PROTOCOL, &protocol, sizeof protocol);
    end_nested(message, data);
    end_nested(message, info);
    return header->nlmsg_len;
}

static ssize_t describe_link(void *message, ssize_t length)
{
    const struct nlmsghdr *header = message;
    if (length < (ssize_t)NLMSG_LENGTH(sizeof(struct ifinfomsg)) || header->nlmsg_type != RTM_NEWLINK ||
        ((const struct ifinfomsg *)NLMSG_DATA(header))->ifi_index != (int)ifindex)
        return length;
    return (ssize_t)describe_vlan(message);
}

static void vlan_open(struct wire *wire, unsigned mtu)
{
    link_open(wire, mtu, 1);
    snprintf(device, sizeof device, "%.10sv", wire->name[1]);
    run("ip link add %s type veth peer name %sb && ip link set %s mtu %u up && ip link set %sb up", device, device,
        device, mtu, device);
    parent = if_nametoindex(wire->name[1]);
    ifindex = if_nametoindex(device);
    protocol = htons(ETH_P_8021Q);
    in_other_namespace = false;
    change_received = describe_link;
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
}

static void vlan_close(struct wire *wire)
{
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    run("ip link del %s 2>/dev/null || true", device);
    change_received = NULL;
    link_close(wire);
}

/* The first end sends and receives whole frames by a packet socket, the second one is the VLAN. */
static void vlan_open_wire(struct wire *wire, unsigned mtu)
{
    vlan_open(wire, mtu);
    memcpy(wire->name[1], device, sizeof device);
    wire_open_between(wire, "packet", "xdp");
}

static void vlan_close_wire(struct wire *wire)
{
    for (int end = 0; end < 2; end++) {
        side_close(&wire->side[end]);
        world_close(&wire->world[end]);
    }
    vlan_close(wire);
}

/* ---- frames ---- */

static uint32_t build_tagged(uint8_t *frame, int tag, uint16_t type)
{
    struct frame_spec spec = default_frame();
    spec.vlan = tag;
    uint32_t length = build_frame(&spec, frame);
    if (tag >= 0) {
        frame[12] = (uint8_t)(type >> 8);
        frame[13] = (uint8_t)type;
    }
    return length;
}

static void send_whole(struct side *side, const uint8_t *frame, uint32_t length)
{
    memcpy(slot_at(side, SLOTS / 2), frame, length);
    struct ibv_sge sge = {.addr = (uintptr_t)slot_at(side, SLOTS / 2), .length = length, .lkey = side->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    CHECK_EQ(0, ibv_post_send(side->qp, &wr, &bad));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(side->cq).status);
}

/* Returns the frame with a tag after the addresses. */
static uint32_t insert_tag(const uint8_t *frame, uint32_t length, uint16_t tag, uint8_t *tagged)
{
    const uint8_t bytes[TAG_BYTES] = {0x81, 0x00, (uint8_t)(tag >> 8), (uint8_t)tag};
    memcpy(tagged, frame, 12);
    memcpy(tagged + 12, bytes, TAG_BYTES);
    memcpy(tagged + 12 + TAG_BYTES, frame + 12, length - 12);
    return length + TAG_BYTES;
}

static void check_received(struct side *side, const uint8_t *frame, uint32_t length)
{
    struct ibv_wc wc = wait_one(side->cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(0, memcmp(frame, slot_at(side, 0), length));
}

/* A frame of the VLAN has its tag on the wire in both directions, and none in the memory of its user. */
static void check_both_ways(struct wire *wire, const uint8_t *frame, uint32_t length)
{
    static uint8_t tagged[16384];
    struct side *whole = &wire->side[0], *user = &wire->side[1];
    uint32_t tagged_length = insert_tag(frame, length, VLAN | PRIORITY, tagged);
    CHECK_EQ(0, post_recv_slot(user, 0, SLOTS / 2 * SLOT_BYTES));
    send_whole(whole, tagged, tagged_length);
    check_received(user, frame, length);
    CHECK_EQ(0, post_recv_slot(whole, 0, SLOTS / 2 * SLOT_BYTES));
    insert_tag(frame, length, VLAN, tagged);
    send_whole(user, frame, length);
    check_received(whole, tagged, tagged_length);
}

static void check_lengths(unsigned mtu, uint16_t shortest, uint16_t longest)
{
    static uint8_t frame[16384];
    struct wire wire;
    struct rule rule;
    struct frame_spec spec = default_frame();
    vlan_open_wire(&wire, mtu);
    CHECK(strstr(softverbs_mode(wire.world[1].context), "mode native on 'svt") != NULL);
    CHECK(strstr(softverbs_mode(wire.world[1].context), "' with the tag of VLAN 291: set by") != NULL);
    struct ibv_flow *to_user = udp_rule(&wire.side[1], spec.dst_port);
    /* Without a MAC address: the device would deliver its own frames to that address. */
    rule_init(&rule, 0);
    rule_eth(&rule, NULL, NULL, 0, VLAN);
    struct ibv_flow *to_whole = must_create(&wire.side[0], &rule);
    /* Often enough for each chunk to have carried frames of different lengths. */
    for (unsigned round = 0; round < 120; round++) {
        spec.payload = (uint16_t)(round % 3 == 0 ? longest : shortest + random_number() % (longest - shortest + 1u));
        check_both_ways(&wire, frame, build_frame(&spec, frame));
    }
    CHECK_EQ(0, ibv_destroy_flow(to_user));
    CHECK_EQ(0, ibv_destroy_flow(to_whole));
    vlan_close_wire(&wire);
}

static void frames_have_the_tag_on_the_wire_only(void)
{
    if (have_namespace())
        check_lengths(1500, 1, 1500 - 28);
}

/* With the tag, a frame may need one more chunk: those of 4,096 bytes are among these lengths. */
static void long_frames_have_the_tag_on_the_wire_only(void)
{
    if (!have_namespace() || !is_linux_6_6())
        return;
    check_lengths(9000, 4096 - 42 - 8, 4096 - 42 + 8);
    check_lengths(9000, 1, 9000 - 28);
}

/* ---- frames of others ---- */

static int open_kernel_socket(int interface)
{
    const struct timeval patience = {.tv_sec = patience_seconds()};
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = interface};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience));
    return fd;
}

static struct ibv_flow *create_ipv4_rule(struct side *side)
{
    struct rule rule;
    rule_init(&rule, 0);
    rule_eth(&rule, mac_b, NULL, ETH_P_IP, -1);
    return must_create(side, &rule);
}

static void other_frames_stay_with_the_kernel(void)
{
    static const struct { int tag; uint16_t type; } others[] = {
        {-1, 0}, {OTHER_VLAN, ETH_P_8021Q}, {VLAN, ETH_P_8021AD}, {0, ETH_P_8021Q}};
    struct wire wire;
    uint8_t frame[2048], received[2048];
    struct softverbs_counters counters;
    if (!have_namespace())
        return;
    vlan_open_wire(&wire, 1500);
    struct ibv_flow *flow = create_ipv4_rule(&wire.side[1]);
    int kernel = open_kernel_socket((int)parent);
    CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        send_whole(&wire.side[0], frame, build_tagged(frame, others[i].tag, others[i].type));
    send_whole(&wire.side[0], frame, build_tagged(frame, VLAN, ETH_P_8021Q));
    check_received(&wire.side[1], frame, build_tagged(frame, -1, 0));
    check_empty(wire.side[1].cq);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        CHECK(recv(kernel, received, sizeof received, 0) > 0);
    CHECK(recv(kernel, received, sizeof received, MSG_DONTWAIT) < 0);
    CHECK_EQ(0, softverbs_query_counters(wire.world[1].context, &counters));
    CHECK_EQ(0, counters.received.length_errors);
    close(kernel);
    /* Without the rule, frames of the VLAN are the kernel's too. */
    CHECK_EQ(0, ibv_destroy_flow(flow));
    kernel = open_kernel_socket((int)parent);
    send_whole(&wire.side[0], frame, build_tagged(frame, VLAN, ETH_P_8021Q));
    CHECK(recv(kernel, received, sizeof received, 0) > 0);
    close(kernel);
    vlan_close_wire(&wire);
}

/* The kernel has removed the tag of a copy. */
static void copies_have_no_tag(void)
{
    struct wire wire;
    struct rule rule;
    uint8_t frame[2048];
    if (!have_namespace())
        return;
    vlan_open_wire(&wire, 1500);
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, default_frame().dst_port);
    rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
    struct ibv_flow *flow = must_create(&wire.side[1], &rule);
    CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
    send_whole(&wire.side[0], frame, build_tagged(frame, -1, 0));
    send_whole(&wire.side[0], frame, build_tagged(frame, OTHER_VLAN, ETH_P_8021Q));
    send_whole(&wire.side[0], frame, build_tagged(frame, VLAN, ETH_P_8021Q));
    check_received(&wire.side[1], frame, build_tagged(frame, -1, 0));
    check_empty(wire.side[1].cq);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    vlan_close_wire(&wire);
}

static void rules_with_a_tag_of_their_own_are_refused(void)
{
    struct wire wire;
    struct rule rule;
    if (!have_namespace())
        return;
    vlan_open_wire(&wire, 1500);
    rule_init(&rule, 0);
    rule_eth(&rule, mac_b, NULL, 0, 7);
    CHECK_FAILS(EOPNOTSUPP, ibv_create_flow(wire.side[1].qp, &rule.attr));
    rule_init(&rule, 0);
    rule.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    CHECK_FAILS(EOPNOTSUPP, ibv_create_flow(wire.side[1].qp, &rule.attr));
    vlan_close_wire(&wire);
}

/* ---- opening ---- */

static void check_refused(const char *interface, int error, const char *why)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", interface);
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    struct ibv_device *refused = find_device(name);
    CHECK_FAILS(error, ibv_open_device(refused));
    if (strstr(softverbs_open_error(refused), why) == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_open_error(refused));
}

static void vlans_that_cannot_be_served_are_refused(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    vlan_open(&wire, 1500);
    protocol = htons(ETH_P_8021AD);
    check_refused(device, EOPNOTSUPP, "802.1ad");
    protocol = htons(ETH_P_8021Q);
    in_other_namespace = true;
    check_refused(device, EOPNOTSUPP, "another network namespace");
    in_other_namespace = false;
    reported_driver = "card";
    check_refused(device, EOPNOTSUPP, "rxvlan off, or SOFTVERBS_XDP_MODE=generic");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_RXVLAN", "allow", 1));
    check_refused(device, EOPNOTSUPP, "rxvlan off");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_RXVLAN"));
    reported_driver = NULL;
    run("ip link set %s mtu 9001", wire.name[1]);
    check_refused(device, EMSGSIZE, "mtu 9000");
    vlan_close(&wire);
}

/* An interface has one XDP program: for the VLAN, or for frames without a tag. */
static void the_interface_below_has_one_user(void)
{
    struct wire wire;
    char name[16];
    if (!have_namespace())
        return;
    vlan_open_wire(&wire, 1500);
    CHECK(if_indextoname(parent, name) != NULL);
    check_refused(name, EBUSY, name);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "generic", 1));
    check_refused(name, EBUSY, name);
    vlan_close_wire(&wire);
    vlan_open(&wire, 1500);
    wire_open_on(&wire, "xdp");
    check_refused(device, EBUSY, "all its VLANs have one user at a time: use SOFTVERBS_XDP_MODE=generic");
    vlan_close_wire(&wire);
}

/* Reserves the VLAN interface as another process does. Returns a socket, or -1 with errno. */
static int reserve_vlan(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "rdma-raw/xdp/%u", ifindex);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) +
             (socklen_t)length) != 0) {
        close(fd);
        return -1;
    }
    CHECK_EQ(0, listen(fd, 1));
    return fd;
}

/* Modes that do not need the interface below open the VLAN interface itself. */
static void a_vlan_has_one_user_in_all_modes(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    vlan_open_wire(&wire, 1500);
    CHECK_EQ(-1, reserve_vlan());
    CHECK_EQ(EADDRINUSE, errno);
    vlan_close_wire(&wire);
    vlan_open(&wire, 1500);
    int other = reserve_vlan();
    CHECK(other >= 0);
    check_refused(device, EBUSY, "in another mode");
    close(other);
    vlan_close(&wire);
}

/* The interface below a VLAN may have longer frames, for which it may need another kind of program. */
static void a_vlan_may_have_a_smaller_mtu(void)
{
    struct wire wire;
    struct ibv_port_attr port;
    if (!have_namespace() || !is_linux_6_6())
        return;
    vlan_open(&wire, 9000);
    run("ip link set %s mtu 1500", device);
    memcpy(wire.name[1], device, sizeof device);
    wire_open_between(&wire, "packet", "xdp");
    CHECK_EQ(0, ibv_query_port(wire.world[1].context, 1, &port));
    CHECK_EQ(IBV_MTU_1024, port.active_mtu);
    vlan_close_wire(&wire);
}

static void await_port(struct wire *wire, enum ibv_port_state state)
{
    struct ibv_port_attr port;
    struct timespec start = now();
    do
        CHECK_EQ(0, ibv_query_port(wire->world[1].context, 1, &port));
    while (port.state != state && !overdue(start));
    CHECK_EQ(state, port.state);
}

/* The kernel receives the frame of a rule. */
static void check_is_the_kernels(struct wire *wire)
{
    uint8_t frame[2048], received[2048];
    int kernel = open_kernel_socket((int)parent);
    send_whole(&wire->side[0], frame, build_tagged(frame, VLAN, ETH_P_8021Q));
    CHECK(recv(kernel, received, sizeof received, 0) > 0);
    check_empty(wire->side[1].cq);
    close(kernel);
}

static void the_port_follows_the_vlan_interface(void)
{
    struct wire wire;
    uint8_t frame[2048];
    if (!have_namespace())
        return;
    vlan_open_wire(&wire, 1500);
    struct ibv_flow *flow = create_ipv4_rule(&wire.side[1]);
    run("ip link set %s down", device);
    await_port(&wire, IBV_PORT_DOWN);
    check_is_the_kernels(&wire);
    run("ip link set %s up", device);
    await_port(&wire, IBV_PORT_ACTIVE);
    CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
    send_whole(&wire.side[0], frame, build_tagged(frame, VLAN, ETH_P_8021Q));
    check_received(&wire.side[1], frame, build_tagged(frame, -1, 0));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    vlan_close_wire(&wire);
}

static void a_removed_vlan_leaves_its_frames_to_the_kernel(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    vlan_open_wire(&wire, 1500);
    struct ibv_flow *flow = create_ipv4_rule(&wire.side[1]);
    run("ip link del %s", device);
    await_port(&wire, IBV_PORT_DOWN);
    check_is_the_kernels(&wire);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    vlan_close_wire(&wire);
}

/* A real VLAN interface ends with the one below, except if that moves to another network namespace. */
static void the_port_ends_with_the_interface_below(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    vlan_open_wire(&wire, 1500);
    run("ip link del %s", wire.name[0]);
    await_port(&wire, IBV_PORT_DOWN);
    vlan_close_wire(&wire);
}

const struct test vlan_tests[] = {
    {"VLAN: frames have the tag on the wire only", frames_have_the_tag_on_the_wire_only},
    {"VLAN: long frames have the tag on the wire only", long_frames_have_the_tag_on_the_wire_only},
    {"VLAN: other frames stay with the kernel", other_frames_stay_with_the_kernel},
    {"VLAN: copies have no tag", copies_have_no_tag},
    {"VLAN: rules with a tag of their own are refused", rules_with_a_tag_of_their_own_are_refused},
    {"VLAN: those that cannot be served are refused", vlans_that_cannot_be_served_are_refused},
    {"VLAN: the interface below has one user", the_interface_below_has_one_user},
    {"VLAN: it has one user in all modes", a_vlan_has_one_user_in_all_modes},
    {"VLAN: its MTU may be smaller than that of the interface below", a_vlan_may_have_a_smaller_mtu},
    {"VLAN: the port follows the VLAN interface", the_port_follows_the_vlan_interface},
    {"VLAN: a removed one leaves its frames to the kernel", a_removed_vlan_leaves_its_frames_to_the_kernel},
    {"VLAN: the port ends with the interface below", the_port_ends_with_the_interface_below},
    {NULL, NULL},
};
