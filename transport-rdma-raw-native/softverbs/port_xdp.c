/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xdp:<interface>, a port through AF_XDP: sockets for each receive queue of the interface, and an XDP program that
 * redirects to them the frames that rules take. All other frames go on to the kernel. XDP cannot copy a frame, so
 * frames for both the kernel and the library (DONT_TRAP, sniffer, multicast defaults) come through an AF_PACKET ring.
 *
 * SOFTVERBS_XDP_MODE in the environment selects the mode:
 *   auto      the default: the best of the following three that is known to be sound with this driver and kernel, or
 *     what stands in for it where it cannot be had (xdp_mode.c). A port through AF_PACKET does not: there the kernel sees
 *     the frames too, so the user has to name it
 *   generic   works with every driver and keeps offloads for the kernel's own traffic, but the kernel copies its own
 *     large frames before the program sees them
 *   native    the driver's own XDP
 *   zerocopy  the same, and the driver works on the library's memory itself
 *   tap       a tc ingress program redirects the frames to a TAP interface with the sockets and generic XDP: the
 *     kernel's own frames are never copied, and the library's pass the kernel's packet queue once more
 *
 * In mode tap any number of processes may have such a port on an interface: each has a TAP interface and a program of
 * its own, and sends by a packet socket. The programs follow each other: a frame that rules of several processes take
 * goes to the one whose program has been there for longest. In the other modes an interface has one program, and a
 * queue the sockets of one process.
 */
#include "busy_poll.h"
#include "packet_sender.h"
#include "refusal.h"
#include "tap.h"
#include "xdp_interface.h"
#include "xdp_mode.h"
#include "xdp_queue.h"
#include "xdp_virtio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MAX_QUEUES = SV_STEER_MAX_QUEUES, COPY_FRAMES = 1024 };

struct xdp_port {
    struct sv_wire wire;
    struct sv_packet_ring copies;
    int program;            /* the link that holds the XDP program on the interface */
    int redirect;           /* the link of the tc program in tap mode, or -1 */
    struct sv_tap tap;
    struct sv_packet_sender sender; /* of tap mode */
    bool native;
    bool zero_copy;
    bool partial;           /* see sv_xdp_partial() */
    struct sv_busy_poll busy_poll;
    uint32_t queues;
    struct sv_xdp_queue *queue[MAX_QUEUES];
    uint32_t handed;        /* queues for which the broker has made sockets */
    int socket[SV_STEER_SOCKETS * MAX_QUEUES];      /* those that no queue has taken yet, or -1 */
};

/*
 * Drains the copies first, but reads the fill level of the other rings before that. So a copy of a frame is seen before
 * a frame that was sent later and is in one of these rings.
 */
static unsigned drain(struct sv_wire *wire)
{
    struct xdp_port *port = (struct xdp_port *)wire;
    uint32_t limit[MAX_QUEUES];
    for (uint32_t i = 0; i < port->queues; i++) {
        sv_xdp_queue_busy_poll(port->queue[i]);
        limit[i] = sv_xdp_queue_produced(port->queue[i]);
    }
    unsigned total = port->copies.map == NULL ? 0 : sv_packet_ring_drain(&port->copies, wire->device);
    for (uint32_t i = 0; i < port->queues; i++)
        total += sv_xdp_queue_drain(port->queue[i], wire->device, limit[i]);
    return total;
}

/* ---- opening ---- */

static struct sv_xdp_queue_config queue_config_of(const struct xdp_port *port, uint32_t number, bool untold)
{
    const struct sv_wire *wire = &port->wire;
    return (struct sv_xdp_queue_config){
        .ifindex = wire->ifindex,
        .receive_ifindex = port->tap.ifindex != 0 ? port->tap.ifindex : wire->ifindex,
        .number = number,
        .mtu = atomic_load(&wire->device->mtu),
        .zero_copy = port->zero_copy,
        .partial = port->partial,
        .super_frames = wire->super_frames,
        .is_untold = untold,
    };
}

static void take_sockets(struct xdp_port *port, struct sv_xdp_queue_config *config)
{
    int *sockets = &port->socket[SV_STEER_SOCKETS * config->number];
    if (!port->wire.brokered)
        return;
    config->has_sockets = true;
    config->main_socket = sockets[0];
    config->syn_socket = sockets[1];
    sockets[0] = sockets[1] = -1;
}

