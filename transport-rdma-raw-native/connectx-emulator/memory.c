/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains and memory regions. */
#include "uverbs.h"

#include <errno.h>
#include <linux/capability.h>
#include <rdma/mlx5-abi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Pages that devices of this process read or write, registered memory and rings: mm->pinned_vm. */
static atomic_uint_fast64_t pinned_pages;

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
    CX_CORE_REQUEST(command, &request);
    return cx_object_destroy(command->context, CX_PD, request.pd_handle, cx_pd_destroy);
}

/* ---- locked memory ---- */

static uint64_t pages_of(uint64_t start, uint64_t length)
{
    return (start + length - 1) / CX_PAGE_BYTES - start / CX_PAGE_BYTES + 1;
}

/* CAP_IPC_LOCK */
static bool may_lock_all(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & 1u << CAP_IPC_LOCK);
}

static int pin(uint64_t pages)
{
    struct rlimit limit;
    uint64_t pinned = atomic_fetch_add(&pinned_pages, pages) + pages;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        pinned <= limit.rlim_cur / CX_PAGE_BYTES || may_lock_all())
        return 0;
    atomic_fetch_sub(&pinned_pages, pages);
    return ENOMEM;
}

/* ib_umem_get() of the kernel, which mlx5_ib calls for memory regions and for the rings of queues. */
int cx_object_pin(struct cx_object *object, uint64_t address, uint64_t bytes)
{
    uint64_t pages = pages_of(address, bytes);
    int error = pin(pages);
    if (error == 0)
        object->pinned_pages += pages;
    return error;
}

void cx_object_unpin(struct cx_object *object, uint64_t pages)
{
    object->pinned_pages -= pages;
    atomic_fetch_sub(&pinned_pages, pages);
}

/* mlx5_ib_db_map_user(): a page with doorbell records counts once, however many objects of the context have one there. */
int cx_record_pin(struct cx_object *object, uint64_t address)
{
    struct cx_record_page **link = &object->context->record_pages;
    uint64_t number = address / CX_PAGE_BYTES;
    if (object->record_page != NULL)
        return 0;
    while (*link != NULL && (*link)->number != number)
        link = &(*link)->next;
    if (*link == NULL) {
        struct cx_record_page *page = calloc(1, sizeof *page);
        int error = page == NULL ? ENOMEM : pin(1);
        if (error != 0) {
            free(page);
            return error;
        }
        page->number = number;
        *link = page;
    }
    (*link)->users++;
    object->record_page = *link;
    return 0;
}

void cx_record_unpin(struct cx_object *object)
{
    struct cx_record_page **link = &object->context->record_pages;
    struct cx_record_page *page = object->record_page;
    if (page == NULL || --page->users > 0)
        return;
    while (*link != page)
        link = &(*link)->next;
    *link = page->next;
    free(page);
    atomic_fetch_sub(&pinned_pages, 1);
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
    /* Such a kernel knows no flags that it may ignore: libibverbs has to leave them out. */
    if (!cx_uses_ioctl() && (access & IBV_ACCESS_OPTIONAL_RANGE))
        return EINVAL;
    if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) && !(access & IBV_ACCESS_LOCAL_WRITE))
        return EINVAL;
    return cx_is_mapped(request->start, request->length, access & IBV_ACCESS_LOCAL_WRITE) ? 0 : EFAULT;
}

static int take_mkey(struct cx_device *device, uint32_t *index)
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
    CX_CORE_REQUEST(command, &request);
    struct cx_pd *pd = cx_object_find(context, CX_PD, request.pd_handle);
    if (pd == NULL)
        return EINVAL;
    int error = check_registration(&request);
    if (error == 0)
        error = take_mkey(device, &index);
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
    CX_CORE_REQUEST(command, &request);
    return cx_object_destroy(command->context, CX_MR, request.mr_handle, cx_mr_destroy);
}

uint8_t *cx_translate(const struct cx_device *device, const struct cx_pd *pd, uint32_t key, uint64_t address,
                      uint32_t length, uint32_t access)
{
    uint32_t index = (key >> 8) - CX_FIRST_MKEY;
    if (index >= CX_MKEYS || device->mkeys[index].key != key)
        return NULL;
    const struct cx_mkey *mkey = &device->mkeys[index];
    uint64_t offset = address - mkey->iova;
    if (mkey->pd != pd || (mkey->access & access) != access || offset > mkey->length ||
        length > mkey->length - offset)
        return NULL;
    return mkey->base + offset;
}
