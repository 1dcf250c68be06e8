/* SPDX-License-Identifier: Apache-2.0 */
/* super_frame.c: the frames are those of the kernel's own segmentation, and no input leads out of its memory. */
#include "wire_fixture.h"

#include "checksum.h"
#include "flow.h"
#include "super_frame.h"

#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MTU = 1500, MAX_FRAMES = 4096, ROOM = 1 << 17, MAX_PIECES = 64, FUZZ_ROUNDS = 20000 };
enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16, TCP_URG = 32, TCP_CWR = 128 };

/* A super-frame as the kernel makes it. */
struct made {
    uint8_t bytes[ROOM];
    uint32_t length;
    uint32_t l3;
    uint32_t l4;
    uint32_t headers;
    bool v6;
    bool udp;
};

struct shape {
    bool v6;
    bool udp;
    int vlan;
    uint32_t ip_options;        /* words */
    uint32_t tcp_options;       /* words */
    uint32_t payload;
    uint8_t flags;
};

static uint32_t random_state = 12345;

static uint32_t below(uint32_t limit)
{
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)random_state * limit >> 32);
}

static void put16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static uint32_t get16(const uint8_t *from)
{
    return (uint32_t)from[0] << 8 | from[1];
}

static struct sv_layout layout_of(const struct made *m)
{
    return (struct sv_layout){m->v6 ? 6 : 4, (uint8_t)m->l3, m->udp ? 17 : 6, (uint8_t)m->l4};
}

static void put_partial(struct made *m)
{
    uint64_t pseudo = sv_checksum_pseudo_sum(m->bytes + m->l3, layout_of(m), m->length - m->l4);
    uint16_t field = sv_sum_fold(pseudo);
    memcpy(m->bytes + m->l4 + (m->udp ? 6 : 16), &field, 2);
}

static void put_lengths(struct made *m)
{
    uint8_t *ip = m->bytes + m->l3;
    if (m->v6) {
        put16(ip + 4, m->length - m->l4);
    } else {
        put16(ip + 2, m->length - m->l3);
        sv_checksum_fill_ipv4_header(ip);
    }
    if (m->udp)
        put16(m->bytes + m->l4 + 4, m->length - m->l4);
    put_partial(m);
}

static void make(struct made *m, const struct shape *shape)
{
    struct frame_spec spec = default_frame();
    uint8_t frame[2048];
    spec.protocol = 6;
    spec.payload = 0;
    spec.vlan = shape->vlan;
    if (shape->v6) {
        spec.src_ip = "2001:db8::1";
        spec.dst_ip = "2001:db8::2";
    }
    build_frame(&spec, frame);
    m->v6 = shape->v6;
    m->udp = shape->udp;
    m->l3 = shape->vlan >= 0 ? 18 : 14;
    uint32_t ip_bytes = shape->v6 ? 40 : 20;
    m->l4 = m->l3 + ip_bytes + shape->ip_options * 4;
    m->headers = m->l4 + (shape->udp ? 8 : 20 + shape->tcp_options * 4);
    m->length = m->headers + shape->payload;
    memset(m->bytes, 1, m->headers);                    /* options: no operation */
    memcpy(m->bytes, frame, m->l3 + ip_bytes);
    uint8_t *l4 = m->bytes + m->l4;
    memcpy(l4, frame + m->l3 + ip_bytes, shape->udp ? 4 : 20);
    if (!shape->v6) {
        m->bytes[m->l3] = (uint8_t)(0x45 + shape->ip_options);
        put16(m->bytes + m->l3 + 4, 0xfffe);            /* the identification wraps */
        m->bytes[m->l3 + 9] = shape->udp ? 17 : 6;
    } else {
        m->bytes[m->l3 + 6] = shape->udp ? 17 : 6;
    }
    if (!shape->udp) {
        memset(l4 + 4, 0xff, 3);                        /* the sequence number wraps */
        l4[12] = (uint8_t)((5 + shape->tcp_options) << 4);
        l4[13] = shape->flags;
    }
    for (uint32_t i = 0; i < shape->payload; i++)
        m->bytes[m->headers + i] = (uint8_t)(i * 31 >> 2);
    put_lengths(m);
}

static void check_cut(uint32_t mtu);

/* What was cut, in one piece each. */
struct cut {
    enum sv_super_verdict verdict;
    unsigned count;
    struct {
        uint8_t *bytes;
        uint32_t length;
    } frame[MAX_FRAMES];
};

