/* SPDX-License-Identifier: Apache-2.0 */
/* Completion channels and completion queues. */
#include "commands.h"

#include <errno.h>
#include <rdma/mlx5-abi.h>
#include <stdlib.h>

int cx_create_comp_channel(struct cx_command *command)
{
    struct cx_events *events = cx_events_open(CX_COMPLETION_EVENTS);
    if (events == NULL)
        return errno;
    int error = cx_file_add_events(events->fd, events);
    if (error != 0) {
        cx_real()->close(events->fd);
        cx_events_put(events);
        return error;
    }
    struct ib_uverbs_create_comp_channel_resp response = {.fd = (uint32_t)events->fd};
    CX_CORE_RESPOND(command, &response);
    return 0;
}

/* ---- creating ---- */

struct wanted {
    uint64_t user_handle;
    uint32_t cqe;
    uint32_t comp_vector;
    int32_t channel;
    bool ignores_overrun;
};

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static uint64_t ring_bytes(uint32_t cqe, const struct mlx5_ib_create_cq *driver)
{
    return ((uint64_t)cqe + 1) * driver->cqe_size;
}

static int check_ring(uint32_t cqe, const struct mlx5_ib_create_cq *driver)
{
    if (cqe == 0 || cqe > CX_MAX_CQE || !is_power_of_two(cqe + 1))
        return EINVAL;
    if (driver->cqe_size != 64 && driver->cqe_size != 128)
        return EINVAL;
    if (driver->db_addr % 8 != 0 || driver->buf_addr % 64 != 0)
        return EINVAL;
    bool mapped = cx_is_mapped(driver->buf_addr, ring_bytes(cqe, driver), true) &&
                  cx_is_mapped(driver->db_addr, 8, true);
    return mapped ? 0 : EFAULT;
}

/* Adds a reference to the channel, which the caller stores or releases. */
static int find_channel(int32_t fd, struct cx_events **channel)
{
    *channel = NULL;
    if (fd < 0)
        return 0;
    struct cx_file *file = cx_file_get(fd);
    if (file == NULL)
        return EINVAL;
    bool fits = file->events != NULL && file->events->type == CX_COMPLETION_EVENTS;
    if (fits)
        *channel = cx_events_get(file->events);
    cx_file_put(file);
    return fits ? 0 : EINVAL;
}

/* Finds the page that arms the queue: the one that the program names, or its first. */
static int find_page(const struct cx_context *context, const struct mlx5_ib_create_cq *driver, uint32_t *page)
{
    *page = driver->flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX ? driver->uar_page_index : 0;
    return *page < CX_MAX_UARS && context->uars[*page].in_use ? 0 : EINVAL;
}

/* Returns 0 or an errno. Newer devices compress entries of 128 bytes. */
static int make_session(const struct mlx5_ib_create_cq *driver, struct cx_session **session)
{
    *session = NULL;
    if (!driver->cqe_comp_en)
        return 0;
    if (driver->cqe_size != CX_CQE_BYTES)
        return EOPNOTSUPP;
    switch (driver->cqe_comp_res_format) {
    case MLX5_IB_CQE_RES_FORMAT_HASH:
    case MLX5_IB_CQE_RES_FORMAT_CSUM:
    case MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX:
        *session = cx_session_new(driver->cqe_comp_res_format);
        return *session != NULL ? 0 : ENOMEM;
    default:
        return EINVAL;
    }
}

static void invalidate(struct cx_cq *cq)
{
    for (uint32_t i = 0; i < cq->entries; i++)
        cq->ring[(size_t)(i + 1) * cq->entry_bytes - 1] = MLX5_CQE_INVALID << 4;
}

static int create(struct cx_command *command, const struct wanted *wanted, struct cx_cq **created)
{
    struct cx_context *context = command->context;
    struct cx_device *device = context->device;
    struct mlx5_ib_create_cq driver;
    uint32_t page;
    struct cx_events *channel = NULL;
    struct cx_session *session = NULL;
    struct cx_cq *cq = NULL;
    int error = CX_READ_DRIVER_REQUEST(command, &driver);
    if (error == 0 && wanted->comp_vector >= CX_COMP_VECTORS)
        error = EINVAL;
    if (error == 0)
        error = check_ring(wanted->cqe, &driver);
    if (error == 0)
        error = find_page(context, &driver, &page);
    if (error == 0)
        error = find_channel(wanted->channel, &channel);
    if (error == 0)
        error = make_session(&driver, &session);
    if (error == 0) {
        cq = cx_object_new(context, CX_CQ, sizeof *cq, wanted->user_handle);
        error = cq == NULL ? ENOMEM : cx_object_pin(&cq->object, driver.buf_addr, ring_bytes(wanted->cqe, &driver));
    }
    if (error == 0)
        error = cx_record_pin(&cq->object, driver.db_addr);
    if (error != 0) {
        if (cq != NULL)
            cx_object_free(&cq->object);
        free(session);
        if (channel != NULL)
            cx_events_put(channel);
        return error;
    }
    cq->cqn = device->next_cqn++ & 0xffffff;
    cq->ring = (uint8_t *)(uintptr_t)driver.buf_addr;
    cq->entries = wanted->cqe + 1;
    cq->entry_bytes = driver.cqe_size;
    cq->record = (_Atomic uint32_t *)(uintptr_t)driver.db_addr;
    cq->vector = wanted->comp_vector;
    cq->uar_index = page;
    cq->channel = channel;
    cq->last_event_sn = -1;
    cq->ignores_overrun = wanted->ignores_overrun;
    cq->session = session;
    cq->next = device->cqs;
    device->cqs = cq;
    invalidate(cq);
    struct mlx5_ib_create_cq_resp response = {.cqn = cq->cqn};
    CX_DRIVER_RESPOND(command, &response);
    *created = cq;
    return 0;
}