static int open_queue(struct xdp_port *port, uint32_t number, bool untold)
{
    struct sv_wire *wire = &port->wire;
    if (wire->brokered && number >= port->handed)
        return EINVAL;      /* as of the queue that is not there */
    struct sv_xdp_queue *queue = sv_alloc_zeroed(sizeof *queue);
    if (queue == NULL)
        return ENOMEM;
    struct sv_xdp_queue_config config = queue_config_of(port, number, untold);
    take_sockets(port, &config);
    int error = sv_xdp_queue_open(queue, &config);
    if (error != 0) {
        free(queue);
        return error;
    }
    port->queue[port->queues++] = queue;
    wire->max_mtu = sv_xdp_queue_max_mtu(queue);
    sv_steering_set_longest_syn(wire->steering, wire->max_mtu + SV_MAX_OVERHEAD);
    if (!wire->brokered)
        error = sv_steering_set_sockets(wire->steering, number, queue->main.receiver.fd, queue->syns.receiver.fd);
    sv_steering_set_queues(wire->steering, port->queues);
    if (error == 0)
        error = sv_busy_poll_add(&port->busy_poll, queue->main.receiver.fd, number, port->native);
    queue->busy_poll = port->busy_poll.wanted;
    if (error == 0)
        error = sv_wire_add_receiver(wire, &queue->main.receiver);
    return error != 0 ? error : sv_wire_add_receiver(wire, &queue->syns.receiver);
}

/*
 * Frames of a receive queue without sockets would go to the kernel, which resets connections that it does not know:
 * some connections would work and others would not.
 */
static int too_many_queues(const struct sv_wire *wire)
{
    return sv_explain(EOPNOTSUPP, "'%s' has more than the %d receive queues that can be served: ethtool -L %s combined %d "
                      "(rx %d, where the driver counts them apart); soft:packet:%s takes any number", wire->netdev,
                      MAX_QUEUES, wire->netdev, MAX_QUEUES, MAX_QUEUES, wire->netdev);
}

/* Whether a socket finds a queue beyond those that are open. A broker hands none for it. */
static bool has_more_queues(struct xdp_port *port)
{
    if (port->wire.brokered)
        return port->queues == MAX_QUEUES;
    struct sv_xdp_queue *queue = sv_alloc_zeroed(sizeof *queue);
    if (queue == NULL)
        return true;
    struct sv_xdp_queue_config config = queue_config_of(port, port->queues, true);
    config.receive_ifindex = config.ifindex;
    int error = sv_xdp_queue_open(queue, &config);
    if (error == 0)
        sv_xdp_queue_close(queue);
    free(queue);
    return error != EINVAL;
}

/*
 * Opens the queues that follow those which are open. A socket can be bound to each existing queue, so binding finds their
 * number where the driver does not report it. But some queues may only send, and there may be more than can be served.
 */
static int open_queues(struct xdp_port *port)
{
    uint32_t receiving = 0;
    bool told = sv_xdp_receive_queues(&port->wire, &receiving) == 0;
    if (told && receiving > MAX_QUEUES)
        return too_many_queues(&port->wire);
    /* The TAP interface has as many queues as it is given. */
    bool tap = port->tap.ifindex != 0;
    for (uint32_t i = port->queues; i < MAX_QUEUES && !(tap && told && i > 0 && i >= receiving); i++) {
        int error = tap && i > 0 ? sv_tap_add_queue(&port->tap) : 0;
        if (error == 0)
            error = open_queue(port, i, !told);
        /* Under a low memlock limit no memory may be left to try a queue that does not exist. */
        if (i > 0 && (error == EINVAL || (error == ENOMEM && told && receiving > 0 && i >= receiving))) {
            if (tap)
                sv_tap_remove_queue(&port->tap);
            return 0;
        }
        if (error == EBUSY)
            return sv_explain(EBUSY, "receive queue %u of '%s' has an AF_XDP socket already: another program uses it",
                              i, port->wire.netdev);
        if (error != 0)
            return error;
    }
    return !told && has_more_queues(port) ? too_many_queues(&port->wire) : 0;
}

/*
 * virtio_net starts further queues with a program, a pair for each processor, and its host sends frames by all of them
 * (virtnet_xdp_set() of Linux). Without the program these queues are not there any more, and virtnet_xsk_pool_disable()
 * keeps their zero copy memory though it is freed: the next program on the interface then stops the kernel (seen on
 * 7.3.4). A process that is killed does not choose what ends first. `before` is their number without it, 0 if not told.
 */
