/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of registers and doorbell records for devices whose rings Java drives itself: the JVM lacks the fences on some processors. */
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

SV_EXPORT void softverbs_write_request(void *address, const void *request, uint32_t bytes)
{
    order_device_writes();
    for (uint32_t i = 0; i < bytes / sizeof(uint64_t); i++)
        ((volatile uint64_t *)address)[i] = ((const uint64_t *)request)[i];
    order_device_writes();
}

/*
 * Memory that a device reads is ordered for the outer shareable domain on aarch64: rdma-core's udma_to_device_barrier()
 * is DMB OSHST. This is DMB OSH, since a consumer index also has to come after the loads of what it gives back.
 */
SV_EXPORT void softverbs_write_record(void *address, uint32_t value)
{
#if defined(__aarch64__)
    __asm__ volatile("dmb osh" ::: "memory");
#endif
    __atomic_store_n((uint32_t *)address, htobe32(value), __ATOMIC_RELEASE);
}
