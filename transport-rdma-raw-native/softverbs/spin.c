/* SPDX-License-Identifier: Apache-2.0 */
#include "spin.h"

#include <sched.h>

enum { SPINS_BEFORE_YIELD = 200 };

static void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void sv_spin_lock_slow(struct sv_spin *lock)
{
    unsigned spins = 0;

    do {
        while (atomic_load_explicit(&lock->held, memory_order_relaxed) != 0) {
            if (++spins < SPINS_BEFORE_YIELD) {
                cpu_relax();
            } else {
                spins = 0;
                sched_yield();
            }
        }
    } while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) != 0);
}
