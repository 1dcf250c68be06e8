/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xdp:<interface>, a port through AF_XDP: sockets for each receive queue of the interface, and an XDP program that
 * redirects to them the frames that rules take. All other frames go on to the kernel. XDP cannot copy a frame, so
 * frames for both the kernel and the library (DONT_TRAP, sniffer, multicast defaults) arrive through an AF_PACKET ring.
 *
 * SOFTVERBS_XDP_MODE in the environment selects the mode:
 *   auto      the default: the best of the following three that is known to work with this driver and kernel, or its
 *             fallback (xdp_mode.c). It never falls back to AF_PACKET, where the kernel sees the frames too.
 *   generic   works with every driver and keeps its offloads for the kernel's own traffic. But the kernel does not
 *             merge frames on the interface (GRO), and copies its own large frames before the program sees them.
 *   native    the driver's own XDP
 *   zerocopy  the same, and the driver uses the library's memory directly
 *   tap       a tc ingress program redirects the frames to a TAP interface with the sockets and generic XDP. The
 *             kernel's own frames are never copied, and the library's frames pass the kernel's packet queue once more.
 *
 * A VLAN interface has no network card. In modes native and zerocopy the port opens the interface below it and handles
 * the tags (vlan.h). In the other modes it opens the VLAN interface, and its frames have no tag. Likewise, a port of a
 * bond in mode native opens its legs, the interfaces below it, and chooses the leg of each frame that it sends
 * (bond.h). Zero copy is refused there.
 *
 * In mode tap any number of processes may have such a port on an interface. Each has its TAP interface and program, and
 * sends through a packet socket. The programs run in sequence: a frame that rules of several processes take goes to the
 * process with the oldest program. In the other modes an interface has one program, and a queue has
 * the sockets of one process. If an XDP program of other software is on the interface, auto selects mode tap.
 */
#include "port_xdp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- receiving ---- */

/*
 * Drains the copies first, but reads the fill level of the other rings before that. So a copy of a frame is delivered
 * before a frame that was sent later and is in one of these rings.
 */
static unsigned drain(struct sv_netdev_port *base)
{
    struct xdp_port *port = (struct xdp_port *)base;
    uint32_t limit[SV_XDP_MAX_QUEUES];
    uint32_t queue_count = atomic_load_explicit(&port->queue_count, memory_order_acquire);
    for (uint32_t i = 0; i < queue_count; i++) {
        sv_xdp_queue_busy_poll(port->queue[i]);
        limit[i] = sv_xdp_queue_produced(port->queue[i]);
    }
    unsigned total = port->copy_ring.map == NULL ? 0 : sv_packet_ring_drain(&port->copy_ring, base->device);
    for (uint32_t i = 0; i < queue_count; i++)
        total += sv_xdp_queue_drain(port->queue[i], base->device, limit[i]);
    return total;
}

/* ---- closing ---- */

/* Restores the settings of NAPI instances first, because a driver may have other instances without the program. */
static void detach(struct sv_netdev_port *base)
{
    struct xdp_port *port = (struct xdp_port *)base;
    sv_busy_poll_restore(&port->busy_poll);
    if (port->tc_link_fd >= 0)
        close(port->tc_link_fd);
    if (port->xdp_link_fd >= 0)
        close(port->xdp_link_fd);
}

static void close_port(struct sv_netdev_port *base)
{
    struct xdp_port *port = (struct xdp_port *)base;
    sv_packet_ring_close(&port->copy_ring);
    for (uint32_t i = 0; i < port->queue_count; i++) {
        sv_xdp_queue_close(port->queue[i]);
        free(port->queue[i]);
    }
    sv_tap_close(&port->tap);
    sv_packet_sender_close(&port->sender);
}

/* ---- sending ---- */