static int check_zero_copy_ends(const struct xdp_port *port, uint32_t before)
{
    const char *netdev = port->wire.netdev;
    uint32_t now = 0;
    if (!port->zero_copy || sv_xdp_receive_queues(&port->wire, &now) != 0 || before == 0 || now <= before)
        return 0;
    return sv_explain(EOPNOTSUPP, "'%s' has %u receive queues, and %u more with an XDP program, whose zero copy would not "
                      "end soundly: ethtool -L %s combined with the maximum that ethtool -l shows, or "
                      "SOFTVERBS_XDP_MODE=native copies", netdev, before, now - before, netdev);
}

/* No frame is taken before there is a rule. */
static int open_queues_of_program(struct xdp_port *port)
{
    uint32_t now = 0;
    bool told = sv_xdp_receive_queues(&port->wire, &now) == 0;
    return port->native && told && now > port->queues ? open_queues(port) : 0;
}

static int open_copies(struct xdp_port *port)
{
    struct sv_wire *wire = &port->wire;
    int filter = sv_steering_load(wire->steering, SV_PROGRAM_COPIES);
    if (filter < 0 && sv_explain_verifier(-filter))
        return -filter;
    if (filter < 0)
        return sv_explain(-filter, "the socket filter can't be loaded: the process needs CAP_BPF");
    int error = sv_packet_ring_open(&port->copies, atomic_load(&wire->device->mtu), COPY_FRAMES, filter);
    close(filter);
    return error != 0 ? error : sv_wire_add_receiver(wire, &port->copies.receiver);
}

/* The XDP program of the TAP interface comes first: until the tc program redirects frames there, it sees none. */
static int attach_tap_mode(struct xdp_port *port)
{
    struct sv_wire *wire = &port->wire;
    port->program = sv_steering_attach(wire->steering, SV_PROGRAM_CLASSIFY, port->tap.ifindex, SV_XDP_GENERIC);
    if (port->program < 0)
        return sv_explain(-port->program, "the XDP program can't be put on '%s'", port->tap.name);
    sv_steering_redirect_to(wire->steering, port->tap.ifindex);
    port->redirect = sv_steering_attach(wire->steering, SV_PROGRAM_REDIRECT, wire->ifindex, SV_XDP_GENERIC);
    if (port->redirect < 0)
        return sv_explain(-port->redirect, "the tc program can't be put on '%s': SOFTVERBS_XDP_MODE=tap needs Linux 6.6",
                          wire->netdev);
    return 0;
}

static enum sv_xdp_port_mode mode_of(const struct sv_wire *wire);

static int attach_program(struct xdp_port *port)
{
    struct sv_wire *wire = &port->wire;
    if (port->tap.ifindex != 0)
        return attach_tap_mode(port);
    bool jumbo = sv_xdp_is_jumbo(atomic_load(&wire->device->mtu));
    enum sv_xdp_mode mode = !port->native ? SV_XDP_GENERIC : jumbo ? SV_XDP_NATIVE_FRAGS : SV_XDP_NATIVE;
    port->program = sv_steering_attach(wire->steering, SV_PROGRAM_XDP, wire->ifindex, mode);
    if (port->program >= 0)
        return 0;
    int error = -port->program;
    if (error == EPERM)
        return sv_explain(error, "the XDP program is not permitted: the process needs CAP_BPF and CAP_NET_ADMIN; "
                          "soft:packet:%s needs CAP_NET_RAW only", wire->netdev);
    if (error == EBUSY || error == EEXIST)
        return sv_explain(EBUSY, "'%s' has an XDP program already: ip link set dev %s xdp off removes it",
                          wire->netdev, wire->netdev);
    bool named = port->native && sv_xdp_mode_is_named(mode_of(wire));
    return sv_explain(error, "the XDP program can't be put on '%s' (%s mode)%s%s", wire->netdev,
                      port->native ? "native" : "generic", named ? ": try without SOFTVERBS_XDP_MODE=" : "",
                      named ? sv_xdp_mode_name(mode_of(wire)) : "");
}

