/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes registers and doorbell records for devices with rings that Java drives itself: on some processors the JVM
 * lacks the fences.
 */
#include "include/softverbs.h"
#include "objects.h"

#include <endian.h>

static inline void order_device_writes(void)
{
#if defined(__x86_64__)
    __asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb st" ::: "memory");
#else
    __sync_synchronize();
#endif
}

SV_EXPORT void softverbs_write_register(void *address, uint64_t value)
{
    order_device_writes();
    *(volatile uint64_t *)address = value;
    order_device_writes();
}

SV_EXPORT void softverbs_write_blueflame(void *address, const void *request, uint32_t bytes)
{
    order_device_writes();
    for (uint32_t i = 0; i < bytes / sizeof(uint64_t); i++)
        ((volatile uint64_t *)address)[i] = ((const uint64_t *)request)[i];
    order_device_writes();
}

/*
 * On aarch64, memory that a device reads is ordered in the outer shareable domain: rdma-core's udma_to_device_barrier()
 * is DMB OSHST. This is DMB OSH, because a consumer index must also follow the loads of the entries that it returns.
 */
SV_EXPORT void softverbs_write_doorbell_record(void *address, uint32_t value)
{
#if defined(__aarch64__)
    __asm__ volatile("dmb osh" ::: "memory");
#endif
    __atomic_store_n((uint32_t *)address, htobe32(value), __ATOMIC_RELEASE);
}
