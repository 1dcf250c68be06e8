/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet:<interface>, a port through AF_PACKET: one receive ring, and sending with sendmmsg directly from registered
 * memory.
 *
 * The kernel receives every frame as well, and must not answer those that match a rule:
 *   - With eBPF, a socket filter selects these frames for the ring, and a tc program on the interface's ingress drops
 *     them after the ring has copied them.
 *   - Without the tc program, because it is not permitted or TCX (Linux 6.6) is missing, kernel sockets that drop
 *     everything occupy the ports of the rules (port_reservation.c). SOFTVERBS_PACKET_QUIET=sockets in the environment
 *     selects this.
 *   - Without eBPF, the ring receives all frames, and the library's table selects them. Sockets occupy the ports, too.
 *
 * Any number of processes may have such a port on an interface. Each has its ring, filter and program, and the programs
 * run in sequence. A frame that matches rules of several processes is delivered to each of them.
 */
#include "netdev_port.h"
#include "packet.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RING_FRAMES = 4096, MAX_MTU = 9000 };

struct packet_port {
    struct sv_netdev_port base;
    struct sv_packet_ring ring;
    struct sv_packet_sender sender;
    int tc_link_fd;     /* the tc program that drops frames of rules before the kernel; -1: port reservations instead */
    struct sv_port_reservations reservations;
};

static unsigned drain(struct sv_netdev_port *base)
{
    struct packet_port *port = (struct packet_port *)base;
    return sv_packet_ring_drain(&port->ring, base->device);
}

/* ---- opening ---- */

/* Returns the descriptor of the ring's filter, or -1 if the port has to work without eBPF. */
static int open_steering(struct packet_port *port)
{
    struct sv_netdev_port *base = &port->base;
    if (sv_kernel_steering_open(&base->steering, base->device->mac, false) != 0)
        return -1;
    int filter_fd = sv_kernel_steering_load(base->steering, SV_PROGRAM_SOCKET_MATCHES);
    const char *env_value = getenv("SOFTVERBS_PACKET_QUIET");
    bool by_sockets = env_value != NULL && strcmp(env_value, "sockets") == 0;
    port->tc_link_fd = filter_fd < 0 || by_sockets ? -1 : sv_netdev_port_attach_tc(base, SV_PROGRAM_TC_DROP);
    if (filter_fd < 0) {
        sv_kernel_steering_close(base->steering);
        base->steering = NULL;
    }
    return filter_fd;
}

static int open_port(struct sv_netdev_port *base)
{
    struct packet_port *port = (struct packet_port *)base;
    port->sender.fd = port->tc_link_fd = port->ring.receiver.fd = -1;
    int filter_fd = open_steering(port);
    int error = sv_packet_ring_open(&port->ring, atomic_load(&base->device->mtu), RING_FRAMES, filter_fd);
    if (filter_fd >= 0)
        close(filter_fd);
    if (error == 0)
        error = sv_packet_ring_bind(&port->ring, base->ifindex);
    if (error == 0)
        error = sv_packet_sender_open(&port->sender, base->ifindex);
    base->delivers_gso = true;
    return error != 0 ? error : sv_netdev_port_add_receiver(base, &port->ring.receiver);
}

static void detach(struct sv_netdev_port *base)
{
    struct packet_port *port = (struct packet_port *)base;
    if (port->tc_link_fd >= 0)
        close(port->tc_link_fd);
    sv_port_reservations_close(&port->reservations);
}

static void close_port(struct sv_netdev_port *base)
{
    struct packet_port *port = (struct packet_port *)base;
    sv_packet_ring_close(&port->ring);
    sv_packet_sender_close(&port->sender);
}

/* ---- sending ---- */

static SV_HOT void send_frames(struct sv_netdev_port *base, struct sv_qp *sender, const struct sv_frame *frames,
                               unsigned count)
{
    int error = 0;
    unsigned sent = sv_packet_sender_send(&((struct packet_port *)base)->sender, frames, count, &error);
    sv_netdev_port_count_sent(base, sender, frames, count, sent, error);
}

/* ---- rules ---- */

static int on_rule_added(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule)
{
    struct packet_port *port = device->port;
    int error = port->tc_link_fd < 0 ? sv_port_reservations_add(&port->reservations, spec) : 0;
    if (error != 0)
        return error;
    error = sv_netdev_port_on_rule_added(device, spec, rule);
    if (error != 0)
        sv_port_reservations_remove(&port->reservations, spec->type, &spec->mask, rule);
    return error;
}

static void on_rule_removed(struct sv_device *device, struct sv_flow *flow)
{
    struct packet_port *port = device->port;
    sv_port_reservations_remove(&port->reservations, flow->type, &flow->mask, flow->rule);
    sv_netdev_port_on_rule_removed(device, flow);
}

static void add_counters(struct sv_device *device, struct softverbs_counters *counters)
{
    struct packet_port *port = device->port;
    sv_netdev_port_add_counters(device, counters);
    if (port != NULL)
        counters->kernel_visible_rules = port->reservations.kernel_visible_rules;
}

static const struct sv_netdev_port_kind packet_kind = {
    .name = "packet",
    .max_mtu = MAX_MTU,
    .port_bytes = sizeof(struct packet_port),
    .open = open_port,
    .detach = detach,
    .close = close_port,
    .drain = drain,
    .send = send_frames,
};

static int open_device(struct sv_device *device)
{
    return sv_netdev_port_open(device, &packet_kind);
}

const struct sv_port_ops sv_packet_ops = {
    .open = open_device,
    .close = sv_netdev_port_close,
    .transmit = sv_netdev_port_transmit,
    .transmit_tso = sv_netdev_port_transmit_tso,
    .progress = sv_netdev_port_progress,
    .arm = sv_netdev_port_arm,
    .poll_channel = sv_netdev_port_poll_channel,
    .return_sockets = sv_netdev_port_return_sockets,
    .on_rule_added = on_rule_added,
    .on_rule_removed = on_rule_removed,
    .quiesce = sv_netdev_port_quiesce,
    .add_counters = add_counters,
};
