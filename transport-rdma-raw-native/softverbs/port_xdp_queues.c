/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the queues of a port on AF_XDP. See port_xdp_open.c. */
#include "port_xdp.h"

#include <stdlib.h>
#include <string.h>

static struct sv_xdp_queue_config queue_config_of(const struct xdp_port *port, const struct sv_xdp_leg *leg,
                                                  uint32_t number, bool existence_unknown)
{
    const struct sv_netdev_port *base = &port->base;
    return (struct sv_xdp_queue_config){
        .ifindex = leg->ifindex,
        .receive_ifindex = port->tap.ifindex != 0 ? port->tap.ifindex : leg->ifindex,
        .number = number,
        .mtu = base->link_mtu,
        .vlan = base->vlan.ifindex != 0 ? &base->vlan : NULL,
        .zero_copy = port->zero_copy,
        .may_wait = port->may_wait,
        .expects_partial_checksums = leg->expects_partial_checksums,
        .receives_gso = base->receives_gso,
        .existence_unknown = existence_unknown,
    };
}

static struct sv_xdp_broker_sockets take_broker_sockets(struct xdp_port *port, uint32_t number)
{
    int *sockets = &port->broker_sockets[SV_BPF_SOCKETS_PER_QUEUE * number];
    struct sv_xdp_broker_sockets broker_sockets = {.layout = &port->broker_layout, .main_socket = sockets[0],
                                                   .syn_socket = sockets[1], .memory_fd = port->broker_memory_fd};
    sockets[0] = sockets[1] = -1;
    return broker_sockets;
}

/* Opens a queue of a leg. Nothing uses it until publish_queues(). */
static int open_queue(struct xdp_port *port, struct sv_xdp_leg *leg, bool existence_unknown)
{
    uint32_t number = leg->queue_count;
    if (port->base.brokered && number >= port->broker_layout.queue_count)
        return EINVAL;      /* as for a queue that does not exist */
    struct sv_xdp_queue *queue = sv_alloc_zeroed(sizeof *queue);
    if (queue == NULL)
        return ENOMEM;
    struct sv_xdp_queue_config config = queue_config_of(port, leg, number, existence_unknown);
    struct sv_xdp_broker_sockets broker_sockets;
    if (port->base.brokered) {
        broker_sockets = take_broker_sockets(port, number);
        config.broker_sockets = &broker_sockets;
    }
    int error = sv_xdp_queue_open(queue, &config);
    if (error != 0) {
        free(queue);
        return error;
    }
    port->queue[leg->first_queue + number] = queue;
    leg->queue_count++;
    if (atomic_load(&queue->can_send) && atomic_load(&leg->send_queue_count) == number)
        atomic_store(&leg->send_queue_count, number + 1);
    return 0;
}

/* Registers the sockets of the queues that have been opened, and lets all threads see the queues. */
static int publish_queues(struct xdp_port *port, const struct sv_xdp_leg *leg)
{
    struct sv_netdev_port *base = &port->base;
    const uint32_t first = atomic_load(&port->queue_count), end = leg->first_queue + leg->queue_count;
    int error = 0;
    if (first == end)
        return 0;
    base->max_mtu = sv_xdp_queue_max_mtu(port->queue[first]);
    sv_kernel_steering_set_max_syn_bytes(base->steering, base->max_mtu + SV_MAX_OVERHEAD);
    for (uint32_t i = first; i < end && error == 0; i++) {
        struct sv_xdp_queue *queue = port->queue[i];
        if (!base->brokered)
            error = sv_kernel_steering_set_sockets(base->steering, i, queue->main.receiver.fd, queue->syn.receiver.fd);
        if (error == 0)
            error = sv_busy_poll_add(&port->busy_poll, queue->main.receiver.fd, i, port->native);
        queue->busy_poll = port->busy_poll.enabled;
    }
    /* Last, because the receivers stay. */
    for (uint32_t i = first; i < end && error == 0; i++) {
        error = sv_netdev_port_add_receiver(base, &port->queue[i]->main.receiver);
        if (error == 0)
            error = sv_netdev_port_add_receiver(base, &port->queue[i]->syn.receiver);
    }
    if (error != 0)
        return error;
    atomic_store(&port->queue_count, end);
    sv_kernel_steering_set_queues(base->steering, end);
    return 0;
}

static void close_unpublished_queues(struct xdp_port *port, struct sv_xdp_leg *leg)
{
    const uint32_t published = atomic_load(&port->queue_count);
    while (leg->first_queue + leg->queue_count > published) {
        struct sv_xdp_queue *queue = port->queue[leg->first_queue + --leg->queue_count];
        sv_xdp_queue_close(queue);
        free(queue);
    }
}

/*
 * Frames of a receive queue without sockets would go to the kernel, which resets connections that it does not know.
 * Then some connections would work and others would not.
 */
int sv_xdp_explain_too_many_queues(const struct sv_netdev_port *base)
{
    if (base->bond.ifindex != 0)
        return sv_explain(EOPNOTSUPP, "the interfaces of the bond '%s' together have more than %d receive queues, the "
                          "maximum: use ethtool -L on each, or soft:packet:%s", base->netdev, SV_XDP_MAX_QUEUES,
                          base->netdev);
    return sv_explain(EOPNOTSUPP, "'%s' has more than %d receive queues, the maximum: use ethtool -L %s combined %d "
                      "(rx %d if the driver counts them separately), or soft:packet:%s, which takes any number",
                      base->netdev, SV_XDP_MAX_QUEUES, base->netdev, SV_XDP_MAX_QUEUES, SV_XDP_MAX_QUEUES,
                      base->netdev);
}

