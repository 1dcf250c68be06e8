/* SPDX-License-Identifier: Apache-2.0 */
/* Step 1 of the receive path: polling drains the receivers of a port. See receive.h. */
#include "wire.h"

#include <errno.h>
#include <stdlib.h>

/* ---- polling ---- */

unsigned sv_wire_progress(struct sv_device *device)
{
    struct sv_wire *wire = device->port;
    unsigned moved = wire->kind->drain(wire);
    if (moved > 0) {
        atomic_fetch_add_explicit(&wire->polled_frames, moved, memory_order_relaxed);
        if (atomic_load_explicit(&wire->event_epoll, memory_order_relaxed) >= 0)
            sv_event_source_count_unarmed(wire, moved);
    }
    return moved;
}

/* ---- receivers ---- */

int sv_receiver_init(struct sv_receiver *receiver, void (*count_drops)(struct sv_receiver *receiver))
{
    receiver->fd = -1;
    receiver->count_drops = count_drops;
    receiver->cache = sv_alloc_zeroed(sizeof *receiver->cache);
    return receiver->cache == NULL ? ENOMEM : 0;
}

void sv_receiver_close(struct sv_receiver *receiver)
{
    free(receiver->cache);
    receiver->cache = NULL;
}

/* A locked receiver is being drained, so it has not stalled. */
void sv_wire_check_receivers(struct sv_wire *wire)
{
    for (uint32_t i = 0; i < wire->receiver_count; i++) {
        struct sv_receiver *receiver = wire->receivers[i];
        if (!receiver->may_stall || !sv_receiver_trylock(receiver))
            continue;
        receiver->count_drops(receiver);
        sv_spin_unlock(&receiver->lock);
    }
}

void sv_wire_quiesce(struct sv_device *device)
{
    struct sv_wire *wire = device->port;
    for (uint32_t i = 0; wire != NULL && i < wire->receiver_count; i++) {
        sv_spin_lock(&wire->receivers[i]->lock);
        sv_spin_unlock(&wire->receivers[i]->lock);
    }
}
