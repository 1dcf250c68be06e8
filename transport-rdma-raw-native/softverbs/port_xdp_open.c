/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a port on AF_XDP: its mode, its queues, its programs. See port_xdp.c. */
#include "port_xdp.h"

#include "bpf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COPY_FRAMES = 1024 };

static int open_copy_ring(struct xdp_port *port)
{
    struct sv_netdev_port *base = &port->base;
    int filter_fd = sv_kernel_steering_load(base->steering, SV_PROGRAM_SOCKET_COPIES);
    if (filter_fd < 0 && sv_explain_missing_perfmon(-filter_fd))
        return -filter_fd;
    if (filter_fd < 0)
        return sv_explain(-filter_fd, "the socket filter can't be loaded: the process needs CAP_BPF");
    int error = sv_packet_ring_open(&port->copy_ring, atomic_load(&base->device->mtu), COPY_FRAMES, filter_fd);
    close(filter_fd);
    /* The kernel has removed the tag of the VLAN by then. */
    port->copy_ring.omits_vlan_tags = base->vlan.ifindex != 0;
    return error != 0 ? error : sv_netdev_port_add_receiver(base, &port->copy_ring.receiver);
}

/*
 * Attaches the XDP program of the TAP interface first. Until the tc program redirects frames there, it receives none.
 */
static int attach_tap_mode(struct xdp_port *port)
{
    struct sv_netdev_port *base = &port->base;
    port->xdp_link_fd = sv_kernel_steering_attach(base->steering, SV_PROGRAM_XDP_CLASSIFY, port->tap.ifindex,
                                                  SV_XDP_ATTACH_GENERIC);
    if (port->xdp_link_fd < 0)
        return sv_explain(-port->xdp_link_fd, "the XDP program can't be attached to '%s'", port->tap.name);
    sv_kernel_steering_set_redirect_ifindex(base->steering, port->tap.ifindex);
    port->tc_link_fd = sv_netdev_port_attach_tc(base, SV_PROGRAM_TC_REDIRECT);
    if (port->tc_link_fd < 0)
        return sv_explain(-port->tc_link_fd, "the tc program can't be attached to '%s': SOFTVERBS_XDP_MODE=tap needs "
                          "Linux 6.6", base->netdev);
    return 0;
}

static int explain_program(const char *netdev, const struct sv_attached_program *program)
{
    char text[SV_ATTACHED_TEXT_BYTES];
    sv_attached_format(program, text);
    if (sv_attached_is_own(program))
        return sv_explain(EBUSY, "'%s' has the XDP program %s: end the process that holds it", netdev, text);
    return sv_explain(SV_XDP_OTHER_PROGRAM, "'%s' has the XDP program %s", netdev, text);
}

/*
 * Returns 0 if the interface has no XDP program, else EBUSY for a program of this project or SV_XDP_OTHER_PROGRAM. The
 * program of a process that has just ended disappears within a moment. A program with an unreadable name may be such a
 * program.
 */
