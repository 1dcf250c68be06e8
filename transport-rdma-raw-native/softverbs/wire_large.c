/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large sends: the library passes a payload of many segments to the kernel as one packet, as the kernel's own TCP does
 * (GSO). The card segments it, or the kernel does if the card cannot. A veth delivers it unsegmented. The library then
 * needs no buffer, ring entry or copy per segment, and a send to the same host costs neither segmentation nor
 * checksums. AF_XDP has no such operation. A packet socket has it, with a struct virtio_net_hdr before the frame:
 * PACKET_VNET_HDR of packet(7).
 */
#include "checksum.h"
#include "frame.h"
#include "wire.h"

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

void sv_wire_large_open(struct sv_wire *wire)
{
    wire->large_send_fd = open_socket(wire->ifindex);
}

/* Returns true for plain headers. The library segments all others itself. */
static bool is_plain(const struct sv_wire *wire, const struct sv_large_send *send)
{
    struct sv_layout layout = send->layout;
    uint32_t ip_bytes = send->header_bytes - ETH_HLEN + send->payload_bytes;
    uint32_t header_bytes = layout.l3 == 4 ? SV_IPV4_HLEN : SV_IPV6_HLEN;
    return layout.l3_offset == ETH_HLEN && layout.l4_offset == ETH_HLEN + header_bytes &&
           send->header_bytes <= MAX_HEADER_BYTES && ip_bytes <= MAX_IP_BYTES && !(send->header[0] & 1) &&
           !sv_wire_is_local_mac(wire, send->header);
}

/*
 * Adapts the headers to one packet. The kernel derives each segment's headers from them, and expects the sum of the
 * pseudo header in the TCP checksum field.
 */
static void write_header(uint8_t *header, const struct sv_large_send *send)
{
    struct sv_layout layout = send->layout;
    uint32_t l4_bytes = send->header_bytes - layout.l4_offset + send->payload_bytes;
    memcpy(header, send->header, send->header_bytes);
    uint8_t *ip = header + layout.l3_offset;
    uint16_t ip_field = htons((uint16_t)(layout.l3 == 4 ? SV_IPV4_HLEN + l4_bytes : l4_bytes));
    if (layout.l3 == 4) {
        memcpy(ip + 2, &ip_field, 2);
        memset(ip + 10, 0, 2);
        uint16_t sum = (uint16_t)~sv_sum_fold(sv_sum(ip, SV_IPV4_HLEN, 0));
        memcpy(ip + 10, &sum, 2);
    } else {
        memcpy(ip + 4, &ip_field, 2);
    }
    uint16_t pseudo = sv_sum_fold(sv_checksum_pseudo_sum(ip, layout, l4_bytes));
    memcpy(header + layout.l4_offset + SV_TCP_CHECKSUM_AT, &pseudo, 2);
}

/* Marks the connection as known, as for any other segment: an answer may consist of large sends only. */
static void track(const struct sv_wire *wire, const struct sv_large_send *send)
{
    const struct sv_frame header = {.data = send->header, .length = send->header_bytes};
    if (wire->kind->tracks_connections)
        sv_connections_track(sv_steering_connections(wire->steering), &header, 1);
}

static ssize_t send_packet(const struct sv_wire *wire, const struct sv_large_send *send)
{
    struct virtio_net_hdr offload = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = send->layout.l3 == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6,
        .hdr_len = (uint16_t)send->header_bytes,
        .gso_size = (uint16_t)send->segment_bytes,
        .csum_start = send->layout.l4_offset,
        .csum_offset = SV_TCP_CHECKSUM_AT,
    };
    uint8_t header[MAX_HEADER_BYTES];
    struct iovec parts[2 + SV_MAX_SGE] = {{&offload, sizeof offload}, {header, send->header_bytes}};
    write_header(header, send);
    memcpy(parts + 2, send->parts, send->part_count * sizeof parts[0]);
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = wire->ifindex, .sll_halen = 6};
    memcpy(&to.sll_protocol, send->header + SV_ETHERTYPE_AT, 2);
    memcpy(to.sll_addr, send->header, 6);
    struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = parts,
                             .msg_iovlen = 2 + send->part_count};
    return sendmsg(wire->large_send_fd, &message, MSG_DONTWAIT);
}

SV_HOT bool sv_wire_transmit_large(struct sv_device *device, struct sv_qp *sender, const struct sv_large_send *send)
{
    struct sv_wire *wire = device->port;
    struct softverbs_queue_counters *counters = &sender->sq.counters;
    uint32_t segments = (send->payload_bytes + send->segment_bytes - 1) / send->segment_bytes;

    if (wire->large_send_fd < 0 || !is_plain(wire, send) ||
        SV_UNLIKELY(!atomic_load_explicit(&device->port_up, memory_order_relaxed)))
        return false;
    track(wire, send);
    if (SV_UNLIKELY(send_packet(wire, send) < 0)) {
        /* Lost on the way. Some segments may have been sent, so the library must not send them again. */
        if (errno == ENOBUFS || errno == ENOMEM) {
            counters->wire_full += segments;
            return true;
        }
        return false;
    }
    counters->frames += segments;
    counters->bytes += send->payload_bytes + (uint64_t)segments * send->header_bytes;
    counters->copied += segments;
    counters->gso_frames++;
    counters->gso_segments += segments;
    return true;
}