static int take_mode(struct xdp_port *port, enum sv_xdp_port_mode mode)
{
    if (mode == SV_XDP_MODE_TAP)
        return sv_tap_open(&port->tap);
    port->zero_copy = mode == SV_XDP_MODE_ZERO_COPY;
    port->native = port->zero_copy || mode == SV_XDP_MODE_NATIVE;
    if (port->native && (port->wire.flags & IFF_LOOPBACK))
        return sv_explain(EOPNOTSUPP, "the loopback interface '%s' has no native XDP: run without "
                          "SOFTVERBS_XDP_MODE=%s", port->wire.netdev, sv_xdp_mode_name(mode));
    if (port->native && !sv_xdp_runs_programs(&port->wire))
        return sv_explain(EOPNOTSUPP, "'%s' receives without mergeable buffers, so virtio_net takes an XDP program and "
                          "never runs it: try without SOFTVERBS_XDP_MODE=%s, or let the host offer mergeable buffers "
                          "(QEMU: mrg_rxbuf=on)", port->wire.netdev, sv_xdp_mode_name(mode));
    return 0;
}

/*
 * A rule without a VLAN would take frames of all VLANs and break their isolation, and answers would leave untagged. In
 * tap mode the tc program sees tags in either form.
 */
static int check_tags(const struct xdp_port *port)
{
    const struct sv_wire *wire = &port->wire;
    const char *consent = getenv("SOFTVERBS_XDP_RXVLAN");
    if (port->tap.ifindex != 0 || (consent != NULL && strcmp(consent, "allow") == 0) || !sv_xdp_hides_tags(wire))
        return 0;
    if (sv_xdp_is_above(wire))
        return sv_explain(EOPNOTSUPP, "'%s' gets its frames from another interface, and the kernel takes VLAN tags out of "
                          "them before XDP sees them, so frames of VLANs would be taken for untagged ones: "
                          "SOFTVERBS_XDP_MODE=tap, or, where no tagged frames come, SOFTVERBS_XDP_RXVLAN=allow",
                          wire->netdev);
    return sv_explain(EOPNOTSUPP, "'%s' takes VLAN tags out of frames before XDP sees them, so frames of VLANs would be "
                      "taken for untagged ones: ethtool -K %s rxvlan off, or SOFTVERBS_XDP_MODE=tap, or, where no tagged "
                      "frames come, SOFTVERBS_XDP_RXVLAN=allow", wire->netdev, wire->netdev);
}

/*
 * Before Linux 6.6 AF_XDP receives no frame beyond a chunk. A port of this kind may be at the other end on this host, so
 * large sends are cut here.
 */
static void check_large_frames(struct xdp_port *port)
{
    struct sv_wire *wire = &port->wire;
    wire->takes_whole = wire->super_frames && port->queue[0]->multi_buffer;
    if (!wire->super_frames || port->queue[0]->multi_buffer || wire->large < 0)
        return;
    close(wire->large);
    wire->large = -1;
}

static enum sv_xdp_place place_of(const struct xdp_port *port)
{
    return port->tap.ifindex != 0 ? SV_XDP_AT_TC : port->native ? SV_XDP_AT_DRIVER : SV_XDP_AT_STACK;
}

/* The program is on the interface when the broker answers, and takes no frame before there is a rule. */
static int open_by_broker(struct xdp_port *port)
{
    struct sv_wire *wire = &port->wire;
    int fds[SV_BROKER_MAX_FDS];
    uint32_t receiving = 0;
    bool told = sv_xdp_receive_queues(wire, &receiving) == 0 && receiving > 0;
    if (told && receiving > MAX_QUEUES)
        return too_many_queues(wire);
    struct sv_broker_open wanted = {
        .mode = port->native ? SV_BROKER_NATIVE : SV_BROKER_GENERIC,
        .mtu = atomic_load(&wire->device->mtu),
        /* More than there are, where a program may bring some: see open_queues_of_program(). */
        .queues = told && !port->native ? receiving : MAX_QUEUES,
    };
    memcpy(wanted.netdev, wire->netdev, sizeof wanted.netdev);
    int error = sv_broker_open(&wire->broker, &wanted, wire->ifindex, fds, &port->handed);
    if (error != 0)
        return error;
    port->program = fds[SV_BROKER_LINK];
    memcpy(port->socket, fds + SV_BROKER_SOCKETS, SV_STEER_SOCKETS * port->handed * sizeof fds[0]);
    return sv_steering_adopt(&wire->steering, fds + SV_BROKER_MAPS);
}

static int open_steering(struct xdp_port *port)
{
    struct sv_wire *wire = &port->wire;
    return wire->brokered ? open_by_broker(port) : sv_steering_open(&wire->steering, wire->device->mac, true);
}