/*
 * Returns 0 if no further queue exists, or an errno. A queue that another process uses counts as existing. A broker
 * hands out no socket for it.
 */
static int check_no_more_queues(struct xdp_port *port, const struct sv_xdp_leg *leg)
{
    if (port->base.brokered)
        return leg->queue_count == SV_XDP_MAX_QUEUES ? sv_xdp_explain_too_many_queues(&port->base) : 0;
    struct sv_xdp_queue *queue = sv_alloc_zeroed(sizeof *queue);
    if (queue == NULL)
        return ENOMEM;
    struct sv_xdp_queue_config config = queue_config_of(port, leg, leg->queue_count, true);
    config.receive_ifindex = config.ifindex;
    int error = sv_xdp_queue_open(queue, &config);
    if (error == 0)
        sv_xdp_queue_close(queue);
    free(queue);
    if (error == 0 || error == EBUSY)
        return sv_xdp_explain_too_many_queues(&port->base);
    return error == EINVAL ? 0 : error;
}

/*
 * Opens the remaining queues of a leg. A socket can be bound to each existing queue, so binding finds their number if
 * the driver does not report it. Some queues may only send, and there may be more than can be served.
 */
static int open_remaining_queues(struct xdp_port *port, struct sv_xdp_leg *leg)
{
    const uint32_t room = SV_XDP_MAX_QUEUES - leg->first_queue;
    uint32_t receive_queues = 0;
    bool reported = sv_xdp_get_receive_queues(leg->netdev, &receive_queues) == 0;
    if (reported && receive_queues > room)
        return sv_xdp_explain_too_many_queues(&port->base);
    /* Queues are added to the TAP interface as needed. */
    bool uses_tap = port->tap.ifindex != 0;
    for (uint32_t i = leg->queue_count; i < room && !(uses_tap && reported && i > 0 && i >= receive_queues); i++) {
        int error = uses_tap && i > 0 ? sv_tap_add_queue(&port->tap) : 0;
        if (error == 0)
            error = open_queue(port, leg, !reported);
        /* Under a low memlock limit no memory may be left to try a queue that does not exist. */
        if (i > 0 && (error == EINVAL || (error == ENOMEM && reported && receive_queues > 0 && i >= receive_queues))) {
            if (uses_tap)
                sv_tap_remove_queue(&port->tap);
            return 0;
        }
        if (error == EBUSY)
            return sv_explain(EBUSY, "receive queue %u of '%s' has an AF_XDP socket already: another program uses it",
                              i, leg->netdev);
        if (error != 0)
            return error;
    }
    return reported ? 0 : check_no_more_queues(port, leg);
}

int sv_xdp_check_can_send(const struct xdp_port *port, const struct sv_xdp_leg *leg)
{
    if (port->tap.ifindex != 0 || atomic_load(&leg->send_queue_count) > 0)
        return 0;
    return sv_explain(EOPNOTSUPP, "AF_XDP can't send through '%s', which has no send queue for it", leg->netdev);
}

/* The legs of a bond have the program by now, so none gets a send queue later. */
int sv_xdp_open_queues(struct xdp_port *port, struct sv_xdp_leg *leg)
{
    int error = open_remaining_queues(port, leg);
    if (error == 0 && port->base.bond.ifindex != 0)
        error = sv_xdp_check_can_send(port, leg);
    if (error == 0)
        error = publish_queues(port, leg);
    if (error != 0)
        close_unpublished_queues(port, leg);
    return error;
}

/*
 * virtio_net starts additional queues for a program, a pair for each processor, and its host sends frames to all of
 * them (virtnet_xdp_set() of Linux). Without the program these queues no longer exist, and virtnet_xsk_pool_disable()
 * keeps their zero-copy memory although it is freed. The next program on the interface then stops the kernel (seen on
 * 7.3.4). A killed process cannot choose the order in which its objects end.
 */
int sv_xdp_check_zero_copy_safe(const struct xdp_port *port, const struct sv_xdp_leg *leg)
{
    const char *netdev = leg->netdev;
    const uint32_t queues_before = leg->queues_before;
    uint32_t now = 0;
    if (!port->zero_copy || sv_xdp_get_receive_queues(netdev, &now) != 0 || queues_before == 0 || now <= queues_before)
        return 0;
    return sv_explain(EOPNOTSUPP, "zero copy is not safe on '%s': it has %u receive queues, and %u more with an XDP "
                      "program. Use ethtool -L %s combined with the maximum that ethtool -l shows, or "
                      "SOFTVERBS_XDP_MODE=native", netdev, queues_before, now - queues_before, netdev);
}

/*
 * Opens the queues that the interface has gained with the XDP program: virtio_net starts more receive queues for a
 * program. Frames that arrive in them before they have sockets are the kernel's, because there is no rule yet.
 */
int sv_xdp_open_added_queues(struct xdp_port *port, struct sv_xdp_leg *leg)
{
    uint32_t now = 0;
    bool reported = sv_xdp_get_receive_queues(leg->netdev, &now) == 0;
    return port->native && reported && now > leg->queue_count ? sv_xdp_open_queues(port, leg) : 0;
}
