/* SPDX-License-Identifier: Apache-2.0 */
/* gso_frame.c builds the same segments as the kernel, and refuses all other frames. */
#include "gso_frame_fixture.h"

#include "checksum.h"
#include "flow.h"

#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the kernel's own ---- */

static void set_offloads(const char *interface, unsigned on)
{
    static const unsigned settings[] = {ETHTOOL_STXCSUM, ETHTOOL_STSO};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (unsigned i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        struct ethtool_value value = {.cmd = settings[i], .data = on};
        struct ifreq request = {.ifr_data = (void *)&value};
        snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
        CHECK_EQ(0, ioctl(fd, SIOCETHTOOL, &request));
    }
    close(fd);
}

static int packet_socket(const char *interface, uint16_t protocol)
{
    const int on = 1, bytes = 8 << 20;
    const struct timeval patience = {.tv_sec = 20};
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(protocol),
                                  .sll_ifindex = (int)if_nametoindex(interface)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on));
    CHECK_EQ(0, setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on));
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience));
    (void)!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    CHECK_EQ(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    return fd;
}

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

/* The kernel cuts the frame on its way through a veth pair. Its frames equal ours. */
static void compare_with_kernel(const struct wire *wire, const struct shape *shape, uint32_t segment_bytes)
{
    struct sv_gso_info info = {.mtu = MTU, .segment_bytes = segment_bytes, .partial_checksum = true};
    uint8_t got[2048];
    build(&built_frame, shape);
    struct virtio_net_hdr offload = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = shape->udp ? VIRTIO_NET_HDR_GSO_UDP_L4 : shape->v6 ? VIRTIO_NET_HDR_GSO_TCPV6
                                                                       : VIRTIO_NET_HDR_GSO_TCPV4,
        .hdr_len = (uint16_t)built_frame.headers, .csum_start = (uint16_t)built_frame.l4,
        .csum_offset = shape->udp ? 6 : 16,
        .gso_size = (uint16_t)(segment_bytes > 0 ? segment_bytes : MTU + built_frame.l3 - built_frame.headers),
    };
    if (shape->flags & TCP_CWR)
        offload.gso_type |= VIRTIO_NET_HDR_GSO_ECN;
    struct iovec parts[2] = {{&offload, sizeof offload}, {built_frame.bytes, built_frame.length}};
    struct iovec pieces[3] = {{built_frame.bytes, 71}, {built_frame.bytes + 71, 3000},
                              {built_frame.bytes + 3071, built_frame.length - 3071}};
    int receiver = packet_socket(wire->name[1], ETH_P_ALL);
    int sender = packet_socket(wire->name[0], 0);
    CHECK_EQ(sizeof offload + built_frame.length, writev(sender, parts, 2));
    segment_all(&result, pieces, 3, &info);
    CHECK_EQ(SV_GSO_GOOD, result.verdict);
    CHECK(result.count > 2);
    for (unsigned i = 0; i < result.count;) {
        struct virtio_net_hdr none;
        struct iovec to[2] = {{&none, sizeof none}, {got, sizeof got}};
        ssize_t bytes = readv(receiver, to, 2) - (ssize_t)sizeof none;
        CHECK(bytes > 0);
        if (bytes < built_frame.l3 || memcmp(got, built_frame.bytes, 12) != 0)
            continue;       /* a frame of the kernel's own, of IPv6 */
        CHECK_EQ(VIRTIO_NET_HDR_GSO_NONE, none.gso_type);
        CHECK_EQ(result.frame[i].length, bytes);
        for (ssize_t at = 0; at < bytes; at++)
            if (got[at] != result.frame[i].bytes[at])
                test_failed(__FILE__, __LINE__, "frame %u, byte %zd: the kernel has %02x, not %02x", i, at, got[at],
                            result.frame[i].bytes[at]);
        i++;
    }
    free_segments(&result);
    close(sender);
    close(receiver);
}

static void frames_equal_those_that_the_kernel_segments(void)
{
    struct wire wire;
    if (!have_namespace())
        return;
    link_open(&wire, MTU, 1);
    set_offloads(wire.name[0], 0);
    for (int v6 = 0; v6 < 2; v6++) {
        compare_with_kernel(&wire, &(struct shape){.v6 = v6, .vlan = -1, .payload = 20001, .tcp_options = 3,
                                                   .flags = TCP_ACK | TCP_PSH | TCP_FIN}, 0);
        compare_with_kernel(&wire, &(struct shape){.v6 = v6, .vlan = -1, .payload = 4 * 1420, .flags = TCP_ACK}, 1420);
        compare_with_kernel(&wire, &(struct shape){.v6 = v6, .vlan = -1, .payload = 9999, .tcp_options = 10,
                                                   .flags = TCP_ACK | TCP_PSH | TCP_CWR}, 501);
        compare_with_kernel(&wire, &(struct shape){.v6 = v6, .vlan = -1, .udp = true, .payload = 10001}, 1200);
        compare_with_kernel(&wire, &(struct shape){.v6 = v6, .vlan = -1, .udp = true, .payload = 7777}, 777);
    }
    link_close(&wire);
}

