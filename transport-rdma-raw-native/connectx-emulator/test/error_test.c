/* SPDX-License-Identifier: Apache-2.0 */
/* Errors caused by the program or injected, and recovery. */
#include "harness.h"

#include <errno.h>
#include <linux/capability.h>
#include <rdma/ib_user_verbs.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST_SEND = SLOTS / 2 };

static uint8_t frame[SLOT_BYTES];
static uint32_t length;

static struct ibv_flow *open_side(struct world *world, struct side *side)
{
    length = build_frame(frame, 17, 1000, 100, 1);
    world_open(world, "mlx5_0");
    side_open(world, side, 0, false);
    return steer_mac(side->qp, mac_b, 1);
}

static void close_side(struct world *world, struct side *side, struct ibv_flow *flow)
{
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(side);
    world_close(world);
}

static void check_works(struct side *side)
{
    post_receive(side, 0, SLOT_BYTES);
    post_send(side, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
    next_success(side->cq);
    next_success(side->cq);
    CHECK(memcmp(slot_at(side, 0), frame, length) == 0);
}

/* The driver believes that the queue pair is in RTS. A transition from that state is refused, except to RESET. */
static void recover(struct side *side)
{
    CHECK_EQ(EINVAL, to_state(side->qp, IBV_QPS_ERR));
    CHECK_EQ(0, to_state(side->qp, IBV_QPS_RESET));
    to_ready(side->qp);
    check_works(side);
}

/* The device receives from INIT on, but libmlx5 announces no request before RTR. */
static void frames_before_ready_to_receive_lack_a_request(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    struct cxemu_counters before, after;
    CHECK_EQ(0, to_state(side.qp, IBV_QPS_RESET));
    CHECK_EQ(0, to_state(side.qp, IBV_QPS_INIT));
    post_receive(&side, 1, SLOT_BYTES);
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &before));
    CHECK_EQ(0, emulator.inject("mlx5_0", frame, length));
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &after));
    CHECK_EQ(before.no_receive + 1, after.no_receive);
    CHECK_EQ(0, to_state(side.qp, IBV_QPS_RESET));
    to_ready(side.qp);
    check_works(&side);
    close_side(&world, &side, flow);
}

static void wrong_keys_are_protection_errors(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    struct ibv_sge sge = {.addr = (uintptr_t)slot_at(&side, FIRST_SEND), .length = 100, .lkey = side.mr->lkey ^ 0x100};
    struct ibv_send_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
    struct ibv_send_wr *bad;
    for (unsigned i = 0; i < 3; i++) {
        post_receive(&side, 1, SLOT_BYTES);
        CHECK_EQ(0, ibv_post_send(side.qp, &wr, &bad));
        struct ibv_wc wc = next_completion(side.cq);
        CHECK_EQ(IBV_WC_LOC_PROT_ERR, wc.status);
        CHECK_EQ(5, wc.wr_id);
        /* The receives of another queue. */
        check_quiet(&side);
        CHECK_EQ(0, emulator.inject("mlx5_0", frame, length));
        CHECK_EQ(1, next_success(side.cq).wr_id);
        recover(&side);
    }
    close_side(&world, &side, flow);
}

static int query_errno(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
}

/* sqrq_state_to_qp_state() of the kernel's mlx5_ib */
static void the_halves_of_a_queue_pair_fail_separately(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    post_receive(&side, 0, SLOT_BYTES);
    post_receive(&side, 1, SLOT_BYTES);
    CHECK_EQ(0, emulator.fail_next_completion("mlx5_0", side.qp->qp_num, 1, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR));
    post_send(&side, FIRST_SEND, frame, length, 0);
    CHECK_EQ(IBV_WC_LOC_PROT_ERR, next_completion(side.cq).status);
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, next_completion(side.cq).status);
    CHECK_EQ(EINVAL, query_errno(side.qp));
    post_send(&side, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
    CHECK_EQ(IBV_WC_SEND, next_success(side.cq).opcode);
    recover(&side);
    CHECK_EQ(0, emulator.fail_next_completion("mlx5_0", side.qp->qp_num, 0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR));
    post_send(&side, FIRST_SEND, frame, length, 0);
    CHECK_EQ(IBV_WC_LOC_QP_OP_ERR, next_completion(side.cq).status);
    CHECK_EQ(IBV_QPS_SQE, state_of(side.qp));
    CHECK_EQ(EINVAL, to_state(side.qp, IBV_QPS_RTS));
    /* modify_raw_packet_qp(): the receiving half is first, and stops although the transition is refused. */
    post_receive(&side, 2, SLOT_BYTES);
    CHECK_EQ(EINVAL, to_state(side.qp, IBV_QPS_ERR));
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, next_completion(side.cq).status);
    CHECK_EQ(0, emulator.inject("mlx5_0", frame, length));
    check_quiet(&side);
    CHECK_EQ(IBV_QPS_ERR, state_of(side.qp));
    CHECK_EQ(0, to_state(side.qp, IBV_QPS_RESET));
    to_ready(side.qp);
    check_works(&side);
    close_side(&world, &side, flow);
}

