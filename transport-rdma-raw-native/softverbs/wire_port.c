/* SPDX-License-Identifier: Apache-2.0 */
/* Operations common to all ports on network interfaces: see wire.h. */
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening and closing ---- */

static int open_port(struct sv_wire *wire)
{
    int error = sv_wire_open(wire);
    if (error != 0)
        return error;
    wire->opened = true;
    error = wire->kind->open(wire);
    return error != 0 ? error : sv_wire_start(wire);
}

int sv_wire_port_open(struct sv_device *device, const struct sv_wire_kind *kind)
{
    struct sv_wire *wire = sv_alloc_zeroed(kind->port_bytes);
    if (wire == NULL)
        return ENOMEM;
    wire->kind = kind;
    wire->device = device;
    device->port = wire;
    int error = open_port(wire);
    if (error != 0)
        sv_wire_port_close(device);
    return error;
}

/* Adds the port's own counters to the device's, before the port is closed. */
static void retire_counters(struct sv_wire *wire)
{
    struct softverbs_counters last;
    memset(&last, 0, sizeof last);
    sv_wire_add_counters(wire->device, &last);
    sv_counters_add(&wire->device->retired_rx, &last.received);
}

void sv_wire_port_close(struct sv_device *device)
{
    struct sv_wire *wire = device->port;
    sv_wire_stop(wire);
    if (wire->opened) {
        wire->kind->detach(wire);
        retire_counters(wire);
        wire->kind->close(wire);
    }
    sv_wire_close(wire);
    device->port = NULL;
    free(wire);
}

/* ---- sending ---- */

/*
 * Delivers frames that the port sends to itself, and counts them. Returns the number of frames to be sent to the
 * interface. They are in `out`, which has room for SV_BURST.
 */
static unsigned deliver_locally(struct sv_wire *wire, struct sv_qp *sender, const struct sv_frame *frames,
                                unsigned count, struct sv_frame *out)
{
    struct softverbs_queue_counters *counters = &sender->sq.counters;
    struct sv_frame own[SV_BURST];
    struct sv_frame group[SV_BURST];
    unsigned outside = 0;
    unsigned inside = 0;
    unsigned groups = 0;

    for (unsigned i = 0; i < count; i++) {
        bool multicast = frames[i].data[0] & 1;
        if (!multicast && sv_wire_is_local_mac(wire, frames[i].data)) {
            own[inside++] = frames[i];
            counters->frames++;
            counters->bytes += frames[i].length;
            continue;
        }
        if (multicast)
            group[groups++] = frames[i];
        out[outside++] = frames[i];
    }
    if (inside > 0)
        sv_dispatch(&wire->device->flows, sender, sender->sq.cache, counters, own, inside);
    if (groups > 0) {
        struct softverbs_queue_counters copies = {0};
        sv_dispatch(&wire->device->flows, sender, sender->sq.cache, &copies, group, groups);
        copies.no_match = 0;    /* that no queue here wanted a copy is no loss */
        sv_counters_add(counters, &copies);
    }
    return outside;
}

static bool is_down(int error)
{
    return error == ENETDOWN || error == ENXIO || error == ENODEV;
}

/* Returns the counter of frames that were not sent because of this error. */
static uint64_t *counter_of(struct softverbs_queue_counters *counters, int error)
{
    if (is_down(error))
        return &counters->port_down;
    if (error == SV_WIRE_NO_SEND_QUEUE)
        return &counters->unserved;
    return error == EMSGSIZE ? &counters->length_errors : &counters->wire_full;
}

SV_HOT void sv_wire_transmit(struct sv_device *device, struct sv_qp *sender, struct sv_frame *frames, unsigned count)
{
    struct sv_wire *wire = device->port;
    struct softverbs_queue_counters *counters = &sender->sq.counters;
    struct sv_frame out[SV_BURST];
    int error = 0;

    if (SV_UNLIKELY(!atomic_load_explicit(&device->port_up, memory_order_relaxed))) {
        counters->port_down += count;
        return;
    }
    count = deliver_locally(wire, sender, frames, count, out);
    if (count == 0)
        return;
    unsigned sent = wire->kind->send(wire, sender, out, count, &error);
    for (unsigned i = 0; i < sent; i++)
        counters->bytes += out[i].length;
    counters->frames += sent;
    if (wire->kind->copies_sent)
        counters->copied += sent;
    if (SV_UNLIKELY(sent < count))
        *counter_of(counters, error) += count - sent;
}

/* ---- counters ---- */

/* Frames that no rule takes belong to the kernel and are not drops: without eBPF the ring receives them too. */
void sv_wire_add_counters(struct sv_device *device, struct softverbs_counters *counters)
{
    struct sv_wire *wire = device->port;
    for (uint32_t i = 0; wire != NULL && i < wire->receiver_count; i++) {
        struct sv_receiver *receiver = wire->receivers[i];
        sv_spin_lock(&receiver->lock);
        receiver->count_drops(receiver);
        struct softverbs_queue_counters received = receiver->counters;
        sv_spin_unlock(&receiver->lock);
        received.no_match = 0;
        sv_counters_add(&counters->received, &received);
    }
    if (wire == NULL)
        return;
    counters->received.driver_full += sv_wire_missed(wire);
    if (wire->steering == NULL)
        return;
    counters->received.syns_full += sv_steering_dropped_syns(wire->steering);
    counters->received.unsolicited_full += sv_steering_dropped_unsolicited(wire->steering);
    counters->received.length_errors += sv_steering_syns_too_long(wire->steering);
    counters->received.unserved += sv_steering_unserved(wire->steering);
    counters->received.gso_datagrams += sv_steering_datagrams_passed(wire->steering);
}
