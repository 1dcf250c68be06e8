/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs: create, destroy, query. qp_state.c has their states. */
#include "commands.h"

#include <errno.h>
#include <rdma/mlx5-abi.h>
#include <stdlib.h>
#include <string.h>

/* The common part of both forms of the command. */
struct wanted {
    struct ib_uverbs_ex_create_qp request;  /* the plain form fills the same fields */
    struct mlx5_ib_create_qp driver;
};

static void link_qp(struct cx_device *device, struct cx_qp *qp)
{
    qp->next = device->qps;
    device->qps = qp;
}

static void unlink_qp(struct cx_device *device, struct cx_qp *qp)
{
    struct cx_qp **link = &device->qps;
    while (*link != qp)
        link = &(*link)->next;
    *link = qp->next;
}

int cx_ring_init(struct cx_ring *ring, struct cx_object *owner, uint64_t memory, uint32_t units, uint32_t unit_shift,
                 uint64_t record)
{
    if (units == 0 || (units & (units - 1)) != 0 || units > 32768 || unit_shift < 4 || unit_shift > 16)
        return EINVAL;
    if (memory % 16 != 0 || record % 4 != 0)
        return EINVAL;
    if (!cx_is_mapped(memory, (uint64_t)units << unit_shift, true) || !cx_is_mapped(record, 4, true))
        return EFAULT;
    ring->memory = (uint8_t *)(uintptr_t)memory;
    ring->unit_count = units;
    ring->unit_shift = unit_shift;
    ring->record = (_Atomic uint32_t *)(uintptr_t)record;
    int error = cx_object_pin(owner, memory, (uint64_t)units << unit_shift);
    return error != 0 ? error : cx_record_pin(owner, record);
}

/* ---- plain queue pairs ---- */

static uint32_t self_loopback_of(uint32_t flags)
{
    return (flags & MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC ? CX_SELF_LB_UNICAST : 0) |
           (flags & MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC ? CX_SELF_LB_MULTICAST : 0);
}

/* process_vendor_flags() of mlx5_ib: refuses flags that raw packet queue pairs do not have. */
static int check_wanted(const struct wanted *wanted)
{
    const uint32_t known = MLX5_QP_FLAG_SIGNATURE | MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE |
                           MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_TUNNEL_OFFLOADS |
                           MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC | MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC;
    const uint32_t flags = wanted->request.create_flags;
    if (wanted->driver.flags & ~known)
        return EINVAL;
    if (cx_has_setup("no-raw-packets") || wanted->request.qp_type != IBV_QPT_RAW_PACKET || wanted->request.is_srq)
        return EOPNOTSUPP;
    if (flags & ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)
        return EOPNOTSUPP;
    if (wanted->driver.flags & MLX5_QP_FLAG_SIGNATURE)
        return EOPNOTSUPP;
    return 0;
}

static int init_send(struct cx_qp *qp, const struct wanted *wanted)
{
    struct cx_context *context = qp->object.context;
    const struct mlx5_ib_create_qp *driver = &wanted->driver;
    if (driver->sq_wqe_count == 0)
        return 0;
    qp->sq.cq = cx_object_find(context, CX_CQ, wanted->request.send_cq_handle);
    if (qp->sq.cq == NULL)
        return EINVAL;
    int error = cx_ring_init(&qp->sq.ring, &qp->object, driver->sq_buf_addr, driver->sq_wqe_count,
                             MLX5_SEND_WQE_SHIFT, driver->db_addr + 4);
    if (error != 0)
        return error;
    if (driver->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) {
        if (driver->bfreg_index >= CX_MAX_UARS || !context->uars[driver->bfreg_index].in_use)
            return EINVAL;
        qp->sq.uar_index = driver->bfreg_index;
    } else {
        qp->static_bfreg = cx_bfreg_alloc(context);
        if (qp->static_bfreg == UINT32_MAX)
            return EINVAL;
        qp->sq.uar_index = qp->static_bfreg / CX_USED_BFREGS_PER_UAR;
    }
    qp->sq.cq->object.users++;
    qp->has_sq = true;
    return 0;
}

static int init_receive(struct cx_qp *qp, const struct wanted *wanted)
{
    const struct mlx5_ib_create_qp *driver = &wanted->driver;
    if (driver->rq_wqe_count == 0)
        return 0;
    qp->rq.cq = cx_object_find(qp->object.context, CX_CQ, wanted->request.recv_cq_handle);
    if (qp->rq.cq == NULL)
        return EINVAL;
    int error = cx_ring_init(&qp->rq.ring, &qp->object, driver->buf_addr, driver->rq_wqe_count, driver->rq_wqe_shift,
                             driver->db_addr);
    if (error != 0)
        return error;
    qp->rq.pd = qp->pd;
    qp->rq.uidx = driver->uidx;
    qp->rq.cq->object.users++;
    qp->has_rq = true;
    return 0;
}

