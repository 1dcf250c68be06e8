/* SPDX-License-Identifier: Apache-2.0 */
/* How devices on network interfaces handle the kernel's messages about interfaces. */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_MTU = 1400, LAST_MTU = 1300, CHANGES = 6000 };

static void await_mtu(struct ibv_context *context, uint32_t expected)
{
    struct timespec start = now();
    uint32_t mtu = 0;
    while (mtu != expected && !overdue(start))
        CHECK_EQ(0, softverbs_get_mtu(context, &mtu));
    CHECK_EQ(expected, mtu);
}

/* Returns true if the device raised an event since it was opened or last checked. */
static bool has_event(const struct ibv_context *context)
{
    struct pollfd readable = {.fd = context->async_fd, .events = POLLIN};
    return poll(&readable, 1, 0) == 1;
}

/* ---- bridges ---- */

/* A bridge also reports that a port has left it with RTM_DELLINK of the family AF_BRIDGE. */
static void a_bridge_can_let_go(const char *kind)
{
    struct wire wire;
    wire_open(&wire, kind, 1500, 1);
    struct ibv_context *context = wire.world[1].context;
    run("ip link add svtbridge type bridge && ip link set svtbridge up");
    for (uint32_t i = 0; i < 3; i++) {
        run("ip link set %s master svtbridge", wire.name[1]);
        run("ip link set %s nomaster", wire.name[1]);
        /* When this change is known, earlier messages have been handled. */
        run("ip link set %s mtu %u", wire.name[1], FIRST_MTU + i);
        await_mtu(context, FIRST_MTU + i);
        CHECK(!has_event(context));
    }
    struct ibv_port_attr port;
    CHECK_EQ(0, ibv_query_port(context, 1, &port));
    CHECK_EQ(IBV_PORT_ACTIVE, port.state);
    CHECK_EQ(IBV_QPS_RTS, state_of(wire.side[1].qp));
    run("ip link del svtbridge");
    wire_close(&wire);
}

/* ---- addresses ---- */

/* Sends a frame from the near end to a MAC address. Returns true if it stays inside. */
static bool stays_inside(struct wire *wire, const uint8_t mac[6])
{
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    struct side *side = &wire->side[1];
    memcpy(spec.dst, mac, 6);
    uint32_t length = build_frame(&spec, frame);
    CHECK_EQ(0, send_frame(side, frame, length, IBV_SEND_SIGNALED));
    struct ibv_wc wc;
    struct timespec start = now();
    int sent = 0, received_by = -1;
    for (int end = 1; (sent == 0 || received_by < 0) && !overdue(start); end = 1 - end) {
        if (ibv_poll_cq(wire->side[end].cq, 1, &wc) == 0)
            continue;
        CHECK_EQ(IBV_WC_SUCCESS, wc.status);
        if (wc.opcode == IBV_WC_RECV)
            received_by = end;
        else
            sent++;
    }
    CHECK_EQ(1, sent);
    CHECK(received_by >= 0);
    CHECK_EQ(0, post_recv_slot(&wire->side[received_by], 1, SLOT_BYTES));
    return received_by == 1;
}

static void an_interface_can_get_another_address(const char *kind)
{
    static const uint8_t another[6] = {2, 0, 0, 0, 7, 7};
    uint8_t first[6], mac[6] = {0};
    struct wire wire;
    wire_open(&wire, kind, 1500, 1);
    struct ibv_flow *flows[2] = {udp_rule(&wire.side[0], 2000), udp_rule(&wire.side[1], 2000)};
    for (int end = 0; end < 2; end++)
        CHECK_EQ(0, post_recv_slot(&wire.side[end], 1, SLOT_BYTES));
    CHECK_EQ(0, softverbs_get_mac(wire.world[1].context, first));
    CHECK(stays_inside(&wire, first));
    CHECK(!stays_inside(&wire, another));
    run("ip link set %s address 02:00:00:00:07:07", wire.name[1]);
    for (struct timespec start = now(); memcmp(mac, another, 6) != 0 && !overdue(start);)
        CHECK_EQ(0, softverbs_get_mac(wire.world[1].context, mac));
    CHECK(stays_inside(&wire, another));
    CHECK(!stays_inside(&wire, first));
    for (int end = 0; end < 2; end++)
        CHECK_EQ(0, ibv_destroy_flow(flows[end]));
    wire_close(&wire);
}

static struct ibv_flow *address_rule(struct wire *wire, uint8_t number, uint16_t priority)
{
    const uint8_t mac[6] = {2, 0, 0, 0, 8, number};
    struct rule rule;
    rule_init(&rule, priority);
    rule_eth(&rule, mac, NULL, 0, -1);
    return must_create(&wire->side[1], &rule);
}

