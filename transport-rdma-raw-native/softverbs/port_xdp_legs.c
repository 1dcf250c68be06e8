/* SPDX-License-Identifier: Apache-2.0 */
/* The legs of a port on AF_XDP: the interface of the port, or those below its bond. See bond.h. */
#include "port_xdp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { READ_AGAIN_MILLIS = 100 };

_Static_assert((int)SV_XDP_MAX_QUEUES <= (int)SV_BPF_LEG_QUEUE_MASK, "a leg's state has room for numbers of queues");

/* ---- joining and leaving ---- */

struct sv_xdp_leg *sv_xdp_port_add_leg(struct xdp_port *port, int ifindex, const char *netdev)
{
    if (port->leg_count == SV_BPF_MAX_LEGS)
        return NULL;
    struct sv_xdp_leg *leg = &port->leg[port->leg_count++];
    memset(leg, 0, sizeof *leg);
    leg->ifindex = ifindex;
    leg->first_queue = atomic_load(&port->queue_count);
    snprintf(leg->netdev, sizeof leg->netdev, "%s", netdev);
    return leg;
}

static bool has_leg(const struct xdp_port *port, int ifindex)
{
    for (uint32_t i = 0; i < port->leg_count; i++)
        if (port->leg[i].ifindex == ifindex)
            return true;
    return false;
}

/* Returns false if another attempt may succeed. A leg without queues gives its place back. */
static bool open_joined(struct xdp_port *port, const struct sv_bond_leg *joined)
{
    struct sv_xdp_leg *leg = sv_xdp_port_add_leg(port, joined->ifindex, joined->netdev);
    if (leg == NULL || sv_xdp_port_open_leg(port, leg) == 0)
        return true;
    port->leg_count--;
    return false;
}

/*
 * Opens the legs that have joined. One that cannot be opened delays no other: each has its own time of the next attempt.
 * Returns the first of these times, or 0.
 */
static uint64_t open_all_joined(struct xdp_port *port, uint64_t now_millis)
{
    struct sv_bond *bond = &port->base.bond;
    uint64_t next = 0;
    for (uint32_t i = 0; i < bond->leg_count && !atomic_load(&port->base.stopping); i++) {
        struct sv_bond_leg *joined = &bond->leg[i];
        if (has_leg(port, joined->ifindex))
            continue;
        if (joined->open_at_millis <= now_millis) {
            if (!open_joined(port, joined))
                sv_bond_leg_has_failed(joined, now_millis);
            sv_xdp_port_apply_legs(port);
        }
        if (joined->open_at_millis > now_millis && (next == 0 || joined->open_at_millis < next))
            next = joined->open_at_millis;
    }
    return next;
}

/* Returns false if the kernel does not answer, for instance because the process has no descriptor left. */
static bool is_removed(int ifindex)
{
    char name[IFNAMSIZ];
    return if_indextoname((unsigned)ifindex, name) == NULL && (errno == ENXIO || errno == ENODEV);
}

/* The sockets of an interface that has been removed end with it. Its number may return with another one. */
bool sv_xdp_port_forget_leg(struct sv_netdev_port *base, int ifindex)
{
    struct xdp_port *port = (struct xdp_port *)base;
    bool found = false;
    for (uint32_t i = 0; i < port->leg_count; i++) {
        if (port->leg[i].ifindex != ifindex)
            continue;
        port->leg[i].ifindex = 0;
        found = true;
    }
    return found;
}

/* The kernel's message about the removal may have been lost. */
static void forget_removed(struct xdp_port *port)
{
    for (uint32_t i = 0; i < port->leg_count; i++) {
        const int ifindex = port->leg[i].ifindex;
        if (ifindex != 0 && sv_bond_find_leg(&port->base.bond, ifindex) == NULL && is_removed(ifindex))
            (void)sv_xdp_port_forget_leg(&port->base, ifindex);
    }
}

static uint32_t state_of(const struct sv_xdp_leg *leg, const struct sv_bond_leg *of_bond)
{
    return leg->first_queue | leg->queue_count << SV_BPF_LEG_COUNT_SHIFT | SV_BPF_LEG_IS_SERVED |
           (of_bond != NULL && of_bond->receives ? SV_BPF_LEG_RECEIVES : 0);
}

/* After the threads see that the leg sends no more: one that had begun leaves at most a burst. */
static void set_idle_legs(struct xdp_port *port, uint32_t sending)
{
    for (uint32_t i = 0; i < port->leg_count; i++)
        for (uint32_t number = 0; number < port->leg[i].queue_count; number++)
            sv_xdp_queue_set_idle(port->queue[port->leg[i].first_queue + number], (sending >> i & 1) == 0);
}

