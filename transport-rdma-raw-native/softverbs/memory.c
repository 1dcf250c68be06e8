/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory regions. An lkey consists of an index into the device's table and a generation byte, so stale keys are
 * detected.
 */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void sv_mr_table_destroy(struct sv_mr_table *table)
{
    if (table == NULL)
        return;
    if (table->entries != MAP_FAILED)
        munmap(table->entries, SV_MR_SLOTS * sizeof *table->entries);
    free(table->free_list);
    free(table->generation);
    free(table);
}

struct sv_mr_table *sv_mr_table_create(void)
{
    struct sv_mr_table *table = sv_alloc_zeroed(sizeof *table);
    if (table == NULL)
        return NULL;
    /* Reserved, not committed: only used entries occupy memory. */
    table->entries = mmap(NULL, SV_MR_SLOTS * sizeof *table->entries, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    table->free_list = malloc(SV_MR_SLOTS * sizeof *table->free_list);
    table->generation = calloc(SV_MR_SLOTS, 1);
    if (table->entries == MAP_FAILED || table->free_list == NULL || table->generation == NULL) {
        sv_mr_table_destroy(table);
        return NULL;
    }
    table->free_count = SV_MR_SLOTS;
    for (uint32_t i = 0; i < SV_MR_SLOTS; i++)
        table->free_list[i] = SV_MR_SLOTS - 1 - i;
    return table;
}

/* Hardware pins the pages of a registration and fails with EFAULT for unmapped memory; so does this function. */
static int check_mapped(uintptr_t address, size_t length)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = address & ~(page - 1);
    uintptr_t end = (address + length + page - 1) & ~(page - 1);
    unsigned char residency[4096];

    /* No memory ends there, and `end` would wrap to 0. */
    if (address + length > UINTPTR_MAX - page)
        return EFAULT;
    while (start < end) {
        size_t bytes = end - start;
        if (bytes > sizeof residency * page)
            bytes = sizeof residency * page;
        if (mincore((void *)start, bytes, residency) != 0)
            return EFAULT;
        start += bytes;
    }
    return 0;
}

static uint64_t pinned_bytes(uintptr_t address, size_t length)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return ((address + length + page - 1) & ~(page - 1)) - (address & ~(page - 1));
}

static int check_registration(uintptr_t address, size_t length, unsigned access)
{
    const unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                           IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;
    if (length == 0 || address + length < address)
        return EINVAL;
    if (access & IBV_ACCESS_ON_DEMAND)
        return EOPNOTSUPP;
    if (access & ~known)
        return EINVAL;
    if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) && !(access & IBV_ACCESS_LOCAL_WRITE))
        return EINVAL;
    return check_mapped(address, length);
}

/*
 * Returns true for a region of all memory of the process, as on a device with implicit on-demand paging
 * (ibv_reg_mr(3)). Nothing is pinned or checked. The processor can read any address, so softverbs supports this even
 * where a card does not.
 */
static bool is_implicit(const void *address, size_t length, unsigned access)
{
    return address == NULL && length == SIZE_MAX && access == IBV_ACCESS_ON_DEMAND;
}

/* Takes a slot and the memlock budget. The caller holds the device's mutex. */
static int reserve_entry(struct sv_device *device, uint64_t bytes, uint32_t *index)
{
    uint64_t limit = device->faults.memlock_limit;
    if (bytes > 0 && (device->registered_bytes > limit || bytes > limit - device->registered_bytes))
        return ENOMEM;
    if (device->mrs->free_count == 0)
        return ENOMEM;
    *index = device->mrs->free_list[--device->mrs->free_count];
    device->registered_bytes += bytes;
    return 0;
}

static struct ibv_mr *register_region(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned access)
{
    struct sv_device *device = sv_device_of(pd->context);
    bool implicit = is_implicit(address, length, access);
    int error = implicit ? 0 : sv_consume_injected_error(device, SOFTVERBS_CALL_REG_MR);
    if (error == 0 && !implicit)
        error = check_registration((uintptr_t)address, length, access);
    if (error != 0)
        return sv_fail(error);
    struct sv_mr *mr = sv_alloc_zeroed(sizeof *mr);
    if (mr == NULL)
        return sv_fail(ENOMEM);

    sv_device_lock(device);
    mr->pinned_bytes = implicit ? 0 : pinned_bytes((uintptr_t)address, length);
    error = reserve_entry(device, mr->pinned_bytes, &mr->index);
    if (error == 0) {
        struct sv_mr_entry *entry = &device->mrs->entries[mr->index];
        uint32_t key = (mr->index + SV_MR_FIRST) << 8 | ++device->mrs->generation[mr->index];
        entry->access = access;
        entry->iova = iova;
        entry->length = length;
        entry->base = address;
        entry->pd = (struct sv_pd *)pd;
        atomic_store_explicit(&entry->key, key, memory_order_release);
        mr->ibv.lkey = mr->ibv.rkey = key;
    }
    sv_device_unlock(device);
    if (error != 0) {
        free(mr);
        return sv_fail(error);
    }
    mr->ibv.context = pd->context;
    mr->ibv.pd = pd;
    mr->ibv.addr = address;
    mr->ibv.length = length;
    mr->ibv.handle = mr->index;
    atomic_fetch_add(&((struct sv_pd *)pd)->users, 1);
    atomic_fetch_add(&sv_context_of(pd->context)->objects, 1);
    return &mr->ibv;
}

#undef ibv_reg_mr
SV_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    return register_region(pd, address, length, (access & IBV_ACCESS_ZERO_BASED) ? 0 : (uintptr_t)address,
                           (unsigned)access);
}

#undef ibv_reg_mr_iova
SV_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, int access)
{
    return register_region(pd, address, length, iova, (unsigned)access);
}

SV_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                          unsigned access)
{
    return register_region(pd, address, length, iova, access);
}

SV_EXPORT int ibv_dereg_mr(struct ibv_mr *ibv)
{
    struct sv_mr *mr = (struct sv_mr *)ibv;
    struct sv_device *device = sv_device_of(ibv->context);

    atomic_store_explicit(&device->mrs->entries[mr->index].key, 0, memory_order_release);
    /* After the grace period no thread uses an address that it has translated before. */
    sv_device_quiesce(device);
    sv_device_lock(device);
    device->mrs->free_list[device->mrs->free_count++] = mr->index;
    device->registered_bytes -= mr->pinned_bytes;
    sv_device_unlock(device);
    atomic_fetch_sub(&((struct sv_pd *)ibv->pd)->users, 1);
    atomic_fetch_sub(&sv_context_of(ibv->context)->objects, 1);
    free(mr);
    return 0;
}