static int check_program(const struct xdp_port *port, const char *netdev, int ifindex)
{
    struct sv_attached_program program;
    sv_assert_may_block();
    for (int i = 0; sv_attached_find_xdp(ifindex, &program); i++) {
        bool may_disappear = program.name[0] == '\0' || sv_attached_is_own(&program);
        if (!may_disappear || !port->may_wait || i == SV_XDP_BUSY_RETRIES)
            return explain_program(netdev, &program);
        struct timespec pause = {.tv_nsec = SV_XDP_BUSY_RETRY_MILLIS * 1000000L};
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* A program was attached after check_program(), or is on an interface above this one (a bond). */
static int explain_busy(const struct sv_netdev_port *base)
{
    struct sv_attached_program program;
    if (sv_attached_find_xdp(base->ifindex, &program))
        return explain_program(base->netdev, &program);
    return sv_explain(SV_XDP_OTHER_PROGRAM, "an interface above '%s' has an XDP program", base->netdev);
}

static int attach_program(struct xdp_port *port)
{
    struct sv_netdev_port *base = &port->base;
    if (port->tap.ifindex != 0)
        return attach_tap_mode(port);
    bool jumbo = sv_xdp_is_jumbo(base->link_mtu);
    enum sv_xdp_attach_mode mode = !port->native ? SV_XDP_ATTACH_GENERIC
                                   : jumbo ? SV_XDP_ATTACH_NATIVE_FRAGS : SV_XDP_ATTACH_NATIVE;
    port->xdp_link_fd = sv_kernel_steering_attach(base->steering, SV_PROGRAM_XDP_REDIRECT, base->ifindex, mode);
    if (port->xdp_link_fd >= 0)
        return 0;
    int error = -port->xdp_link_fd;
    if (error == EBUSY || error == EEXIST)
        return explain_busy(base);
    if (error == EPERM)
        return sv_explain(error, "the XDP program is not permitted: the process needs CAP_BPF and CAP_NET_ADMIN; "
                          "soft:packet:%s needs CAP_NET_RAW only", base->netdev);
    bool forced = port->native && sv_xdp_mode_is_forced(sv_xdp_mode_of(base));
    return sv_explain(error, "the XDP program can't be attached to '%s' (%s mode)%s%s", base->netdev,
                      port->native ? "native" : "generic", forced ? ": try without SOFTVERBS_XDP_MODE=" : "",
                      forced ? sv_xdp_mode_name(sv_xdp_mode_of(base)) : "");
}

static int apply_mode(struct xdp_port *port, enum sv_xdp_mode mode)
{
    if (mode == SV_XDP_MODE_TAP)
        return sv_tap_open(&port->tap);
    port->zero_copy = mode == SV_XDP_MODE_ZERO_COPY;
    port->native = port->zero_copy || mode == SV_XDP_MODE_NATIVE;
    if (port->native && (port->base.flags & IFF_LOOPBACK))
        return sv_explain(EOPNOTSUPP, "the loopback interface '%s' has no native XDP: run without "
                          "SOFTVERBS_XDP_MODE=%s", port->base.netdev, sv_xdp_mode_name(mode));
    /* Not tried on a driver that has it. */
    if (port->zero_copy && port->base.bond.ifindex != 0)
        return sv_explain(EOPNOTSUPP, "'%s' is a bond, which has no zero copy here: SOFTVERBS_XDP_MODE=native copies",
                          port->base.netdev);
    return 0;
}

static int check_runs_programs(const struct xdp_port *port, const struct sv_xdp_leg *leg)
{
    if (!port->native || sv_xdp_runs_programs(leg->netdev, leg->ifindex))
        return 0;
    return sv_explain(EOPNOTSUPP, "'%s' receives without mergeable buffers, so virtio_net accepts an XDP program "
                      "and never runs it: try without SOFTVERBS_XDP_MODE=%s, or let the host offer mergeable "
                      "buffers (QEMU: mrg_rxbuf=on)", leg->netdev, sv_xdp_mode_name(sv_xdp_mode_of(&port->base)));
}

/*
 * Refuses interfaces that hide VLAN tags. A rule without a VLAN would take frames of all VLANs and break their
 * isolation, and answers would leave untagged. In tap mode the tc program sees tags in either form.
 */
static int check_vlan_tags(const struct xdp_port *port, const char *netdev)
{
    const struct sv_netdev_port *base = &port->base;
    const char *consent = getenv("SOFTVERBS_XDP_RXVLAN");
    if (base->vlan.ifindex != 0 && sv_xdp_is_stacked(netdev))
        return sv_explain(EOPNOTSUPP, "'%s', below VLAN %u, is itself stacked on another interface, and the kernel "
                          "removes VLAN tags before XDP sees the frames: use SOFTVERBS_XDP_MODE=generic", netdev,
                          base->vlan.id);
    if (base->vlan.ifindex != 0 && sv_xdp_hides_vlan_tags(netdev))
        return sv_explain(EOPNOTSUPP, "'%s' removes VLAN tags from frames before XDP sees them, so those of VLAN %u "
                          "would not be found: use ethtool -K %s rxvlan off, or SOFTVERBS_XDP_MODE=generic",
                          netdev, base->vlan.id, netdev);
    if (port->tap.ifindex != 0 || (consent != NULL && strcmp(consent, "allow") == 0) || !sv_xdp_hides_vlan_tags(netdev))
        return 0;
    if (sv_xdp_is_stacked(netdev))
        return sv_explain(EOPNOTSUPP, "'%s' is stacked on another interface, and the kernel removes VLAN tags before "
                          "XDP sees the frames, so frames of VLANs would look untagged: use SOFTVERBS_XDP_MODE=tap, "
                          "or, if no tagged frames arrive, SOFTVERBS_XDP_RXVLAN=allow",
                          netdev);
    return sv_explain(EOPNOTSUPP, "'%s' removes VLAN tags from frames before XDP sees them, so frames of VLANs would "
                      "look untagged: use ethtool -K %s rxvlan off, or SOFTVERBS_XDP_MODE=tap, or, if no tagged frames "
                      "arrive, SOFTVERBS_XDP_RXVLAN=allow", netdev, netdev);
}

/*
 * Before Linux 6.6 AF_XDP receives no frame longer than a chunk. The peer on this host may be a port of this kind, so
 * the library then segments TSO sends itself.
 */
static void set_up_gso(struct xdp_port *port)
{
    struct sv_netdev_port *base = &port->base;
    base->delivers_gso = base->receives_gso && port->queue[0]->multi_buffer;
    if (!base->receives_gso || port->queue[0]->multi_buffer || base->tso_fd < 0)
        return;
    close(base->tso_fd);
    base->tso_fd = -1;
}

static enum sv_xdp_hook hook_of(const struct xdp_port *port)
{
    return port->tap.ifindex != 0 ? SV_XDP_HOOK_TC : port->native ? SV_XDP_HOOK_DRIVER : SV_XDP_HOOK_GENERIC;
}

/*
 * Obtains the queues, their memory, the maps and the attached XDP program from the broker. The program passes all
 * frames to the kernel until the first rule exists.
 */
static int open_through_broker(struct xdp_port *port)
{
    struct sv_netdev_port *base = &port->base;
    int fds[SV_BROKER_MAX_FDS];
    uint32_t receive_queues = 0;
    bool reported = sv_xdp_get_receive_queues(base->netdev, &receive_queues) == 0 && receive_queues > 0;
    if (reported && receive_queues > SV_XDP_MAX_QUEUES)
        return sv_xdp_explain_too_many_queues(base);
    struct sv_broker_open wanted = {
        .mode = port->zero_copy ? SV_BROKER_MODE_ZERO_COPY
                : port->native  ? SV_BROKER_MODE_NATIVE
                                : SV_BROKER_MODE_GENERIC,
        .mtu = atomic_load(&base->device->mtu),
        .multi_buffer = base->receives_gso,
    };
    memcpy(wanted.netdev, base->netdev, sizeof wanted.netdev);
    int error = sv_broker_open(&base->broker, &wanted, base->ifindex, fds, &port->broker_layout);
    if (error != 0)
        return error;
    sv_broker_set_rules(base->broker, sv_netdev_port_add_rules_again, base);
    port->xdp_link_fd = fds[SV_BROKER_FD_XDP_LINK];
    port->broker_memory_fd = fds[SV_BROKER_FD_MEMORY];
    memcpy(port->broker_sockets, fds + SV_BROKER_FD_SOCKETS,
           SV_BPF_SOCKETS_PER_QUEUE * port->broker_layout.queue_count * sizeof fds[0]);
    return sv_kernel_steering_adopt(&base->steering, fds + SV_BROKER_FD_MAPS);
}

static int open_steering(struct xdp_port *port)
{
    struct sv_netdev_port *base = &port->base;
    return base->brokered ? open_through_broker(port)
                          : sv_kernel_steering_open(&base->steering, base->device->mac, true);
}

/* Closes the sockets that no queue has used, after an error. */
static void close_broker_sockets(struct xdp_port *port)
{
    for (uint32_t i = 0; i < SV_BPF_SOCKETS_PER_QUEUE * port->broker_layout.queue_count; i++) {
        if (port->broker_sockets[i] >= 0)
            close(port->broker_sockets[i]);
        port->broker_sockets[i] = -1;
    }
    if (port->broker_memory_fd >= 0)
        close(port->broker_memory_fd);
    port->broker_memory_fd = -1;
}

/* ---- legs ---- */

/* The legs of a bond each take their part of the queues, so none may get more when the program is attached. */
static bool attaches_early(const struct xdp_port *port)
{
    return port->busy_poll.enabled || port->base.bond.ifindex != 0;
}

/*
 * Attaches the program before the queues are opened. A driver may restart its queues for a program, with other NAPI
 * instances, and sockets would keep the old ones. Without a rule the program passes all frames to the kernel. A broker
 * has attached the program by now.
 */
static int attach_early(struct xdp_port *port)
{
    if (port->tap.ifindex != 0)
        return sv_explain(EOPNOTSUPP, "mode tap has no busy polling: run without SOFTVERBS_XDP_BUSY_POLL");
    if (port->busy_poll.enabled && port->base.bond.ifindex != 0)
        return sv_explain(EOPNOTSUPP, "'%s' is a bond, which has no busy polling: run without SOFTVERBS_XDP_BUSY_POLL",
                          port->base.netdev);
    return port->base.brokered ? 0 : attach_program(port);
}

static int add_legs(struct xdp_port *port)
{
    const struct sv_netdev_port *base = &port->base;
    if (base->bond.ifindex == 0)
        (void)sv_xdp_port_add_leg(port, base->ifindex, base->netdev);
    for (uint32_t i = 0; i < base->bond.leg_count; i++)
        if (sv_xdp_port_add_leg(port, base->bond.leg[i].ifindex, base->bond.leg[i].netdev) == NULL)
            return ENOSPC;
    return 0;
}

static int check_leg(const struct xdp_port *port, struct sv_xdp_leg *leg)
{
    const struct sv_netdev_port *base = &port->base;
    int error = check_runs_programs(port, leg);
    if (error == 0 && port->tap.ifindex == 0 && !base->brokered)
        error = check_program(port, leg->netdev, leg->ifindex);
    if (error == 0)
        error = check_vlan_tags(port, leg->netdev);
    if (error == 0)
        error = sv_xdp_detect_partial_checksums(leg->netdev, base->flags, hook_of(port),
                                                &leg->expects_partial_checksums);
    return error;
}

static int check_legs(struct xdp_port *port)
{
    const struct sv_netdev_port *base = &port->base;
    int error = base->bond.ifindex != 0 ? check_program(port, base->netdev, base->ifindex) : 0;
    for (uint32_t i = 0; i < port->leg_count && error == 0; i++) {
        error = check_leg(port, &port->leg[i]);
        /* After the interface is reserved: before, the program of the previous user may still be attached. */
        (void)sv_xdp_get_receive_queues(port->leg[i].netdev, &port->leg[i].queues_before);
    }
    return error;
}

/* The program may be attached by now. */
static int open_legs(struct xdp_port *port)
{
    int error = 0;
    for (uint32_t i = 0; i < port->leg_count && error == 0; i++) {
        struct sv_xdp_leg *leg = &port->leg[i];
        leg->first_queue = atomic_load(&port->queue_count);
        if (port->xdp_link_fd >= 0)
            error = sv_xdp_check_zero_copy_safe(port, leg);
        if (error == 0)
            error = sv_xdp_open_queues(port, leg);
    }
    return error;
}

static int check_opened_legs(struct xdp_port *port)
{
    int error = 0;
    for (uint32_t i = 0; i < port->leg_count && error == 0; i++) {
        struct sv_xdp_leg *leg = &port->leg[i];
        error = sv_xdp_check_zero_copy_safe(port, leg);
        if (error == 0 && port->base.bond.ifindex == 0)
            error = sv_xdp_open_added_queues(port, leg);
        if (error == 0)
            error = sv_xdp_check_can_send(port, leg);
    }
    return error;
}

int sv_xdp_port_open_leg(struct xdp_port *port, struct sv_xdp_leg *leg)
{
    int error = check_leg(port, leg);
    return error != 0 ? error : sv_xdp_open_queues(port, leg);
}

/* Formats the names of the interfaces of a VLAN or a bond before the receive thread starts, which changes the legs. */
static void format_interfaces_below(struct xdp_port *port)
{
    char *text = port->below_text;
    const size_t bytes = sizeof port->below_text;
    int used = 0;
    text[0] = '\0';
    if (port->base.vlan.ifindex != 0)
        snprintf(text, bytes, " on '%s' with the tag of VLAN %u", port->base.netdev, port->base.vlan.id);
    for (uint32_t i = 0; port->base.bond.ifindex != 0 && i < port->leg_count; i++)
        used += snprintf(text + used, bytes - (size_t)used, "%s'%s'", i == 0 ? " on " : ", ", port->leg[i].netdev);
}

int sv_xdp_port_open(struct sv_netdev_port *base)
{
    struct xdp_port *port = (struct xdp_port *)base;
    port->xdp_link_fd = port->tc_link_fd = port->copy_ring.receiver.fd = port->sender.fd = port->broker_memory_fd = -1;
    port->may_wait = true;
    int error = sv_busy_poll_init(&port->busy_poll, base->netdev, base->ifindex);
    if (error == 0)
        error = apply_mode(port, sv_xdp_mode_of(base));
    bool uses_tap = port->tap.ifindex != 0;
    if (error == 0)
        error = add_legs(port);
    if (error == 0)
        error = uses_tap ? sv_packet_sender_open(&port->sender, base->ifindex) : sv_interface_reserve(base);
    if (error == 0)
        error = check_legs(port);
    /*
     * While a driver runs XDP itself, the kernel segments GSO frames before they reach it. A tc program also sees
     * frames that the kernel has merged (GRO).
     */
    base->receives_gso = !port->native && (port->leg[0].expects_partial_checksums || uses_tap);
    if (error == 0)
        error = open_steering(port);
    if (error == 0 && attaches_early(port))
        error = attach_early(port);
    if (error == 0)
        error = open_legs(port);
    if (error == 0 && !base->brokered)
        error = open_copy_ring(port);
    if (error == 0) {
        set_up_gso(port);
        sv_netdev_port_apply_mtu(base);
    }
    if (error == 0 && port->xdp_link_fd < 0)
        error = attach_program(port);
    if (error == 0)
        error = check_opened_legs(port);
    if (error == 0)
        sv_xdp_port_apply_legs(port);
    if (error == 0 && base->brokered)
        sv_broker_keep_queues(base->broker, atomic_load(&port->queue_count));
    close_broker_sockets(port);
    format_interfaces_below(port);
    port->may_wait = false;
    return error;
}
