/* SPDX-License-Identifier: Apache-2.0 */
/* Work that senders on the same host leave to the receiver, and that packet devices do: checksums, and cutting. */
#define _GNU_SOURCE
#include "packet.h"
#include "gso_frame.h"
#include "wire_fixture.h"

enum { TCP = 6, UDP = 17, PORT = 2000, TAG = 7, RECEIVES = 16, LONGEST = 65535, BIG_BYTES = 1 << 17 };

/* ---- frames as a kernel hands them over ---- */

struct packet {
    struct frame_spec spec;
    struct virtio_net_hdr offload;
    uint32_t l3, l4, headers, length;
    uint8_t frame[BIG_BYTES];
};

static bool is_v6(const struct packet *packet)
{
    return strchr(packet->spec.dst_ip, ':') != NULL;
}

static void put16(uint8_t *to, unsigned value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static unsigned get16(const uint8_t *from)
{
    return (unsigned)from[0] << 8 | from[1];
}

static unsigned checksum_at(const struct packet *packet)
{
    return packet->spec.protocol == TCP ? 16 : 6;
}

static uint32_t pseudo_sum(const struct packet *packet, const uint8_t *frame, uint32_t l4_bytes)
{
    const uint8_t *addresses = frame + packet->l3 + (is_v6(packet) ? 8 : 12);
    return (uint16_t)~internet_checksum(addresses, is_v6(packet) ? 32 : 8, packet->spec.protocol + l4_bytes);
}

/* The checksum field holds the sum of the pseudo header. `segment` is 0 for an ordinary frame. */
static void make(struct packet *packet, uint8_t protocol, bool v6, int vlan, uint16_t payload, uint16_t segment)
{
    memset(packet, 0, sizeof *packet);
    packet->spec = default_frame();
    packet->spec.protocol = protocol;
    packet->spec.payload = payload;
    packet->spec.vlan = vlan;
    if (v6) {
        packet->spec.src_ip = "2001:db8::1";
        packet->spec.dst_ip = "2001:db8::2";
    }
    packet->length = build_frame(&packet->spec, packet->frame);
    packet->l3 = vlan < 0 ? 14 : 18;
    packet->l4 = packet->l3 + (v6 ? 40 : 20);
    packet->headers = packet->l4 + (protocol == TCP ? 20 : 8);
    put16(packet->frame + packet->l4 + checksum_at(packet),
          pseudo_sum(packet, packet->frame, packet->length - packet->l4));
    packet->offload = (struct virtio_net_hdr){
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .csum_start = (uint16_t)packet->l4,
        .csum_offset = (uint16_t)checksum_at(packet),
    };
    if (segment == 0)
        return;
    packet->offload.gso_size = segment;
    packet->offload.hdr_len = (uint16_t)packet->headers;
    packet->offload.gso_type = protocol == UDP ? VIRTIO_NET_HDR_GSO_UDP_L4
                               : v6            ? VIRTIO_NET_HDR_GSO_TCPV6
                                               : VIRTIO_NET_HDR_GSO_TCPV4;
}

/* Returns false if the kernel refuses the packet. */
static bool try_inject(const struct wire *wire, const struct packet *packet)
{
    return send_with_offload(wire->name[0], &packet->offload, packet->frame, packet->length);
}

static void inject(const struct wire *wire, const struct packet *packet)
{
    CHECK(try_inject(wire, packet));
}

/* ---- a packet device that takes them ---- */

struct receiver {
    struct wire wire;
    struct ibv_flow *flows[3];
};

static struct softverbs_queue_counters received(const struct receiver *r)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(r->wire.world[1].context, &counters));
    return counters.received;
}

static void receiver_open(struct receiver *r)
{
    static const enum ibv_flow_spec_type types[] = {IBV_FLOW_SPEC_TCP, IBV_FLOW_SPEC_UDP};
    memset(r, 0, sizeof *r);
    wire_open(&r->wire, "packet", 1500, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct rule rule;
        rule_init(&rule, 0);
        rule_ports(&rule, types[i], 0, PORT);
        r->flows[i] = must_create(&r->wire.side[1], &rule);
    }
    struct rule tagged;
    rule_init(&tagged, 0);
    rule_eth(&tagged, default_frame().dst, NULL, 0, TAG);
    r->flows[2] = must_create(&r->wire.side[1], &tagged);
}