/* ---- refusals ---- */

static const struct shape plain = {.vlan = -1, .payload = 20000, .flags = TCP_ACK};

static void flags_that_are_never_segmented_are_refused(void)
{
    static const uint8_t flags[] = {TCP_SYN, TCP_SYN | TCP_ACK, TCP_RST, TCP_RST | TCP_ACK, TCP_URG | TCP_ACK};
    for (unsigned i = 0; i < sizeof flags; i++) {
        struct shape shape = plain;
        shape.flags = flags[i];
        build(&built_frame, &shape);
        CHECK_EQ(SV_GSO_BAD_FLAGS, verdict_with(true));
    }
}

static void a_wrong_checksum_is_refused(void)
{
    build(&built_frame, &plain);
    CHECK_EQ(SV_GSO_GOOD, verdict_with(true));
    CHECK_EQ(SV_GSO_MALFORMED, verdict_with(false));    /* partial checksums are accepted from some senders only */
    sv_checksum_fill(built_frame.bytes, built_frame.length, layout_of(&built_frame));
    CHECK_EQ(SV_GSO_GOOD, verdict_with(true));        /* computed, and correct */
    CHECK_EQ(SV_GSO_GOOD, verdict_with(false));
    built_frame.bytes[9000] ^= 1;
    CHECK_EQ(SV_GSO_MALFORMED, verdict_with(true));
    CHECK_EQ(SV_GSO_MALFORMED, verdict_with(false));
    build(&built_frame, &plain);
    built_frame.bytes[built_frame.l3 + 10] ^= 1;
    CHECK_EQ(SV_GSO_MALFORMED, verdict_with(true));     /* that of the IPv4 header, which the kernel computes itself */
}

/* The card has verified the checksum of each frame before it merged them, and left some value in the header. */
static void verified_frames_need_no_checksum(void)
{
    const struct sv_gso_info info = {.mtu = MTU, .verified = true};
    build(&built_frame, &plain);
    built_frame.bytes[built_frame.l4 + 16] ^= 1;
    const struct iovec whole = {built_frame.bytes, built_frame.length};
    segment_all(&result, &whole, 1, &info);
    CHECK_EQ(SV_GSO_GOOD, result.verdict);
    check_segments(MTU);
    free_segments(&result);
    CHECK_EQ(SV_GSO_MALFORMED, verdict_with(false));
}

static void false_lengths_are_refused(void)
{
    static const int wrong[] = {-1, 1, -19000, 30000};
    for (int v6 = 0; v6 < 2; v6++) {
        for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            struct shape shape = plain;
            shape.v6 = v6;
            build(&built_frame, &shape);
            uint32_t length = built_frame.length;
            built_frame.length = (uint32_t)((int)length + wrong[i]);
            put_lengths(&built_frame);
            built_frame.length = length;
            CHECK_EQ(SV_GSO_MALFORMED, verdict_with(true));
        }
    }
    build(&built_frame, &plain);
    built_frame.bytes[built_frame.l4 + 12] = 4 << 4;    /* a TCP header of 16 bytes */
    CHECK_EQ(SV_GSO_MALFORMED, verdict_with(true));
    build(&built_frame, &(struct shape){.vlan = -1, .payload = 0, .flags = TCP_ACK});
    CHECK_EQ(SV_GSO_MALFORMED, verdict_with(true));
}

static void frames_beyond_64_kb_are_refused(void)
{
    for (int v6 = 0; v6 < 2; v6++) {
        struct shape shape = plain;
        shape.v6 = v6;
        uint32_t headers = v6 ? 20 : 40;
        shape.payload = 65535 - headers;
        build(&built_frame, &shape);
        CHECK_EQ(SV_GSO_GOOD, verdict_with(true));
        shape.payload++;
        build(&built_frame, &shape);
        put16(built_frame.bytes + built_frame.l3 + (v6 ? 4 : 2), 0);
        CHECK_EQ(SV_GSO_TOO_LONG, verdict_with(true));
    }
}

/* UDP of an unknown segment size, fragments, other protocols, extension headers full of one-byte options. */
static void frames_that_cannot_be_segmented_are_refused(void)
{
    build(&built_frame, &(struct shape){.vlan = -1, .udp = true, .payload = 20000});
    CHECK_EQ(SV_GSO_UNSUPPORTED, verdict_with(true));
    build(&built_frame, &plain);
    put16(built_frame.bytes + built_frame.l3 + 6, 0x2000);
    CHECK_EQ(SV_GSO_UNSUPPORTED, verdict_with(true));
    built_frame.bytes[12] ^= 0xff;
    CHECK_EQ(SV_GSO_UNSUPPORTED, verdict_with(true));
    build(&built_frame, &(struct shape){.vlan = -1, .v6 = true, .payload = 60000, .flags = TCP_ACK});
    memset(built_frame.bytes + built_frame.l4, 0, built_frame.length - built_frame.l4);
    built_frame.bytes[built_frame.l3 + 6] = 0;
    CHECK_EQ(SV_GSO_UNSUPPORTED, verdict_with(true));
    built_frame.length = 20;
    CHECK_EQ(SV_GSO_UNSUPPORTED, verdict_with(true));
    CHECK_EQ(SV_GSO_UNSUPPORTED, (built_frame.length = 0, verdict_with(true)));
}

