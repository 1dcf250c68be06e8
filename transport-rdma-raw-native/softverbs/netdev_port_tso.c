/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TSO sends: the library passes a payload of many segments to the kernel as one packet, as the kernel's own TCP does
 * (GSO). The card segments it, or the kernel does if the card cannot. A veth delivers it unsegmented. The library then
 * needs no buffer, ring entry or copy per segment, and a send to the same host costs neither segmentation nor
 * checksums. AF_XDP has no such operation. A packet socket has it, with a struct virtio_net_hdr before the frame:
 * PACKET_VNET_HDR of packet(7).
 */
#include "checksum.h"
#include "frame.h"
#include "netdev_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_HEADER_BYTES = 128 };
/* The limit of IPv4's total length and of IPv6's payload length without the jumbo option. */
enum { MAX_IP_BYTES = 65535 };

static int open_socket(int ifindex)
{
    const int on = 1;
    /* Protocol 0: the socket receives nothing. */
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = ifindex};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    sv_raise_send_buffer(fd);
    return fd;
}

void sv_netdev_port_open_tso(struct sv_netdev_port *port)
{
    port->tso_fd = open_socket(sv_netdev_port_host_ifindex(port));
}

/* Returns true for plain headers. The library segments all others itself. */
static bool is_plain(const struct sv_netdev_port *port, const struct sv_tso_request *request)
{
    struct sv_layout layout = request->layout;
    uint32_t ip_bytes = request->header_bytes - ETH_HLEN + request->payload_bytes;
    uint32_t header_bytes = layout.l3 == 4 ? SV_IPV4_HLEN : SV_IPV6_HLEN;
    return layout.l3_offset == ETH_HLEN && layout.l4_offset == ETH_HLEN + header_bytes &&
           request->header_bytes <= MAX_HEADER_BYTES && ip_bytes <= MAX_IP_BYTES && !(request->header[0] & 1) &&
           !sv_netdev_port_is_local_mac(port, request->header);
}

/*
 * Adapts the headers to one packet. The kernel derives each segment's headers from them, and expects the sum of the
 * pseudo header in the TCP checksum field.
 */
static void write_header(uint8_t *header, const struct sv_tso_request *request)
{
    struct sv_layout layout = request->layout;
    uint32_t l4_bytes = request->header_bytes - layout.l4_offset + request->payload_bytes;
    memcpy(header, request->header, request->header_bytes);
    uint8_t *ip = header + layout.l3_offset;
    uint16_t ip_field = htons((uint16_t)(layout.l3 == 4 ? SV_IPV4_HLEN + l4_bytes : l4_bytes));
    if (layout.l3 == 4) {
        memcpy(ip + 2, &ip_field, 2);
        memset(ip + 10, 0, 2);
        uint16_t sum = (uint16_t)~sv_checksum_sum_fold(sv_checksum_sum(ip, SV_IPV4_HLEN, 0));
        memcpy(ip + 10, &sum, 2);
    } else {
        memcpy(ip + 4, &ip_field, 2);
    }
    uint16_t pseudo = sv_checksum_sum_fold(sv_checksum_pseudo_sum(ip, layout, l4_bytes));
    memcpy(header + layout.l4_offset + SV_TCP_CHECKSUM_AT, &pseudo, 2);
}

/* Marks the connection as known. Other sends do so too, but a response may consist of TSO sends only. */
static void track(const struct sv_netdev_port *port, const struct sv_tso_request *request)
{
    const struct sv_frame header = {.data = request->header, .length = request->header_bytes};
    if (port->kind->tracks_connections)
        sv_connections_track(sv_kernel_steering_connections(port->steering), &header, 1);
}

static ssize_t send_packet(const struct sv_netdev_port *port, const struct sv_tso_request *request)
{
    struct virtio_net_hdr vnet_hdr = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = request->layout.l3 == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6,
        .hdr_len = (uint16_t)request->header_bytes,
        .gso_size = (uint16_t)request->segment_bytes,
        .csum_start = request->layout.l4_offset,
        .csum_offset = SV_TCP_CHECKSUM_AT,
    };
    uint8_t header[MAX_HEADER_BYTES];
    struct iovec parts[2 + SV_MAX_SGE] = {{&vnet_hdr, sizeof vnet_hdr}, {header, request->header_bytes}};
    write_header(header, request);
    memcpy(parts + 2, request->parts, request->part_count * sizeof parts[0]);
    /* A VLAN interface inserts the tag, and adapts the offsets to it. */
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = sv_netdev_port_host_ifindex(port), .sll_halen = 6};
    memcpy(&to.sll_protocol, request->header + SV_ETHERTYPE_AT, 2);
    memcpy(to.sll_addr, request->header, 6);
    struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = parts,
                             .msg_iovlen = 2 + request->part_count};
    return sendmsg(port->tso_fd, &message, MSG_DONTWAIT);
}

SV_HOT bool sv_netdev_port_transmit_tso(struct sv_device *device, struct sv_qp *sender,
                                        const struct sv_tso_request *request)
{
    struct sv_netdev_port *port = device->port;
    struct softverbs_queue_counters *counters = &sender->sq.counters;
    uint32_t segments = (request->payload_bytes + request->segment_bytes - 1) / request->segment_bytes;

    if (port->tso_fd < 0 || !is_plain(port, request) ||
        SV_UNLIKELY(!atomic_load_explicit(&device->port_up, memory_order_relaxed)))
        return false;
    track(port, request);
    if (SV_UNLIKELY(send_packet(port, request) < 0)) {
        /* Lost on the way. Some segments may have been sent, so the library must not send them again. */
        if (errno == ENOBUFS || errno == ENOMEM) {
            counters->ring_full += segments;
            return true;
        }
        return false;
    }
    counters->frames += segments;
    counters->bytes += request->payload_bytes + (uint64_t)segments * request->header_bytes;
    counters->copied += segments;
    counters->gso_frames++;
    counters->gso_segments += segments;
    return true;
}
