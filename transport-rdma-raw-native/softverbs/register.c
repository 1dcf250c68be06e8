/* SPDX-License-Identifier: Apache-2.0 */
/* Register writes for devices whose rings Java drives itself: the JVM lacks the fence on some processors. */
#include "include/softverbs.h"
#include "objects.h"

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
