/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a network interface, and registers its rules with steering: see wire.h. */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_arp.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Marks a free entry of the table; not a MAC address. */
#define UNUSED_MAC UINT64_MAX

bool sv_wire_is_device_name(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 && name[length] != '\0' && strlen(name + length) < IFNAMSIZ;
}

static uint64_t mac_number(const uint8_t mac[6])
{
    uint64_t number = 0;
    memcpy(&number, mac, 6);
    return number;
}

/* ---- opening ---- */

static int read_interface(struct sv_wire *wire, int socket)
{
    struct sv_device *device = wire->device;
    struct ifreq request;
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", wire->netdev);
    if (ioctl(socket, SIOCGIFINDEX, &request) != 0)
        return sv_explain(ENODEV, "there is no network interface '%s' in this network namespace", wire->netdev);
    wire->ifindex = request.ifr_ifindex;
    if (ioctl(socket, SIOCGIFHWADDR, &request) != 0)
        return errno;
    int type = request.ifr_hwaddr.sa_family;
    if (type != ARPHRD_ETHER && type != ARPHRD_LOOPBACK)
        return sv_explain(EOPNOTSUPP, "'%s' is not an Ethernet interface", wire->netdev);
    sv_device_lock(device);
    memcpy(device->mac, request.ifr_hwaddr.sa_data, 6);
    sv_device_unlock(device);
    atomic_store(&wire->own_mac, mac_number(device->mac));
    if (ioctl(socket, SIOCGIFFLAGS, &request) != 0)
        return errno;
    wire->flags = (unsigned short)request.ifr_flags;
    if (!(wire->flags & IFF_UP))
        return sv_explain(ENETDOWN, "the network interface '%s' is down: ip link set dev %s up", wire->netdev,
                          wire->netdev);
    if (ioctl(socket, SIOCGIFMTU, &request) != 0)
        return errno;
    if ((uint32_t)request.ifr_mtu > wire->max_mtu && type == ARPHRD_LOOPBACK)
        return sv_explain(EMSGSIZE, "'%s' is a loopback interface with an MTU of %d, and this kind of device carries "
                          "at most %u: use soft:loop, which needs no interface, or a veth pair",
                          wire->netdev, request.ifr_mtu, wire->max_mtu);
    if ((uint32_t)request.ifr_mtu > wire->max_mtu)
        return sv_explain(EMSGSIZE, "the MTU of '%s' is %d, and this kind of device carries at most %u: ip link set "
                          "dev %s mtu %u", wire->netdev, request.ifr_mtu, wire->max_mtu, wire->netdev, wire->max_mtu);
    atomic_store(&device->mtu, (uint32_t)request.ifr_mtu);
    atomic_store(&device->opened_mtu, (uint32_t)request.ifr_mtu);
    atomic_store(&device->port_up, (wire->flags & IFF_RUNNING) != 0);
    return 0;
}

static int open_mac_filter(struct sv_wire *wire)
{
    wire->mac_filter_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (wire->mac_filter_fd >= 0)
        return 0;
    if (errno == EPERM && sv_broker_is_named())
        return sv_explain(EPERM, "raw sockets are not permitted: use soft:xdp: in mode generic, native or zerocopy, "
                          "which the broker serves, or CAP_NET_RAW; a broker can't confine packet sockets");
    return sv_explain(errno, "%s", errno == EPERM
        ? "raw sockets are not permitted: the process needs CAP_NET_RAW, or a broker (SOFTVERBS_BROKER)"
        : "packet sockets can't be made: the kernel must be built with CONFIG_PACKET");
}

/* ---- frames that the interface itself has lost ---- */