static void small_buffers_are_length_errors(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    post_receive(&side, 0, length - 1);
    slot_at(&side, 0)[length - 1] = 0x5a;
    post_send(&side, FIRST_SEND, frame, length, 0);
    CHECK_EQ(IBV_WC_LOC_LEN_ERR, next_completion(side.cq).status);
    CHECK_EQ(0x5a, slot_at(&side, 0)[length - 1]);
    CHECK_EQ(IBV_QPS_RTS, state_of(side.qp));
    check_works(&side);
    close_side(&world, &side, flow);
}

static void everything_flushes_in_error(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    for (unsigned i = 0; i < 5; i++)
        post_receive(&side, i, SLOT_BYTES);
    CHECK_EQ(0, to_state(side.qp, IBV_QPS_ERR));
    for (unsigned i = 0; i < 5; i++) {
        struct ibv_wc wc = next_completion(side.cq);
        CHECK_EQ(i, wc.wr_id);
        CHECK_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
    }
    post_send(&side, FIRST_SEND, frame, length, 0);
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, next_completion(side.cq).status);
    post_receive(&side, 6, SLOT_BYTES);
    CHECK_EQ(6, next_completion(side.cq).wr_id);
    CHECK_EQ(IBV_QPS_ERR, state_of(side.qp));
    CHECK_EQ(0, to_state(side.qp, IBV_QPS_RESET));
    to_ready(side.qp);
    check_works(&side);
    close_side(&world, &side, flow);
}

static void completions_fail_on_request(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    CHECK_EQ(0, emulator.fail_next_completion("mlx5_0", side.qp->qp_num, 0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR));
    post_send(&side, FIRST_SEND, frame, length, 0);
    CHECK_EQ(IBV_WC_LOC_QP_OP_ERR, next_completion(side.cq).status);
    recover(&side);
    CHECK_EQ(0, emulator.fail_next_completion("mlx5_0", side.qp->qp_num, 1, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR));
    post_receive(&side, 0, SLOT_BYTES);
    post_send(&side, FIRST_SEND, frame, length, 0);
    CHECK_EQ(IBV_WC_LOC_ACCESS_ERR, next_completion(side.cq).status);
    check_works(&side);
    CHECK_EQ(0, emulator.fail_qp("mlx5_0", side.qp->qp_num));
    struct ibv_async_event event = next_event(world.context);
    CHECK_EQ(IBV_EVENT_QP_FATAL, event.event_type);
    CHECK(event.element.qp == side.qp);
    ibv_ack_async_event(&event);
    recover(&side);
    close_side(&world, &side, flow);
}

/*
 * More completions than the queue holds, because nobody polls: it raises an event and overwrites no unread entry. The
 * queues that complete there stop: the fifth request is the last one executed, and nothing reports it.
 */
static void full_completion_queues_raise_an_event(void)
{
    struct world world;
    struct side side;
    struct ibv_wc wc;
    struct cxemu_counters before, after;
    length = build_frame(frame, 17, 1000, 100, 1);
    world_open(&world, "mlx5_0");
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &before));
    side_open(&world, &side, 3, false);
    for (unsigned i = 0; i < 6; i++)
        post_send(&side, FIRST_SEND + i, frame, length, IBV_SEND_SIGNALED);
    struct ibv_async_event event = next_event(world.context);
    CHECK_EQ(IBV_EVENT_CQ_ERR, event.event_type);
    CHECK(event.element.cq == side.cq);
    ibv_ack_async_event(&event);
    for (unsigned i = 0; i < 4; i++)
        CHECK_EQ(FIRST_SEND + i, next_success(side.cq).wr_id);
    CHECK_EQ(0, ibv_poll_cq(side.cq, 1, &wc));
    CHECK_EQ(IBV_QPS_ERR, state_of(side.qp));
    side_close(&side);
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &after));
    CHECK_EQ(5, after.sent_frames - before.sent_frames);
    CHECK_EQ(1, after.unreported_sends - before.unreported_sends);
    world_close(&world);
}

