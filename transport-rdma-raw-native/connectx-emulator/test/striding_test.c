/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Striding receive queues, read in place: libmlx5 creates them for programs that do so. The same frames go to a queue
 * pair from which libmlx5 receives. Both must agree, and only the frames may have been written.
 */
#include "cqe_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    ENTRIES = 256,
    TAG = 0x50505,
    FIRST_SEND = SLOTS / 2,
    STRIDE_SHIFT = 8,
    STRIDES_SHIFT = 4,
    STRIDES = 1 << STRIDES_SHIFT,   /* per request */
    REQUESTS = 8,
    REQUEST_BYTES = STRIDES << STRIDE_SHIFT,
    BUFFER_BYTES = REQUESTS * REQUEST_BYTES,
    SEGMENT_BYTES = 16,
    UNTOUCHED = 0xa5,
};

static const uint32_t FILLER = 1u << 31;

/* A queue reached through an RSS queue pair of one entry, because a plain queue pair cannot have one. */
struct striding {
    struct world world;
    struct side plain;
    struct side sender;
    struct ibv_cq_ex *cq;
    struct ibv_wq *wq;
    struct ibv_rwq_ind_table *table;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *memory;                /* buffers of the requests, in sequence */
    struct mlx5dv_rwq ring;
    struct cqe_reader reader;
    struct ibv_flow *flows[2];
    uint32_t posted;
    uint32_t requests;              /* consumed */
    uint32_t next;                  /* next stride of the current request */
    uint32_t fillers;
    uint32_t spanning;              /* frames of several strides */
};

static struct ibv_wq *create_wq(struct world *world, struct ibv_cq *cq, uint32_t stride_shift, uint32_t strides_shift)
{
    struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ, .max_wr = REQUESTS, .max_sge = 1, .pd = world->pd, .cq = cq};
    struct mlx5dv_wq_init_attr dv = {
        .comp_mask = MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ,
        .striding_rq_attrs = {.single_stride_log_num_of_bytes = stride_shift,
                              .single_wqe_log_num_of_strides = strides_shift},
    };
    return mlx5dv_create_wq(world->context, &init, &dv);
}

static struct ibv_qp *create_rss(struct world *world, struct ibv_rwq_ind_table *table)
{
    static uint8_t key[40];
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_RAW_PACKET, .pd = world->pd, .rwq_ind_tbl = table,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
        .rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ, .rx_hash_key_len = sizeof key,
                         .rx_hash_key = key},
    };
    return ibv_create_qp_ex(world->context, &attr);
}

static void open_queue(struct striding *to, uint8_t format)
{
    struct ibv_cq_init_attr_ex plain_attr = {.cqe = ENTRIES - 1, .wc_flags = IBV_WC_STANDARD_FLAGS};
    to->cq = format == 0 ? ibv_create_cq_ex(to->world.context, &plain_attr)
                         : create_compressed(&to->world, ENTRIES, format);
    CHECK(to->cq != NULL);
    cqe_reader_open(&to->reader, ibv_cq_ex_to_cq(to->cq), format);
    to->wq = create_wq(&to->world, ibv_cq_ex_to_cq(to->cq), STRIDE_SHIFT, STRIDES_SHIFT);
    CHECK(to->wq != NULL);
    struct mlx5dv_obj object = {.rwq = {.in = to->wq, .out = &to->ring}};
    CHECK_EQ(0, mlx5dv_init_obj(&object, MLX5DV_OBJ_RWQ));
    CHECK_EQ(REQUESTS, to->ring.wqe_cnt);
    CHECK_EQ(2 * SEGMENT_BYTES, to->ring.stride);
    struct ibv_wq_attr ready = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
    CHECK_EQ(0, ibv_modify_wq(to->wq, &ready));
    struct ibv_rwq_ind_table_init_attr table = {.ind_tbl = &to->wq};
    to->table = ibv_create_rwq_ind_table(to->world.context, &table);
    CHECK(to->table != NULL);
    to->qp = create_rss(&to->world, to->table);
    CHECK(to->qp != NULL);
}

