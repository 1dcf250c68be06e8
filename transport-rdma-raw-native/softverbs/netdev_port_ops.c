/* SPDX-License-Identifier: Apache-2.0 */
/* Operations common to all ports on network interfaces: see netdev_port.h. */
#include "netdev_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening and closing ---- */

static int open_port(struct sv_netdev_port *port)
{
    int error = sv_netdev_port_open_interface(port);
    if (error != 0)
        return error;
    port->opened = true;
    error = port->kind->open(port);
    return error != 0 ? error : sv_netdev_port_start(port);
}

int sv_netdev_port_open(struct sv_device *device, const struct sv_netdev_port_kind *kind)
{
    struct sv_netdev_port *port = sv_alloc_zeroed(kind->port_bytes);
    if (port == NULL)
        return ENOMEM;
    port->kind = kind;
    port->device = device;
    device->port = port;
    int error = open_port(port);
    if (error != 0)
        sv_netdev_port_close(device);
    return error;
}

/* Adds the port's own counters to the device's, before the port is closed. */
static void keep_counters(struct sv_netdev_port *port)
{
    struct softverbs_counters last;
    memset(&last, 0, sizeof last);
    sv_netdev_port_add_counters(port->device, &last);
    sv_queue_counters_add(&port->device->closed_received, &last.received);
}

void sv_netdev_port_close(struct sv_device *device)
{
    struct sv_netdev_port *port = device->port;
    sv_netdev_port_stop(port);
    if (port->opened) {
        port->kind->detach(port);
        keep_counters(port);
        port->kind->close(port);
    }
    sv_netdev_port_close_interface(port);
    device->port = NULL;
    free(port);
}

/* ---- sending ---- */

/*
 * Delivers frames that the port sends to itself, and counts them. Returns the number of frames to be sent to the
 * interface. They are in `out`, which has room for SV_BURST.
 */
static unsigned deliver_locally(struct sv_netdev_port *port, struct sv_qp *sender, const struct sv_frame *frames,
                                unsigned count, struct sv_frame *out)
{
    struct softverbs_queue_counters *counters = &sender->sq.counters;
    struct sv_frame local_frames[SV_BURST];
    struct sv_frame multicast_frames[SV_BURST];
    unsigned out_count = 0;
    unsigned local_count = 0;
    unsigned multicast_count = 0;

    for (unsigned i = 0; i < count; i++) {
        bool multicast = frames[i].data[0] & 1;
        if (!multicast && sv_netdev_port_is_local_mac(port, frames[i].data)) {
            local_frames[local_count++] = frames[i];
            counters->frames++;
            counters->bytes += frames[i].length;
            continue;
        }
        if (multicast)
            multicast_frames[multicast_count++] = frames[i];
        out[out_count++] = frames[i];
    }
    if (local_count > 0)
        sv_dispatch(&port->device->flows, sender, sender->sq.cache, counters, local_frames, local_count);
    if (multicast_count > 0) {
        struct softverbs_queue_counters copies = {0};
        sv_dispatch(&port->device->flows, sender, sender->sq.cache, &copies, multicast_frames, multicast_count);
        copies.no_match = 0;    /* that no queue here wanted a copy is no loss */
        sv_queue_counters_add(counters, &copies);
    }
    return out_count;
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
    if (error == SV_NETDEV_PORT_NO_SEND_QUEUE)
        return &counters->unserved;
    return error == EMSGSIZE ? &counters->length_errors : &counters->ring_full;
}

SV_HOT void sv_netdev_port_count_sent(const struct sv_netdev_port *port, struct sv_qp *sender,
                                      const struct sv_frame *frames, unsigned count, unsigned sent, int error)
{
    struct softverbs_queue_counters *counters = &sender->sq.counters;
    for (unsigned i = 0; i < sent; i++)
        counters->bytes += frames[i].length;
    counters->frames += sent;
    if (port->kind->copies_on_send)
        counters->copied += sent;
    if (SV_UNLIKELY(sent < count))
        *counter_of(counters, error) += count - sent;
}

SV_HOT void sv_netdev_port_transmit(struct sv_device *device, struct sv_qp *sender, struct sv_frame *frames,
                                    unsigned count)
{
    struct sv_netdev_port *port = device->port;
    struct softverbs_queue_counters *counters = &sender->sq.counters;
    struct sv_frame out[SV_BURST];

    if (SV_UNLIKELY(!atomic_load_explicit(&device->port_up, memory_order_relaxed))) {
        counters->port_down += count;
        return;
    }
    count = deliver_locally(port, sender, frames, count, out);
    if (count > 0)
        port->kind->send(port, sender, out, count);
}

/* ---- counters ---- */

/* Frames that no rule takes belong to the kernel and are not drops: without eBPF the ring receives them too. */
void sv_netdev_port_add_counters(struct sv_device *device, struct softverbs_counters *counters)
{
    struct sv_netdev_port *port = device->port;
    for (uint32_t i = 0; port != NULL && i < port->receiver_count; i++) {
        struct sv_receiver *receiver = port->receivers[i];
        sv_spin_lock(&receiver->lock);
        receiver->count_drops(receiver);
        struct softverbs_queue_counters received = receiver->counters;
        sv_spin_unlock(&receiver->lock);
        received.no_match = 0;
        sv_queue_counters_add(&counters->received, &received);
    }
    if (port == NULL)
        return;
    counters->received.driver_no_buffer += sv_netdev_port_missed_frames(port);
    if (port->broker != NULL)
        counters->flow_rules += sv_broker_stale_rules(port->broker);
    if (port->steering == NULL)
        return;
    counters->received.syn_ring_full += sv_kernel_steering_syns_dropped(port->steering);
    counters->received.unsolicited_drops += sv_kernel_steering_unsolicited_dropped(port->steering);
    counters->received.length_errors += sv_kernel_steering_long_syns_dropped(port->steering);
    counters->received.unserved += sv_kernel_steering_unserved_frames(port->steering);
    counters->received.port_down += sv_kernel_steering_inactive_leg_dropped(port->steering);
    counters->received.gso_datagrams += sv_kernel_steering_udp_gso_frames_passed(port->steering);
}