static void frames_are_lost_and_doubled_on_request(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    for (unsigned i = 0; i < 3; i++)
        post_receive(&side, i, SLOT_BYTES);
    CHECK_EQ(0, emulator.drop_frames("mlx5_0", 1));
    post_send(&side, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
    CHECK_EQ(IBV_WC_SEND, next_success(side.cq).opcode);
    check_quiet(&side);
    CHECK_EQ(0, emulator.duplicate_frames("mlx5_0", 1));
    post_send(&side, FIRST_SEND, frame, length, 0);
    CHECK_EQ(0, next_success(side.cq).wr_id);
    CHECK_EQ(1, next_success(side.cq).wr_id);
    check_quiet(&side);
    CHECK_EQ(0, emulator.inject("mlx5_0", frame, length));
    CHECK_EQ(2, next_success(side.cq).wr_id);
    close_side(&world, &side, flow);
}

static void commands_fail_on_request(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    CHECK_EQ(0, emulator.fail_commands("mlx5_0", CXEMU_ANY_COMMAND, EIO, 1));
    CHECK(ibv_reg_mr(world.pd, frame, sizeof frame, IBV_ACCESS_LOCAL_WRITE) == NULL);
    CHECK_EQ(EIO, errno);
    CHECK_EQ(0, emulator.fail_commands("mlx5_0", IB_USER_VERBS_CMD_REG_MR, ENOMEM, 1));
    errno = 0;
    CHECK(ibv_reg_mr(world.pd, side.memory, 100, 0) == NULL);
    CHECK_EQ(ENOMEM, errno);
    struct ibv_mr *mr = ibv_reg_mr(world.pd, side.memory, 100, 0);
    CHECK(mr != NULL);
    CHECK_EQ(0, ibv_dereg_mr(mr));
    close_side(&world, &side, flow);
}

static void a_removed_device_raises_an_event(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    post_receive(&side, 0, SLOT_BYTES);
    CHECK_EQ(0, emulator.remove_device("mlx5_0"));
    struct ibv_async_event event = next_event(world.context);
    CHECK_EQ(IBV_EVENT_DEVICE_FATAL, event.event_type);
    ibv_ack_async_event(&event);
    CHECK_EQ(IBV_WC_WR_FLUSH_ERR, next_completion(side.cq).status);
    CHECK_EQ(EIO, to_state(side.qp, IBV_QPS_RESET));
    errno = 0;
    CHECK(ibv_alloc_pd(world.context) == NULL);
    CHECK_EQ(EIO, errno);
    CHECK_EQ(0, emulator.restore_device("mlx5_0"));
    CHECK_EQ(IBV_QPS_ERR, state_of(side.qp));
    CHECK_EQ(0, to_state(side.qp, IBV_QPS_RESET));
    to_ready(side.qp);
    check_works(&side);
    close_side(&world, &side, flow);
}

/* The first frame fails the queue pair's own receives while its request is executed. The sends continue. */
static void a_queue_pairs_own_frames_may_fail_it(void)
{
    struct world world;
    struct side side;
    struct ibv_flow *flow = open_side(&world, &side);
    const enum ibv_wc_status expected[] = {IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR,
                                           IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_SUCCESS};
    uint32_t done;
    CHECK_EQ(0, emulator.set_stepping("mlx5_0", 1));
    for (unsigned i = 0; i < 3; i++)
        post_receive(&side, i, SLOT_BYTES);
    CHECK_EQ(0, emulator.fail_next_completion("mlx5_0", side.qp->qp_num, 1, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR));
    for (unsigned i = 0; i < 3; i++)
        post_send(&side, FIRST_SEND + i, frame, length, IBV_SEND_SIGNALED);
    CHECK_EQ(0, emulator.step("mlx5_0", 64, &done));
    CHECK_EQ(0, emulator.set_stepping("mlx5_0", 0));
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct ibv_wc wc = next_completion(side.cq);
        CHECK_EQ(expected[i], wc.status);
        CHECK_EQ(i < 3 ? i : FIRST_SEND + i - 3, wc.wr_id);
    }
    check_quiet(&side);
    recover(&side);
    close_side(&world, &side, flow);
}

/* ---- locked memory ---- */

static void may_lock_all(bool may)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    CHECK_EQ(0, syscall(SYS_capget, &header, data));
    data[0].effective &= ~(1u << CAP_IPC_LOCK);
    if (may)
        data[0].effective |= data[0].permitted & 1u << CAP_IPC_LOCK;
    CHECK_EQ(0, syscall(SYS_capset, &header, data));
}

static void limit_locked_memory(rlim_t bytes)
{
    struct rlimit limit;
    CHECK_EQ(0, getrlimit(RLIMIT_MEMLOCK, &limit));
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    CHECK_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
}