static void striding_open(struct striding *to, uint8_t format)
{
    memset(to, 0, sizeof *to);
    world_open(&to->world, "mlx5_0");
    side_open(&to->world, &to->plain, 0, false);
    side_open(&to->world, &to->sender, 0, false);
    to->memory = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(to->memory != MAP_FAILED);
    to->mr = ibv_reg_mr(to->world.pd, to->memory, BUFFER_BYTES, IBV_ACCESS_LOCAL_WRITE);
    CHECK(to->mr != NULL);
    open_queue(to, format);
    to->flows[0] = steer_mac(to->plain.qp, mac_b, TAG);
    to->flows[1] = steer_mac(to->qp, mac_a, TAG);
}

static void striding_close(struct striding *to)
{
    CHECK_EQ(0, ibv_destroy_flow(to->flows[0]));
    CHECK_EQ(0, ibv_destroy_flow(to->flows[1]));
    CHECK_EQ(0, ibv_destroy_qp(to->qp));
    CHECK_EQ(0, ibv_destroy_rwq_ind_table(to->table));
    CHECK_EQ(0, ibv_destroy_wq(to->wq));
    CHECK_EQ(0, ibv_destroy_cq(ibv_cq_ex_to_cq(to->cq)));
    CHECK_EQ(0, ibv_dereg_mr(to->mr));
    munmap(to->memory, BUFFER_BYTES);
    side_close(&to->plain);
    side_close(&to->sender);
    world_close(&to->world);
}

static uint8_t *buffer_of(const struct striding *to, uint32_t request)
{
    return to->memory + (size_t)(request % REQUESTS) * REQUEST_BYTES;
}

/* Posts all requests that the ring has room for, with empty buffers. */
static void post_requests(struct striding *to)
{
    for (; to->posted - to->requests < REQUESTS; to->posted++) {
        uint8_t *request = (uint8_t *)to->ring.buf + (size_t)(to->posted % REQUESTS) * to->ring.stride;
        memset(buffer_of(to, to->posted), UNTOUCHED, REQUEST_BYTES);
        memset(request, 0, SEGMENT_BYTES);
        mlx5dv_set_data_seg((void *)(request + SEGMENT_BYTES), REQUEST_BYTES, to->mr->lkey,
                            (uintptr_t)buffer_of(to, to->posted));
    }
    __atomic_store_n(&to->ring.dbrec[0], htobe32(to->posted & 0xffff), __ATOMIC_RELEASE);
}

static uint32_t build(uint8_t *frame, uint32_t seed, const uint8_t *mac)
{
    /* Every third frame is longer than a stride. */
    uint32_t payload = seed % 3 == 0 ? 250 + seed * 131 % 1200 : 18 + seed * 7 % 150;
    uint32_t length = build_frame(frame, 17, 1000, payload, seed);
    memcpy(frame, mac, 6);
    if (seed % 13 == 0)
        frame[length - 1] ^= 1;
    return length;
}

/* Stops the engine while a burst is posted, so that its frames arrive together. */
static void deliver(struct striding *to, uint32_t burst, uint32_t seed, const uint8_t *mac)
{
    uint8_t frame[SLOT_BYTES];
    uint32_t done;
    CHECK_EQ(0, emulator.set_stepping("mlx5_0", 1));
    for (uint32_t i = 0; i < burst; i++) {
        uint32_t length = build(frame, seed + i, mac);
        post_send(&to->sender, FIRST_SEND + i, frame, length, i + 1 == burst ? IBV_SEND_SIGNALED : 0);
    }
    do
        CHECK_EQ(0, emulator.step("mlx5_0", 64, &done));
    while (done > 0);
    CHECK_EQ(0, emulator.set_stepping("mlx5_0", 0));
    CHECK_EQ(IBV_WC_SEND, next_success(to->sender.cq).opcode);
}

static void check_untouched(const uint8_t *from, const uint8_t *end)
{
    for (; from < end; from++)
        CHECK_EQ(UNTOUCHED, *from);
}

/* Checks that a completion names the stride after those of the previous ones. Returns its address. */
static uint8_t *follow(struct striding *to, const struct cqe_fields *fields)
{
    uint32_t strides = fields->byte_count >> 16 & 0x7fff;
    CHECK_EQ(to->requests & 0xffff, fields->request);
    CHECK_EQ(to->next, fields->counter);
    CHECK(strides > 0 && to->next + strides <= STRIDES);
    uint8_t *at = buffer_of(to, to->requests) + ((size_t)to->next << STRIDE_SHIFT);
    to->next = (to->next + strides) % STRIDES;
    to->requests += to->next == 0;
    return at;
}