static SV_HOT void send_frames(struct sv_netdev_port *base, struct sv_qp *sender, const struct sv_frame *frames,
                               unsigned count)
{
    struct xdp_port *port = (struct xdp_port *)base;
    sv_connections_track(sv_kernel_steering_connections(base->steering), frames, count);
    uint32_t legs = atomic_load_explicit(&port->sending_legs, memory_order_acquire);
    if (SV_UNLIKELY((legs & (legs - 1)) != 0))
        sv_xdp_port_send_by_flow(port, legs, sender, frames, count);
    else if (SV_LIKELY(legs != 0))
        sv_xdp_port_send_on_leg(port, (uint32_t)__builtin_ctz(legs), sender, frames, count);
    else    /* The port is up, so a leg of the bond sends, but it is not served: see sv_xdp_port_update_legs(). */
        sv_netdev_port_count_sent(base, sender, frames, count, 0, SV_NETDEV_PORT_NO_SEND_QUEUE);
}

/* An AF_XDP socket that sends through the interface would exclude all other processes from its queue. */
static SV_HOT void send_by_packet_socket(struct sv_netdev_port *base, struct sv_qp *sender,
                                         const struct sv_frame *frames, unsigned count)
{
    struct xdp_port *port = (struct xdp_port *)base;
    int error = 0;
    sv_connections_track(sv_kernel_steering_connections(base->steering), frames, count);
    unsigned sent = sv_packet_sender_send(&port->sender, frames, count, &error);
    sv_netdev_port_count_sent(base, sender, frames, count, sent, error);
}

/* ---- rules ---- */

/*
 * Without rules that want copies, the kernel need not run the filter for each frame. The first such rule attaches the
 * ring before the rule takes effect.
 */
static int on_rule_added(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule)
{
    struct xdp_port *port = device->port;
    if (spec->dont_trap || spec->type != IBV_FLOW_ATTR_NORMAL) {
        if (port->base.brokered)
            return sv_explain(EOPNOTSUPP, "rules for copies need packet sockets, which a broker does not hand out");
        if (port->base.vlan.ifindex != 0 && spec->type != IBV_FLOW_ATTR_NORMAL)
            return EOPNOTSUPP;      /* see sv_vlan_convert_rule() */
        int error = sv_packet_ring_bind(&port->copy_ring, port->base.ifindex);
        if (error != 0)
            return error;
    }
    return sv_netdev_port_on_rule_added(device, spec, rule);
}

#define XDP_KIND(SEND, COPIES_ON_SEND, MAY_BE_BROKERED, OPENS_BELOW) \
    {.name = "xdp", .max_mtu = SV_XDP_MAX_MTU, .port_bytes = sizeof(struct xdp_port), \
     .copies_on_send = COPIES_ON_SEND, .may_be_brokered = MAY_BE_BROKERED, .opens_interfaces_below = OPENS_BELOW, \
     .tracks_connections = true, .update_legs = sv_xdp_port_update_legs, .forget_leg = sv_xdp_port_forget_leg, \
     .open = sv_xdp_port_open, .detach = detach, .close = close_port, .drain = drain, .send = SEND}

static const struct sv_netdev_port_kind kinds[SV_XDP_MODE_COUNT] = {
    [SV_XDP_MODE_GENERIC] = XDP_KIND(send_frames, true, true, false),
    [SV_XDP_MODE_NATIVE] = XDP_KIND(send_frames, true, true, true),
    [SV_XDP_MODE_ZERO_COPY] = XDP_KIND(send_frames, true, true, true),
    /* The packet socket sends directly from registered memory. A broker hands out no packet sockets. */
    [SV_XDP_MODE_TAP] = XDP_KIND(send_by_packet_socket, false, false, false),
};

enum sv_xdp_mode sv_xdp_mode_of(const struct sv_netdev_port *base)
{
    return (enum sv_xdp_mode)(base->kind - kinds);
}

/* ---- which mode ---- */

