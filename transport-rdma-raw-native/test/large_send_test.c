/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large sends on network interfaces: as one packet through the kernel, or cut by softverbs. The receiver sees no
 * difference.
 */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MSS = 400, SEGMENTS = 9, PAYLOAD = (SEGMENTS - 1) * MSS + 100, SPLIT = 1001, FIRST_SEQUENCE_LOW = 0xffffff00 };

static _Atomic unsigned passed_to_kernel;
static int refuse_with;

/* Replaces the C library's function: counts and refuses the packets that the kernel should cut. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    passed_to_kernel++;
    if (refuse_with != 0) {
        errno = refuse_with;
        return -1;
    }
    return syscall(SYS_sendmsg, fd, message, flags);
}

static void set_offloads(const char *interface, unsigned on)
{
    static const unsigned settings[] = {ETHTOOL_STXCSUM, ETHTOOL_SSG, ETHTOOL_STSO};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    for (unsigned i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        struct ethtool_value value = {.cmd = settings[i], .data = on};
        struct ifreq request = {.ifr_data = (void *)&value};
        snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
        CHECK_EQ(0, ioctl(fd, SIOCETHTOOL, &request));
    }
    close(fd);
}

struct sender {
    struct wire wire;
    struct ibv_flow *flow;
    struct ibv_qp *qp;      /* with TSO */
    uint8_t header[128];
    uint32_t header_bytes;
    uint32_t l3, l4;        /* offsets */
    bool v6;
};

static void sender_open_to(struct sender *s, const char *kind, const char *receiver, unsigned offloads)
{
    struct rule rule;
    link_open(&s->wire, 1500, 1);
    set_offloads(s->wire.name[0], offloads);
    wire_open_between(&s->wire, kind, receiver);
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_TCP, 0, 2000);
    s->flow = must_create(&s->wire.side[1], &rule);
    struct side *side = &s->wire.side[0];
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = side->cq, .recv_cq = side->cq, .qp_type = IBV_QPT_RAW_PACKET, .pd = side->world->pd,
        .max_tso_header = 128, .cap = {.max_send_wr = 8, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 1},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
    };
    s->qp = ibv_create_qp_ex(side->world->context, &attr);
    CHECK(s->qp != NULL);
    to_ready(s->qp);
    for (unsigned i = 0; i < PAYLOAD; i++)
        slot_at(side, 0)[i] = (uint8_t)(i * 31 >> 2);
    passed_to_kernel = 0;
    refuse_with = 0;
}

static void sender_open(struct sender *s, const char *kind, unsigned offloads)
{
    sender_open_to(s, kind, kind, offloads);
}

static void sender_close(struct sender *s)
{
    refuse_with = 0;    /* other tests send messages too */
    CHECK_EQ(0, ibv_destroy_qp(s->qp));
    CHECK_EQ(0, ibv_destroy_flow(s->flow));
    wire_close(&s->wire);
}

static void put_header(struct sender *s, bool v6, int vlan)
{
    uint8_t frame[2048];
    uint32_t sequence = htonl(FIRST_SEQUENCE_LOW);
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    spec.payload = 0;
    spec.vlan = vlan;
    if (v6) {
        spec.src_ip = "2001:db8::1";
        spec.dst_ip = "2001:db8::2";
    }
    s->v6 = v6;
    s->header_bytes = build_frame(&spec, frame);
    s->l3 = vlan < 0 ? 14 : 18;
    s->l4 = s->l3 + (v6 ? 40 : 20);
    CHECK_EQ(s->l4 + 20, s->header_bytes);
    memcpy(s->header, frame, s->header_bytes);
    memcpy(s->header + s->l4 + 4, &sequence, 4);
    s->header[s->l4 + 13] = 0x19;       /* ACK, PSH, FIN */
    memset(s->header + s->l4 + 16, 0x55, 2);
}

