/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a network interface, and registers its rules with steering: see netdev_port.h. */
#include "netdev_port.h"

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

bool sv_netdev_port_is_device_name(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 && name[length] != '\0' && strlen(name + length) < IFNAMSIZ;
}

static uint64_t mac_to_u64(const uint8_t mac[6])
{
    uint64_t number = 0;
    memcpy(&number, mac, 6);
    return number;
}

/* ---- opening ---- */

static int read_interface(struct sv_netdev_port *port, int socket)
{
    struct sv_device *device = port->device;
    struct ifreq request;
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", port->netdev);
    if (ioctl(socket, SIOCGIFINDEX, &request) != 0)
        return sv_explain(ENODEV, "there is no network interface '%s' in this network namespace", port->netdev);
    port->ifindex = request.ifr_ifindex;
    if (ioctl(socket, SIOCGIFHWADDR, &request) != 0)
        return errno;
    int type = request.ifr_hwaddr.sa_family;
    if (type != ARPHRD_ETHER && type != ARPHRD_LOOPBACK)
        return sv_explain(EOPNOTSUPP, "'%s' is not an Ethernet interface", port->netdev);
    sv_device_lock(device);
    memcpy(device->mac, request.ifr_hwaddr.sa_data, 6);
    sv_device_unlock(device);
    atomic_store(&port->own_mac, mac_to_u64(device->mac));
    if (ioctl(socket, SIOCGIFFLAGS, &request) != 0)
        return errno;
    port->flags = (unsigned short)request.ifr_flags;
    if (!(port->flags & IFF_UP))
        return sv_explain(ENETDOWN, "the network interface '%s' is down: ip link set dev %s up", port->netdev,
                          port->netdev);
    if (ioctl(socket, SIOCGIFMTU, &request) != 0)
        return errno;
    if ((uint32_t)request.ifr_mtu > port->max_mtu && type == ARPHRD_LOOPBACK)
        return sv_explain(EMSGSIZE, "'%s' is a loopback interface with an MTU of %d, and this kind of device carries "
                          "at most %u: use soft:loop, which needs no interface, or a veth pair",
                          port->netdev, request.ifr_mtu, port->max_mtu);
    if ((uint32_t)request.ifr_mtu > port->max_mtu)
        return sv_explain(EMSGSIZE, "the MTU of '%s' is %d, and this kind of device carries at most %u: ip link set "
                          "dev %s mtu %u", port->netdev, request.ifr_mtu, port->max_mtu, port->netdev, port->max_mtu);
    port->link_mtu = (uint32_t)request.ifr_mtu;
    atomic_store(&device->mtu, (uint32_t)request.ifr_mtu);
    atomic_store(&device->opened_mtu, (uint32_t)request.ifr_mtu);
    atomic_store(&device->port_up, (port->flags & IFF_RUNNING) != 0);
    return 0;
}

/* Replaces a VLAN interface by its parent. The properties of the VLAN interface have been read before. */
static int move_to_vlan_parent(struct sv_netdev_port *port)
{
    struct ifreq request;
    int error = sv_vlan_find(port->netdev, port->ifindex, &port->vlan);
    if (error != 0 || port->vlan.ifindex == 0)
        return error;
    if (port->brokered)
        return sv_explain(EOPNOTSUPP, "a broker serves the VLAN interface '%s' in mode generic only: use "
                          "SOFTVERBS_XDP_MODE=generic", port->netdev);
    memset(&request, 0, sizeof request);
    port->ifindex = port->vlan.parent_ifindex;
    if (if_indextoname((unsigned)port->ifindex, port->netdev) == NULL)
        return errno;
    memcpy(request.ifr_name, port->netdev, sizeof request.ifr_name);
    if (ioctl(port->mac_filter_fd, SIOCGIFMTU, &request) != 0)
        return errno;
    port->link_mtu = (uint32_t)request.ifr_mtu;
    if (port->link_mtu <= port->max_mtu)
        return 0;
    return sv_explain(EMSGSIZE, "the MTU of '%s' is %u, and this kind of device carries at most %u: ip link set dev %s "
                      "mtu %u", port->netdev, port->link_mtu, port->max_mtu, port->netdev, port->max_mtu);
}

static int find_legs(struct sv_netdev_port *port)
{
    int error = sv_bond_find(port->netdev, port->ifindex, &port->bond);
    if (error == 0 && port->bond.ifindex != 0 && port->brokered)
        return sv_explain(EOPNOTSUPP, "a broker serves the bond '%s' in mode generic only: use "
                          "SOFTVERBS_XDP_MODE=generic", port->netdev);
    return error;
}

static int open_mac_filter(struct sv_netdev_port *port)
{
    port->mac_filter_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (port->mac_filter_fd >= 0)
        return 0;
    if (errno == EPERM && sv_broker_is_configured())
        return sv_explain(EPERM, "raw sockets are not permitted: use soft:xdp: in mode generic, native or zerocopy, "
                          "which the broker serves, or CAP_NET_RAW; a broker can't confine packet sockets");
    return sv_explain(errno, "%s", errno == EPERM
        ? "raw sockets are not permitted: the process needs CAP_NET_RAW, or a broker (SOFTVERBS_BROKER)"
        : "packet sockets can't be made: the kernel must be built with CONFIG_PACKET");
}

