/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire of a device:
 *   loop        the port itself, with a link. Only queue pairs that were created to receive their own port's frames
 *               receive any (MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC and _MC).
 *   plug        a loopback connector: all sent frames are received again
 *   cable       the next device with a cable: the first of the process to the second, the third to the fourth, ...
 *   tap:NAME    a TAP device of the kernel, created if it does not exist
 *   unix:A:B    the device unix:B:A of another process: datagrams between abstract sockets, without privileges
 *
 * With the setup kernel-interface the port has an interface of the kernel, as mlx5e creates one: a TAP device with the
 * port's name, which receives the frames that no rule takes.
 */
#include "engine.h"

#include "receive.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RECEIVE_BURST = 64, CABLE_FRAMES = 1024, CABLE_PAUSE_BELOW = 256 };

enum wire_kind { WIRE_LOOP, WIRE_PLUG, WIRE_CABLE, WIRE_TAP, WIRE_SOCKET };

/* Frames sent to a device by the engine of another. Its lock is acquired with either device's mutex held. */
struct inbox {
    pthread_mutex_t mutex;
    uint32_t first;
    _Atomic uint32_t count;         /* written with the mutex held, read without it as a hint */
    struct {
        uint32_t length;
        uint8_t bytes[CX_MAX_FRAME_BYTES];
    } frames[CABLE_FRAMES];
};

struct cx_wire {
    struct cx_device *device;
    enum wire_kind kind;
    int fd;                         /* TAP device or socket */
    struct sockaddr_un peer;
    socklen_t peer_bytes;
    struct cx_wire *other_end;      /* other end of the cable, or NULL until it is connected */
    struct inbox *inbox;
    int kernel_tap_fd;              /* TAP device that is the port's interface of the kernel, or -1 */
    uint8_t buffer[CX_MAX_FRAME_BYTES];
};

static struct cx_wire *unconnected_wire;

/* ---- opening ---- */

static int open_tap(const char *name, int *fd)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    if (strlen(name) >= sizeof request.ifr_name || *name == '\0')
        return EINVAL;
    strcpy(request.ifr_name, name);
    *fd = cx_real()->open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return errno;
    return cx_real()->ioctl(*fd, TUNSETIFF, &request) == 0 ? 0 : errno;
}

/* The port's interface has the port's address, as with mlx5e. */
static int open_kernel_interface(struct cx_wire *wire)
{
    struct ifreq request = {.ifr_hwaddr.sa_family = ARPHRD_ETHER};
    int error = open_tap(wire->device->interface, &wire->kernel_tap_fd);
    memcpy(request.ifr_hwaddr.sa_data, wire->device->mac, sizeof wire->device->mac);
    if (error == 0 && cx_real()->ioctl(wire->kernel_tap_fd, SIOCSIFHWADDR, &request) != 0)
        error = errno;
    return error;
}

static socklen_t name_socket(struct sockaddr_un *address, const char *name, size_t length)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static int open_socket(struct cx_wire *wire, const char *names)
{
    struct sockaddr_un own;
    const char *colon = strchr(names, ':');
    if (colon == NULL || colon == names || colon[1] == '\0' || strlen(names) >= sizeof own.sun_path)
        return EINVAL;
    socklen_t own_bytes = name_socket(&own, names, (size_t)(colon - names));
    wire->peer_bytes = name_socket(&wire->peer, colon + 1, strlen(colon + 1));
    wire->fd = cx_real()->socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (wire->fd < 0)
        return errno;
    return bind(wire->fd, (struct sockaddr *)&own, own_bytes) == 0 ? 0 : errno;
}

static int open_cable(struct cx_wire *wire)
{
    wire->inbox = calloc(1, sizeof *wire->inbox);
    if (wire->inbox == NULL)
        return ENOMEM;
    pthread_mutex_init(&wire->inbox->mutex, NULL);
    wire->other_end = unconnected_wire;
    if (unconnected_wire != NULL)
        unconnected_wire->other_end = wire;
    unconnected_wire = unconnected_wire == NULL ? wire : NULL;
    return 0;
}

static int open_kind(struct cx_wire *wire, const char *kind)
{
    if (strcmp(kind, "loop") == 0) {
        wire->kind = WIRE_LOOP;
        return 0;
    }
    if (strcmp(kind, "plug") == 0) {
        wire->kind = WIRE_PLUG;
        return 0;
    }
    if (strcmp(kind, "cable") == 0) {
        wire->kind = WIRE_CABLE;
        return open_cable(wire);
    }
    if (strncmp(kind, "tap:", 4) == 0) {
        wire->kind = WIRE_TAP;
        return open_tap(kind + 4, &wire->fd);
    }
    if (strncmp(kind, "unix:", 5) == 0) {
        wire->kind = WIRE_SOCKET;
        return open_socket(wire, kind + 5);
    }
    return EINVAL;
}

