/* SPDX-License-Identifier: Apache-2.0 */
/* The port of the loop device: delivers sent frames at once, on the sender's thread. */
#include "receive.h"

static SV_HOT void transmit(struct sv_device *device, struct sv_qp *sender, struct sv_frame *frames, unsigned count)
{
    struct softverbs_queue_counters *counters = &sender->sq.counters;
    if (SV_UNLIKELY(!atomic_load_explicit(&device->port_up, memory_order_relaxed))) {
        counters->port_down += count;
        return;
    }
    for (unsigned i = 0; i < count; i++)
        counters->bytes += frames[i].length;
    counters->frames += count;
    sv_dispatch(&device->flows, sender, sender->sq.cache, counters, frames, count);
}

const struct sv_port_ops sv_loop_ops = {.transmit = transmit};
