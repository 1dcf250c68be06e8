/* SPDX-License-Identifier: Apache-2.0 */
/* What devices on network interfaces make of the kernel's messages about interfaces. */
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

/* Whether the device told anything since it was opened or asked last. */
static bool has_event(const struct ibv_context *context)
{
    struct pollfd readable = {.fd = context->async_fd, .events = POLLIN};
    return poll(&readable, 1, 0) == 1;
}

/* ---- bridges ---- */

/* The bridge tells that a port has left it by RTM_DELLINK, too: of its own family. */
static void a_bridge_can_let_go(const char *kind)
{
    struct wire wire;
    wire_open(&wire, kind, 1500, 1);
    struct ibv_context *context = wire.world[1].context;
    run("ip link add svtbridge type bridge && ip link set svtbridge up");
    for (uint32_t i = 0; i < 3; i++) {
        run("ip link set %s master svtbridge", wire.name[1]);
        run("ip link set %s nomaster", wire.name[1]);
        /* What was told before has been heard when this has. */
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

/* ---- messages that are lost ---- */

enum finding { FOUND, NOT_OPENED, NOT_FOUND };

/* Opens the device, stops, and says after it was woken whether it finds out what became of the interface. */
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

/* More than the kernel keeps for anybody. */
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

static void test_bridge(void)
{
    for_each_kind(a_bridge_can_let_go);
}

static void test_lost_messages(void)
{
    for_each_kind(lost_messages_are_made_up_for);
}

const struct test link_tests[] = {
    {"link: a bridge that lets an interface go does not remove it", test_bridge},
    {"link: what became of an interface is asked for when messages were lost", test_lost_messages},
    {NULL, NULL},
};
