/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ioctl(2) on a device: rdma/ib_user_ioctl_cmds.h. Commands of the old ABI arrive wrapped as INVOKE_WRITE. GET_CONTEXT
 * has a separate form. Only this ABI has the file of asynchronous events and doorbell pages as objects. Other methods
 * return EPROTONOSUPPORT, as in an older kernel; libibverbs then wraps the old command.
 */
#include "kernel.h"

#include <endian.h>
#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

enum { MAX_ATTRIBUTES = 32 };

static struct ib_uverbs_attr *find_attribute(struct ib_uverbs_ioctl_hdr *request, uint16_t id)
{
    for (unsigned i = 0; i < request->num_attrs; i++)
        if (request->attrs[i].attr_id == id)
            return &request->attrs[i];
    return NULL;
}

/* Inputs of up to eight bytes are in the attribute itself. */
static const uint8_t *input_of(const struct ib_uverbs_attr *attribute)
{
    return attribute->len <= sizeof attribute->data ? (const uint8_t *)&attribute->data
                                                    : (const uint8_t *)(uintptr_t)attribute->data;
}

static int set_buffer(struct ib_uverbs_ioctl_hdr *request, uint16_t in, uint16_t out, struct cx_buffer *buffer)
{
    struct ib_uverbs_attr *input = find_attribute(request, in);
    struct ib_uverbs_attr *output = find_attribute(request, out);
    if (input != NULL && input->len > 0) {
        buffer->in = input_of(input);
        buffer->in_bytes = input->len;
        if (!cx_is_mapped((uintptr_t)buffer->in, buffer->in_bytes, false))
            return EFAULT;
    }
    if (output != NULL && output->len > 0) {
        buffer->out = (uint8_t *)(uintptr_t)output->data;
        buffer->out_bytes = output->len;
        if (!cx_is_mapped(output->data, output->len, true))
            return EFAULT;
        output->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
    }
    return 0;
}

static int invoke_write(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    struct ib_uverbs_attr *number = find_attribute(request, UVERBS_ATTR_WRITE_CMD);
    struct cx_command command = {.context = context};
    if (number == NULL)
        return EINVAL;
    int error = set_buffer(request, UVERBS_ATTR_CORE_IN, UVERBS_ATTR_CORE_OUT, &command.core);
    if (error == 0)
        error = set_buffer(request, UVERBS_ATTR_UHW_IN, UVERBS_ATTR_UHW_OUT, &command.driver);
    return error != 0 ? error : cx_command_execute((uint32_t)number->data, &command);
}

/* Copies to an output attribute that may be missing or too small. */
static int respond(struct ib_uverbs_ioctl_hdr *request, uint16_t id, const void *from, size_t bytes)
{
    struct ib_uverbs_attr *output = find_attribute(request, id);
    if (output == NULL)
        return 0;
    if (output->len < bytes)
        return ENOSPC;
    if (!cx_is_mapped(output->data, bytes, true))
        return EFAULT;
    memcpy((void *)(uintptr_t)output->data, from, bytes);
    output->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
    return 0;
}

static int get_context(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    uint64_t unused_address = 0;
    struct ib_uverbs_get_context_resp response;
    const uint64_t core_support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
    struct cx_command command = {
        .context = context,
        .core = {.in = (const uint8_t *)&unused_address, .in_bytes = sizeof unused_address,
                 .out = (uint8_t *)&response, .out_bytes = sizeof response},
    };
    int error = set_buffer(request, UVERBS_ATTR_UHW_IN, UVERBS_ATTR_UHW_OUT, &command.driver);
    if (error == 0)
        error = cx_command_execute(IB_USER_VERBS_CMD_GET_CONTEXT, &command);
    if (error == 0)
        error = respond(request, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &response.num_comp_vectors,
                        sizeof response.num_comp_vectors);
    if (error == 0)
        error = respond(request, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &core_support, sizeof core_support);
    return error;
}

/* ---- GIDs: one, the link-local address that follows from the MAC address ---- */

