/* SPDX-License-Identifier: Apache-2.0 */
#include "spin.h"

#include <time.h>

/*
 * PAUSE_NANOS: the kernel adds its timer slack, usually 50 us. sched_yield() is no alternative: a thread that yields
 * beside a busy one loses its time slice of milliseconds, and one that is alone on its core continues at once.
 */
enum { SPINS_BEFORE_PAUSE = 200, PAUSE_NANOS = 1000 };

uint64_t sv_monotonic_nanos(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sv_spin_lock_slow(struct sv_spin *lock)
{
    unsigned spins = 0;

    do {
        while (atomic_load_explicit(&lock->held, memory_order_relaxed) != 0) {
            if (++spins < SPINS_BEFORE_PAUSE) {
                sv_cpu_relax();
            } else {
                const struct timespec pause = {.tv_nsec = PAUSE_NANOS};
                spins = 0;
                nanosleep(&pause, NULL);
            }
        }
    } while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) != 0);
}