static int open_attribute(const struct sv_wire *wire, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/class/net/%s/%s", wire->netdev, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Returns the number in a sysfs file, or 0. */
static uint64_t read_number(int fd)
{
    char text[32];
    ssize_t length = fd < 0 ? 0 : pread(fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    return strtoull(text, NULL, 10);
}

/* Netlink reports the number too, but waits for the kernel's lock of all interfaces. */
static void open_missed(struct sv_wire *wire)
{
    /* sysfs may belong to another network namespace. */
    int index = open_attribute(wire, "ifindex");
    if (read_number(index) == (uint64_t)wire->ifindex)
        wire->missed_fd = open_attribute(wire, "statistics/rx_missed_errors");
    if (index >= 0)
        close(index);
    wire->missed_at_open = read_number(wire->missed_fd);
}

uint64_t sv_wire_missed(const struct sv_wire *wire)
{
    uint64_t now = read_number(wire->missed_fd);
    return now > wire->missed_at_open ? now - wire->missed_at_open : 0;
}

static int open_descriptors(struct sv_wire *wire)
{
    wire->brokered = wire->kind->may_be_brokered && sv_broker_is_named();
    /* The first descriptor also serves to query the interface, for which any socket will do. */
    if (wire->brokered)
        wire->mac_filter_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int error = wire->brokered ? (wire->mac_filter_fd < 0 ? errno : 0) : open_mac_filter(wire);
    if (error == 0)
        error = read_interface(wire, wire->mac_filter_fd);
    if (error != 0)
        return error;
    open_missed(wire);
    if (!wire->brokered)
        sv_wire_large_open(wire);
    wire->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    wire->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return wire->epoll_fd < 0 || wire->wake_fd < 0 ? errno : 0;
}

int sv_wire_open(struct sv_wire *wire)
{
    wire->guard_fd = wire->mac_filter_fd = wire->large_send_fd = wire->missed_fd = -1;
    wire->netlink_fd = wire->wake_fd = wire->epoll_fd = wire->event_epoll = -1;
    pthread_mutex_init(&wire->event_mutex, NULL);
    wire->max_mtu = wire->kind->max_mtu;
    snprintf(wire->netdev, sizeof wire->netdev, "%s", strchr(wire->device->ibv.name, ':') + 1);
    return open_descriptors(wire);
}

int sv_wire_add_receiver(struct sv_wire *wire, struct sv_receiver *receiver)
{
    if (wire->receiver_count == SV_WIRE_RECEIVERS)
        return ENOSPC;
    wire->receivers[wire->receiver_count++] = receiver;
    return 0;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void sv_wire_close(struct sv_wire *wire)
{
    sv_steering_close(wire->steering);
    sv_broker_close(wire->broker);
    close_if_open(wire->guard_fd);
    close_if_open(wire->mac_filter_fd);
    close_if_open(wire->large_send_fd);
    close_if_open(wire->missed_fd);
    close_if_open(wire->netlink_fd);
    close_if_open(wire->wake_fd);
    close_if_open(wire->epoll_fd);
    pthread_mutex_destroy(&wire->event_mutex);
    /* A device that failed with its interface may be opened again. */
    atomic_store(&wire->device->failed, false);
    atomic_store(&wire->device->port_up, true);
}

void sv_wire_mac_changed(struct sv_wire *wire, const uint8_t mac[6])
{
    sv_device_lock(wire->device);
    memcpy(wire->device->mac, mac, 6);
    sv_device_unlock(wire->device);
    atomic_store(&wire->own_mac, mac_number(mac));
    wire->mac_update_pending = true;
}

void sv_wire_update_steering_mac(struct sv_wire *wire)
{
    if (!wire->mac_update_pending || !sv_mutex_trylock(&wire->device->rules_mutex))
        return;
    wire->mac_update_pending = false;
    if (wire->broker != NULL)
        sv_broker_mac_changed(wire->broker);
    else if (wire->steering != NULL)
        sv_steering_set_mac(wire->steering, wire->device->mac);
    pthread_mutex_unlock(&wire->device->rules_mutex);
}

void sv_wire_apply_mtu(struct sv_wire *wire)
{
    if (wire->gso_frames)
        sv_steering_set_max_datagram_bytes(wire->steering, sv_wire_max_frame_bytes(wire->device));
}

/* ---- rules ---- */

/* Readers take no lock, so an address keeps its index while rules name it. */
static int find_local_mac(const struct sv_wire *wire, uint64_t mac)
{
    uint32_t used = atomic_load_explicit(&wire->local_mac_slots, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++)
        if (atomic_load_explicit(&wire->local_macs[i], memory_order_relaxed) == mac)
            return (int)i;
    return -1;
}

/* Frames to addresses beyond the table's size are sent to the interface, although they could stay inside. */
static bool add_local_mac(struct sv_wire *wire, uint64_t mac)
{
    int at = find_local_mac(wire, mac);
    if (at < 0)
        at = find_local_mac(wire, UNUSED_MAC);
    uint32_t used = atomic_load(&wire->local_mac_slots);
    if (at < 0 && used < SV_WIRE_LOCAL_MACS) {
        at = (int)used;
        wire->local_mac_refs[at] = 0;
    }
    if (at < 0)
        return false;
    wire->local_mac_refs[at]++;
    atomic_store(&wire->local_macs[at], mac);
    if ((uint32_t)at == used)
        atomic_store(&wire->local_mac_slots, used + 1);
    return true;
}

static void remove_local_mac(struct sv_wire *wire, uint64_t mac)
{
    int at = find_local_mac(wire, mac);
    if (at >= 0 && --wire->local_mac_refs[at] == 0)
        atomic_store(&wire->local_macs[at], UNUSED_MAC);
}

/* With a broker, the broker's own socket changes the MAC filter for rules that it adds. */
static void change_mac_filter(const struct sv_wire *wire, int type, const uint8_t mac[6], int option)
{
    if (wire->broker == NULL)
        sv_mac_filter_change(wire->mac_filter_fd, wire->ifindex, type, mac, option);
}

static int add_to_steering(const struct sv_wire *wire, const struct sv_rule_spec *spec)
{
    if (wire->broker != NULL)
        return sv_broker_add_rule(wire->broker, spec);
    return wire->steering != NULL ? sv_steering_add(wire->steering, spec) : 0;
}

int sv_wire_rule_added(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule)
{
    struct sv_wire *wire = device->port;
    int error = add_to_steering(wire, spec);
    if (error != 0)
        return error;
    const uint8_t *mac = spec->value.outer.dst_mac;
    uint8_t own[6];
    sv_device_lock(device);
    memcpy(own, device->mac, sizeof own);
    sv_device_unlock(device);
    rule->mac_filter_type = sv_mac_filter_type(spec, own);
    change_mac_filter(wire, rule->mac_filter_type, mac, PACKET_ADD_MEMBERSHIP);
    rule->adds_local_mac = rule->mac_filter_type == PACKET_MR_UNICAST && add_local_mac(wire, mac_number(mac));
    return 0;
}

void sv_wire_rule_removed(struct sv_device *device, struct sv_flow *flow)
{
    struct sv_wire *wire = device->port;
    const struct sv_rule *rule = flow->rule;
    const uint8_t *mac = rule->key.outer.dst_mac;
    const struct sv_rule_spec spec = {
        .type = flow->type,
        .priority = flow->priority,
        .mask = flow->mask,
        .value = rule->key,
        .dont_trap = rule->dont_trap,
    };
    if (wire->broker != NULL)
        sv_broker_remove_rule(wire->broker, &spec);
    else if (wire->steering != NULL)
        (void)sv_steering_remove(wire->steering, &spec);
    change_mac_filter(wire, rule->mac_filter_type, mac, PACKET_DROP_MEMBERSHIP);
    if (rule->adds_local_mac)
        remove_local_mac(wire, mac_number(mac));
}

SV_HOT bool sv_wire_is_local_mac(const struct sv_wire *wire, const uint8_t *destination)
{
    uint64_t mac = mac_number(destination);
    return mac == atomic_load_explicit(&wire->own_mac, memory_order_relaxed) || find_local_mac(wire, mac) >= 0;
}