static struct ib_uverbs_gid_entry gid_entry(const struct cx_device *device)
{
    return (struct ib_uverbs_gid_entry){
        .gid = {htobe64(0xfe80000000000000), cx_guid(device)}, .port_num = 1, .gid_type = IB_UVERBS_GID_TYPE_ROCE_V1,
        .netdev_ifindex = cx_interface_index(device, device->own_port),
    };
}

static int query_gid_table(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    struct ib_uverbs_attr *size = find_attribute(request, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE);
    struct ib_uverbs_attr *entries = find_attribute(request, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
    const uint64_t number = cx_gid_count();
    struct ib_uverbs_gid_entry entry = gid_entry(context->device);
    if (!context->opened || size == NULL || entries == NULL || size->data < sizeof entry || entries->len < size->data)
        return EINVAL;
    int error = number == 0 ? 0 : respond(request, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, &entry, sizeof entry);
    return error != 0 ? error : respond(request, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &number, sizeof number);
}

static int query_gid_entry(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    struct ib_uverbs_attr *port = find_attribute(request, UVERBS_ATTR_QUERY_GID_ENTRY_PORT);
    struct ib_uverbs_attr *index = find_attribute(request, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX);
    if (!context->opened || port == NULL || index == NULL || (uint32_t)port->data != 1 ||
        (uint32_t)index->data >= cx_gid_count())
        return EINVAL;
    struct ib_uverbs_gid_entry entry = gid_entry(context->device);
    return respond(request, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry, sizeof entry);
}

static int device_method(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    switch (request->method_id) {
    case UVERBS_METHOD_INVOKE_WRITE:
        return invoke_write(context, request);
    case UVERBS_METHOD_GET_CONTEXT:
        return get_context(context, request);
    case UVERBS_METHOD_QUERY_GID_TABLE:
        return query_gid_table(context, request);
    case UVERBS_METHOD_QUERY_GID_ENTRY:
        return query_gid_entry(context, request);
    default:
        return EPROTONOSUPPORT;
    }
}

static int async_event_alloc(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    struct ib_uverbs_attr *handle = find_attribute(request, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
    int fd;
    if (handle == NULL || !context->opened)
        return EINVAL;
    cx_lock(context->device);
    int error = cx_async_open(context, &fd);
    cx_unlock(context->device);
    if (error == 0)
        handle->data_s64 = fd;
    return error;
}

/* ---- pages of doorbells ---- */

struct uar_object {
    struct cx_object object;
    uint32_t page;
};

void cx_uar_destroy(struct cx_object *object)
{
    struct uar_object *uar = (struct uar_object *)object;
    object->context->uars[uar->page].in_use = false;
    object->context->uars[uar->page].allocated = false;
    cx_object_free(object);
}

static int alloc_uar_page(struct cx_context *context, struct uar_object **uar)
{
    uint32_t page = context->static_bfregs / CX_USED_BFREGS_PER_UAR;
    while (page < CX_MAX_UARS && context->uars[page].in_use)
        page++;
    if (page == CX_MAX_UARS)
        return ENOMEM;
    *uar = cx_object_new(context, CX_UAR, sizeof **uar, 0);
    if (*uar == NULL)
        return ENOMEM;
    (*uar)->page = page;
    memset(context->uars[page].page, 0, CX_PAGE_BYTES);
    context->uars[page].in_use = true;
    context->uars[page].allocated = true;
    if (page >= context->uar_pages)
        context->uar_pages = page + 1;
    return 0;
}

static int uar_alloc(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    struct ib_uverbs_attr *handle = find_attribute(request, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
    struct uar_object *uar = NULL;
    if (handle == NULL || !context->opened)
        return EINVAL;
    cx_lock(context->device);
    int error = alloc_uar_page(context, &uar);
    cx_unlock(context->device);
    if (error != 0)
        return error;
    uint64_t number = (uint64_t)MLX5_IB_MMAP_ALLOC_WC << 8 | uar->page >> 8 << 16 | (uar->page & 0xff);
    uint64_t offset = number * CX_PAGE_BYTES;
    uint32_t length = CX_PAGE_BYTES;
    error = respond(request, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof offset);
    if (error == 0)
        error = respond(request, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof length);
    if (error == 0)
        error = respond(request, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &uar->page, sizeof uar->page);
    handle->data = uar->object.handle;
    return error;
}

static int uar_method(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    if (request->method_id == MLX5_IB_METHOD_UAR_OBJ_ALLOC)
        return uar_alloc(context, request);
    if (request->method_id != MLX5_IB_METHOD_UAR_OBJ_DESTROY)
        return EPROTONOSUPPORT;
    struct ib_uverbs_attr *handle = find_attribute(request, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE);
    if (handle == NULL)
        return EINVAL;
    cx_lock(context->device);
    int error = cx_object_destroy(context, CX_UAR, (uint32_t)handle->data, cx_uar_destroy);
    cx_unlock(context->device);
    return error;
}

/* ---- counters: only this ABI has them ---- */

static int read_counters(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    struct ib_uverbs_attr *handle = find_attribute(request, UVERBS_ATTR_READ_COUNTERS_HANDLE);
    struct ib_uverbs_attr *buffer = find_attribute(request, UVERBS_ATTR_READ_COUNTERS_BUFF);
    if (handle == NULL || buffer == NULL || buffer->len % sizeof(uint64_t) != 0)
        return EINVAL;
    if (!cx_is_mapped(buffer->data, buffer->len, true))
        return EFAULT;
    int error = cx_counters_read(context, (uint32_t)handle->data, (uint64_t *)(uintptr_t)buffer->data,
                                 buffer->len / (uint32_t)sizeof(uint64_t));
    if (error == 0)
        buffer->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
    return error;
}

static int counters_method_locked(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    struct ib_uverbs_attr *handle;
    uint32_t created;
    int error;
    switch (request->method_id) {
    case UVERBS_METHOD_COUNTERS_CREATE:
        handle = find_attribute(request, UVERBS_ATTR_CREATE_COUNTERS_HANDLE);
        error = handle == NULL ? EINVAL : cx_counters_create(context, &created);
        if (error == 0)
            handle->data = created;
        return error;
    case UVERBS_METHOD_COUNTERS_DESTROY:
        handle = find_attribute(request, UVERBS_ATTR_DESTROY_COUNTERS_HANDLE);
        return handle == NULL ? EINVAL : cx_object_destroy(context, CX_COUNTERS, (uint32_t)handle->data,
                                                           cx_counters_destroy);
    case UVERBS_METHOD_COUNTERS_READ:
        return read_counters(context, request);
    default:
        return EPROTONOSUPPORT;
    }
}

static int counters_method(struct cx_context *context, struct ib_uverbs_ioctl_hdr *request)
{
    if (!context->opened)
        return EINVAL;
    cx_lock(context->device);
    int error = counters_method_locked(context, request);
    cx_unlock(context->device);
    return error;
}

int cx_uverbs_ioctl(struct cx_context *context, void *argument)
{
    struct ib_uverbs_ioctl_hdr *request = argument;
    if (!cx_is_mapped((uintptr_t)request, sizeof *request, true))
        return EFAULT;
    if (request->num_attrs > MAX_ATTRIBUTES ||
        request->length != sizeof *request + request->num_attrs * sizeof request->attrs[0])
        return EINVAL;
    if (request->reserved1 != 0 || request->reserved2 != 0)
        return EPROTONOSUPPORT;
    if (!cx_is_mapped((uintptr_t)request, request->length, true))
        return EFAULT;
    switch (request->object_id) {
    case UVERBS_OBJECT_DEVICE:
        return device_method(context, request);
    case UVERBS_OBJECT_ASYNC_EVENT:
        return request->method_id == UVERBS_METHOD_ASYNC_EVENT_ALLOC ? async_event_alloc(context, request)
                                                                     : EPROTONOSUPPORT;
    case UVERBS_OBJECT_COUNTERS:
        return counters_method(context, request);
    case MLX5_IB_OBJECT_UAR:
        return uar_method(context, request);
    default:
        return EPROTONOSUPPORT;
    }
}