static int choose_mode(const struct sv_device *device, struct sv_xdp_choice *choice)
{
    struct utsname kernel;
    char driver[SV_XDP_DRIVER_BYTES], version[SV_XDP_DRIVER_BYTES];
    if (uname(&kernel) != 0)
        kernel.release[0] = '\0';
    sv_xdp_read_driver(strchr(device->ibv.name, ':') + 1, driver, version);
    /* For a driver from another source (Intel's, OFED's) the kernel's release has no meaning. */
    if (strncmp(version, kernel.release, sizeof version - 1) != 0)
        kernel.release[0] = '\0';
    return sv_xdp_mode_choose(getenv("SOFTVERBS_XDP_MODE"), driver, kernel.release, choice);
}

/* A mode that could not be opened, and the reason. */
struct failure {
    const char *mode;
    char reason[SV_EXPLANATION_BYTES];
};

static void record_failure(struct failure *failure, enum sv_xdp_mode mode, int error)
{
    failure->mode = sv_xdp_mode_name(mode);
    snprintf(failure->reason, sizeof failure->reason, "%s",
             *sv_explanation() != '\0' ? sv_explanation() : strerror(error));
    (void)sv_explain(0, "%s", "");
}

/*
 * Opens a mode or its fallback. Returns 0 with the mode in force in *mode. If it differs from the chosen mode, *failure
 * contains the last mode that could not be opened, and the reason.
 *
 * If a driver mode fails (because of its MTU, its memory, a broker's policy), the next mode is tried. If a process has
 * the interface (EBUSY), all of them fail. Mode tap works beside an XDP program of other software.
 */
static int open_mode(struct sv_device *device, bool forced, enum sv_xdp_mode *mode, struct failure *failure)
{
    int error;
    while ((error = sv_netdev_port_open(device, &kinds[*mode])) != 0) {
        bool other_program = error == SV_XDP_OTHER_PROGRAM && *mode != SV_XDP_MODE_TAP;
        if (!other_program && (error == EBUSY || forced || *mode == SV_XDP_MODE_GENERIC || *mode == SV_XDP_MODE_TAP))
            break;
        record_failure(failure, *mode, error);
        if (other_program && forced)
            return sv_explain(EBUSY, "%s: SOFTVERBS_XDP_MODE=tap works beside it", failure->reason);
        *mode = other_program ? SV_XDP_MODE_TAP : *mode - 1;
    }
    if (error != 0 && *mode == SV_XDP_MODE_TAP && !forced) {
        struct failure tap;
        record_failure(&tap, SV_XDP_MODE_TAP, error);
        return sv_explain(EBUSY, "%s, and mode tap is not available beside it: %s", failure->reason, tap.reason);
    }
    return error;
}

static int open_device(struct sv_device *device)
{
    struct sv_xdp_choice choice;
    struct failure failure = {.mode = ""};
    int error = choose_mode(device, &choice);
    enum sv_xdp_mode mode = choice.mode;
    if (error == 0)
        error = open_mode(device, choice.forced, &mode, &failure);
    if (error != 0)
        return error;
    const struct xdp_port *port = device->port;
    const char *busy_poll_text = port->busy_poll.enabled ? " with busy polling" : "";
    if (mode == choice.mode)
        snprintf(device->mode_text, sizeof device->mode_text, "AF_XDP in mode %s%s%s: %s", sv_xdp_mode_name(mode),
                 port->below_text, busy_poll_text, choice.reason);
    else
        snprintf(device->mode_text, sizeof device->mode_text, "AF_XDP in mode %s%s%s, because %s is not available: %s",
                 sv_xdp_mode_name(mode), port->below_text, busy_poll_text, failure.mode, failure.reason);
    return 0;
}

const struct sv_port_ops sv_xdp_ops = {
    .open = open_device,
    .close = sv_netdev_port_close,
    .transmit = sv_netdev_port_transmit,
    .transmit_tso = sv_netdev_port_transmit_tso,
    .progress = sv_netdev_port_progress,
    .arm = sv_netdev_port_arm,
    .poll_channel = sv_netdev_port_poll_channel,
    .return_sockets = sv_netdev_port_return_sockets,
    .on_rule_added = on_rule_added,
    .on_rule_removed = sv_netdev_port_on_rule_removed,
    .quiesce = sv_netdev_port_quiesce,
    .add_counters = sv_netdev_port_add_counters,
};