static int init_plain(struct cx_qp *qp, const struct wanted *wanted)
{
    qp->pd = cx_object_find(qp->object.context, CX_PD, wanted->request.pd_handle);
    if (qp->pd == NULL)
        return EINVAL;
    qp->pd->object.users++;
    qp->uidx = wanted->driver.uidx & 0xffffff;
    qp->sq_sig_all = wanted->request.sq_sig_all;
    qp->self_loopback = self_loopback_of(wanted->driver.flags);
    qp->steering.blocks_self_multicast = wanted->request.create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
    qp->number = qp->object.context->device->next_queue_number++ & 0xffffff;
    qp->rq.number = qp->number;
    qp->rq.device = qp->object.context->device;
    qp->rq.owner = &qp->object;
    qp->steering.rq.qp = &qp->steering;
    int error = init_send(qp, wanted);
    if (error == 0)
        error = init_receive(qp, wanted);
    if (error == 0 && !qp->has_sq && !qp->has_rq)
        error = EINVAL;
    return error;
}

static void describe(struct cx_qp *qp, const struct wanted *wanted)
{
    const struct ib_uverbs_ex_create_qp *request = &wanted->request;
    qp->cap = (struct ib_uverbs_create_qp_resp){
        .qp_handle = qp->object.handle,
        .qpn = qp->number,
        .max_send_wr = request->max_send_wr,
        .max_recv_wr = request->max_recv_wr,
        .max_send_sge = request->max_send_sge,
        .max_recv_sge = request->max_recv_sge,
        .max_inline_data = request->max_inline_data,
    };
}

static uint32_t bfreg_index(const struct cx_qp *qp)
{
    if (qp->static_bfreg == UINT32_MAX)
        return 0;
    return qp->static_bfreg / CX_USED_BFREGS_PER_UAR * CX_BFREGS_PER_UAR + qp->static_bfreg % CX_USED_BFREGS_PER_UAR;
}

static int create_plain(struct cx_command *command, struct wanted *wanted, struct cx_qp **created)
{
    int error = CX_READ_DRIVER_REQUEST(command, &wanted->driver);
    if (error == 0)
        error = check_wanted(wanted);
    if (error != 0)
        return error;
    struct cx_qp *qp = cx_object_new(command->context, CX_QP, sizeof *qp, wanted->request.user_handle);
    if (qp == NULL)
        return ENOMEM;
    qp->static_bfreg = UINT32_MAX;
    link_qp(command->context->device, qp);
    error = init_plain(qp, wanted);
    if (error != 0) {
        cx_qp_destroy(&qp->object);
        return error;
    }
    describe(qp, wanted);
    struct mlx5_ib_create_qp_resp response = {
        .bfreg_index = bfreg_index(qp),
        .comp_mask = MLX5_IB_CREATE_QP_RESP_MASK_SQN | MLX5_IB_CREATE_QP_RESP_MASK_RQN |
                     MLX5_IB_CREATE_QP_RESP_MASK_TIRN | MLX5_IB_CREATE_QP_RESP_MASK_TISN,
        .tirn = qp->number,
        .tisn = qp->number,
        .rqn = qp->number,
        .sqn = qp->number,
    };
    CX_DRIVER_RESPOND(command, &response);
    *created = qp;
    return 0;
}

int cx_create_qp(struct cx_command *command)
{
    struct ib_uverbs_create_qp request;
    struct cx_qp *qp;
    CX_READ_CORE_REQUEST(command, &request);
    struct wanted wanted = {.request = {
        .user_handle = request.user_handle,
        .pd_handle = request.pd_handle,
        .send_cq_handle = request.send_cq_handle,
        .recv_cq_handle = request.recv_cq_handle,
        .max_send_wr = request.max_send_wr,
        .max_recv_wr = request.max_recv_wr,
        .max_send_sge = request.max_send_sge,
        .max_recv_sge = request.max_recv_sge,
        .max_inline_data = request.max_inline_data,
        .sq_sig_all = request.sq_sig_all,
        .qp_type = request.qp_type,
        .is_srq = request.is_srq,
    }};
    int error = create_plain(command, &wanted, &qp);
    if (error == 0)
        cx_respond(&command->core, &qp->cap, sizeof qp->cap);
    return error;
}

/* ---- RSS queue pairs ---- */