/* ib_umem_get() of the kernel: memory regions, and the rings of completion queues, queue pairs and work queues. */
static void rings_count_as_locked_memory(void)
{
    enum { ENTRIES = 4000, RING_BYTES = 4096 * 64, TIMES = 40 };
    struct world world;
    struct rlimit before;
    static _Alignas(4096) uint8_t memory[4096];
    world_open(&world, "mlx5_0");
    struct ibv_cq *cq = ibv_create_cq(world.context, 10, NULL, NULL, 0);
    CHECK(cq != NULL);
    struct ibv_qp_init_attr qp = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET,
                                  .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_wq_init_attr wq = {.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = world.pd, .cq = cq};
    CHECK_EQ(0, getrlimit(RLIMIT_MEMLOCK, &before));
    may_lock_all(false);
    limit_locked_memory(0);
    CHECK(ibv_reg_mr(world.pd, memory, sizeof memory, 0) == NULL && errno == ENOMEM);
    CHECK(ibv_create_cq(world.context, 10, NULL, NULL, 0) == NULL && errno == ENOMEM);
    CHECK(ibv_create_qp(world.pd, &qp) == NULL && errno == ENOMEM);
    CHECK(ibv_create_wq(world.context, &wq) == NULL && errno == ENOMEM);
    CHECK_EQ(ENOMEM, ibv_resize_cq(cq, ENTRIES));
    /* Freed and refused memory does not count. */
    limit_locked_memory(10 * RING_BYTES);
    for (unsigned i = 0; i < TIMES; i++) {
        struct ibv_cq *large = ibv_create_cq(world.context, ENTRIES, NULL, NULL, 0);
        CHECK(large != NULL);
        CHECK_EQ(0, ibv_resize_cq(large, ENTRIES / 2));
        CHECK_EQ(0, ibv_destroy_cq(large));
    }
    limit_locked_memory(before.rlim_cur);
    may_lock_all(true);
    CHECK_EQ(0, ibv_destroy_cq(cq));
    world_close(&world);
}

static void limit_pages(unsigned pages)
{
    limit_locked_memory((rlim_t)pages * 4096);
}

/* Returns the smallest limit, in pages, under which the completion queue can be created. */
static unsigned pages_for_cq(struct ibv_context *context, struct ibv_cq **cq)
{
    unsigned pages = 0;
    do
        limit_pages(++pages);
    while ((*cq = ibv_create_cq(context, 10, NULL, NULL, 0)) == NULL && errno == ENOMEM && pages < 1 << 20);
    CHECK(*cq != NULL);
    return pages;
}

/* mlx5_ib_db_map_user(): libmlx5 puts the records of a context's queues into common pages, which count once. */
static void pages_of_records_count_as_locked_memory(void)
{
    struct world world;
    struct rlimit before;
    struct ibv_cq *cqs[2];
    world_open(&world, "mlx5_0");
    CHECK_EQ(0, getrlimit(RLIMIT_MEMLOCK, &before));
    may_lock_all(false);
    /* A ring and the page of records, then another ring. */
    unsigned first = pages_for_cq(world.context, &cqs[0]);
    CHECK_EQ(first + 1, pages_for_cq(world.context, &cqs[1]));
    CHECK_EQ(0, ibv_destroy_cq(cqs[1]));
    CHECK_EQ(0, ibv_destroy_cq(cqs[0]));
    limit_pages(first - 1);
    CHECK(ibv_create_cq(world.context, 10, NULL, NULL, 0) == NULL && errno == ENOMEM);
    struct ibv_mr *mr = ibv_reg_mr(world.pd, frame, 1, 0);
    CHECK(mr != NULL);
    CHECK_EQ(0, ibv_dereg_mr(mr));
    CHECK_EQ(0, setrlimit(RLIMIT_MEMLOCK, &before));
    may_lock_all(true);
    world_close(&world);
}

const struct test error_tests[] = {
    {"frames before ready to receive lack a request", frames_before_ready_to_receive_lack_a_request},
    {"pages of records count as locked memory", pages_of_records_count_as_locked_memory},
    {"rings count as locked memory", rings_count_as_locked_memory},
    {"a queue pair's own frames may fail it", a_queue_pairs_own_frames_may_fail_it},
    {"the halves of a queue pair fail separately", the_halves_of_a_queue_pair_fail_separately},
    {"wrong keys are protection errors", wrong_keys_are_protection_errors},
    {"small buffers are length errors", small_buffers_are_length_errors},
    {"everything flushes in error", everything_flushes_in_error},
    {"completions fail on request", completions_fail_on_request},
    {"full completion queues raise an event", full_completion_queues_raise_an_event},
    {"frames are lost and doubled on request", frames_are_lost_and_doubled_on_request},
    {"commands fail on request", commands_fail_on_request},
    {"a removed device raises an event", a_removed_device_raises_an_event},
    {NULL, NULL},
};