int cx_wire_open(struct cx_device *device, const char *kind)
{
    struct cx_wire *wire = calloc(1, sizeof *wire);
    if (wire == NULL)
        return ENOMEM;
    wire->fd = wire->kernel_tap_fd = -1;
    wire->device = device;
    device->wire = wire;
    int error = open_kind(wire, kind);
    return error == 0 && cx_has_setup("kernel-interface") ? open_kernel_interface(wire) : error;
}

void cx_wire_descriptors(const struct cx_device *device, int descriptors[CX_WIRE_DESCRIPTORS])
{
    descriptors[0] = device->wire->fd;
    descriptors[1] = device->wire->kernel_tap_fd;
}

/* ---- sending ---- */

static void put_in_inbox(struct cx_device *device, struct inbox *inbox, const struct sv_frame *frame)
{
    pthread_mutex_lock(&inbox->mutex);
    if (inbox->count == CABLE_FRAMES || frame->length > CX_MAX_FRAME_BYTES) {
        device->counters.wire_lost++;
    } else {
        uint32_t slot = (inbox->first + inbox->count++) % CABLE_FRAMES;
        inbox->frames[slot].length = frame->length;
        memcpy(inbox->frames[slot].bytes, frame->data, frame->length);
    }
    pthread_mutex_unlock(&inbox->mutex);
}

/* A device waits while its other end is full, as with pause frames. The margin is for large sends. */
bool cx_wire_has_room(const struct cx_device *device)
{
    const struct cx_wire *wire = device->wire;
    if (wire->kind != WIRE_CABLE || wire->other_end == NULL)
        return true;
    struct inbox *inbox = wire->other_end->inbox;
    pthread_mutex_lock(&inbox->mutex);
    bool room = inbox->count < CABLE_FRAMES - CABLE_PAUSE_BELOW;
    pthread_mutex_unlock(&inbox->mutex);
    return room;
}

static void write_to_tap(struct cx_device *device, const struct sv_frame *frame)
{
    if (cx_real()->write(device->wire->fd, frame->data, frame->length) != (ssize_t)frame->length)
        device->counters.wire_lost++;
}

/* If the peer is missing or slow, frames are lost. */
static void write_to_socket(struct cx_device *device, const struct sv_frame *frame)
{
    const struct cx_wire *wire = device->wire;
    if (cx_real()->sendto(wire->fd, frame->data, frame->length, 0, (const struct sockaddr *)&wire->peer,
                          wire->peer_bytes) < 0)
        device->counters.wire_lost++;
}

static void steer(struct cx_device *device, struct cx_qp *sender, struct sv_frame *frame)
{
    struct sv_cached_verdict *cache = sender != NULL ? &sender->sq.cache : &device->wire_cache;
    struct softverbs_queue_counters *counters = sender != NULL ? &sender->sq.counters : &device->wire_counters;
    uint64_t before = counters->no_match;
    sv_dispatch(&device->flows, sender != NULL ? &sender->steering : NULL, cache, counters, frame, 1);
    device->counters.no_match += counters->no_match - before;
    /* The kernel receives the frames that no rule takes. */
    if (sender == NULL && counters->no_match != before && device->wire->kernel_tap_fd >= 0 &&
        cx_real()->write(device->wire->kernel_tap_fd, frame->data, frame->length) != (ssize_t)frame->length)
        device->counters.wire_lost++;
}

static void send_one(struct cx_device *device, struct cx_qp *sender, struct sv_frame *frame)
{
    switch (device->wire->kind) {
    case WIRE_LOOP:
        device->is_self_loopback = true;
        steer(device, sender, frame);
        device->is_self_loopback = false;
        break;
    case WIRE_PLUG:
        cx_device_receive(device, frame->data, frame->length);
        break;
    case WIRE_CABLE:
        if (device->wire->other_end == NULL)
            device->counters.wire_lost++;
        else
            put_in_inbox(device, device->wire->other_end->inbox, frame);
        break;
    case WIRE_TAP:
        write_to_tap(device, frame);
        break;
    case WIRE_SOCKET:
        write_to_socket(device, frame);
        break;
    }
}

void cx_wire_send(struct cx_device *device, struct cx_qp *sender, struct sv_frame *frames, unsigned count)
{
    /* A queue pair on a representor's port sends to the function that it represents. */
    const bool to_wire = sender == NULL || sender->port == device->own_port;
    for (unsigned i = 0; i < count; i++) {
        if (to_wire && !device->port_up) {
            device->counters.port_down++;
            continue;
        }
        device->counters.sent_frames++;
        device->counters.sent_bytes += frames[i].length;
        if (!to_wire)
            continue;
        if (device->faults.drop_frames > 0) {
            device->faults.drop_frames--;
            device->counters.dropped_by_test++;
            continue;
        }
        send_one(device, sender, &frames[i]);
        if (device->faults.duplicate_frames > 0) {
            device->faults.duplicate_frames--;
            device->counters.duplicated_by_test++;
            send_one(device, sender, &frames[i]);
        }
    }
}

