/* SPDX-License-Identifier: Apache-2.0 */
/* Injected faults, for tests of the layers above. */
#include "harness.h"

#include "device.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void injected_failures_last_for_the_given_number_of_calls(void)
{
    struct world world;
    struct side side;
    world_open(&world);
    side_open(&world, &side);
    const char *name = world.device_name;
    CHECK_EQ(ENODEV, softverbs_fail_next_call("loop:none", SOFTVERBS_CALL_REG_MR, EIO, 1));
    CHECK_EQ(EINVAL, softverbs_fail_next_call(name, SOFTVERBS_CALL_COUNT, EIO, 1));
    CHECK_EQ(0, softverbs_fail_next_call(name, SOFTVERBS_CALL_OPEN_DEVICE, EACCES, 2));
    CHECK_FAILS(EACCES, ibv_open_device(find_device(name)));
    CHECK_FAILS(EACCES, ibv_open_device(find_device(name)));
    struct ibv_context *context = ibv_open_device(find_device(name));
    CHECK(context != NULL);
    CHECK_EQ(0, ibv_close_device(context));
    CHECK_EQ(0, softverbs_fail_next_call(name, SOFTVERBS_CALL_MODIFY_QP, ETIMEDOUT, 1));
    CHECK_EQ(ETIMEDOUT, to_state(side.qp, IBV_QPS_RESET));
    CHECK_EQ(0, softverbs_fail_next_call(name, SOFTVERBS_CALL_CREATE_FLOW, EPERM, 1));
    struct rule rule;
    rule_init(&rule, 0);
    CHECK_FAILS(EPERM, ibv_create_flow(side.qp, &rule.attr));
    CHECK_EQ(0, softverbs_fail_next_call(name, SOFTVERBS_CALL_CREATE_CQ, ENOMEM, 1));
    CHECK_FAILS(ENOMEM, ibv_create_cq(world.context, 8, NULL, NULL, 0));
    side_close(&side);
    world_close(&world);
}

/* Builds that check locks abort. Without that, no test would find such a wait. */
static void a_wait_under_the_mutex_is_found(void)
{
#ifdef SV_CHECK_LOCKS
    static struct sv_device device = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    sv_assert_may_block();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(freopen("/dev/null", "w", stderr) != NULL);
        signal(SIGABRT, SIG_DFL);
        sv_device_lock(&device);
        sv_assert_may_block();
        _exit(0);
    }
    int status;
    CHECK_EQ(child, waitpid(child, &status, 0));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

static void memory_is_limited(void)
{
    struct world world;
    static uint8_t memory[16 * 4096] __attribute__((aligned(4096)));
    struct softverbs_counters counters;
    world_open(&world);
    CHECK_EQ(0, softverbs_set_memlock_limit(world.device_name, 8 * 4096));
    struct ibv_mr *first = ibv_reg_mr(world.pd, memory, 8 * 4096, IBV_ACCESS_LOCAL_WRITE);
    CHECK(first != NULL);
    CHECK_FAILS(ENOMEM, ibv_reg_mr(world.pd, memory, 1, IBV_ACCESS_LOCAL_WRITE));
    CHECK_EQ(0, softverbs_query_counters(world.context, &counters));
    CHECK_EQ(8 * 4096, counters.registered_bytes);
    CHECK_EQ(0, ibv_dereg_mr(first));
    CHECK_FAILS(ENOMEM, ibv_reg_mr(world.pd, memory, 8 * 4096 + 1, IBV_ACCESS_LOCAL_WRITE));
    CHECK_EQ(0, softverbs_set_memlock_limit(world.device_name, UINT64_MAX));
    first = ibv_reg_mr(world.pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
    CHECK(first != NULL);
    CHECK_EQ(0, ibv_dereg_mr(first));
    world_close(&world);
}

static void rules_are_limited(void)
{
    struct world world;
    struct side side;
    struct rule rule;
    world_open(&world);
    side_open(&world, &side);
    CHECK_EQ(0, softverbs_set_flow_capacity(world.device_name, 1));
    struct ibv_flow *flow = steer_mac(&side, mac_b);
    rule_init(&rule, 0);
    CHECK_FAILS(ENOMEM, ibv_create_flow(side.qp, &rule.attr));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    flow = must_create(&side, &rule);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&side);
    world_close(&world);
}