static bool skip_filler(struct striding *to, const struct cqe_fields *fields)
{
    if (!(fields->byte_count & FILLER))
        return false;
    uint32_t left = STRIDES - to->next;
    CHECK_EQ(left, fields->byte_count >> 16 & 0x7fff);
    uint8_t *at = follow(to, fields);
    check_untouched(at, at + ((size_t)left << STRIDE_SHIFT));
    to->fillers++;
    return true;
}

static void compare_frame(struct striding *to, const struct cqe_fields *fields, unsigned slot)
{
    struct ibv_wc wc = next_success(to->plain.cq);
    uint32_t strides = (wc.byte_len + (1 << STRIDE_SHIFT) - 1) >> STRIDE_SHIFT;
    const uint8_t *at = follow(to, fields);
    CHECK_EQ(wc.byte_len, fields->byte_count & 0xffff);
    CHECK_EQ(strides, fields->byte_count >> 16);
    CHECK_EQ(wc.qp_num, fields->tag);
    CHECK_EQ((wc.wc_flags & IBV_WC_IP_CSUM_OK) != 0, fields->checksum_ok);
    CHECK(memcmp(slot_at(&to->plain, slot) + 6, at + 6, wc.byte_len - 6) == 0);
    CHECK(memcmp(at, mac_a, 6) == 0);
    check_untouched(at + wc.byte_len, at + ((size_t)strides << STRIDE_SHIFT));
    to->spanning += strides > 1;
}

static void compare_bursts(struct striding *to, uint32_t round)
{
    struct cqe_fields received[ENTRIES];
    uint32_t burst = 1 + round * 5 % SENDS;
    for (uint32_t i = 0; i < burst; i++)
        post_receive(&to->plain, i, SLOT_BYTES);
    post_requests(to);
    deliver(to, burst, round * 3, mac_b);
    deliver(to, burst, round * 3, mac_a);
    uint32_t count = 0;
    for (uint32_t taken; (taken = cqe_reader_take(&to->reader, received + count)) > 0;)
        count += taken;
    uint32_t frames = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (skip_filler(to, &received[i]))
            continue;
        CHECK(frames < burst);
        compare_frame(to, &received[i], frames++);
    }
    CHECK_EQ(burst, frames);
}

static void strides_as_plain(uint8_t format)
{
    struct striding striding;
    striding_open(&striding, format);
    for (uint32_t round = 0; round < 500; round++)
        compare_bursts(&striding, round);
    CHECK(striding.fillers > 50);
    CHECK(striding.spanning > 500);
    CHECK(format == 0 ? striding.reader.sessions == 0 : striding.reader.sessions > 100);
    striding_close(&striding);
}

static void frames_in_strides_equal_those_that_libmlx5_receives(void)
{
    strides_as_plain(0);
}

static void strides_by_completions_with_their_numbers(void)
{
    strides_as_plain(MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX);
}

static void strides_by_completions_with_hashes(void)
{
    strides_as_plain(MLX5DV_CQE_RES_FORMAT_HASH);
}

/* Requests run out within a burst: frames without a request are lost and counted, and no others. */
static void frames_without_a_request_are_counted(void)
{
    struct striding striding;
    struct cqe_fields fields[ENTRIES];
    struct cxemu_counters before, after;
    uint8_t frame[SLOT_BYTES];
    striding_open(&striding, 0);
    post_requests(&striding);
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &before));
    uint32_t length = build_frame(frame, 17, 1000, 5 << STRIDE_SHIFT, 1);
    memcpy(frame, mac_a, 6);
    /* Six strides each: two frames fit a request, with a filler of four strides. */
    for (uint32_t i = 0; i < 2 * REQUESTS + 3; i++) {
        post_send(&striding.sender, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
        next_success(striding.sender.cq);
    }
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &after));
    CHECK_EQ(3, after.no_receive - before.no_receive);
    CHECK_EQ(2 * REQUESTS, after.received_frames - before.received_frames);
    uint32_t count = 0;
    for (uint32_t taken; (taken = cqe_reader_take(&striding.reader, fields)) > 0;)
        count += taken;
    CHECK_EQ(3 * REQUESTS, count);
    striding_close(&striding);
}