/* ---- frames that the interface itself has lost ---- */

static int open_attribute(const struct sv_netdev_port *port, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/class/net/%s/%s", port->netdev, name);
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
static void open_missed(struct sv_netdev_port *port)
{
    /* sysfs may belong to another network namespace. */
    int ifindex_fd = open_attribute(port, "ifindex");
    if (read_number(ifindex_fd) == (uint64_t)port->ifindex)
        port->missed_fd = open_attribute(port, "statistics/rx_missed_errors");
    if (ifindex_fd >= 0)
        close(ifindex_fd);
    port->missed_at_open = read_number(port->missed_fd);
}

uint64_t sv_netdev_port_missed_frames(const struct sv_netdev_port *port)
{
    uint64_t now = read_number(port->missed_fd);
    return now > port->missed_at_open ? now - port->missed_at_open : 0;
}

static int open_descriptors(struct sv_netdev_port *port)
{
    port->brokered = port->kind->may_be_brokered && sv_broker_is_configured();
    /* The first descriptor also serves to query the interface, for which any socket will do. */
    if (port->brokered)
        port->mac_filter_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int error = port->brokered ? (port->mac_filter_fd < 0 ? errno : 0) : open_mac_filter(port);
    if (error == 0)
        error = read_interface(port, port->mac_filter_fd);
    if (error == 0 && port->kind->opens_interfaces_below)
        error = move_to_vlan_parent(port);
    if (error == 0 && port->kind->opens_interfaces_below && port->vlan.ifindex == 0)
        error = find_legs(port);
    if (error != 0)
        return error;
    open_missed(port);
    /* Of several legs the kernel would choose another one than the library, and frames would overtake each other. */
    if (!port->brokered && (port->bond.ifindex == 0 || port->bond.has_active_leg))
        sv_netdev_port_open_tso(port);
    port->rx_thread_epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    port->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return port->rx_thread_epoll_fd < 0 || port->wake_fd < 0 ? errno : 0;
}

int sv_netdev_port_open_interface(struct sv_netdev_port *port)
{
    port->guard_fd = port->vlan_guard_fd = port->mac_filter_fd = port->tso_fd = port->missed_fd = -1;
    port->netlink_fd = port->wake_fd = port->rx_thread_epoll_fd = port->sockets_epoll_fd = -1;
    pthread_mutex_init(&port->event_mutex, NULL);
    port->max_mtu = port->kind->max_mtu;
    snprintf(port->netdev, sizeof port->netdev, "%s", strchr(port->device->ibv.name, ':') + 1);
    return open_descriptors(port);
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void sv_netdev_port_close_interface(struct sv_netdev_port *port)
{
    sv_kernel_steering_close(port->steering);
    sv_broker_close(port->broker);
    close_if_open(port->guard_fd);
    close_if_open(port->vlan_guard_fd);
    close_if_open(port->mac_filter_fd);
    close_if_open(port->tso_fd);
    close_if_open(port->missed_fd);
    close_if_open(port->netlink_fd);
    close_if_open(port->wake_fd);
    close_if_open(port->rx_thread_epoll_fd);
    pthread_mutex_destroy(&port->event_mutex);
    /* A device that failed with its interface may be opened again. */
    atomic_store(&port->device->failed, false);
    atomic_store(&port->device->port_up, true);
}

void sv_netdev_port_record_mac(struct sv_netdev_port *port, const uint8_t mac[6])
{
    /* A program that has read the new address relies on the loopback of its frames to it. */
    sv_device_lock(port->device);
    atomic_store(&port->own_mac, mac_to_u64(mac));
    memcpy(port->device->mac, mac, 6);
    sv_device_unlock(port->device);
    port->mac_update_pending = true;
}

void sv_netdev_port_update_steering_mac(struct sv_netdev_port *port)
{
    if (!port->mac_update_pending || !sv_mutex_trylock(&port->device->rules_mutex))
        return;
    port->mac_update_pending = false;
    if (port->broker != NULL)
        port->mac_update_pending = !sv_broker_report_mac_change(port->broker);
    else if (port->steering != NULL)
        sv_kernel_steering_set_mac(port->steering, port->device->mac);
    pthread_mutex_unlock(&port->device->rules_mutex);
}

void sv_netdev_port_apply_mtu(struct sv_netdev_port *port)
{
    if (port->receives_gso)
        sv_kernel_steering_set_max_udp_frame_bytes(port->steering, sv_netdev_port_max_frame_bytes(port->device));
}

/* ---- rules ---- */

/* Readers take no lock, so an address keeps its index while rules name it. */
static int find_local_mac(const struct sv_netdev_port *port, uint64_t mac)
{
    uint32_t used = atomic_load_explicit(&port->local_mac_slots, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++)
        if (atomic_load_explicit(&port->local_macs[i], memory_order_relaxed) == mac)
            return (int)i;
    return -1;
}

/* Frames to addresses beyond the table's size are sent to the interface, although they could stay inside. */
static bool add_local_mac(struct sv_netdev_port *port, uint64_t mac)
{
    int at = find_local_mac(port, mac);
    if (at < 0)
        at = find_local_mac(port, UNUSED_MAC);
    uint32_t used = atomic_load(&port->local_mac_slots);
    if (at < 0 && used < SV_NETDEV_PORT_MAX_LOCAL_MACS) {
        at = (int)used;
        port->local_mac_refs[at] = 0;
    }
    if (at < 0)
        return false;
    port->local_mac_refs[at]++;
    atomic_store(&port->local_macs[at], mac);
    if ((uint32_t)at == used)
        atomic_store(&port->local_mac_slots, used + 1);
    return true;
}

static void remove_local_mac(struct sv_netdev_port *port, uint64_t mac)
{
    int at = find_local_mac(port, mac);
    if (at >= 0 && --port->local_mac_refs[at] == 0)
        atomic_store(&port->local_macs[at], UNUSED_MAC);
}

/* With a broker, the broker's own socket changes the MAC filter for rules that it adds. */
static void change_mac_filter(const struct sv_netdev_port *port, int type, const uint8_t mac[6], int option)
{
    if (port->broker == NULL)
        sv_mac_filter_change(port->mac_filter_fd, port->ifindex, type, mac, option);
}

static int add_unless_new(void *context, const struct sv_rule *rule, const struct sv_rule_spec *spec)
{
    const struct sv_netdev_port *port = context;
    return rule == port->new_rule ? 0 : sv_broker_add_rule_again(port->broker, spec);
}

int sv_netdev_port_add_rules_again(struct sv_broker *broker, void *context)
{
    const struct sv_netdev_port *port = context;
    (void)broker;
    return sv_flow_table_visit(&port->device->flows, add_unless_new, context);
}

static int add_to_steering(struct sv_netdev_port *port, const struct sv_rule_spec *spec, const struct sv_rule *rule)
{
    struct sv_rule_spec tagged;
    port->new_rule = rule;
    if (port->broker != NULL)
        return sv_broker_add_rule(port->broker, spec);
    if (port->vlan.ifindex != 0) {
        int error = sv_vlan_convert_rule(&port->vlan, spec, &tagged);
        return error != 0 ? error : sv_kernel_steering_add(port->steering, &tagged);
    }
    return port->steering != NULL ? sv_kernel_steering_add(port->steering, spec) : 0;
}

int sv_netdev_port_on_rule_added(struct sv_device *device, const struct sv_rule_spec *spec, struct sv_rule *rule)
{
    struct sv_netdev_port *port = device->port;
    int error = add_to_steering(port, spec, rule);
    if (error != 0)
        return error;
    const uint8_t *mac = spec->value.outer.dst_mac;
    uint8_t own[6];
    sv_device_lock(device);
    memcpy(own, device->mac, sizeof own);
    sv_device_unlock(device);
    rule->mac_filter_type = sv_mac_filter_type(spec, own);
    change_mac_filter(port, rule->mac_filter_type, mac, PACKET_ADD_MEMBERSHIP);
    rule->adds_local_mac = rule->mac_filter_type == PACKET_MR_UNICAST && add_local_mac(port, mac_to_u64(mac));
    return 0;
}

void sv_netdev_port_on_rule_removed(struct sv_device *device, struct sv_flow *flow)
{
    struct sv_netdev_port *port = device->port;
    const struct sv_rule *rule = flow->rule;
    const uint8_t *mac = rule->key.outer.dst_mac;
    struct sv_rule_spec tagged;
    const struct sv_rule_spec spec = {
        .type = flow->type,
        .priority = flow->priority,
        .mask = flow->mask,
        .value = rule->key,
        .dont_trap = rule->dont_trap,
    };
    if (port->broker != NULL)
        sv_broker_remove_rule(port->broker, &spec);
    else if (port->vlan.ifindex != 0 && sv_vlan_convert_rule(&port->vlan, &spec, &tagged) == 0)
        (void)sv_kernel_steering_remove(port->steering, &tagged);
    else if (port->steering != NULL)
        (void)sv_kernel_steering_remove(port->steering, &spec);
    change_mac_filter(port, rule->mac_filter_type, mac, PACKET_DROP_MEMBERSHIP);
    if (rule->adds_local_mac)
        remove_local_mac(port, mac_to_u64(mac));
}

SV_HOT bool sv_netdev_port_is_local_mac(const struct sv_netdev_port *port, const uint8_t *destination)
{
    uint64_t mac = mac_to_u64(destination);
    return mac == atomic_load_explicit(&port->own_mac, memory_order_relaxed) || find_local_mac(port, mac) >= 0;
}