void sv_xdp_port_apply_legs(struct xdp_port *port)
{
    const struct sv_netdev_port *base = &port->base;
    uint32_t sending = base->bond.ifindex == 0;
    for (uint32_t i = 0; base->bond.ifindex != 0 && i < port->leg_count; i++) {
        struct sv_xdp_leg *leg = &port->leg[i];
        const struct sv_bond_leg *of_bond = sv_bond_find_leg(&base->bond, leg->ifindex);
        sv_kernel_steering_set_leg(base->steering, i, leg->ifindex, state_of(leg, of_bond));
        if (of_bond != NULL && of_bond->sends && atomic_load(&leg->send_queue_count) > 0)
            sending |= 1u << i;
    }
    atomic_store_explicit(&port->hash_policy, base->bond.hash_policy, memory_order_relaxed);
    atomic_store_explicit(&port->sending_legs, sending, memory_order_release);
    set_idle_legs(port, sending);
}

/*
 * In another mode the frames of a flow may leave by several legs, or the device may use offloads that the mode does not
 * allow. The kernel changes the mode only without legs, so no frame is on the way.
 */
static void fail(struct xdp_port *port)
{
    struct sv_device *device = port->base.device;
    port->base.bond.leg_count = 0;
    sv_xdp_port_apply_legs(port);
    sv_device_lock(device);
    sv_device_set_port_up(device, false);
    sv_device_fail(device);
    sv_device_unlock(device);
}

/*
 * Opening a leg takes time, so the state of the others is applied first. A leg that can't be opened is tried again
 * after a pause, also if messages arrive before.
 */
uint64_t sv_xdp_port_update_legs(struct sv_netdev_port *base, uint64_t now_millis)
{
    struct xdp_port *port = (struct xdp_port *)base;
    int error = atomic_load(&base->device->failed) ? ENODEV : sv_bond_read_again(&base->bond);
    if (error == SV_BOND_OTHER_MODE)
        fail(port);
    if (error == SV_BOND_OTHER_MODE || error == ENODEV)
        return 0;
    if (error != 0)
        return now_millis + READ_AGAIN_MILLIS;
    forget_removed(port);
    sv_xdp_port_apply_legs(port);
    return open_all_joined(port, now_millis);
}

/* ---- sending ---- */

/* The interface has fewer send queues than before. Its first queue is used in any case. Returns the error to count. */
static __attribute__((cold, noinline)) int reduce_send_queues(struct sv_xdp_leg *leg, uint32_t number, int error)
{
    uint32_t before = atomic_load(&leg->send_queue_count);
    while (number > 0 && number < before && !atomic_compare_exchange_weak(&leg->send_queue_count, &before, number))
        ;
    return number > 0 ? SV_NETDEV_PORT_NO_SEND_QUEUE : error;
}

/* Queue pairs share the send queues evenly. Each queue pair uses one queue, which keeps its frames in order. */
SV_HOT void sv_xdp_port_send_on_leg(struct xdp_port *port, uint32_t leg_number, struct sv_qp *sender,
                                    const struct sv_frame *frames, unsigned count)
{
    struct sv_xdp_leg *leg = &port->leg[leg_number];
    uint32_t number = sender->sender_number % atomic_load_explicit(&leg->send_queue_count, memory_order_relaxed);
    struct sv_xdp_queue *queue = port->queue[leg->first_queue + number];
    int error = 0;
    unsigned sent = sv_xdp_queue_send(queue, frames, count, &error);
    if (SV_UNLIKELY(sent < count) && !atomic_load_explicit(&queue->can_send, memory_order_relaxed))
        error = reduce_send_queues(leg, number, error);
    sv_netdev_port_count_sent(&port->base, sender, frames, count, sent, error);
}

/* The frames of a leg keep their order. A leg that accepts no more leaves the frames of the others. */
SV_HOT void sv_xdp_port_send_by_flow(struct xdp_port *port, uint32_t sending_legs, struct sv_qp *sender,
                                     const struct sv_frame *frames, unsigned count)
{
    struct sv_frame of_leg[SV_BURST];
    uint8_t leg_of[SV_BURST];
    uint32_t policy = atomic_load_explicit(&port->hash_policy, memory_order_relaxed);
    for (unsigned i = 0; i < count; i++) {
        uint32_t hash = sv_bond_hash_flow(policy, frames[i].data, frames[i].length);
        leg_of[i] = (uint8_t)sv_bond_choose_leg(sending_legs, hash);
    }
    for (uint32_t leg = 0; leg < SV_BPF_MAX_LEGS; leg++) {
        unsigned of_leg_count = 0;
        for (unsigned i = 0; i < count; i++)
            if (leg_of[i] == leg)
                of_leg[of_leg_count++] = frames[i];
        if (of_leg_count > 0)
            sv_xdp_port_send_on_leg(port, leg, sender, of_leg, of_leg_count);
    }
}