/* ---- receiving ---- */

/*
 * With SR-IOV the e-switch forwards a frame to a function only if its driver has listed the address
 * (esw_vport_change_handle_locked(), esw_add_uc_addr() and esw_add_mc_addr() of eswitch.c). This includes the physical
 * function, and multicast. The lists of mlx5e contain the interface's own address and broadcast
 * (mlx5e_fill_addr_array()). Flow rules change nothing.
 */
static bool is_listed(const struct cx_device *device, const uint8_t *mac)
{
    static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    bool listed = memcmp(mac, broadcast, 6) == 0 || memcmp(mac, device->mac, sizeof device->mac) == 0;
    for (uint32_t i = 0; i < CX_MAX_LISTED_MACS && !listed; i++)
        listed = device->listed_macs[i].users > 0 && memcmp(mac, device->listed_macs[i].mac, 6) == 0;
    return listed;
}

void cx_device_receive(struct cx_device *device, const uint8_t *data, uint32_t length)
{
    struct sv_frame frame = {.data = data, .length = length};
    if (!device->port_up) {
        device->counters.port_down++;
        return;
    }
    if (length < ETH_HLEN) {
        device->counters.wire_lost++;
        return;
    }
    if ((cx_has_setup("vf") || cx_has_setup("sriov")) && !is_listed(device, data)) {
        device->counters.foreign_mac++;
        return;
    }
    steer(device, NULL, &frame);
}

static unsigned receive_from_inbox(struct cx_device *device)
{
    struct cx_wire *wire = device->wire;
    unsigned received = 0;
    for (; received < RECEIVE_BURST; received++) {
        pthread_mutex_lock(&wire->inbox->mutex);
        if (wire->inbox->count == 0) {
            pthread_mutex_unlock(&wire->inbox->mutex);
            break;
        }
        uint32_t length = wire->inbox->frames[wire->inbox->first].length;
        memcpy(wire->buffer, wire->inbox->frames[wire->inbox->first].bytes, length);
        wire->inbox->first = (wire->inbox->first + 1) % CABLE_FRAMES;
        wire->inbox->count--;
        pthread_mutex_unlock(&wire->inbox->mutex);
        cx_device_receive(device, wire->buffer, length);
    }
    return received;
}

static unsigned receive_from_descriptor(struct cx_device *device)
{
    struct cx_wire *wire = device->wire;
    unsigned received = 0;
    for (; received < RECEIVE_BURST; received++) {
        ssize_t length = cx_real()->read(wire->fd, wire->buffer, sizeof wire->buffer);
        if (length <= 0)
            break;
        cx_device_receive(device, wire->buffer, (uint32_t)length);
    }
    return received;
}

static unsigned receive_from_wire(struct cx_device *device)
{
    switch (device->wire->kind) {
    case WIRE_CABLE:
        return receive_from_inbox(device);
    case WIRE_TAP:
    case WIRE_SOCKET:
        return receive_from_descriptor(device);
    default:
        return 0;
    }
}

/* Frames that the kernel sends through the port's interface are sent to the wire too. */
static unsigned send_from_kernel(struct cx_device *device)
{
    struct cx_wire *wire = device->wire;
    unsigned sent = 0;
    for (; wire->kernel_tap_fd >= 0 && sent < RECEIVE_BURST; sent++) {
        ssize_t length = cx_real()->read(wire->kernel_tap_fd, wire->buffer, sizeof wire->buffer);
        if (length <= 0)
            break;
        struct sv_frame frame = {.data = wire->buffer, .length = (uint32_t)length};
        if (device->port_up)
            send_one(device, NULL, &frame);
    }
    return sent;
}

unsigned cx_wire_receive(struct cx_device *device)
{
    return send_from_kernel(device) + receive_from_wire(device);
}

/* Frames that arrive while no program has the device open match no rule, and do not wait for the next program. */
void cx_wire_discard_pending(struct cx_device *device)
{
    for (unsigned rounds = 0; rounds < CABLE_FRAMES / RECEIVE_BURST && receive_from_wire(device) > 0; rounds++)
        ;
}

/*
 * On a busy machine two engines that exchange frames would wait for two scheduler turns per frame. So the engine that
 * has put frames into the other's inbox also handles them if the other is not running. It never blocks on the other's
 * mutex, because both may do this at once.
 */
void cx_wire_deliver(struct cx_device *device)
{
    const struct cx_wire *wire = device->wire;
    if (wire->kind != WIRE_CABLE || wire->other_end == NULL || wire->other_end->inbox->count == 0)
        return;
    struct cx_device *other = wire->other_end->device;
    if (pthread_mutex_trylock(&other->mutex) != 0)
        return;
    if (other->contexts != NULL && !other->stepping) {
        receive_from_inbox(other);
        cx_cqs_close_sessions(other);
    }
    pthread_mutex_unlock(&other->mutex);
}