static void a_tag_makes_room_for_itself(void)
{
    struct shape shape = plain;
    shape.vlan = 7;
    build(&built_frame, &shape);
    struct iovec whole = {built_frame.bytes, built_frame.length};
    struct sv_gso_info info = {.mtu = MTU, .partial_checksum = true};
    segment_all(&result, &whole, 1, &info);
    CHECK_EQ(SV_GSO_GOOD, result.verdict);
    CHECK_EQ(MTU + 18, result.frame[0].length);
    free_segments(&result);
    /* Headers after a service tag are not read. */
    built_frame.bytes[12] = 0x88, built_frame.bytes[13] = 0xa8;
    segment_all(&result, &whole, 1, &info);
    CHECK_EQ(SV_GSO_UNSUPPORTED, result.verdict);
    free_segments(&result);
}

/*
 * With all tags and options: the headers that steering reads of a datagram are in the head, and belong to that
 * datagram.
 */
static void the_head_contains_the_headers_of_tunnels(void)
{
    enum { DATAGRAM = 900, DATAGRAMS = 3 };
    const struct shape shape = {.udp = true, .vlan = 7, .ip_options = 10, .payload = DATAGRAMS * DATAGRAM};
    build(&built_frame, &shape);
    put16(built_frame.bytes + built_frame.l4 + 2, 4789);
    for (unsigned i = 0; i < DATAGRAMS; i++) {
        uint8_t *vxlan = built_frame.bytes + built_frame.headers + i * DATAGRAM;
        uint8_t *ip = vxlan + 8 + 18;
        memset(vxlan, 0, 8 + 18);
        vxlan[0] = 8;
        vxlan[6] = (uint8_t)(i + 1);
        put16(vxlan + 8 + 12, 0x8100);
        put16(vxlan + 8 + 16, 0x0800);
        memset(ip, 0, 80);
        ip[0] = 0x4f;
        ip[9] = 6;
        put16(ip + 60, 1000 + i);
    }
    struct iovec pieces[2] = {{built_frame.bytes, built_frame.headers + 40},
                              {built_frame.bytes + built_frame.headers + 40, 0}};
    pieces[1].iov_len = built_frame.length - pieces[0].iov_len;
    const struct sv_gso_info info = {.mtu = MTU, .segment_bytes = DATAGRAM, .partial_checksum = true};
    struct sv_gso_segmenter gso;
    struct sv_gso_slot slot;
    struct sv_frame frame;
    CHECK_EQ(SV_GSO_GOOD, sv_gso_begin(&gso, pieces, 2, &info));
    for (unsigned i = 0; i < DATAGRAMS; i++) {
        union sv_key key;
        CHECK(sv_gso_next(&gso, &slot, &frame));
        CHECK(frame.rest->head_bytes <= sizeof slot.header);
        sv_parse_key(frame.data, frame.rest->head_bytes, true, &key);
        CHECK_EQ(i + 1, ntohl(key.outer.vni));
        CHECK_EQ(1000 + i, ntohs(key.inner.src_port));
        uint8_t bytes[DATAGRAM];
        sv_frame_copy(bytes, &frame, built_frame.headers, DATAGRAM);
        CHECK_EQ(0, memcmp(built_frame.bytes + built_frame.headers + i * DATAGRAM, bytes, DATAGRAM));
    }
}

const struct test gso_frame_tests[] = {
    {"GSO frame: frames equal those that the kernel cuts", frames_equal_those_that_the_kernel_segments},
    {"GSO frame: flags that are never segmented are refused", flags_that_are_never_segmented_are_refused},
    {"GSO frame: a wrong checksum is refused", a_wrong_checksum_is_refused},
    {"GSO frame: verified frames need no checksum", verified_frames_need_no_checksum},
    {"GSO frame: false lengths are refused", false_lengths_are_refused},
    {"GSO frame: frames beyond 64 KB are refused", frames_beyond_64_kb_are_refused},
    {"GSO frame: frames that cannot be cut are refused", frames_that_cannot_be_segmented_are_refused},
    {"GSO frame: a tag makes room for itself", a_tag_makes_room_for_itself},
    {"GSO frame: the head contains the headers of tunnels", the_head_contains_the_headers_of_tunnels},
    {NULL, NULL},
};
