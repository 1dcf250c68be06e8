/* SPDX-License-Identifier: Apache-2.0 */
/* Work queues and indirection tables. */
#include "commands.h"

#include <errno.h>
#include <rdma/mlx5-abi.h>
#include <stdlib.h>

enum { MAX_LOG_TABLE = 9, MIN_STRIDING_REQUEST_SHIFT = 5 };

/*
 * Reads the sizes of a striding receive queue. Its requests have the format of a shared receive queue: a segment that
 * links to the next request and has no meaning here, and at least one data segment (MIN_STRIDING_REQUEST_SHIFT).
 */
static int init_strides(struct cx_rq *rq, uint32_t min_strides_shift, const struct mlx5_ib_create_wq *driver)
{
    uint32_t bytes = driver->single_stride_log_num_of_bytes;
    uint32_t strides = driver->single_wqe_log_num_of_strides;
    if (!(driver->comp_mask & MLX5_IB_CREATE_WQ_STRIDING_RQ))
        return 0;
    if (bytes < CX_MIN_STRIDE_SHIFT || bytes > CX_MAX_STRIDE_SHIFT)
        return EINVAL;
    if (strides < min_strides_shift || strides > CX_MAX_STRIDES_SHIFT)
        return EINVAL;
    if (driver->rq_wqe_shift < MIN_STRIDING_REQUEST_SHIFT)
        return EINVAL;
    if (driver->two_byte_shift_en)
        return EOPNOTSUPP;
    rq->strides = (struct cx_strides){.per_request = 1u << strides, .shift = bytes};
    return 0;
}

static int init_wq(struct cx_wq *wq, const struct ib_uverbs_ex_create_wq *request,
                   const struct mlx5_ib_create_wq *driver)
{
    struct cx_context *context = wq->object.context;
    struct cx_rq *rq = &wq->rq;
    rq->pd = cx_object_find(context, CX_PD, request->pd_handle);
    rq->cq = cx_object_find(context, CX_CQ, request->cq_handle);
    if (rq->pd == NULL || rq->cq == NULL)
        return EINVAL;
    int error = cx_ring_init(&rq->ring, &wq->object, driver->buf_addr, driver->rq_wqe_count, driver->rq_wqe_shift,
                             driver->db_addr);
    if (error == 0)
        error = init_strides(rq, context->device->min_strides_shift, driver);
    if (error != 0)
        return error;
    rq->device = context->device;
    rq->owner = &wq->object;
    wq->steering.rq.wq = &wq->steering;
    rq->number = context->device->next_queue_number++ & 0xffffff;
    rq->uidx = driver->user_index & 0xffffff;
    rq->signature = driver->flags & MLX5_WQ_FLAG_SIGNATURE;
    return 0;
}

int cx_ex_create_wq(struct cx_command *command)
{
    struct cx_device *device = command->context->device;
    struct ib_uverbs_ex_create_wq request;
    struct mlx5_ib_create_wq driver;
    int error = CX_READ_CORE_REQUEST(command, &request);
    if (error == 0)
        error = CX_READ_DRIVER_REQUEST(command, &driver);
    if (error != 0)
        return error;
    if (request.comp_mask != 0 || request.wq_type != IBV_WQT_RQ)
        return EINVAL;
    if (request.create_flags != 0 || (driver.comp_mask & ~(uint32_t)MLX5_IB_CREATE_WQ_STRIDING_RQ) != 0)
        return EOPNOTSUPP;
    struct cx_wq *wq = cx_object_new(command->context, CX_WQ, sizeof *wq, request.user_handle);
    if (wq == NULL)
        return ENOMEM;
    error = init_wq(wq, &request, &driver);
    if (error != 0) {
        cx_object_free(&wq->object);
        return error;
    }
    wq->rq.pd->object.users++;
    wq->rq.cq->object.users++;
    wq->state = IBV_WQS_RESET;
    wq->next = device->wqs;
    device->wqs = wq;
    struct ib_uverbs_ex_create_wq_resp response = {
        .response_length = sizeof response,
        .wq_handle = wq->object.handle,
        .max_wr = request.max_wr,
        .max_sge = request.max_sge,
        .wqn = wq->rq.number,
    };
    struct mlx5_ib_create_wq_resp driver_response = {.response_length = sizeof driver_response};
    CX_CORE_RESPOND(command, &response);
    CX_DRIVER_RESPOND(command, &driver_response);
    return 0;
}

/* ---- states ---- */

static bool is_transition_allowed(uint32_t from, uint32_t to)
{
    switch (to) {
    case IBV_WQS_RESET:
        return true;
    case IBV_WQS_ERR:
        return from != IBV_WQS_RESET;
    case IBV_WQS_RDY:
        return from == IBV_WQS_RESET || from == IBV_WQS_RDY;
    default:
        return false;
    }
}

static void apply(struct cx_wq *wq, uint32_t to)
{
    if (to == IBV_WQS_ERR) {
        wq->state = to;
        cx_rq_enter_error(&wq->rq);
        return;
    }
    if (to == IBV_WQS_RESET) {
        cx_ring_reset(&wq->rq.ring);
        wq->rq.strides.next = 0;
        wq->rq.injected_syndrome = 0;
    }
    wq->state = to;
    wq->rq.state = to == IBV_WQS_RDY ? CX_QUEUE_READY : CX_QUEUE_OFF;
}