static void a_frame_too_long_for_a_request_uses_one(void)
{
    struct striding striding;
    uint8_t frame[SLOT_BYTES * 3];
    striding_open(&striding, 0);
    post_requests(&striding);
    uint32_t length = build_frame(frame, 17, 1000, REQUEST_BYTES, 1);
    memcpy(frame, mac_a, 6);
    CHECK_EQ(0, emulator.inject("mlx5_0", frame, length));
    struct mlx5_err_cqe *error = striding.reader.ring.buf;
    CHECK_EQ(MLX5_CQE_RESP_ERR, error->op_own >> 4);
    CHECK_EQ(MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, error->syndrome);
    const struct mlx5_cqe64 *cqe = striding.reader.ring.buf;
    CHECK_EQ(REQUEST_BYTES >> STRIDE_SHIFT, be32toh(cqe[0].byte_cnt) >> 16);
    /* The queue continues with the next request. */
    length = build_frame(frame, 17, 1000, 20, 1);
    memcpy(frame, mac_a, 6);
    CHECK_EQ(0, emulator.inject("mlx5_0", frame, length));
    CHECK_EQ(MLX5_CQE_RESP_SEND, cqe[1].op_own >> 4);
    CHECK_EQ(0, be16toh(cqe[1].wqe_counter));
    CHECK_EQ(1, be16toh(cqe[1].wqe_id));
    striding_close(&striding);
}

static void check_refused(struct world *world, struct ibv_cq *cq, uint32_t stride_shift, uint32_t strides_shift)
{
    errno = 0;
    CHECK(create_wq(world, cq, stride_shift, strides_shift) == NULL);
    CHECK_EQ(EINVAL, errno);
}

static void stride_sizes_are_reported_and_checked(void)
{
    struct world world;
    struct mlx5dv_context caps = {.comp_mask = MLX5DV_CONTEXT_MASK_STRIDING_RQ};
    world_open(&world, "mlx5_0");
    CHECK_EQ(0, mlx5dv_query_device(world.context, &caps));
    CHECK((caps.comp_mask & MLX5DV_CONTEXT_MASK_STRIDING_RQ) != 0);
    const struct mlx5dv_striding_rq_caps *rq = &caps.striding_rq_caps;
    CHECK_EQ(1u << IBV_QPT_RAW_PACKET, rq->supported_qpts);
    struct ibv_cq *cq = ibv_create_cq(world.context, 16, NULL, NULL, 0);
    CHECK(cq != NULL);
    check_refused(&world, cq, rq->min_single_stride_log_num_of_bytes - 1, rq->min_single_wqe_log_num_of_strides);
    check_refused(&world, cq, rq->max_single_stride_log_num_of_bytes + 1, rq->min_single_wqe_log_num_of_strides);
    check_refused(&world, cq, rq->min_single_stride_log_num_of_bytes, rq->min_single_wqe_log_num_of_strides - 1);
    check_refused(&world, cq, rq->min_single_stride_log_num_of_bytes, rq->max_single_wqe_log_num_of_strides + 1);
    struct ibv_wq *wq = create_wq(&world, cq, rq->max_single_stride_log_num_of_bytes,
                                  rq->max_single_wqe_log_num_of_strides);
    CHECK(wq != NULL);
    CHECK_EQ(0, ibv_destroy_wq(wq));
    CHECK_EQ(0, ibv_destroy_cq(cq));
    world_close(&world);
}

const struct test striding_tests[] = {
    {"stride sizes are reported and checked", stride_sizes_are_reported_and_checked},
    {"frames in strides equal those that libmlx5 receives", frames_in_strides_equal_those_that_libmlx5_receives},
    {"frames in strides, compressed with their numbers", strides_by_completions_with_their_numbers},
    {"frames in strides, compressed with hashes", strides_by_completions_with_hashes},
    {"frames without a request are counted", frames_without_a_request_are_counted},
    {"a frame too long for a request uses one", a_frame_too_long_for_a_request_uses_one},
    {NULL, NULL},
};
