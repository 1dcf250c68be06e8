/* SPDX-License-Identifier: Apache-2.0 */
#include "spin.h"

#include <time.h>

/*
 * PAUSE_NANOS: the kernel adds its timer slack, 50 us as a rule. Not sched_yield(): a thread that yields beside a busy
 * one gives away its whole slice, milliseconds, and one that is alone on its core goes on at once.
 */
enum { SPINS_BEFORE_PAUSE = 200, PAUSE_NANOS = 1000 };

static void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");   /* some tens of cycles; yield is none on most processors */
#endif
}

void sv_spin_lock_slow(struct sv_spin *lock)
{
    unsigned spins = 0;

    do {
        while (atomic_load_explicit(&lock->held, memory_order_relaxed) != 0) {
            if (++spins < SPINS_BEFORE_PAUSE) {
                cpu_relax();
            } else {
                const struct timespec pause = {.tv_nsec = PAUSE_NANOS};
                spins = 0;
                nanosleep(&pause, NULL);
            }
        }
    } while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) != 0);
}