int cx_create_cq(struct cx_command *command)
{
    struct ib_uverbs_create_cq request;
    struct cx_cq *cq;
    CX_READ_CORE_REQUEST(command, &request);
    const struct wanted wanted = {request.user_handle, request.cqe, request.comp_vector, request.comp_channel,
                                 false};
    int error = create(command, &wanted, &cq);
    if (error != 0)
        return error;
    struct ib_uverbs_create_cq_resp response = {.cq_handle = cq->object.handle, .cqe = request.cqe};
    cx_respond(&command->core, &response, sizeof response);
    return 0;
}

int cx_ex_create_cq(struct cx_command *command)
{
    struct ib_uverbs_ex_create_cq request;
    struct cx_cq *cq;
    int error = CX_READ_CORE_REQUEST(command, &request);
    if (error != 0)
        return error;
    if (request.comp_mask != 0 || request.reserved != 0)
        return EINVAL;
    if (request.flags & ~(uint32_t)IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)
        return EOPNOTSUPP;
    const struct wanted wanted = {request.user_handle, request.cqe, request.comp_vector, request.comp_channel,
                                 request.flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN};
    error = create(command, &wanted, &cq);
    if (error != 0)
        return error;
    struct ib_uverbs_ex_create_cq_resp response = {
        .base = {.cq_handle = cq->object.handle, .cqe = request.cqe}, .response_length = sizeof response,
    };
    CX_CORE_RESPOND(command, &response);
    return 0;
}

/*
 * A special entry marks the end of the old ring. It uses an index, and all later entries are in the new ring. The
 * program copies the unread entries itself.
 */
int cx_resize_cq(struct cx_command *command)
{
    struct ib_uverbs_resize_cq request;
    struct mlx5_ib_resize_cq driver;
    CX_READ_CORE_REQUEST(command, &request);
    int error = CX_READ_DRIVER_REQUEST(command, &driver);
    struct cx_cq *cq = cx_object_find(command->context, CX_CQ, request.cq_handle);
    if (error != 0 || cq == NULL)
        return EINVAL;
    const struct mlx5_ib_create_cq ring = {
        .buf_addr = driver.buf_addr, .db_addr = (uintptr_t)cq->record, .cqe_size = driver.cqe_size,
    };
    cx_cqs_close_sessions(command->context->device);
    error = check_ring(request.cqe, &ring);
    if (error == 0 && request.cqe + 1 < cx_cq_unconsumed(cq))
        error = EINVAL;
    uint64_t pages_before = cq->object.pinned_pages;
    if (error == 0)
        error = cx_object_pin(&cq->object, driver.buf_addr, ring_bytes(request.cqe, &ring));
    if (error != 0)
        return error;
    cx_object_unpin(&cq->object, pages_before);
    const struct cx_completion last = {.opcode = MLX5_CQE_RESIZE_CQ};
    cx_cq_add(cq, &last);
    cq->ring = (uint8_t *)(uintptr_t)driver.buf_addr;
    cq->entries = request.cqe + 1;
    cq->entry_bytes = driver.cqe_size;
    invalidate(cq);
    const struct ib_uverbs_resize_cq_resp response = {.cqe = request.cqe};
    cx_respond(&command->core, &response, sizeof response);
    return 0;
}

/* ---- destroying ---- */

void cx_cq_destroy(struct cx_object *object)
{
    struct cx_cq *cq = (struct cx_cq *)object;
    struct cx_cq **link = &object->context->device->cqs;
    while (*link != cq)
        link = &(*link)->next;
    *link = cq->next;
    if (cq->channel != NULL) {
        cx_events_withdraw(cq->channel, &object->events);
        cx_events_put(cq->channel);
    }
    free(cq->session);
    cx_object_free(object);
}

int cx_destroy_cq(struct cx_command *command)
{
    struct ib_uverbs_destroy_cq request;
    struct ib_uverbs_destroy_cq_resp response;
    CX_READ_CORE_REQUEST(command, &request);
    struct cx_cq *cq = cx_object_find(command->context, CX_CQ, request.cq_handle);
    if (cq == NULL)
        return EINVAL;
    if (cq->object.users > 0)
        return EBUSY;
    /* Withdraws unread events, so that the counts are final. */
    if (cq->channel != NULL)
        cx_events_withdraw(cq->channel, &cq->object.events);
    if (command->context->async != NULL)
        cx_events_withdraw(command->context->async, &cq->object.events);
    response.comp_events_reported = cq->object.events.comp_events_reported;
    response.async_events_reported = cq->object.events.async_events_reported;
    cx_cq_destroy(&cq->object);
    CX_CORE_RESPOND(command, &response);
    return 0;
}
