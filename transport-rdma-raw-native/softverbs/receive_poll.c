/* SPDX-License-Identifier: Apache-2.0 */
/* Step 1 of the receive path: polling drains the receivers of a port. See receive.h. */
#include "netdev_port.h"

#include <errno.h>
#include <stdlib.h>

/* ---- polling ---- */

unsigned sv_netdev_port_progress(struct sv_device *device)
{
    struct sv_netdev_port *port = device->port;
    unsigned moved = port->kind->drain(port);
    if (moved > 0) {
        atomic_fetch_add_explicit(&port->polled_work, moved, memory_order_relaxed);
        if (atomic_load_explicit(&port->sockets_epoll_fd, memory_order_relaxed) >= 0)
            sv_event_source_on_frames_polled(port, moved);
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
void sv_netdev_port_check_receivers(struct sv_netdev_port *port)
{
    for (uint32_t i = 0; i < port->receiver_count; i++) {
        struct sv_receiver *receiver = port->receivers[i];
        if (!receiver->may_stall || !sv_receiver_trylock(receiver))
            continue;
        receiver->count_drops(receiver);
        sv_spin_unlock(&receiver->lock);
    }
}

void sv_netdev_port_quiesce(struct sv_device *device)
{
    struct sv_netdev_port *port = device->port;
    for (uint32_t i = 0; port != NULL && i < port->receiver_count; i++) {
        sv_spin_lock(&port->receivers[i]->lock);
        sv_spin_unlock(&port->receivers[i]->lock);
    }
}
