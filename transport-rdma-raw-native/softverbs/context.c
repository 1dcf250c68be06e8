/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a device: the context, with the function pointers that the header's inline functions call. */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct sv_device *sv_device_of(struct ibv_context *context)
{
    return sv_context_of(context)->device;
}

static void fill_operations(struct verbs_context *verbs)
{
    verbs->query_port = sv_query_port_attr;
    verbs->query_device_ex = sv_query_device_ex;
    verbs->query_rt_values = sv_query_rt_values;
    verbs->create_cq_ex = sv_create_cq_ex;
    verbs->create_qp_ex = sv_create_qp_ex;
    verbs->create_wq = sv_create_wq;
    verbs->modify_wq = sv_modify_wq;
    verbs->destroy_wq = sv_destroy_wq;
    verbs->create_rwq_ind_table = sv_create_rwq_ind_table;
    verbs->destroy_rwq_ind_table = sv_destroy_rwq_ind_table;
    verbs->ibv_create_flow = sv_create_flow;
    verbs->ibv_destroy_flow = sv_destroy_flow;
    verbs->create_counters = sv_create_counters;
    verbs->destroy_counters = sv_destroy_counters;
    verbs->attach_counters_point_flow = sv_attach_counters;
    verbs->read_counters = sv_read_counters;
    verbs->context.ops.poll_cq = sv_poll_cq;
    verbs->context.ops.req_notify_cq = sv_req_notify_cq;
    verbs->context.ops.post_send = sv_post_send;
    verbs->context.ops.post_recv = sv_post_recv;
}

/* Returns true if it is the only user. */
static bool add_user(struct sv_device *device)
{
    sv_device_lock(device);
    bool first = device->users++ == 0;
    sv_device_unlock(device);
    return first;
}

/* The first context opens the port. */
static int attach(struct sv_device *device, struct sv_context *context)
{
    int error = sv_explain(0, "%s", "");
    pthread_mutex_lock(&device->port_mutex);
    bool first = add_user(device);
    if (atomic_load(&device->failed))
        error = EIO;
    else if (first && device->ops->open != NULL)
        error = device->ops->open(device);
    sv_device_lock(device);
    if (error == 0) {
        context->next = device->contexts;
        device->contexts = context;
    } else {
        device->users--;
    }
    memcpy(device->open_error, sv_explanation(), sizeof device->open_error);
    sv_device_unlock(device);
    pthread_mutex_unlock(&device->port_mutex);
    return error;
}

static void detach(struct sv_device *device, struct sv_context *context)
{
    pthread_mutex_lock(&device->port_mutex);
    sv_device_lock(device);
    struct sv_context **link = &device->contexts;
    while (*link != context)
        link = &(*link)->next;
    *link = context->next;
    bool last = device->contexts == NULL;
    sv_device_unlock(device);
    if (last && device->ops->close != NULL)
        device->ops->close(device);
    sv_device_lock(device);
    device->users--;
    sv_device_unlock(device);
    pthread_mutex_unlock(&device->port_mutex);
}

SV_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *ibv)
{
    struct sv_device *device = (struct sv_device *)ibv;
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_OPEN_DEVICE);
    if (error != 0)
        return sv_fail(error);
    struct sv_context *context = sv_alloc_zeroed(sizeof *context);
    if (context == NULL)
        return sv_fail(ENOMEM);
    context->device = device;
    pthread_mutex_init(&context->async_mutex, NULL);
    struct ibv_context *public = &context->verbs.context;
    context->verbs.sz = sizeof context->verbs;
    fill_operations(&context->verbs);
    public->device = ibv;
    public->abi_compat = __VERBS_ABI_IS_EXTENDED;
    public->num_comp_vectors = 1;
    public->cmd_fd = -1;
    pthread_mutex_init(&public->mutex, NULL);
    public->async_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    error = public->async_fd < 0 ? errno : attach(device, context);
    if (error == 0)
        return public;
    if (public->async_fd >= 0)
        close(public->async_fd);
    free(context);
    return sv_fail(error);
}

/*
 * The kernel would destroy all objects of the context and leave dangling handles. Here a context with objects is busy.
 */
SV_EXPORT int ibv_close_device(struct ibv_context *public)
{
    struct sv_context *context = sv_context_of(public);
    if (atomic_load(&context->objects) != 0) {
        errno = EBUSY;
        return EBUSY;
    }
    detach(context->device, context);
    sv_async_discard_events(context);
    close(public->async_fd);
    pthread_mutex_destroy(&public->mutex);
    pthread_mutex_destroy(&context->async_mutex);
    free(context);
    return 0;
}

SV_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    int error = sv_consume_injected_error(sv_device_of(context), SOFTVERBS_CALL_ALLOC_PD);
    if (error != 0)
        return sv_fail(error);
    struct sv_pd *pd = sv_alloc_zeroed(sizeof *pd);
    if (pd == NULL)
        return sv_fail(ENOMEM);
    pd->ibv.context = context;
    pd->ibv.handle = atomic_fetch_add(&sv_context_of(context)->objects, 1);
    return &pd->ibv;
}

SV_EXPORT int ibv_dealloc_pd(struct ibv_pd *ibv)
{
    struct sv_pd *pd = (struct sv_pd *)ibv;
    if (atomic_load(&pd->users) != 0)
        return EBUSY;
    atomic_fetch_sub(&sv_context_of(ibv->context)->objects, 1);
    free(pd);
    return 0;
}
