/* SPDX-License-Identifier: Apache-2.0 */
/* Operations common to all ports on network interfaces: see wire.h. */
#include "wire.h"

#include "dispatch.h"

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

/* Adds the port's own counters to the device's. */
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
 * Delivers frames that the port sends to itself, and counts them. Returns how many frames have to leave; they are in
 * `out`, which has room for SV_BURST.
 */
static unsigned deliver_inside(struct sv_wire *wire, struct sv_qp *sender, const struct sv_frame *frames,
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
        if (!multicast && sv_wire_stays_inside(wire, frames[i].data)) {
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
        copies.no_match = 0;    /* no queue here wanted a copy, which is no loss */
        sv_counters_add(counters, &copies);
    }
    return outside;
}

static bool is_down(int error)
{
    return error == ENETDOWN || error == ENXIO || error == ENODEV;
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
    count = deliver_inside(wire, sender, frames, count, out);
    if (count == 0)
        return;
    unsigned sent = wire->kind->send(wire, sender, out, count, &error);
    for (unsigned i = 0; i < sent; i++)
        counters->bytes += out[i].length;
    counters->frames += sent;
    if (wire->kind->copies_sent)
        counters->copied += sent;
    *(is_down(error) ? &counters->port_down : error == EMSGSIZE ? &counters->length_errors : &counters->wire_full) +=
        count - sent;
}

/* ---- receiving ---- */

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

void sv_receiver_dispatch(struct sv_receiver *receiver, struct sv_device *device, struct sv_frame *frames,
                          unsigned count)
{
    receiver->counters.copied += count;
    sv_dispatch(&device->flows, NULL, receiver->cache, &receiver->counters, frames, count);
}

/* One whose lock is held is being drained, and so has not stalled. */
void sv_wire_look_after_receivers(struct sv_wire *wire)
{
    for (uint32_t i = 0; i < wire->receiver_count; i++) {
        struct sv_receiver *receiver = wire->receivers[i];
        if (!receiver->may_stall || !sv_receiver_try(receiver))
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

/* Frames that no rule takes are the kernel's and no drops: without eBPF the ring sees them too. */
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
    if (wire == NULL || wire->steering == NULL)
        return;
    counters->received.syns_full += sv_steering_dropped_syns(wire->steering);
    counters->received.unsolicited_full += sv_steering_dropped_unsolicited(wire->steering);
    counters->received.length_errors += sv_steering_long_syns(wire->steering);
    counters->received.unserved += sv_steering_unserved(wire->steering);
    counters->received.super_datagrams += sv_steering_datagrams_passed(wire->steering);
}