static void cut(struct cut *cut, const struct iovec *pieces, uint32_t count, const struct sv_super_facts *facts)
{
    struct sv_super super;
    struct sv_super_slot slot;
    struct sv_frame frame;
    cut->count = 0;
    cut->verdict = sv_super_begin(&super, pieces, count, facts);
    while (cut->verdict == SV_SUPER_GOOD && sv_super_next(&super, &slot, &frame)) {
        CHECK(cut->count < MAX_FRAMES);
        CHECK(frame.rest != NULL && frame.rest->head_bytes <= frame.length);
        CHECK(frame.length <= facts->mtu + 18);
        uint8_t *bytes = malloc(frame.length);
        uint32_t first = below(2) == 0 ? frame.length : below(frame.length + 1);      /* at once, or in parts */
        sv_frame_copy(bytes, &frame, 0, first);
        sv_frame_copy(bytes + first, &frame, first, frame.length - first);
        cut->frame[cut->count].bytes = bytes;
        cut->frame[cut->count++].length = frame.length;
    }
}

static void forget(struct cut *cut)
{
    for (unsigned i = 0; i < cut->count; i++)
        free(cut->frame[i].bytes);
}

static struct made made;
static struct cut result;

static enum sv_super_verdict verdict_with(bool partial)
{
    struct iovec whole = {made.bytes, made.length};
    struct sv_super_facts facts = {.mtu = MTU, .partial = partial};
    cut(&result, &whole, 1, &facts);
    forget(&result);
    return result.verdict;
}

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

/* The kernel cuts the frame on its way through a veth pair; what comes out is what we cut. */
static void compare_with_kernel(const struct wire *wire, const struct shape *shape, uint32_t segment_bytes)
{
    struct sv_super_facts facts = {.mtu = MTU, .segment_bytes = segment_bytes, .partial = true};
    uint8_t got[2048];
    make(&made, shape);
    struct virtio_net_hdr offload = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = shape->udp ? VIRTIO_NET_HDR_GSO_UDP_L4 : shape->v6 ? VIRTIO_NET_HDR_GSO_TCPV6
                                                                       : VIRTIO_NET_HDR_GSO_TCPV4,
        .hdr_len = (uint16_t)made.headers, .csum_start = (uint16_t)made.l4, .csum_offset = shape->udp ? 6 : 16,
        .gso_size = (uint16_t)(segment_bytes > 0 ? segment_bytes : MTU + made.l3 - made.headers),
    };
    if (shape->flags & TCP_CWR)
        offload.gso_type |= VIRTIO_NET_HDR_GSO_ECN;
    struct iovec parts[2] = {{&offload, sizeof offload}, {made.bytes, made.length}};
    struct iovec pieces[3] = {{made.bytes, 71}, {made.bytes + 71, 3000}, {made.bytes + 3071, made.length - 3071}};
    int receiver = packet_socket(wire->name[1], ETH_P_ALL);
    int sender = packet_socket(wire->name[0], 0);
    CHECK_EQ(sizeof offload + made.length, writev(sender, parts, 2));
    cut(&result, pieces, 3, &facts);
    CHECK_EQ(SV_SUPER_GOOD, result.verdict);
    CHECK(result.count > 2);
    for (unsigned i = 0; i < result.count;) {
        struct virtio_net_hdr none;
        struct iovec to[2] = {{&none, sizeof none}, {got, sizeof got}};
        ssize_t bytes = readv(receiver, to, 2) - (ssize_t)sizeof none;
        CHECK(bytes > 0);
        if (bytes < made.l3 || memcmp(got, made.bytes, 12) != 0)
            continue;       /* the kernel's own, of IPv6 */
        CHECK_EQ(VIRTIO_NET_HDR_GSO_NONE, none.gso_type);
        CHECK_EQ(result.frame[i].length, bytes);
        for (ssize_t at = 0; at < bytes; at++)
            if (got[at] != result.frame[i].bytes[at])
                test_failed(__FILE__, __LINE__, "frame %u, byte %zd: the kernel has %02x, not %02x", i, at, got[at],
                            result.frame[i].bytes[at]);
        i++;
    }
    forget(&result);
    close(sender);
    close(receiver);
}

static void frames_are_those_that_the_kernel_cuts(void)
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
        make(&made, &shape);
        CHECK_EQ(SV_SUPER_FLAGS, verdict_with(true));
    }
}