static void send_large(struct sender *s, uint32_t payload)
{
    struct side *side = &s->wire.side[0];
    struct ibv_send_wr *bad;
    struct ibv_sge sge[2] = {{(uintptr_t)slot_at(side, 0), SPLIT, side->mr->lkey},
                             {(uintptr_t)slot_at(side, 0) + SPLIT, payload - SPLIT, side->mr->lkey}};
    struct ibv_send_wr wr = {.wr_id = 1, .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_TSO,
                             .send_flags = IBV_SEND_SIGNALED};
    wr.tso.hdr = s->header;
    wr.tso.hdr_sz = (uint16_t)s->header_bytes;
    wr.tso.mss = MSS;
    CHECK_EQ(0, ibv_post_send(s->qp, &wr, &bad));
    struct ibv_wc wc = wait_one(side->cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(IBV_WC_TSO, wc.opcode);
}

static uint32_t be32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* RFC 9293 3.1: over the pseudo header, the header and the payload. */
static bool checksum_ok(const struct sender *s, const uint8_t *frame, uint32_t length)
{
    uint32_t l4_bytes = length - s->l4;
    uint32_t sum = 6 + l4_bytes;
    for (uint32_t i = s->v6 ? s->l3 + 8 : s->l3 + 12; i < s->l4; i += 2)
        sum += (uint32_t)frame[i] << 8 | frame[i + 1];
    for (uint32_t i = 0; i < l4_bytes; i++)
        sum += (uint32_t)frame[s->l4 + i] << (i % 2 == 0 ? 8 : 0);
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff;
}

static void check_segment(const struct sender *s, unsigned number, unsigned segments, uint32_t part, struct ibv_wc wc)
{
    const uint8_t *frame = slot_at((struct side *)&s->wire.side[1], number);
    uint32_t ip_bytes = (uint32_t)frame[s->l3 + (s->v6 ? 4 : 2)] << 8 | frame[s->l3 + (s->v6 ? 5 : 3)];
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(s->header_bytes + part, wc.byte_len);
    CHECK_EQ(wc.byte_len - (s->v6 ? s->l4 : s->l3), ip_bytes);
    CHECK_EQ(s->v6 ? 0 : IBV_WC_IP_CSUM_OK, wc.wc_flags & IBV_WC_IP_CSUM_OK);
    CHECK(checksum_ok(s, frame, wc.byte_len));
    CHECK_EQ((uint32_t)(FIRST_SEQUENCE_LOW + number * MSS), be32(frame + s->l4 + 4));
    CHECK_EQ(number + 1 < segments ? 0x10 : 0x19, frame[s->l4 + 13]);
    if (!s->v6)
        CHECK_EQ(number, frame[s->l3 + 4] << 8 | frame[s->l3 + 5]);
    CHECK_EQ(0, memcmp(frame, s->header, s->l3));
    CHECK_EQ(0, memcmp(frame + s->header_bytes, slot_at((struct side *)&s->wire.side[0], 0) + number * MSS, part));
}

/*
 * Sends and receives `payload` bytes. The counters of the queue pair count frames on the wire, regardless of the place
 * where they were cut.
 */
static void pass(struct sender *s, uint32_t payload, unsigned by_kernel)
{
    struct softverbs_counters before, after;
    unsigned segments = (payload + MSS - 1) / MSS;
    unsigned given = passed_to_kernel;
    CHECK_EQ(0, softverbs_query_counters(s->wire.world[0].context, &before));
    for (unsigned i = 0; i < segments; i++)
        CHECK_EQ(0, post_recv_slot(&s->wire.side[1], i, SLOT_BYTES));
    send_large(s, payload);
    for (unsigned i = 0; i < segments; i++)
        check_segment(s, i, segments, i + 1 < segments ? MSS : payload - i * MSS, wait_one(s->wire.side[1].cq));
    CHECK_EQ(by_kernel, passed_to_kernel - given);
    CHECK_EQ(0, softverbs_query_counters(s->wire.world[0].context, &after));
    CHECK_EQ(segments, after.sent.frames - before.sent.frames);
    CHECK_EQ(payload + segments * s->header_bytes, after.sent.bytes - before.sent.bytes);
}

static void the_kernel_segments(const char *kind)
{
    struct sender s;
    if (strcmp(kind, "xdp") == 0 && !is_linux_6_6())
        return;
    sender_open(&s, kind, 0);
    for (int v6 = 0; v6 < 2; v6++) {
        put_header(&s, v6, -1);
        pass(&s, PAYLOAD, 1);
        pass(&s, 4 * MSS, 1);
        pass(&s, 3 * MSS, 0);       /* too short for the kernel to cut */
    }
    sender_close(&s);
}

/* The packet stays whole between the interfaces, like packets of the kernel. */
static void interfaces_pass_them_on(const char *kind)
{
    struct sender s;
    struct softverbs_counters from, to;
    if (strcmp(kind, "xdp") == 0 && !is_linux_6_6())
        return;
    sender_open_to(&s, kind, "packet", 1);
    for (int v6 = 0; v6 < 2; v6++) {
        put_header(&s, v6, -1);
        pass(&s, PAYLOAD, 1);
    }
    CHECK_EQ(0, softverbs_query_counters(s.wire.world[0].context, &from));
    CHECK_EQ(0, softverbs_query_counters(s.wire.world[1].context, &to));
    CHECK_EQ(2, from.sent.gso_frames);
    CHECK_EQ(2 * SEGMENTS, from.sent.gso_segments);
    CHECK_EQ(2, to.received.gso_frames);
    CHECK_EQ(2 * SEGMENTS, to.received.gso_segments);
    CHECK_EQ(2, to.received.partial_checksums);
    sender_close(&s);
}

static void tagged_frames_are_segmented_here(const char *kind)
{
    struct sender s;
    sender_open(&s, kind, 0);
    put_header(&s, false, 5);
    struct ibv_flow *flow = steer_mac(&s.wire.side[1], s.header);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    send_large(&s, PAYLOAD);
    CHECK_EQ(0, passed_to_kernel);
    sender_close(&s);
}

static void refusals_are_answered(const char *kind)
{
    struct softverbs_counters counters;
    struct sender s;
    sender_open(&s, kind, 0);
    put_header(&s, false, -1);
    refuse_with = EAGAIN;           /* the kernel accepted nothing: softverbs cuts */
    pass(&s, PAYLOAD, 1);
    refuse_with = ENOBUFS;          /* lost on the way */
    send_large(&s, PAYLOAD);
    CHECK_EQ(0, softverbs_query_counters(s.wire.world[0].context, &counters));
    CHECK_EQ(SEGMENTS, counters.sent.frames);
    CHECK_EQ(SEGMENTS, counters.sent.ring_full);
    CHECK_EQ(0, counters.sent.gso_frames);
    check_empty(s.wire.side[1].cq);
    sender_close(&s);
}

/* A peer of the same kind could not receive frames that this end sends uncut. */
static void an_old_kernel_is_not_given_them(void)
{
    struct sender s;
    if (!have_namespace())
        return;
    kernel_is_old = true;
    sender_open(&s, "xdp", 1);
    put_header(&s, false, -1);
    pass(&s, PAYLOAD, 0);
    sender_close(&s);
    kernel_is_old = false;
}

static void test_kernel(void)
{
    for_each_kind(the_kernel_segments);
}

static void test_interfaces_without_segmentation_pass_them_on_whole(void)
{
    for_each_kind(interfaces_pass_them_on);
}

static void test_packets_with_further_headers_are_segmented_in_the_library(void)
{
    for_each_kind(tagged_frames_are_segmented_here);
}

static void test_refused_packets_are_segmented_in_the_library(void)
{
    for_each_kind(refusals_are_answered);
}

const struct test large_send_tests[] = {
    {"large sends: the kernel cuts them", test_kernel},
    {"large sends: interfaces that do not cut pass them on whole",
     test_interfaces_without_segmentation_pass_them_on_whole},
    {"large sends: before Linux 6.6 they are cut in the library for AF_XDP devices", an_old_kernel_is_not_given_them},
    {"large sends: packets with further headers are cut in the library",
     test_packets_with_further_headers_are_segmented_in_the_library},
    {"large sends: refused packets are cut in the library, lost ones counted",
     test_refused_packets_are_segmented_in_the_library},
    {NULL, NULL},
};