static void receiver_close(struct receiver *r)
{
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(0, ibv_destroy_flow(r->flows[i]));
    wire_close(&r->wire);
}

/* RFC 1071: over pseudo header, header and payload. */
static bool has_good_checksum(const struct packet *packet, const uint8_t *frame, uint32_t length)
{
    uint32_t l4_bytes = length - packet->l4;
    return internet_checksum(frame + packet->l4, l4_bytes, pseudo_sum(packet, frame, l4_bytes)) == 0 &&
           (is_v6(packet) || internet_checksum(frame + packet->l3, 20, 0) == 0);
}

/* Checks a frame as a card would have made it of the packet, with the payload from `offset` on. */
static void check_frame(const struct receiver *r, const struct packet *packet, unsigned slot, struct ibv_wc wc,
                        unsigned number, uint32_t offset, uint32_t part)
{
    const uint8_t *frame = slot_at((struct side *)&r->wire.side[1], slot);
    bool v6 = is_v6(packet);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(packet->headers + part, wc.byte_len);
    CHECK_EQ(0, memcmp(frame, packet->frame, packet->l3));
    CHECK_EQ(wc.byte_len - (v6 ? packet->l4 : packet->l3), get16(frame + packet->l3 + (v6 ? 4 : 2)));
    CHECK_EQ(0, memcmp(frame + packet->headers, packet->frame + packet->headers + offset, part));
    CHECK(has_good_checksum(packet, frame, wc.byte_len));
    CHECK_EQ(v6 ? 0 : IBV_WC_IP_CSUM_OK, wc.wc_flags & IBV_WC_IP_CSUM_OK);
    if (!v6)
        CHECK_EQ(number, get16(frame + packet->l3 + 4));
    if (packet->spec.protocol == TCP)
        CHECK_EQ(offset, get16(frame + packet->l4 + 4) << 16 | get16(frame + packet->l4 + 6));
    else
        CHECK_EQ(8 + part, get16(frame + packet->l4 + 4));
}

static void pass(struct receiver *r, const struct packet *packet)
{
    uint32_t payload = packet->length - packet->headers;
    uint32_t segment = packet->offload.gso_size > 0 ? packet->offload.gso_size : payload;
    unsigned frames = (payload + segment - 1) / segment;
    struct softverbs_queue_counters before = received(r);
    for (unsigned i = 0; i < frames; i++)
        CHECK_EQ(0, post_recv_slot(&r->wire.side[1], i, SLOT_BYTES));
    inject(&r->wire, packet);
    for (unsigned i = 0; i < frames; i++) {
        uint32_t offset = i * segment;
        uint32_t part = payload - offset < segment ? payload - offset : segment;
        check_frame(r, packet, i, wait_one(r->wire.side[1].cq), i, offset, part);
    }
    struct softverbs_queue_counters after = received(r);
    CHECK_EQ(frames, after.frames - before.frames);
    CHECK_EQ(1, after.partial_checksums - before.partial_checksums);
    CHECK_EQ(packet->offload.gso_size > 0, after.gso_frames - before.gso_frames);
    CHECK_EQ(packet->offload.gso_size > 0 ? frames : 0, after.gso_segments - before.gso_segments);
    check_empty(r->wire.side[1].cq);
}

/* ---- tests ---- */

static const struct way {
    uint8_t protocol;
    bool v6;
    int vlan;
} ways[] = {{TCP, false, -1}, {TCP, true, -1}, {UDP, false, -1}, {UDP, true, -1}, {TCP, false, TAG}, {UDP, true, TAG}};

static struct packet packet;

static void for_each_way(uint16_t payload, uint16_t segment)
{
    struct receiver r;
    if (!have_namespace())
        return;
    receiver_open(&r);
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (segment != 0 && ways[i].protocol == UDP && !is_linux_6_2())
            continue;
        make(&packet, ways[i].protocol, ways[i].v6, ways[i].vlan, payload, segment);
        pass(&r, &packet);
    }
    receiver_close(&r);
}

static void test_checksums(void)
{
    for_each_way(1, 0);
    for_each_way(999, 0);
}

/* Larger than a slot of the ring, so read from the socket. */
static void test_gso_frames_become_the_senders_segments(void)
{
    for_each_way(15 * 1000 - 1, 1000);
}