static void a_wrong_checksum_is_refused(void)
{
    make(&made, &plain);
    CHECK_EQ(SV_SUPER_GOOD, verdict_with(true));
    CHECK_EQ(SV_SUPER_UNSOUND, verdict_with(false));    /* partial ones are expected of some senders only */
    sv_checksum_fill(made.bytes, made.length, layout_of(&made));
    CHECK_EQ(SV_SUPER_GOOD, verdict_with(true));        /* computed, and right */
    CHECK_EQ(SV_SUPER_GOOD, verdict_with(false));
    made.bytes[9000] ^= 1;
    CHECK_EQ(SV_SUPER_UNSOUND, verdict_with(true));
    CHECK_EQ(SV_SUPER_UNSOUND, verdict_with(false));
    make(&made, &plain);
    made.bytes[made.l3 + 10] ^= 1;
    CHECK_EQ(SV_SUPER_UNSOUND, verdict_with(true));     /* of the IPv4 header, which the kernel computes itself */
}

/* The card has verified the checksum of each frame before it merged them, and left any in the header. */
static void verified_frames_need_no_checksum(void)
{
    const struct sv_super_facts facts = {.mtu = MTU, .verified = true};
    make(&made, &plain);
    made.bytes[made.l4 + 16] ^= 1;
    const struct iovec whole = {made.bytes, made.length};
    cut(&result, &whole, 1, &facts);
    CHECK_EQ(SV_SUPER_GOOD, result.verdict);
    check_cut(MTU);
    forget(&result);
    CHECK_EQ(SV_SUPER_UNSOUND, verdict_with(false));
}

static void lengths_that_lie_are_refused(void)
{
    static const int wrong[] = {-1, 1, -19000, 30000};
    for (int v6 = 0; v6 < 2; v6++) {
        for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            struct shape shape = plain;
            shape.v6 = v6;
            make(&made, &shape);
            uint32_t length = made.length;
            made.length = (uint32_t)((int)length + wrong[i]);
            put_lengths(&made);
            made.length = length;
            CHECK_EQ(SV_SUPER_UNSOUND, verdict_with(true));
        }
    }
    make(&made, &plain);
    made.bytes[made.l4 + 12] = 4 << 4;                  /* a TCP header of 16 bytes */
    CHECK_EQ(SV_SUPER_UNSOUND, verdict_with(true));
    make(&made, &(struct shape){.vlan = -1, .payload = 0, .flags = TCP_ACK});
    CHECK_EQ(SV_SUPER_UNSOUND, verdict_with(true));
}

static void beyond_64_kilobytes_is_refused(void)
{
    for (int v6 = 0; v6 < 2; v6++) {
        struct shape shape = plain;
        shape.v6 = v6;
        uint32_t headers = v6 ? 20 : 40;
        shape.payload = 65535 - headers;
        make(&made, &shape);
        CHECK_EQ(SV_SUPER_GOOD, verdict_with(true));
        shape.payload++;
        make(&made, &shape);
        put16(made.bytes + made.l3 + (v6 ? 4 : 2), 0);
        CHECK_EQ(SV_SUPER_TOO_LONG, verdict_with(true));
    }
}

/* UDP of an unknown segment size, fragments, other protocols, extension headers full of one-byte options. */
static void what_cannot_be_cut_is_refused(void)
{
    make(&made, &(struct shape){.vlan = -1, .udp = true, .payload = 20000});
    CHECK_EQ(SV_SUPER_OTHER, verdict_with(true));
    make(&made, &plain);
    put16(made.bytes + made.l3 + 6, 0x2000);
    CHECK_EQ(SV_SUPER_OTHER, verdict_with(true));
    made.bytes[12] ^= 0xff;
    CHECK_EQ(SV_SUPER_OTHER, verdict_with(true));
    make(&made, &(struct shape){.vlan = -1, .v6 = true, .payload = 60000, .flags = TCP_ACK});
    memset(made.bytes + made.l4, 0, made.length - made.l4);
    made.bytes[made.l3 + 6] = 0;
    CHECK_EQ(SV_SUPER_OTHER, verdict_with(true));
    made.length = 20;
    CHECK_EQ(SV_SUPER_OTHER, verdict_with(true));
    CHECK_EQ(SV_SUPER_OTHER, (made.length = 0, verdict_with(true)));
}

