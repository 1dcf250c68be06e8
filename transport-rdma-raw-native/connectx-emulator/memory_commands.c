/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains and memory regions. */
#include "commands.h"

#include <errno.h>
#include <rdma/mlx5-abi.h>

int cx_alloc_pd(struct cx_command *command)
{
    struct cx_device *device = command->context->device;
    struct cx_pd *pd = cx_object_new(command->context, CX_PD, sizeof *pd, 0);
    if (pd == NULL)
        return ENOMEM;
    pd->pdn = device->next_pdn++;
    struct ib_uverbs_alloc_pd_resp response = {.pd_handle = pd->object.handle};
    struct mlx5_ib_alloc_pd_resp driver = {.pdn = pd->pdn};
    cx_respond(&command->core, &response, sizeof response.pd_handle);
    CX_DRIVER_RESPOND(command, &driver);
    return 0;
}

void cx_pd_destroy(struct cx_object *object)
{
    cx_object_free(object);
}

int cx_dealloc_pd(struct cx_command *command)
{
    struct ib_uverbs_dealloc_pd request;
    CX_READ_CORE_REQUEST(command, &request);
    return cx_object_destroy(command->context, CX_PD, request.pd_handle, cx_pd_destroy);
}

/* ---- memory regions ---- */

static int check_registration(const struct ib_uverbs_reg_mr *request)
{
    const uint32_t known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                           IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;
    uint32_t access = request->access_flags;
    if ((request->start ^ request->hca_va) & (CX_PAGE_BYTES - 1))
        return EINVAL;
    if (request->length == 0)
        return EINVAL;
    if (access & IBV_ACCESS_ON_DEMAND)
        return EOPNOTSUPP;
    if (access & ~known)
        return EINVAL;
    /* Such a kernel knows no optional flags, so libibverbs has to omit them. */
    if (!cx_uses_ioctl() && (access & IBV_ACCESS_OPTIONAL_RANGE))
        return EINVAL;
    if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) && !(access & IBV_ACCESS_LOCAL_WRITE))
        return EINVAL;
    return cx_is_mapped(request->start, request->length, access & IBV_ACCESS_LOCAL_WRITE) ? 0 : EFAULT;
}

static int alloc_mkey(struct cx_device *device, uint32_t *index)
{
    for (uint32_t tried = 0; tried < CX_MKEYS; tried++) {
        *index = device->next_mkey++ % CX_MKEYS;
        if (device->mkeys[*index].key == 0)
            return 0;
    }
    return ENOMEM;
}

int cx_reg_mr(struct cx_command *command)
{
    struct cx_context *context = command->context;
    struct cx_device *device = context->device;
    struct ib_uverbs_reg_mr request;
    uint32_t index;
    CX_READ_CORE_REQUEST(command, &request);
    struct cx_pd *pd = cx_object_find(context, CX_PD, request.pd_handle);
    if (pd == NULL)
        return EINVAL;
    int error = check_registration(&request);
    if (error == 0)
        error = alloc_mkey(device, &index);
    if (error != 0)
        return error;
    struct cx_mr *mr = cx_object_new(context, CX_MR, sizeof *mr, 0);
    if (mr == NULL)
        return ENOMEM;
    error = cx_object_pin(&mr->object, request.start, request.length);
    if (error != 0) {
        cx_object_free(&mr->object);
        return error;
    }
    struct cx_mkey *mkey = &device->mkeys[index];
    mkey->variant++;
    mkey->key = (index + CX_FIRST_MKEY) << 8 | mkey->variant;
    mkey->access = request.access_flags;
    mkey->iova = request.hca_va;
    mkey->length = request.length;
    mkey->base = (uint8_t *)(uintptr_t)request.start;
    mkey->pd = pd;
    mr->pd = pd;
    mr->index = index;
    pd->object.users++;
    struct ib_uverbs_reg_mr_resp response = {.mr_handle = mr->object.handle, .lkey = mkey->key, .rkey = mkey->key};
    cx_respond(&command->core, &response, sizeof(struct ib_uverbs_reg_mr_resp));
    return 0;
}

void cx_mr_destroy(struct cx_object *object)
{
    struct cx_mr *mr = (struct cx_mr *)object;
    struct cx_mkey *mkey = &mr->object.context->device->mkeys[mr->index];
    mkey->key = 0;
    mr->pd->object.users--;
    cx_object_free(object);
}

int cx_dereg_mr(struct cx_command *command)
{
    struct ib_uverbs_dereg_mr request;
    CX_READ_CORE_REQUEST(command, &request);
    return cx_object_destroy(command->context, CX_MR, request.mr_handle, cx_mr_destroy);
}