/* A packet below the MTU may also hold several frames. Datagrams keep their lengths. */
static void test_small_gso_frames(void)
{
    for_each_way(3 * 300 + 1, 300);
}

/*
 * Datagrams of a VXLAN tunnel, each of another network. A rule takes those of its network. The programs in the kernel
 * see the headers of the first one only.
 */
static void test_tunnels(void)
{
    enum { DATAGRAM = 300, DATAGRAMS = 3, VXLAN = 4789 };
    struct receiver r;
    if (!have_namespace() || !is_linux_6_2())
        return;
    receiver_open(&r);
    struct rule rule;
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, VXLAN);
    struct ibv_flow_spec_tunnel *tunnel = rule_add(&rule, IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof *tunnel);
    tunnel->val.tunnel_id = htonl(2);
    tunnel->mask.tunnel_id = htonl(0xffffff);
    struct ibv_flow *flow = must_create(&r.wire.side[1], &rule);
    make(&packet, UDP, false, -1, DATAGRAMS * DATAGRAM, DATAGRAM);
    put16(packet.frame + packet.l4 + 2, VXLAN);
    for (unsigned i = 0; i < DATAGRAMS; i++) {
        uint8_t *vxlan = packet.frame + packet.headers + i * DATAGRAM;
        memset(vxlan, 0, 8);
        vxlan[0] = 8;
        vxlan[6] = (uint8_t)(i + 2);
    }
    for (unsigned i = 0; i < DATAGRAMS; i++)
        CHECK_EQ(0, post_recv_slot(&r.wire.side[1], i, SLOT_BYTES));
    inject(&r.wire, &packet);
    check_frame(&r, &packet, 0, wait_one(r.wire.side[1].cq), 0, 0, DATAGRAM);
    check_empty(r.wire.side[1].cq);
    CHECK_EQ(DATAGRAMS, received(&r).gso_segments);
    CHECK_EQ(1, received(&r).frames);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    receiver_close(&r);
}

/* The largest packets, between ordinary frames: they stay in order, and all frames are counted. */
static void test_the_longest_gso_frame_keeps_its_place_among_others(void)
{
    struct receiver r;
    static struct packet small;
    if (!have_namespace())
        return;
    receiver_open(&r);
    make(&small, TCP, false, -1, 5, 0);
    make(&packet, TCP, false, -1, LONGEST - 54, 1400);
    for (unsigned i = 0; i < RECEIVES; i++)
        CHECK_EQ(0, post_recv_slot(&r.wire.side[1], i, SLOT_BYTES));
    inject(&r.wire, &small);
    inject(&r.wire, &packet);
    inject(&r.wire, &small);
    check_frame(&r, &small, 0, wait_one(r.wire.side[1].cq), 0, 0, 5);
    for (unsigned i = 1; i < RECEIVES; i++)
        check_frame(&r, &packet, i, wait_one(r.wire.side[1].cq), i - 1, (i - 1) * 1400, 1400);
    struct timespec start = now();
    while (received(&r).no_receive < 47 - RECEIVES + 2 && !overdue(start))
        check_empty(r.wire.side[1].cq);
    struct softverbs_queue_counters counters = received(&r);
    CHECK_EQ(47 - RECEIVES + 2, counters.no_receive);
    CHECK_EQ(47, counters.gso_segments);
    CHECK_EQ(1, counters.gso_frames);
    CHECK_EQ(3, counters.partial_checksums);
    receiver_close(&r);
}

/* A packet that no card could cut is dropped and counted, and the next one is received. */
static void packets_that_cannot_be_segmented_are_counted_and_dropped(struct receiver *r, const struct packet *bad,
                    uint64_t *(*counter)(struct softverbs_queue_counters *))
{
    static struct packet good;
    struct softverbs_queue_counters before = received(r);
    inject(&r->wire, bad);
    make(&good, TCP, false, -1, 15 * 1000, 1000);
    pass(r, &good);
    struct softverbs_queue_counters after = received(r);
    CHECK_EQ(1, *counter(&after) - *counter(&before));
}

static uint64_t *malformed(struct softverbs_queue_counters *counters)
{
    return &counters->gso_malformed;
}

static uint64_t *flags(struct softverbs_queue_counters *counters)
{
    return &counters->gso_flags;
}