static int init_rss(struct cx_qp *qp, const struct ib_uverbs_ex_create_qp *request,
                    const struct mlx5_ib_create_qp_rss *driver)
{
    uint8_t key[sizeof driver->rx_hash_key];
    memcpy(key, driver->rx_hash_key, sizeof key);
    const struct ibv_rx_hash_conf hash = {
        .rx_hash_function = driver->rx_hash_function,
        .rx_hash_key_len = driver->rx_key_len,
        .rx_hash_key = key,
        .rx_hash_fields_mask = driver->rx_hash_fields_mask,
    };
    struct cx_ind_table *table = cx_object_find(qp->object.context, CX_IND_TABLE, request->rwq_ind_tbl_handle);
    struct cx_pd *pd = cx_object_find(qp->object.context, CX_PD, request->pd_handle);
    if (table == NULL || pd == NULL)
        return EINVAL;
    int error = sv_rss_check(&hash);
    /* No hash fields are valid if there is only one queue. */
    if (error == 0 && hash.rx_hash_fields_mask == 0 && table->entries > 1)
        error = EINVAL;
    if (error != 0)
        return error;
    qp->steering.rss = sv_rss_create(key, hash.rx_hash_fields_mask);
    if (qp->steering.rss == NULL)
        return ENOMEM;
    qp->pd = pd;
    qp->self_loopback = self_loopback_of(driver->flags);
    pd->object.users++;
    qp->ind_table = table;
    table->object.users++;
    qp->steering.ind_table = table->steering;
    qp->number = qp->object.context->device->next_queue_number++ & 0xffffff;
    return 0;
}

static int create_rss(struct cx_command *command, const struct ib_uverbs_ex_create_qp *request,
                      struct cx_qp **created)
{
    struct mlx5_ib_create_qp_rss driver;
    int error = CX_READ_DRIVER_REQUEST(command, &driver);
    if (error != 0)
        return error;
    if (request->qp_type != IBV_QPT_RAW_PACKET)
        return EOPNOTSUPP;
    struct cx_qp *qp = cx_object_new(command->context, CX_QP, sizeof *qp, request->user_handle);
    if (qp == NULL)
        return ENOMEM;
    qp->static_bfreg = UINT32_MAX;
    link_qp(command->context->device, qp);
    error = init_rss(qp, request, &driver);
    if (error != 0) {
        cx_qp_destroy(&qp->object);
        return error;
    }
    qp->cap = (struct ib_uverbs_create_qp_resp){.qp_handle = qp->object.handle, .qpn = qp->number};
    struct mlx5_ib_create_qp_resp response = {.comp_mask = MLX5_IB_CREATE_QP_RESP_MASK_TIRN, .tirn = qp->number};
    CX_DRIVER_RESPOND(command, &response);
    *created = qp;
    return 0;
}

int cx_ex_create_qp(struct cx_command *command)
{
    struct wanted wanted = {0};
    struct cx_qp *qp;
    int error = CX_READ_CORE_REQUEST(command, &wanted.request);
    if (error != 0)
        return error;
    if (wanted.request.comp_mask & ~(uint32_t)IB_UVERBS_CREATE_QP_SUP_COMP_MASK)
        return EINVAL;
    if (wanted.request.comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE)
        error = create_rss(command, &wanted.request, &qp);
    else
        error = create_plain(command, &wanted, &qp);
    if (error != 0)
        return error;
    struct ib_uverbs_ex_create_qp_resp response = {.base = qp->cap, .response_length = sizeof response};
    CX_CORE_RESPOND(command, &response);
    return 0;
}

/* ---- destroying ---- */

void cx_qp_destroy(struct cx_object *object)
{
    struct cx_qp *qp = (struct cx_qp *)object;
    unlink_qp(object->context->device, qp);
    cx_sq_count_unreported(qp);
    if (qp->has_sq)
        qp->sq.cq->object.users--;
    if (qp->has_rq)
        qp->rq.cq->object.users--;
    if (qp->ind_table != NULL)
        qp->ind_table->object.users--;
    if (qp->pd != NULL)
        qp->pd->object.users--;
    cx_bfreg_free(object->context, qp->static_bfreg);
    free(qp->steering.rss);
    cx_object_free(object);
}

int cx_destroy_qp(struct cx_command *command)
{
    struct ib_uverbs_destroy_qp request;
    CX_READ_CORE_REQUEST(command, &request);
    struct cx_qp *qp = cx_object_find(command->context, CX_QP, request.qp_handle);
    if (qp == NULL)
        return EINVAL;
    if (qp->object.users > 0)
        return EBUSY;
    if (command->context->async != NULL)
        cx_events_withdraw(command->context->async, &qp->object.events);
    struct ib_uverbs_destroy_qp_resp response = {.events_reported = qp->object.events.async_events_reported};
    cx_qp_destroy(&qp->object);
    CX_CORE_RESPOND(command, &response);
    return 0;
}
