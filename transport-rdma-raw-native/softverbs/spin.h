/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_SPIN_H
#define SV_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Spin lock for sections of a few hundred nanoseconds. It spins briefly, then sleeps: the holder may have been
 * descheduled if there are more runnable threads than cores.
 */
struct sv_spin {
    _Atomic uint32_t held;
};

void sv_spin_lock_slow(struct sv_spin *lock);

static inline void sv_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");   /* some tens of cycles; `yield` does nothing on most processors */
#endif
}

/*
 * Bounds how long a sender retries while the interface makes no progress. It counts time rather than calls of
 * sched_yield(): a thread that yields beside busy threads loses a time slice each time, with the lock of its queue pair
 * held.
 */
enum { SV_SPIN_TIMEOUT_NANOS = 50000 };

struct sv_spin_deadline {
    uint64_t deadline_nanos;    /* 0: not started */
};

uint64_t sv_monotonic_nanos(void);

/* Returns false once this time has passed since the first call; otherwise pauses briefly and returns true. */
static inline bool sv_spin_wait(struct sv_spin_deadline *deadline)
{
    uint64_t now = sv_monotonic_nanos();
    if (deadline->deadline_nanos == 0)
        deadline->deadline_nanos = now + SV_SPIN_TIMEOUT_NANOS;
    sv_cpu_relax();
    return now < deadline->deadline_nanos;
}

static inline void sv_spin_lock(struct sv_spin *lock)
{
    if (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) != 0)
        sv_spin_lock_slow(lock);
}

static inline void sv_spin_unlock(struct sv_spin *lock)
{
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