static void a_tag_makes_room_for_itself(void)
{
    struct shape shape = plain;
    shape.vlan = 7;
    make(&made, &shape);
    struct iovec whole = {made.bytes, made.length};
    struct sv_super_facts facts = {.mtu = MTU, .partial = true};
    cut(&result, &whole, 1, &facts);
    CHECK_EQ(SV_SUPER_GOOD, result.verdict);
    CHECK_EQ(MTU + 18, result.frame[0].length);
    forget(&result);
    made.bytes[12] = 0x88, made.bytes[13] = 0xa8;
    cut(&result, &whole, 1, &facts);
    CHECK_EQ(MTU + 14, result.frame[0].length);
    forget(&result);
}

/* With all tags and options: what steering reads of a datagram is at hand, and is that datagram's. */
static void the_headers_of_tunnels_are_at_hand(void)
{
    enum { DATAGRAM = 900, DATAGRAMS = 3 };
    const struct shape shape = {.udp = true, .vlan = 7, .ip_options = 10, .payload = DATAGRAMS * DATAGRAM};
    make(&made, &shape);
    put16(made.bytes + made.l4 + 2, 4789);
    for (unsigned i = 0; i < DATAGRAMS; i++) {
        uint8_t *vxlan = made.bytes + made.headers + i * DATAGRAM;
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
    struct iovec pieces[2] = {{made.bytes, made.headers + 40}, {made.bytes + made.headers + 40, 0}};
    pieces[1].iov_len = made.length - pieces[0].iov_len;
    const struct sv_super_facts facts = {.mtu = MTU, .segment_bytes = DATAGRAM, .partial = true};
    struct sv_super super;
    struct sv_super_slot slot;
    struct sv_frame frame;
    CHECK_EQ(SV_SUPER_GOOD, sv_super_begin(&super, pieces, 2, &facts));
    for (unsigned i = 0; i < DATAGRAMS; i++) {
        union sv_key key;
        CHECK(sv_super_next(&super, &slot, &frame));
        CHECK(frame.rest->head_bytes <= sizeof slot.header);
        sv_parse_key(frame.data, frame.rest->head_bytes, true, &key);
        CHECK_EQ(i + 1, ntohl(key.outer.vni));
        CHECK_EQ(1000 + i, ntohs(key.inner.src_port));
        uint8_t bytes[DATAGRAM];
        sv_frame_copy(bytes, &frame, made.headers, DATAGRAM);
        CHECK_EQ(0, memcmp(made.bytes + made.headers + i * DATAGRAM, bytes, DATAGRAM));
    }
}

/* ---- any input ---- */

/* Each piece has memory of its own, so that the sanitizers see a step beyond it. */
static uint32_t split(struct iovec *pieces, bool small)
{
    uint32_t count = 0;
    for (uint32_t done = 0; done < made.length; count++) {
        uint32_t left = made.length - done;
        uint32_t part = count == MAX_PIECES - 1 ? left : below(small ? 20 : 8000);
        if (part > left)
            part = left;
        pieces[count].iov_base = malloc(part > 0 ? part : 1);
        pieces[count].iov_len = part;
        memcpy(pieces[count].iov_base, made.bytes + done, part);
        done += part;
    }
    return count;
}

/* The frames are sound, and their payload is the super-frame's. */
static void check_cut(uint32_t mtu)
{
    uint32_t done = 0;
    for (unsigned i = 0; i < result.count; i++) {
        struct sv_headers headers;
        uint32_t length = result.frame[i].length;
        struct sv_frame frame = {.data = result.frame[i].bytes, .length = length};
        frame.layout = sv_parse_headers(frame.data, length, &headers);
        CHECK(frame.layout.l4 != 0);
        CHECK(sv_checksum_l4_ok(&frame));
        CHECK(frame.layout.l3 != 4 || sv_checksum_ipv4_header_ok(frame.data + frame.layout.l3_offset));
        uint32_t l4 = frame.layout.l4_offset;
        uint32_t start = l4 + (frame.layout.l4 == 6 ? (frame.data[l4 + 12] >> 4) * 4u : 8);
        CHECK(length <= mtu + 18 && start < length);
        CHECK(memcmp(frame.data + start, made.bytes + start + done, length - start) == 0);
        CHECK_EQ(get16(frame.data + l4), get16(made.bytes + l4));
        if (frame.layout.l4 == 6)
            CHECK(i == result.count - 1 || !(frame.data[l4 + 13] & (TCP_FIN | TCP_PSH)));
        done += length - start;
        CHECK(i < result.count - 1 || start + done == made.length);
    }
}

/* A length that says less, more, nothing or as much as can be said. */
static void lie(struct made *m)
{
    const uint32_t lies[] = {0, 1, m->headers - 1, m->length - 1, m->length, m->length + 1, 0xffff, below(0x10000)};
    uint32_t value = lies[below(sizeof lies / sizeof lies[0])];
    uint32_t at = below(2) == 0 && m->udp ? m->l4 + 4 : m->l3 + (m->v6 ? 4 : 2);
    put16(m->bytes + at, value);
    if (!m->v6 && below(2) == 0)
        sv_checksum_fill_ipv4_header(m->bytes + m->l3);
    if (!m->udp && below(4) == 0)
        m->bytes[m->l4 + 12] = (uint8_t)below(256);
}

/* Rounds of the suite; or as many as fit into the seconds of `make fuzz-super-frames`, from a seed of its own. */
static bool goes_on(unsigned long round, struct timespec since)
{
    const char *seconds = getenv("SOFTVERBS_FUZZ_SECONDS");
    if (seconds == NULL)
        return round < FUZZ_ROUNDS / (getenv("SOFTVERBS_TEST_LONG") != NULL ? 1 : 10);
    return now().tv_sec - since.tv_sec < atol(seconds);
}

static void no_input_leads_astray(void)
{
    struct iovec pieces[MAX_PIECES];
    const struct timespec since = now();
    unsigned long good = 0, round = 0;
    if (getenv("SOFTVERBS_FUZZ_SEED") != NULL)
        random_state = (uint32_t)atol(getenv("SOFTVERBS_FUZZ_SEED"));
    for (; goes_on(round, since); round++) {
        struct shape shape = {.v6 = below(2), .udp = below(4) == 0, .vlan = below(4) == 0 ? 5 : -1,
                              .tcp_options = below(11), .payload = below(4) == 0 ? below(65000) : below(5000),
                              .flags = (uint8_t)(below(4) == 0 ? below(256) : TCP_ACK | TCP_PSH)};
        shape.ip_options = shape.v6 || below(4) > 0 ? 0 : below(11);
        make(&made, &shape);
        if (below(4) == 0)
            sv_checksum_fill(made.bytes, made.length, layout_of(&made));
        for (uint32_t changes = below(2) == 0 ? 0 : below(4); changes > 0; changes--)
            made.bytes[below(made.headers)] ^= (uint8_t)(1u << below(8));
        if (below(8) == 0)
            lie(&made);
        if (below(8) == 0)
            made.length = below(made.length + 1);
        struct sv_super_facts facts = {.mtu = below(2) == 0 ? MTU : 68 + below(9000), .partial = below(4) > 0,
                                       .segment_bytes = below(2) == 0 ? 0 : 1 + below(1 + below(2000))};
        if (facts.segment_bytes > 0 && facts.segment_bytes < 64)
            made.length = made.length < 3000 ? made.length : 3000, put_lengths(&made);
        uint32_t count = split(pieces, below(2) == 0);
        if (facts.mtu > 300 || made.length < 3000)
            cut(&result, pieces, count, &facts);
        else
            result.count = 0;
        if (result.count > 0) {
            good++;
            check_cut(facts.mtu);
        }
        forget(&result);
        for (uint32_t i = 0; i < count; i++)
            free(pieces[i].iov_base);
    }
    CHECK(good > round / 10);
    if (getenv("SOFTVERBS_FUZZ_SECONDS") != NULL)
        printf("%lu super-frames, %lu of them cut\n", round, good);
}

const struct test super_frame_tests[] = {
    {"super-frame: frames are those that the kernel cuts", frames_are_those_that_the_kernel_cuts},
    {"super-frame: flags that are never segmented are refused", flags_that_are_never_segmented_are_refused},
    {"super-frame: a wrong checksum is refused", a_wrong_checksum_is_refused},
    {"super-frame: verified frames need no checksum", verified_frames_need_no_checksum},
    {"super-frame: lengths that lie are refused", lengths_that_lie_are_refused},
    {"super-frame: beyond 64 kilobytes is refused", beyond_64_kilobytes_is_refused},
    {"super-frame: what cannot be cut is refused", what_cannot_be_cut_is_refused},
    {"super-frame: a tag makes room for itself", a_tag_makes_room_for_itself},
    {"super-frame: the headers of tunnels are at hand", the_headers_of_tunnels_are_at_hand},
    {"super-frame: no input leads astray", no_input_leads_astray},
    {NULL, NULL},
};
