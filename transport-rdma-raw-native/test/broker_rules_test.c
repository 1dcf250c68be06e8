/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that the broker opens for this process: their rules, and the policy. */
#define _GNU_SOURCE
#include "broker_scene.h"
#include "flood_fixture.h"

#include <fcntl.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRANTED = 2000, NOT_GRANTED = 2001 };
enum { TCP_SYN = 0x02, TCP_ACK = 0x10 };

/* ---- devices ---- */

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
    flow = udp_rule(&wire.side[1], GRANTED);        /* the broker has removed the first one */
    check_delivers(&wire, GRANTED, 2);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    for (int end = 0; end < 2; end++) {
        side_close(&wire.side[end]);
        world_close(&wire.world[end]);
    }
    scene_settle(&scene);
    CHECK_EQ(0, server_device_count(scene.server));
    CHECK_EQ(3, server_counters(scene.server)->denied);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    scene_close(&scene);
    link_close(&wire);
}

static void test_a_device_delivers_frames_and_refuses_foreign_ports(void)
{
    if (!have_namespace())
        return;
    frames_and_rules("generic", 1);
    frames_and_rules("generic", 3);
    frames_and_rules("native", 2);
}

enum { TCP_PORT = 80, FEW_SYNS = 20 };

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

/* All frames are sent before anybody polls. */
static void check_syns_come_last(struct wire *wire, uint16_t from)
{
    CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
    for (uint16_t i = 0; i < FEW_SYNS; i++)
        send_segment(wire, (uint16_t)(from + i), TCP_SYN);
    send_segment(wire, (uint16_t)(from + FEW_SYNS), TCP_ACK);
    await_in_main_ring(wire, 1);
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[1].cq).status);
    CHECK_EQ(TCP_ACK, slot_at(&wire->side[1], 0)[TCP_FLAGS]);
}

/* The classifying program belongs to the device while it is open. */
static void test_syns_are_received_last_even_after_the_brokers_end(void)
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

/* Users with granted ports may not have rules that take other ports or make the interface promiscuous. */
static void test_rules_without_a_granted_port_are_refused(void)
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
    /* A veth interface has no filter for unicast addresses, so a foreign address would make it promiscuous. */
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

static struct sv_broker_request rule_request(uint32_t priority)
{
    struct sv_broker_request request = request_of(SV_BROKER_ADD_RULE);
    request.rule.type = IBV_FLOW_ATTR_NORMAL;
    request.rule.priority = priority;
    request.rule.mask.outer.layers = SV_LAYER_TCP | SV_LAYER_UDP;
    request.rule.value.outer.layers = SV_LAYER_UDP;
    request.rule.mask.outer.dst_port = 0xffff;
    request.rule.value.outer.dst_port = htons(GRANTED);
    return request;
}

/*
 * Rules of many kinds, or on unusual fields, would make each frame of the interface more expensive, including frames of
 * others.
 */
static void check_kinds(int fd)
{
    for (uint32_t i = 0; i < GRANT_MAX_SUBTABLES; i++) {
        const struct sv_broker_request request = rule_request(i);
        CHECK_EQ(0, broker_transact(fd, &request));
    }
    struct sv_broker_request request = rule_request(GRANT_MAX_SUBTABLES);
    CHECK_EQ(ENOMEM, broker_transact(fd, &request));
    request = rule_request(0);
    request.rule.mask.outer.layers |= SV_LAYER_VXLAN;
    CHECK_EQ(EACCES, broker_transact(fd, &request));
    request = rule_request(0);
    request.rule.mask.inner.dst_port = 1;
    CHECK_EQ(EACCES, broker_transact(fd, &request));
    request = rule_request(0);
    request.rule.mask.outer.hop_limit = 1;
    CHECK_EQ(EACCES, broker_transact(fd, &request));
    request = rule_request(0);
    request.rule.mask.outer.src_mac[0] = 1;
    CHECK_EQ(EACCES, broker_transact(fd, &request));
    /* A kind without rules frees its place. */
    request = rule_request(1);
    request.call = SV_BROKER_REMOVE_RULE;
    CHECK_EQ(0, broker_transact(fd, &request));
    request = rule_request(GRANT_MAX_SUBTABLES);
    CHECK_EQ(0, broker_transact(fd, &request));
}

static void test_rules_of_many_kinds_or_on_unusual_fields_are_refused(void)
{
    struct wire wire;
    struct scene scene;
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000");
    int fd = scene_connect(&scene);
    strcpy(request.open.netdev, wire.name[0]);
    CHECK_EQ(0, broker_transact(fd, &request));
    check_kinds(fd);
    close(fd);
    scene_close(&scene);
    link_close(&wire);
}

/*
 * A rule on a foreign address makes a veth interface promiscuous. This ends even if the address is the interface's own
 * when the rule is removed.
 */
