/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_SPIN_H
#define SV_SPIN_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Spin lock for sections of a few hundred nanoseconds. It spins a little, then sleeps, because the holder may be a
 * thread that was descheduled (more runnable threads than cores).
 */
struct sv_spin {
    _Atomic uint32_t held;
};

void sv_spin_lock_slow(struct sv_spin *lock);

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
