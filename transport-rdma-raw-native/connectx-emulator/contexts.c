/* SPDX-License-Identifier: Apache-2.0 */
/* An opened device: its doorbell pages, and its destruction when the descriptor is closed. */
#include "kernel.h"

#include <errno.h>
#include <rdma/mlx5-abi.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int make_doorbells(struct cx_context *context)
{
    context->doorbell_fd = memfd_create("connectx-emulator-doorbells", MFD_CLOEXEC);
    if (context->doorbell_fd < 0)
        return errno;
    if (ftruncate(context->doorbell_fd, CX_MAX_UARS * CX_PAGE_BYTES) != 0)
        return errno;
    uint8_t *pages = cx_real()->mmap(NULL, CX_MAX_UARS * CX_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                                     context->doorbell_fd, 0);
    if (pages == MAP_FAILED)
        return errno;
    for (uint32_t i = 0; i < CX_MAX_UARS; i++)
        context->uars[i].page = pages + i * CX_PAGE_BYTES;
    return 0;
}

static void free_context(struct cx_context *context)
{
    if (context->uars[0].page != NULL)
        munmap(context->uars[0].page, CX_MAX_UARS * CX_PAGE_BYTES);
    if (context->doorbell_fd >= 0)
        cx_real()->close(context->doorbell_fd);
    free(context->objects);
    free(context);
}

struct cx_context *cx_context_open(struct cx_device *device)
{
    struct cx_context *context = calloc(1, sizeof *context);
    if (context == NULL)
        return NULL;
    context->device = device;
    context->doorbell_fd = -1;
    int error = make_doorbells(context);
    if (error == 0)
        error = cx_engine_start(device);
    if (error != 0) {
        free_context(context);
        errno = error;
        return NULL;
    }
    cx_lock(device);
    if (device->contexts == NULL)
        cx_wire_discard_pending(device);
    context->next = device->contexts;
    device->contexts = context;
    pthread_cond_broadcast(&device->opened);
    cx_unlock(device);
    return context;
}

/* Objects that refer to others are destroyed first. */
static void destroy_all(struct cx_context *context)
{
    static const struct {
        enum cx_kind kind;
        void (*destroy)(struct cx_object *object);
    } order[] = {
        {CX_FLOW, cx_flow_destroy}, {CX_QP, cx_qp_destroy}, {CX_IND_TABLE, cx_ind_table_destroy},
        {CX_WQ, cx_wq_destroy}, {CX_CQ, cx_cq_destroy}, {CX_MR, cx_mr_destroy}, {CX_PD, cx_pd_destroy},
        {CX_COUNTERS, cx_counters_destroy}, {CX_UAR, cx_uar_destroy},
    };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        for (uint32_t handle = 1; handle < context->object_slots; handle++)
            if (context->objects[handle] != NULL && context->objects[handle]->kind == order[i].kind)
                order[i].destroy(context->objects[handle]);
}

void cx_context_close(struct cx_context *context)
{
    struct cx_device *device = context->device;
    cx_lock(device);
    destroy_all(context);
    struct cx_context **link = &device->contexts;
    while (*link != context)
        link = &(*link)->next;
    *link = context->next;
    struct cx_events *async = context->async;
    cx_unlock(device);
    if (async != NULL)
        cx_events_put(async);
    free_context(context);
}

/* libmlx5 requests a page at (command << 8 | index) pages into the device; indexes above 255 continue in bit 16. */
int cx_context_map(struct cx_context *context, uint64_t offset, uint32_t *page)
{
    uint64_t number = offset / CX_PAGE_BYTES;
    uint32_t command = (uint32_t)(number >> 8 & 0xff);
    uint64_t index = (number & 0xff) | number >> 16 << 8;
    if (offset % CX_PAGE_BYTES != 0 || index >= CX_MAX_UARS || !context->opened)
        return EINVAL;
    cx_lock(context->device);
    bool there = context->uars[index].in_use;
    bool allocated = context->uars[index].allocated;
    cx_unlock(context->device);
    bool wants_allocated = command == MLX5_IB_MMAP_ALLOC_WC;
    if (!wants_allocated && command != MLX5_IB_MMAP_REGULAR_PAGE && command != MLX5_IB_MMAP_WC_PAGE &&
        command != MLX5_IB_MMAP_NC_PAGE)
        return EOPNOTSUPP;
    if (!there || allocated != wants_allocated)
        return EINVAL;
    *page = (uint32_t)index;
    return 0;
}