/* Each rule releases its own references only. */
static void addresses_are_kept_as_long_as_rules_name_them(const char *kind)
{
    enum { TABLE = 64 };
    static const uint8_t last[6] = {2, 0, 0, 0, 8, TABLE};
    struct wire wire;
    struct ibv_flow *flows[TABLE + 1];
    wire_open(&wire, kind, 1500, 1);
    CHECK_EQ(0, post_recv_slot(&wire.side[1], 1, SLOT_BYTES));
    for (uint8_t i = 0; i <= TABLE; i++)
        flows[i] = address_rule(&wire, i, 0);
    CHECK_EQ(0, ibv_destroy_flow(flows[0]));
    struct ibv_flow *again = address_rule(&wire, TABLE, 1);
    CHECK(stays_inside(&wire, last));
    CHECK_EQ(0, ibv_destroy_flow(flows[TABLE]));
    CHECK(stays_inside(&wire, last));
    CHECK_EQ(0, ibv_destroy_flow(again));
    for (uint8_t i = 1; i < TABLE; i++) {
        const uint8_t mac[6] = {2, 0, 0, 0, 8, i};
        CHECK(stays_inside(&wire, mac));
        CHECK_EQ(0, ibv_destroy_flow(flows[i]));
    }
    wire_close(&wire);
}

/* ---- messages that are lost ---- */

enum finding { FOUND, NOT_OPENED, NOT_FOUND };

/* Opens the device and stops. After it is woken, reports whether it learns the state of the interface. */
static enum finding sleep_over_changes(const char *device_name, bool removed)
{
    struct ibv_context *context = ibv_open_device(find_device(device_name));
    if (context == NULL)
        return NOT_OPENED;
    raise(SIGSTOP);
    struct timespec start = now();
    for (uint32_t mtu = 0; mtu != LAST_MTU && !removed;) {
        if (overdue(start) || softverbs_get_mtu(context, &mtu) != 0)
            return NOT_FOUND;
    }
    struct ibv_async_event event = {.event_type = IBV_EVENT_CQ_ERR};
    while (removed && event.event_type != IBV_EVENT_DEVICE_FATAL) {
        struct pollfd readable = {.fd = context->async_fd, .events = POLLIN};
        if (poll(&readable, 1, 20000) != 1 || ibv_get_async_event(context, &event) != 0)
            return NOT_FOUND;
        ibv_ack_async_event(&event);
    }
    ibv_close_device(context);
    return FOUND;
}

/* More changes than the kernel queues for a socket. */
static void change_often(const char *interface)
{
    FILE *batch = popen("ip -batch -", "w");
    CHECK(batch != NULL);
    for (int i = 0; i < CHANGES; i++)
        fprintf(batch, "link set %s mtu %d\n", interface, FIRST_MTU + i % 2);
    CHECK_EQ(0, pclose(batch));
}

static void find_out(const char *kind, bool removed)
{
    struct wire wire;
    char device_name[32];
    int status;
    link_open(&wire, 1500, 1);
    snprintf(device_name, sizeof device_name, "%s:%s", kind, wire.name[1]);
    CHECK_EQ(0, softverbs_add_device(device_name));
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(sleep_over_changes(device_name, removed));
    CHECK(waitpid(child, &status, WUNTRACED) == child);
    if (WIFSTOPPED(status)) {
        change_often(wire.name[1]);
        if (removed)
            run("ip link del %s", wire.name[1]);
        else
            run("ip link set %s mtu %d", wire.name[1], LAST_MTU);
        CHECK_EQ(0, kill(child, SIGCONT));
        CHECK(waitpid(child, &status, 0) == child);
    }
    CHECK(WIFEXITED(status));
    CHECK_EQ(FOUND, WEXITSTATUS(status));
    link_close(&wire);
}

static void lost_messages_are_made_up_for(const char *kind)
{
    find_out(kind, false);
    find_out(kind, true);
}

static void test_leaving_a_bridge_does_not_remove_an_interface(void)
{
    for_each_kind(a_bridge_can_let_go);
}

static void test_another_address(void)
{
    for_each_kind(an_interface_can_get_another_address);
}

static void test_addresses_of_rules(void)
{
    for_each_kind(addresses_are_kept_as_long_as_rules_name_them);
}

static void test_the_state_of_an_interface_is_requested_after_lost_messages(void)
{
    for_each_kind(lost_messages_are_made_up_for);
}

const struct test link_tests[] = {
    {"link: leaving a bridge does not remove an interface", test_leaving_a_bridge_does_not_remove_an_interface},
    {"link: an interface can get another address", test_another_address},
    {"link: addresses are kept as long as rules name them", test_addresses_of_rules},
    {"link: the state of an interface is requested after lost messages",
     test_the_state_of_an_interface_is_requested_after_lost_messages},
    {NULL, NULL},
};