/* A queue that the interface has not leaves its sockets. */
static void close_handed(struct xdp_port *port)
{
    for (uint32_t i = 0; i < SV_STEER_SOCKETS * port->handed; i++) {
        if (port->socket[i] >= 0)
            close(port->socket[i]);
        port->socket[i] = -1;
    }
}

/*
 * A driver may start its queues anew for a program, with other NAPI instances: those that sockets have taken for theirs
 * would be gone. No frame is taken before there is a rule. A broker has done it by now.
 */
static int attach_early(struct xdp_port *port)
{
    if (port->tap.ifindex != 0)
        return sv_explain(EOPNOTSUPP, "in mode tap nothing can be polled busily: run without SOFTVERBS_XDP_BUSY_POLL");
    return port->wire.brokered ? 0 : attach_program(port);
}

static int open_port(struct sv_wire *wire)
{
    struct xdp_port *port = (struct xdp_port *)wire;
    uint32_t before = 0;
    port->program = port->redirect = port->copies.receiver.fd = port->sender.fd = -1;
    int error = sv_busy_poll_init(&port->busy_poll, wire->netdev, wire->ifindex);
    if (error == 0)
        error = take_mode(port, mode_of(wire));
    bool tap = port->tap.ifindex != 0;
    if (error == 0)
        error = tap ? sv_packet_sender_open(&port->sender, wire->ifindex) : sv_guard_take(wire);
    if (error == 0)
        error = check_tags(port);
    if (error == 0)
        error = sv_xdp_partial(wire, place_of(port), &port->partial);
    /* A driver with XDP of its own segments in software; a tc program also sees what the kernel has merged (GRO). */
    wire->super_frames = !port->native && (port->partial || tap);
    /* Not before the guard is taken: the last user's program may still be there. */
    (void)sv_xdp_receive_queues(wire, &before);
    if (error == 0)
        error = open_steering(port);
    if (error == 0 && port->busy_poll.wanted)
        error = attach_early(port);
    if (error == 0 && port->program >= 0)
        error = check_zero_copy_ends(port, before);
    if (error == 0)
        error = open_queues(port);
    if (error == 0 && !wire->brokered)
        error = open_copies(port);
    if (error == 0) {
        check_large_frames(port);
        sv_wire_mtu_known(wire);
    }
    if (error == 0 && port->program < 0)
        error = attach_program(port);
    if (error == 0)
        error = check_zero_copy_ends(port, before);
    if (error == 0)
        error = open_queues_of_program(port);
    close_handed(port);
    return error;
}

/* The settings of NAPI instances first: without the program a driver may have others. */
static void detach(struct sv_wire *wire)
{
    struct xdp_port *port = (struct xdp_port *)wire;
    sv_busy_poll_end(&port->busy_poll);
    if (port->redirect >= 0)
        close(port->redirect);
    if (port->program >= 0)
        close(port->program);
}

static void close_port(struct sv_wire *wire)
{
    struct xdp_port *port = (struct xdp_port *)wire;
    sv_packet_ring_close(&port->copies);
    for (uint32_t i = 0; i < port->queues; i++) {
        sv_xdp_queue_close(port->queue[i]);
        free(port->queue[i]);
    }
    sv_tap_close(&port->tap);
    sv_packet_sender_close(&port->sender);
}

/* Queue pairs share the sockets evenly; one queue pair keeps its order. */
static SV_HOT unsigned send_frames(struct sv_wire *wire, const struct sv_qp *sender, const struct sv_frame *frames,
                                   unsigned count, int *error)
{
    struct xdp_port *port = (struct xdp_port *)wire;
    sv_connections_track(sv_steering_connections(wire->steering), frames, count);
    return sv_xdp_queue_send(port->queue[sender->ibv.qp_num % port->queues], frames, count, error);
}

/* A socket of AF_XDP that sends by the interface would keep all other processes' off its queue. */
static SV_HOT unsigned send_by_packet_socket(struct sv_wire *wire, const struct sv_qp *qp,
                                             const struct sv_frame *frames, unsigned count, int *error)
{
    struct xdp_port *port = (struct xdp_port *)wire;
    (void)qp;
    sv_connections_track(sv_steering_connections(wire->steering), frames, count);
    return sv_packet_sender_send(&port->sender, frames, count, error);
}

/*
 * Without rules that want copies the kernel need not run the filter for each frame. The first such rule attaches the
 * ring, before the rule is in force.
 */