static uint64_t *too_long(struct softverbs_queue_counters *counters)
{
    return &counters->gso_too_long;
}

static uint64_t *length_errors(struct softverbs_queue_counters *counters)
{
    return &counters->length_errors;
}

static void test_packets_that_cannot_be_segmented_are_counted_and_dropped(void)
{
    struct receiver r;
    if (!have_namespace())
        return;
    receiver_open(&r);
    make(&packet, TCP, false, -1, 60000, 10);           /* thousands of frames */
    packets_that_cannot_be_segmented_are_counted_and_dropped(&r, &packet, malformed);
    if (is_linux_6_2()) {
        make(&packet, UDP, false, -1, 20000, 2000);     /* datagrams above the MTU */
        packets_that_cannot_be_segmented_are_counted_and_dropped(&r, &packet, malformed);
    }
    make(&packet, TCP, false, -1, 20000, 1000);
    packet.frame[packet.l4 + 13] |= 0x02;               /* SYN */
    packets_that_cannot_be_segmented_are_counted_and_dropped(&r, &packet, flags);
    make(&packet, TCP, false, -1, 20000, 1000);
    packet.frame[packet.l3 + 3] ^= 1;                   /* the IP length is another */
    packets_that_cannot_be_segmented_are_counted_and_dropped(&r, &packet, malformed);
    receiver_close(&r);
}

/* Without a length in the IP header, as the kernel sends it if this is enabled ("BIG TCP"). */
static void test_big(void)
{
    struct receiver r;
    if (!have_namespace())
        return;
    receiver_open(&r);
    run("ip link set %s gso_max_size 131072", r.wire.name[0]);
    make(&packet, TCP, true, -1, 65000, 1000);
    put16(packet.frame + packet.l3 + 4, 0);
    packet.length = 100000;
    packets_that_cannot_be_segmented_are_counted_and_dropped(&r, &packet, too_long);
    receiver_close(&r);
}

/*
 * The interface's MTU may grow beyond the slots of the ring. Longer frames are then lost: users have receives for the
 * MTU at opening, and a frame longer than its receive stops the queue pair.
 */
static void test_frames_beyond_a_grown_mtu_are_counted_and_dropped(void)
{
    struct receiver r;
    if (!have_namespace())
        return;
    receiver_open(&r);
    for (int end = 0; end < 2; end++)
        run("ip link set %s mtu 3000", r.wire.name[end]);
    struct timespec start = now();
    uint32_t mtu = 0;
    while (mtu != 3000 && !overdue(start))
        CHECK_EQ(0, softverbs_get_mtu(r.wire.world[1].context, &mtu));
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        make(&packet, ways[i].protocol, ways[i].v6, ways[i].vlan, 2500, 0);
        packets_that_cannot_be_segmented_are_counted_and_dropped(&r, &packet, length_errors);
    }
    receiver_close(&r);
}

/* Frames above the largest MTU of a device, without information on how to cut them. */
static void test_too_long(void)
{
    struct receiver r;
    if (!have_namespace())
        return;
    receiver_open(&r);
    for (int end = 0; end < 2; end++)
        run("ip link set %s mtu 9500", r.wire.name[end]);
    make(&packet, UDP, false, -1, 9200, 0);
    packets_that_cannot_be_segmented_are_counted_and_dropped(&r, &packet, length_errors);
    receiver_close(&r);
}

/* Without polling, packets that exceed the socket's buffer are counted, and memory is bounded. */
static void test_flood(void)
{
    enum { PACKETS = 600 };
    struct receiver r;
    if (!have_namespace())
        return;
    receiver_open(&r);
    make(&packet, TCP, false, -1, 60000, 1400);
    for (unsigned i = 0; i < PACKETS; i++)
        inject(&r.wire, &packet);
    struct timespec start = now();
    struct softverbs_queue_counters counters = received(&r);
    while (counters.gso_frames + counters.ring_full < PACKETS && !overdue(start)) {
        struct ibv_wc wc;
        CHECK_EQ(0, ibv_poll_cq(r.wire.side[1].cq, 1, &wc));
        counters = received(&r);
    }
    CHECK_EQ(PACKETS, counters.gso_frames + counters.ring_full);
    CHECK(counters.gso_frames > 0);
    CHECK(counters.ring_full > 0);
    CHECK_EQ(counters.no_receive, counters.gso_segments);
    make(&packet, TCP, false, -1, 15 * 1000, 1000);
    pass(&r, &packet);
    receiver_close(&r);
}