int cx_ex_modify_wq(struct cx_command *command)
{
    struct ib_uverbs_ex_modify_wq request;
    int error = CX_READ_CORE_REQUEST(command, &request);
    if (error != 0)
        return error;
    struct cx_wq *wq = cx_object_find(command->context, CX_WQ, request.wq_handle);
    if (wq == NULL || (request.attr_mask & ~(uint32_t)(IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE)))
        return EINVAL;
    if ((request.attr_mask & IBV_WQ_ATTR_CURR_STATE) && request.curr_wq_state != wq->state)
        return EINVAL;
    if (!(request.attr_mask & IBV_WQ_ATTR_STATE))
        return 0;
    if (!is_transition_allowed(wq->state, request.wq_state))
        return EINVAL;
    /* The driver names the state that it set last, which the device refuses after an error. */
    if (request.wq_state != IBV_WQS_RESET && wq->state != IBV_WQS_ERR && wq->rq.state == CX_QUEUE_ERROR)
        return EINVAL;
    if (request.wq_state != wq->state || request.wq_state == IBV_WQS_RESET)
        apply(wq, request.wq_state);
    return 0;
}

void cx_wq_destroy(struct cx_object *object)
{
    struct cx_wq *wq = (struct cx_wq *)object;
    struct cx_wq **link = &object->context->device->wqs;
    while (*link != wq)
        link = &(*link)->next;
    *link = wq->next;
    wq->rq.pd->object.users--;
    wq->rq.cq->object.users--;
    cx_object_free(object);
}

int cx_ex_destroy_wq(struct cx_command *command)
{
    struct ib_uverbs_ex_destroy_wq request;
    int error = CX_READ_CORE_REQUEST(command, &request);
    if (error != 0)
        return error;
    struct cx_wq *wq = cx_object_find(command->context, CX_WQ, request.wq_handle);
    if (wq == NULL || request.comp_mask != 0)
        return EINVAL;
    if (wq->object.users > 0)
        return EBUSY;
    if (command->context->async != NULL)
        cx_events_withdraw(command->context->async, &wq->object.events);
    const struct ib_uverbs_ex_destroy_wq_resp response = {
        .response_length = sizeof response, .events_reported = wq->object.events.async_events_reported,
    };
    cx_wq_destroy(&wq->object);
    CX_CORE_RESPOND(command, &response);
    return 0;
}

/* ---- indirection tables ---- */

static int read_handles(const struct cx_command *command, uint32_t entries, struct cx_wq **wqs)
{
    const uint8_t *handles = command->core.in + sizeof(struct ib_uverbs_ex_create_rwq_ind_table);
    if (command->core.in_bytes < sizeof(struct ib_uverbs_ex_create_rwq_ind_table) + entries * sizeof(uint32_t))
        return EINVAL;
    for (uint32_t i = 0; i < entries; i++) {
        uint32_t handle;
        memcpy(&handle, handles + i * sizeof handle, sizeof handle);
        wqs[i] = cx_object_find(command->context, CX_WQ, handle);
        if (wqs[i] == NULL)
            return EINVAL;
    }
    return 0;
}

/* The flow table expects an indirection table of sv_wq, so this one has the sv_wq of each work queue. */
static int make_steering(struct cx_ind_table *table)
{
    table->steering = calloc(1, sizeof *table->steering + table->entries * sizeof table->steering->wqs[0]);
    if (table->steering == NULL)
        return ENOMEM;
    table->steering->mask = table->entries - 1;
    for (uint32_t i = 0; i < table->entries; i++)
        table->steering->wqs[i] = &table->wqs[cx_is_mutant(CX_MUTANT_ONE_QUEUE_OF_SEVERAL) ? 0 : i]->steering;
    return 0;
}

int cx_ex_create_ind_table(struct cx_command *command)
{
    struct ib_uverbs_ex_create_rwq_ind_table request;
    if (command->core.in_bytes < sizeof request)
        return EINVAL;
    memcpy(&request, command->core.in, sizeof request);
    if (request.comp_mask != 0 || request.log_ind_tbl_size > MAX_LOG_TABLE)
        return EINVAL;
    uint32_t entries = 1u << request.log_ind_tbl_size;
    struct cx_ind_table *table = cx_object_new(command->context, CX_IND_TABLE,
                                               sizeof *table + entries * sizeof table->wqs[0], 0);
    if (table == NULL)
        return ENOMEM;
    table->entries = entries;
    int error = read_handles(command, entries, table->wqs);
    if (error == 0)
        error = make_steering(table);
    if (error != 0) {
        cx_object_free(&table->object);
        return error;
    }
    for (uint32_t i = 0; i < entries; i++)
        table->wqs[i]->object.users++;
    struct ib_uverbs_ex_create_rwq_ind_table_resp response = {
        .response_length = sizeof response,
        .ind_tbl_handle = table->object.handle,
        .ind_tbl_num = table->object.handle,
    };
    struct mlx5_ib_create_rwq_ind_tbl_resp driver = {.response_length = sizeof driver};
    CX_CORE_RESPOND(command, &response);
    CX_DRIVER_RESPOND(command, &driver);
    return 0;
}

void cx_ind_table_destroy(struct cx_object *object)
{
    struct cx_ind_table *table = (struct cx_ind_table *)object;
    for (uint32_t i = 0; i < table->entries; i++)
        table->wqs[i]->object.users--;
    free(table->steering);
    cx_object_free(object);
}

int cx_ex_destroy_ind_table(struct cx_command *command)
{
    struct ib_uverbs_ex_destroy_rwq_ind_table request;
    int error = CX_READ_CORE_REQUEST(command, &request);
    if (error != 0)
        return error;
    if (request.comp_mask != 0)
        return EINVAL;
    return cx_object_destroy(command->context, CX_IND_TABLE, request.ind_tbl_handle, cx_ind_table_destroy);
}