static void test_address_that_becomes_its_own(void)
{
    struct wire wire;
    struct scene scene;
    static const uint8_t foreign[6] = {2, 0, 0, 0, 0, 0x77};
    struct sv_broker_request open = request_of(SV_BROKER_OPEN), rule = rule_request(0);
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=any");
    int fd = scene_connect(&scene);
    strcpy(open.open.netdev, wire.name[0]);
    CHECK_EQ(0, broker_transact(fd, &open));
    memset(rule.rule.mask.outer.dst_mac, 0xff, sizeof foreign);
    memcpy(rule.rule.value.outer.dst_mac, foreign, sizeof foreign);
    CHECK_EQ(0, broker_transact(fd, &rule));
    run("ip -d link show %s | grep -q 'promiscuity 1 '", wire.name[0]);
    run("ip link set %s address 02:00:00:00:00:77", wire.name[0]);
    struct sv_broker_request mac = request_of(SV_BROKER_MAC_CHANGED);
    CHECK_EQ(0, broker_transact(fd, &mac));
    rule.call = SV_BROKER_REMOVE_RULE;
    CHECK_EQ(0, broker_transact(fd, &rule));
    run("ip -d link show %s | grep -q 'promiscuity 0 '", wire.name[0]);
    close(fd);
    scene_close(&scene);
    link_close(&wire);
}

static void test_devices_beyond_the_policy_are_refused(void)
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
    check_opens_again(wire.name[0]);
    scene_end_broker(&scene);
    check_explained(wire.name[0], ENOENT, "there is no rdma-raw-broker at");
    scene_close(&scene);
    link_close(&wire);
}

/* A user may open as many devices as the policy grants, regardless of other users. */
static void test_the_number_of_open_devices_is_limited_by_the_policy(void)
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
    check_opens_again(wire.name[1]);
    scene_close(&scene);
    link_close(&wire);
}

/* Open devices continue, and new rules fail. */
static void test_open_devices_survive_its_end(void)
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

/* ---- a broker that does not answer ---- */

struct requester {
    struct side *side;
    pthread_t thread;
    _Atomic pid_t id;
    _Atomic bool done;
    bool refused;
};

static void *ask_for_a_rule(void *argument)
{
    struct requester *requester = argument;
    struct rule rule;
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, 3000);
    atomic_store(&requester->id, gettid());
    requester->refused = ibv_create_flow(requester->side->qp, &rule.attr) == NULL;
    atomic_store(&requester->done, true);
    return NULL;
}

/* Returns true if the thread sleeps in the kernel: see proc_pid_stat(5). */
static bool sleeps(pid_t thread)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    (void)!fgets(line, sizeof line, file);
    fclose(file);
    const char *name_end = strrchr(line, ')');
    return name_end != NULL && name_end[2] == 'S';
}

/* Returns when the thread waits for the answer, or has waited in vain. */
static void request_start(struct requester *requester)
{
    atomic_store(&requester->id, 0);
    atomic_store(&requester->done, false);
    CHECK_EQ(0, pthread_create(&requester->thread, NULL, ask_for_a_rule, requester));
    struct timespec start = now();
    while (!atomic_load(&requester->done) && !overdue(start) &&
           !(atomic_load(&requester->id) != 0 && sleeps(atomic_load(&requester->id))))
        continue;
}

/* One thread waits for the broker. Meanwhile other threads receive, arm, and create and destroy queue pairs. */
static void test_a_broker_without_an_answer_stops_no_event_loop(void)
{
    struct wire wire;
    struct scene scene;
    struct requester requester = {.side = &wire.side[1]};
    struct softverbs_counters counters;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000,udp:3000 devices=2");
    wire_open_on(&wire, "xdp");
    struct side *side = &wire.side[1];
    struct ibv_flow *flow = udp_rule(side, GRANTED);
    scene_stop(&scene);
    /* On a busy machine the request may time out before the others have finished. Then it is repeated. */
    for (struct timespec start = now();;) {
        request_start(&requester);
        for (int i = 0; i < 100; i++)
            CHECK_EQ(0, ibv_req_notify_cq(side->cq, 0));
        check_delivers(&wire, GRANTED, 1);
        CHECK_EQ(0, ibv_destroy_qp(qp_create(side->world, side->cq)));
        CHECK_EQ(0, softverbs_query_counters(side->world->context, &counters));
        if (!atomic_load(&requester.done))
            break;
        CHECK(!overdue(start));
        CHECK_EQ(0, pthread_join(requester.thread, NULL));
    }
    scene_end_broker(&scene);
    CHECK_EQ(0, pthread_join(requester.thread, NULL));
    CHECK(requester.refused);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
    scene_close(&scene);
}

const struct test broker_rules_tests[] = {
    {"broker: xdp a device delivers frames and refuses foreign ports",
     test_a_device_delivers_frames_and_refuses_foreign_ports},
    {"broker: xdp SYNs are received last, even after the broker's end",
     test_syns_are_received_last_even_after_the_brokers_end},
    {"broker: xdp rules without a granted port are refused", test_rules_without_a_granted_port_are_refused},
    {"broker: xdp rules of many kinds or on unusual fields are refused",
     test_rules_of_many_kinds_or_on_unusual_fields_are_refused},
    {"broker: xdp a rule on an address that becomes the interface's own is removed cleanly",
     test_address_that_becomes_its_own},
    {"broker: xdp devices beyond the policy are refused", test_devices_beyond_the_policy_are_refused},
    {"broker: xdp the number of open devices is limited by the policy",
     test_the_number_of_open_devices_is_limited_by_the_policy},
    {"broker: xdp open devices survive its end", test_open_devices_survive_its_end},
    {"broker: xdp a broker without an answer stops no event loop", test_a_broker_without_an_answer_stops_no_event_loop},
    {NULL, NULL},
};