static uint16_t odd_number(uint32_t near)
{
    static const uint16_t numbers[] = {0, 1, 13, 14, 34, 53, 54, 0x7fff, 0xffff};
    uint32_t choice = random_number() % 16;
    return choice < 9 ? numbers[choice] : (uint16_t)(near + choice - 12);
}

/* Arbitrary headers and frames: no access outside of the frame, and no frame longer than the MTU. */
static void test_false_headers_cause_no_access_outside_of_the_frame(void)
{
    enum { TRIES = 200000 };
    static const uint8_t types[] = {0, 1, 3, 4, 5, 0x81, 0x84, 0xff};
    unsigned cut = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        struct way way = ways[random_number() % (sizeof ways / sizeof ways[0])];
        make(&packet, way.protocol, way.v6, way.vlan, (uint16_t)(random_number() % 5000), 1000);
        uint32_t length = random_number() % 4 == 0 ? 14 + random_number() % packet.length : packet.length;
        if (length > packet.length)
            length = packet.length;
        struct virtio_net_hdr offload = packet.offload;
        for (uint32_t changes = random_number() % 3; changes > 0; changes--)
            packet.frame[random_number() % packet.headers] = (uint8_t)random_number();
        switch (random_number() % 8) {
        case 0: offload.gso_type = types[random_number() % sizeof types]; break;
        case 1: offload.gso_size = odd_number(1000); break;
        case 2: offload.hdr_len = odd_number(length); break;
        case 3: offload.csum_start = odd_number(length); break;
        case 4: offload.csum_offset = odd_number(length - offload.csum_start); break;
        case 5: offload.flags = (uint8_t)random_number(); break;
        default: break;
        }
        uint8_t *frame = malloc(length);        /* of exactly this length, for the address sanitizer */
        CHECK(frame != NULL);
        memcpy(frame, packet.frame, length);
        enum sv_vnet_hdr_kind kind = sv_vnet_hdr_classify(&offload, frame, length);
        if (kind == SV_VNET_HDR_NONE && (offload.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
            sv_vnet_hdr_fill_checksum(&offload, frame, length);
        if (kind == SV_VNET_HDR_GSO) {
            struct sv_gso_segmenter gso;
            struct sv_gso_slot slot;
            struct sv_frame one;
            const struct iovec whole = {frame, length};
            const struct sv_gso_info info = {.mtu = 1500, .segment_bytes = offload.gso_size, .partial_checksum = true};
            uint32_t payload = 0;
            bool good = sv_gso_begin(&gso, &whole, 1, &info) == SV_GSO_GOOD;
            while (good && sv_gso_next(&gso, &slot, &one)) {
                CHECK(one.length <= 1518);
                payload += one.length - gso.header_bytes;
            }
            if (good)
                CHECK_EQ(gso.payload_bytes, payload);
            cut += good;
        }
        free(frame);
    }
    CHECK(cut > TRIES / 10);
}

const struct test packet_offload_tests[] = {
    {"packet offloads: checksums that were left out are computed", test_checksums},
    {"packet offloads: GSO frames are cut into the sender's segments",
     test_gso_frames_become_the_senders_segments},
    {"packet offloads: GSO frames below the MTU are cut too", test_small_gso_frames},
    {"packet offloads: each datagram of a tunnel is steered by its own headers", test_tunnels},
    {"packet offloads: the longest GSO frame keeps its place among others",
     test_the_longest_gso_frame_keeps_its_place_among_others},
    {"packet offloads: packets that cannot be cut are counted and dropped",
     test_packets_that_cannot_be_segmented_are_counted_and_dropped},
    {"packet offloads: GSO frames above 64 KB are refused", test_big},
    {"packet offloads: frames beyond a grown MTU are counted and dropped",
     test_frames_beyond_a_grown_mtu_are_counted_and_dropped},
    {"packet offloads: frames above the MTU are refused", test_too_long},
    {"packet offloads: GSO frames that the socket has no room for are counted", test_flood},
    {"packet offloads: false headers cause no access outside of the frame",
     test_false_headers_cause_no_access_outside_of_the_frame},
    {NULL, NULL},
};
