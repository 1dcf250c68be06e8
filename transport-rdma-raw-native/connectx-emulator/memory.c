/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of programs: pages locked by the device, and the addresses of memory keys. */
#include "objects.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Pages that devices of this process read or write, of registered memory and rings: mm->pinned_vm. */
static atomic_uint_fast64_t pinned_pages;

/* ---- locked memory ---- */

static uint64_t pages_of(uint64_t start, uint64_t length)
{
    return (start + length - 1) / CX_PAGE_BYTES - start / CX_PAGE_BYTES + 1;
}

/* Returns true with CAP_IPC_LOCK. */
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

/*
 * mlx5_ib_db_map_user(): a page with doorbell records counts once, even if several objects of the context have one
 * there.
 */
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

/* ---- keys ---- */

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