static int rule_added(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule)
{
    struct xdp_port *port = device->port;
    if (spec->continues || spec->type != IBV_FLOW_ATTR_NORMAL) {
        if (port->wire.brokered)
            return EOPNOTSUPP;      /* copies come by packet sockets, which a broker doesn't hand out */
        int error = sv_packet_ring_listen(&port->copies, port->wire.ifindex);
        if (error != 0)
            return error;
    }
    return sv_wire_rule_added(device, spec, rule);
}

/* What sends by packet sockets can't be brokered. */
#define XDP_KIND(SEND, COPIES_SENT) \
    {.name = "xdp", .max_mtu = SV_XDP_MAX_MTU, .port_bytes = sizeof(struct xdp_port), .copies_sent = COPIES_SENT, \
     .may_be_brokered = COPIES_SENT, \
     .open = open_port, .detach = detach, .close = close_port, .drain = drain, .send = SEND}

static const struct sv_wire_kind kinds[SV_XDP_MODES] = {
    [SV_XDP_MODE_GENERIC] = XDP_KIND(send_frames, true),
    [SV_XDP_MODE_NATIVE] = XDP_KIND(send_frames, true),
    [SV_XDP_MODE_ZERO_COPY] = XDP_KIND(send_frames, true),
    [SV_XDP_MODE_TAP] = XDP_KIND(send_by_packet_socket, false),
};

static enum sv_xdp_port_mode mode_of(const struct sv_wire *wire)
{
    return (enum sv_xdp_port_mode)(wire->kind - kinds);
}

/* ---- which mode ---- */

static int choose_mode(const struct sv_device *device, struct sv_xdp_choice *choice)
{
    struct utsname kernel;
    char driver[SV_XDP_DRIVER_BYTES], version[SV_XDP_DRIVER_BYTES];
    if (uname(&kernel) != 0)
        kernel.release[0] = '\0';
    sv_xdp_driver(strchr(device->ibv.name, ':') + 1, driver, version);
    /* Of a driver that came from elsewhere (Intel's, OFED's) the kernel's release tells nothing. */
    if (strncmp(version, kernel.release, sizeof version - 1) != 0)
        kernel.release[0] = '\0';
    return sv_xdp_mode_choose(getenv("SOFTVERBS_XDP_MODE"), driver, kernel.release, choice);
}

/* A mode that could not be had, and its reason. */
struct refused {
    const char *mode;
    char reason[SV_EXPLANATION_BYTES];
};

static void refuse(struct refused *refused, enum sv_xdp_port_mode mode, int error)
{
    refused->mode = sv_xdp_mode_name(mode);
    snprintf(refused->reason, sizeof refused->reason, "%s",
             *sv_explanation() != '\0' ? sv_explanation() : strerror(error));
    (void)sv_explain(0, "%s", "");
}

/*
 * Where a mode of the driver cannot be had (for its MTU, its memory, a broker's policy) the next one is tried. A process
 * that has the interface (EBUSY) is in the way of all of them.
 */
static int open_device(struct sv_device *device)
{
    struct sv_xdp_choice choice;
    struct refused refused = {.mode = ""};
    int error = choose_mode(device, &choice);
    if (error != 0)
        return error;
    enum sv_xdp_port_mode mode = choice.mode;
    while ((error = sv_wire_port_open(device, &kinds[mode])) != 0) {
        if (error == EBUSY || choice.forced || mode == SV_XDP_MODE_GENERIC)
            return error;
        refuse(&refused, mode--, error);
    }
    const char *polled = ((const struct xdp_port *)device->port)->busy_poll.wanted ? " with busy polling" : "";
    if (mode == choice.mode)
        snprintf(device->mode, sizeof device->mode, "AF_XDP in mode %s%s: %s", sv_xdp_mode_name(mode), polled, choice.why);
    else
        snprintf(device->mode, sizeof device->mode, "AF_XDP in mode %s%s, as %s cannot be had: %s",
                 sv_xdp_mode_name(mode), polled, refused.mode, refused.reason);
    return 0;
}

const struct sv_port_ops sv_xdp_ops = {
    .open = open_device,
    .close = sv_wire_port_close,
    .transmit = sv_wire_transmit,
    .transmit_large = sv_wire_transmit_large,
    .progress = sv_wire_progress,
    .arm = sv_wire_arm,
    .poll = sv_wire_poll,
    .release = sv_wire_release,
    .rule_added = rule_added,
    .rule_removed = sv_wire_rule_removed,
    .quiesce = sv_wire_quiesce,
    .add_counters = sv_wire_add_counters,
};
