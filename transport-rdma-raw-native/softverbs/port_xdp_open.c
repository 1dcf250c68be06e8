/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a port on AF_XDP: its mode, its queues, its programs. See port_xdp.c. */
#include "port_xdp.h"

#include "bpf.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COPY_FRAMES = 1024 };

/* ---- queues ---- */

static struct sv_xdp_queue_config queue_config_of(const struct xdp_port *port, uint32_t number, bool existence_unknown)
{
    const struct sv_netdev_port *base = &port->base;
    return (struct sv_xdp_queue_config){
        .ifindex = base->ifindex,
        .receive_ifindex = port->tap.ifindex != 0 ? port->tap.ifindex : base->ifindex,
        .number = number,
        .mtu = base->link_mtu,
        .vlan = base->vlan.ifindex != 0 ? &base->vlan : NULL,
        .zero_copy = port->zero_copy,
        .expects_partial_checksums = port->expects_partial_checksums,
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

static int open_queue(struct xdp_port *port, uint32_t number, bool existence_unknown)
{
    struct sv_netdev_port *base = &port->base;
    if (base->brokered && number >= port->broker_layout.queue_count)
        return EINVAL;      /* as for a queue that does not exist */
    struct sv_xdp_queue *queue = sv_alloc_zeroed(sizeof *queue);
    if (queue == NULL)
        return ENOMEM;
    struct sv_xdp_queue_config config = queue_config_of(port, number, existence_unknown);
    struct sv_xdp_broker_sockets broker_sockets;
    if (base->brokered) {
        broker_sockets = take_broker_sockets(port, number);
        config.broker_sockets = &broker_sockets;
    }
    int error = sv_xdp_queue_open(queue, &config);
    if (error != 0) {
        free(queue);
        return error;
    }
    port->queue[port->queue_count++] = queue;
    if (atomic_load(&queue->can_send) && atomic_load(&port->send_queue_count) == number)
        atomic_store(&port->send_queue_count, number + 1);
    base->max_mtu = sv_xdp_queue_max_mtu(queue);
    sv_kernel_steering_set_max_syn_bytes(base->steering, base->max_mtu + SV_MAX_OVERHEAD);
    if (!base->brokered)
        error = sv_kernel_steering_set_sockets(base->steering, number, queue->main.receiver.fd, queue->syn.receiver.fd);
    sv_kernel_steering_set_queues(base->steering, port->queue_count);
    if (error == 0)
        error = sv_busy_poll_add(&port->busy_poll, queue->main.receiver.fd, number, port->native);
    queue->busy_poll = port->busy_poll.enabled;
    if (error == 0)
        error = sv_netdev_port_add_receiver(base, &queue->main.receiver);
    return error != 0 ? error : sv_netdev_port_add_receiver(base, &queue->syn.receiver);
}

/*
 * Frames of a receive queue without sockets would go to the kernel, which resets connections that it does not know.
 * Then some connections would work and others would not.
 */
static int explain_too_many_queues(const struct sv_netdev_port *base)
{
    return sv_explain(EOPNOTSUPP, "'%s' has more than %d receive queues, the maximum: use ethtool -L %s combined %d "
                      "(rx %d if the driver counts them separately), or soft:packet:%s, which takes any number",
                      base->netdev, SV_XDP_MAX_QUEUES, base->netdev, SV_XDP_MAX_QUEUES, SV_XDP_MAX_QUEUES,
                      base->netdev);
}

/*
 * Returns 0 if no further queue exists, or an errno. A queue that another process uses counts as existing. A broker
 * hands out no socket for it.
 */
static int check_no_more_queues(struct xdp_port *port)
{
    if (port->base.brokered)
        return port->queue_count == SV_XDP_MAX_QUEUES ? explain_too_many_queues(&port->base) : 0;
    struct sv_xdp_queue *queue = sv_alloc_zeroed(sizeof *queue);
    if (queue == NULL)
        return ENOMEM;
    struct sv_xdp_queue_config config = queue_config_of(port, port->queue_count, true);
    config.receive_ifindex = config.ifindex;
    int error = sv_xdp_queue_open(queue, &config);
    if (error == 0)
        sv_xdp_queue_close(queue);
    free(queue);
    if (error == 0 || error == EBUSY)
        return explain_too_many_queues(&port->base);
    return error == EINVAL ? 0 : error;
}

/*
 * Opens the remaining queues. A socket can be bound to each existing queue, so binding finds their number if the driver
 * does not report it. Some queues may only send, and there may be more than can be served.
 */
static int open_queues(struct xdp_port *port)
{
    uint32_t receive_queues = 0;
    bool reported = sv_xdp_get_receive_queues(&port->base, &receive_queues) == 0;
    if (reported && receive_queues > SV_XDP_MAX_QUEUES)
        return explain_too_many_queues(&port->base);
    /* Queues are added to the TAP interface as needed. */
    bool uses_tap = port->tap.ifindex != 0;
    for (uint32_t i = port->queue_count;
         i < SV_XDP_MAX_QUEUES && !(uses_tap && reported && i > 0 && i >= receive_queues); i++) {
        int error = uses_tap && i > 0 ? sv_tap_add_queue(&port->tap) : 0;
        if (error == 0)
            error = open_queue(port, i, !reported);
        /* Under a low memlock limit no memory may be left to try a queue that does not exist. */
        if (i > 0 && (error == EINVAL || (error == ENOMEM && reported && receive_queues > 0 && i >= receive_queues))) {
            if (uses_tap)
                sv_tap_remove_queue(&port->tap);
            return 0;
        }
        if (error == EBUSY)
            return sv_explain(EBUSY, "receive queue %u of '%s' has an AF_XDP socket already: another program uses it",
                              i, port->base.netdev);
        if (error != 0)
            return error;
    }
    return reported ? 0 : check_no_more_queues(port);
}

/*
 * virtio_net starts additional queues for a program, a pair for each processor, and its host sends frames to all of
 * them (virtnet_xdp_set() of Linux). Without the program these queues no longer exist, and virtnet_xsk_pool_disable()
 * keeps their zero-copy memory although it is freed. The next program on the interface then stops the kernel (seen on
 * 7.3.4). A killed process cannot choose the order in which its objects end. `queues_before` is the number of queues
 * without a program, 0 if unknown.
 */
static int check_zero_copy_safe(const struct xdp_port *port, uint32_t queues_before)
{
    const char *netdev = port->base.netdev;
    uint32_t now = 0;
    if (!port->zero_copy || sv_xdp_get_receive_queues(&port->base, &now) != 0 || queues_before == 0 ||
        now <= queues_before)
        return 0;
    return sv_explain(EOPNOTSUPP, "zero copy is not safe on '%s': it has %u receive queues, and %u more with an XDP "
                      "program. Use ethtool -L %s combined with the maximum that ethtool -l shows, or "
                      "SOFTVERBS_XDP_MODE=native", netdev, queues_before, now - queues_before, netdev);
}

/*
 * Opens the queues that the interface has gained with the XDP program: virtio_net starts more receive queues for a
 * program. Frames that arrive in them before they have sockets are the kernel's, because there is no rule yet.
 */
static int open_added_queues(struct xdp_port *port)
{
    uint32_t now = 0;
    bool reported = sv_xdp_get_receive_queues(&port->base, &now) == 0;
    return port->native && reported && now > port->queue_count ? open_queues(port) : 0;
}

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

static int explain_program(const struct sv_netdev_port *base, const struct sv_attached_program *program)
{
    char text[SV_ATTACHED_TEXT_BYTES];
    sv_attached_format(program, text);
    if (sv_attached_is_own(program))
        return sv_explain(EBUSY, "'%s' has the XDP program %s: end the process that holds it", base->netdev, text);
    return sv_explain(SV_XDP_OTHER_PROGRAM, "'%s' has the XDP program %s", base->netdev, text);
}

/*
 * Returns 0 if the interface has no XDP program, else EBUSY for a program of this project or SV_XDP_OTHER_PROGRAM. The
 * program of a process that has just ended disappears within a moment. A program with an unreadable name may be such a
 * program.
 */
static int check_program(const struct sv_netdev_port *base)
{
    struct sv_attached_program program;
    sv_assert_may_block();
    for (int i = 0; sv_attached_find_xdp(base->ifindex, &program); i++) {
        bool may_disappear = program.name[0] == '\0' || sv_attached_is_own(&program);
        if (!may_disappear || i == SV_XDP_BUSY_RETRIES)
            return explain_program(base, &program);
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
        return explain_program(base, &program);
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
    if (port->native && !sv_xdp_runs_programs(&port->base))
        return sv_explain(EOPNOTSUPP, "'%s' receives without mergeable buffers, so virtio_net accepts an XDP program "
                          "and never runs it: try without SOFTVERBS_XDP_MODE=%s, or let the host offer mergeable "
                          "buffers (QEMU: mrg_rxbuf=on)", port->base.netdev, sv_xdp_mode_name(mode));
    return 0;
}

/*
 * Refuses interfaces that hide VLAN tags. A rule without a VLAN would take frames of all VLANs and break their
 * isolation, and answers would leave untagged. In tap mode the tc program sees tags in either form.
 */
static int check_vlan_tags(const struct xdp_port *port)
{
    const struct sv_netdev_port *base = &port->base;
    const char *consent = getenv("SOFTVERBS_XDP_RXVLAN");
    if (base->vlan.ifindex != 0 && sv_xdp_is_stacked(base))
        return sv_explain(EOPNOTSUPP, "'%s', below VLAN %u, is itself stacked on another interface, and the kernel "
                          "removes VLAN tags before XDP sees the frames: use SOFTVERBS_XDP_MODE=generic", base->netdev,
                          base->vlan.id);
    if (base->vlan.ifindex != 0 && sv_xdp_hides_vlan_tags(base))
        return sv_explain(EOPNOTSUPP, "'%s' removes VLAN tags from frames before XDP sees them, so those of VLAN %u "
                          "would not be found: use ethtool -K %s rxvlan off, or SOFTVERBS_XDP_MODE=generic",
                          base->netdev, base->vlan.id, base->netdev);
    if (port->tap.ifindex != 0 || (consent != NULL && strcmp(consent, "allow") == 0) || !sv_xdp_hides_vlan_tags(base))
        return 0;
    if (sv_xdp_is_stacked(base))
        return sv_explain(EOPNOTSUPP, "'%s' is stacked on another interface, and the kernel removes VLAN tags before "
                          "XDP sees the frames, so frames of VLANs would look untagged: use SOFTVERBS_XDP_MODE=tap, "
                          "or, if no tagged frames arrive, SOFTVERBS_XDP_RXVLAN=allow",
                          base->netdev);
    return sv_explain(EOPNOTSUPP, "'%s' removes VLAN tags from frames before XDP sees them, so frames of VLANs would "
                      "look untagged: use ethtool -K %s rxvlan off, or SOFTVERBS_XDP_MODE=tap, or, if no tagged frames "
                      "arrive, SOFTVERBS_XDP_RXVLAN=allow", base->netdev, base->netdev);
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
    bool reported = sv_xdp_get_receive_queues(base, &receive_queues) == 0 && receive_queues > 0;
    if (reported && receive_queues > SV_XDP_MAX_QUEUES)
        return explain_too_many_queues(base);
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

/*
 * Attaches the program before the queues are opened. A driver may restart its queues for a program, with other NAPI
 * instances, and sockets would keep the old ones. Without a rule the program passes all frames to the kernel. A broker
 * has attached the program by now.
 */
static int attach_early(struct xdp_port *port)
{
    if (port->tap.ifindex != 0)
        return sv_explain(EOPNOTSUPP, "mode tap has no busy polling: run without SOFTVERBS_XDP_BUSY_POLL");
    return port->base.brokered ? 0 : attach_program(port);
}

int sv_xdp_port_open(struct sv_netdev_port *base)
{
    struct xdp_port *port = (struct xdp_port *)base;
    uint32_t queues_before = 0;
    port->xdp_link_fd = port->tc_link_fd = port->copy_ring.receiver.fd = port->sender.fd = port->broker_memory_fd = -1;
    int error = sv_busy_poll_init(&port->busy_poll, base->netdev, base->ifindex);
    if (error == 0)
        error = apply_mode(port, sv_xdp_mode_of(base));
    bool uses_tap = port->tap.ifindex != 0;
    if (error == 0)
        error = uses_tap ? sv_packet_sender_open(&port->sender, base->ifindex) : sv_interface_reserve(base);
    if (error == 0 && !uses_tap && !base->brokered)
        error = check_program(base);
    if (error == 0)
        error = check_vlan_tags(port);
    if (error == 0)
        error = sv_xdp_detect_partial_checksums(base, hook_of(port), &port->expects_partial_checksums);
    /*
     * While a driver runs XDP itself, the kernel segments GSO frames before they reach it. A tc program also sees
     * frames that the kernel has merged (GRO).
     */
    base->receives_gso = !port->native && (port->expects_partial_checksums || uses_tap);
    /* After the interface is reserved: before, the program of the previous user may still be attached. */
    (void)sv_xdp_get_receive_queues(base, &queues_before);
    if (error == 0)
        error = open_steering(port);
    if (error == 0 && port->busy_poll.enabled)
        error = attach_early(port);
    if (error == 0 && port->xdp_link_fd >= 0)
        error = check_zero_copy_safe(port, queues_before);
    if (error == 0)
        error = open_queues(port);
    if (error == 0 && !base->brokered)
        error = open_copy_ring(port);
    if (error == 0) {
        set_up_gso(port);
        sv_netdev_port_apply_mtu(base);
    }
    if (error == 0 && port->xdp_link_fd < 0)
        error = attach_program(port);
    if (error == 0)
        error = check_zero_copy_safe(port, queues_before);
    if (error == 0)
        error = open_added_queues(port);
    if (error == 0 && !uses_tap && atomic_load(&port->send_queue_count) == 0)
        error = sv_explain(EOPNOTSUPP, "AF_XDP can't send through '%s', which has no send queue for it", base->netdev);
    if (error == 0 && base->brokered)
        sv_broker_keep_queues(base->broker, port->queue_count);
    close_broker_sockets(port);
    return error;
}