static void raw_packets_can_be_missing(void)
{
    struct world world;
    world_open(&world);
    struct ibv_cq *cq = ibv_create_cq(world.context, 8, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET};
    CHECK_EQ(0, softverbs_set_raw_packet_error(world.device_name, EPERM));
    CHECK_FAILS(EPERM, ibv_create_qp(world.pd, &attr));
    CHECK_EQ(0, softverbs_set_raw_packet_error(world.device_name, EOPNOTSUPP));
    CHECK_FAILS(EOPNOTSUPP, ibv_create_qp(world.pd, &attr));
    CHECK_EQ(0, softverbs_set_raw_packet_error(world.device_name, 0));
    struct ibv_qp *qp = ibv_create_qp(world.pd, &attr);
    CHECK(qp != NULL);
    CHECK_EQ(0, ibv_destroy_qp(qp));
    CHECK_EQ(0, ibv_destroy_cq(cq));
    world_close(&world);
}

static void completions_fail_on_request(void)
{
    struct world world;
    struct side a, b;
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    uint32_t length = build_frame(&spec, frame);
    struct softverbs_counters counters;
    world_open(&world);
    side_open(&world, &a);
    side_open(&world, &b);
    struct ibv_flow *flow = steer_mac(&b, mac_b);
    CHECK_EQ(EINVAL, softverbs_fail_next_completion(a.qp, 0, IBV_WC_SUCCESS));
    CHECK_EQ(0, softverbs_fail_next_completion(a.qp, 0, IBV_WC_LOC_QP_OP_ERR));
    CHECK_EQ(0, send_frame(&a, frame, length, 0));
    CHECK_EQ(IBV_WC_LOC_QP_OP_ERR, poll_one(a.cq).status);
    CHECK_EQ(IBV_QPS_ERR, state_of(a.qp));
    CHECK_EQ(0, to_state(a.qp, IBV_QPS_RESET));
    to_ready(a.qp);
    CHECK_EQ(0, post_recv_slot(&b, 0, SLOT_BYTES));
    CHECK_EQ(0, post_recv_slot(&b, 1, SLOT_BYTES));
    CHECK_EQ(0, softverbs_fail_next_completion(b.qp, 1, IBV_WC_FATAL_ERR));
    CHECK_EQ(0, send_frame(&a, frame, length, 0));
    CHECK_EQ(IBV_WC_FATAL_ERR, poll_one(b.cq).status);
    CHECK_EQ(IBV_QPS_RTS, state_of(b.qp));
    CHECK_EQ(0, softverbs_fail_next_completion(b.qp, 1, IBV_WC_LOC_PROT_ERR));
    CHECK_EQ(0, send_frame(&a, frame, length, 0));
    CHECK_EQ(IBV_WC_LOC_PROT_ERR, poll_one(b.cq).status);
    CHECK_EQ(IBV_QPS_ERR, state_of(b.qp));
    CHECK_EQ(0, softverbs_query_counters(world.context, &counters));
    CHECK_EQ(1, counters.sent.injected_errors);
    CHECK_EQ(2, counters.received.injected_errors);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&a);
    side_close(&b);
    world_close(&world);
}

static void a_failed_device_can_be_repaired(void)
{
    struct world world;
    struct side side;
    struct ibv_async_event event;
    struct ibv_port_attr port;
    world_open(&world);
    side_open(&world, &side);
    CHECK_EQ(0, post_recv_slot(&side, 0, SLOT_BYTES));
    CHECK_EQ(0, softverbs_fail_device(world.context));
    CHECK_EQ(0, ibv_get_async_event(world.context, &event));
    CHECK_EQ(IBV_EVENT_DEVICE_FATAL, event.event_type);
    ibv_ack_async_event(&event);
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, poll_one(side.cq).status);
    CHECK_EQ(EIO, to_state(side.qp, IBV_QPS_RESET));
    CHECK_FAILS(EIO, ibv_open_device(find_device(world.device_name)));
    CHECK_EQ(0, ibv_query_port(world.context, 1, &port));
    CHECK_EQ(IBV_PORT_DOWN, port.state);
    CHECK_EQ(0, softverbs_repair_device(world.context));
    CHECK_EQ(0, to_state(side.qp, IBV_QPS_RESET));
    to_ready(side.qp);
    side_close(&side);
    world_close(&world);
}

const struct test fault_tests[] = {
    {"injected failures last for the given number of calls", injected_failures_last_for_the_given_number_of_calls},
    {"a wait under the device's mutex is found", a_wait_under_the_mutex_is_found},
    {"memory is limited", memory_is_limited},
    {"rules are limited", rules_are_limited},
    {"raw packets can be missing", raw_packets_can_be_missing},
    {"completions fail on request", completions_fail_on_request},
    {"a failed device can be repaired", a_failed_device_can_be_repaired},
    {NULL, NULL},
};
