/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that the XDP program or the kernel treats in a special way. */
#include "wire_fixture.h"

#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5     /* Linux 6.2 */
#endif

/* ---- verdicts that the program keeps ---- */

static void send_spec(struct side *from, const struct frame_spec *spec)
{
    uint8_t frame[2048];
    uint32_t length = build_frame(spec, frame);
    CHECK_EQ(0, send_frame(from, frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(from->cq).status);
}

/* The kernel's frames are sent first, so a wrongly shared verdict would lose our next frame. */
static void similar_frames_do_not_share_a_verdict(const char *kind)
{
    struct wire wire;
    struct frame_spec good = default_frame();
    struct frame_spec bad[6] = {good, good, good, good, good, good};
    struct rule rule;
    if (!have_namespace())
        return;
    wire_open(&wire, kind, 1500, 1);
    bad[0].src_ip = "192.0.2.9";
    bad[1].dst_ip = "192.0.2.9";
    bad[2].src_port++;
    bad[3].dst_port++;
    bad[4].protocol = 6;
    bad[5].fragment = 0x2000;
    rule_init(&rule, 0);
    rule_ipv4(&rule, "192.0.2.1", "192.0.2.2");
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 1000, 2000);
    for (int i = 0; i < 6; i++) {
        struct ibv_flow *flow = must_create(&wire.side[1], &rule);      /* cached verdicts are invalid now */
        CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
        send_spec(&wire.side[0], &bad[i]);
        send_spec(&wire.side[0], &good);
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[1].cq).status);
        CHECK_EQ(0, ibv_destroy_flow(flow));
    }
    wire_close(&wire);
}

/* ---- VLAN tags ---- */

enum { VLAN = 5, PRIORITY = 3 << 13 };

/* Inserts another tag, of a provider's network (IEEE 802.1ad), after the addresses. */
static uint32_t add_outer_tag(uint8_t *frame, uint32_t length)
{
    static const uint8_t outer[] = {0x88, 0xa8, 0x00, 0x07};
    memmove(frame + 12 + sizeof outer, frame + 12, length - 12);
    memcpy(frame + 12, outer, sizeof outer);
    return length + sizeof outer;
}

static void check_arrives(struct wire *wire, const uint8_t *frame, uint32_t length)
{
    CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&wire->side[0], frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[0].cq).status);
    struct ibv_wc wc = wait_one(wire->side[1].cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(0, memcmp(frame, wire->side[1].memory, length));
}

/* At tc ingress the kernel has removed the outer tag. */
static void tags_stay_in_frames(const char *kind)
{
    struct wire wire;
    struct rule rule;
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    wire_open(&wire, kind, 1500, 1);
    spec.vlan = VLAN | PRIORITY;
    uint32_t length = build_frame(&spec, frame);
    rule_init(&rule, 0);
    rule_eth(&rule, mac_b, NULL, 0, VLAN);
    struct ibv_flow *flow = must_create(&wire.side[1], &rule);
    uint8_t service[2048];
    memcpy(service, frame, length);
    memcpy(service + 12, "\x88\xa8", 2);
    for (int i = 0; i < 3; i++) {
        /*
         * A service VLAN (802.1ad) of the same number is another one. Frames stay in order, so its frame would arrive
         * first.
         */
        CHECK_EQ(0, send_frame(&wire.side[0], service, length, IBV_SEND_SIGNALED));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[0].cq).status);
        check_arrives(&wire, frame, length);
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
    flow = steer_mac(&wire.side[1], mac_b);
    check_arrives(&wire, service, length);
    check_arrives(&wire, frame, length);
    check_arrives(&wire, frame, add_outer_tag(frame, length));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

/* Sends a frame as a kernel does that leaves cutting, at every `segment` bytes of UDP payload, to the interface. */
static void send_with_segments(const char *interface, const uint8_t *frame, uint32_t length, uint16_t segment)
{
    const struct virtio_net_hdr offload = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
                                           .hdr_len = 42, .gso_size = segment, .csum_start = 34, .csum_offset = 6};
    CHECK(send_with_offload(interface, &offload, frame, length));
}

/*
 * Ten datagrams of 100 bytes in one packet below the MTU: delivered as one datagram, they would be one that nobody
 * sent.
 */
static void datagrams_in_one_packet_are_left_to_the_kernel(const char *kind)
{
    struct wire wire;
    uint8_t frame[2048];
    struct softverbs_counters counters;
    struct frame_spec spec = default_frame();
    wire_open(&wire, kind, 1500, 1);
    run("ethtool -K %s tx-udp-segmentation on", wire.name[0]);
    struct ibv_flow *flow = udp_rule(&wire.side[1], spec.dst_port);
    spec.payload = 1000;
    uint32_t length = build_frame(&spec, frame);
    uint16_t pseudo = (uint16_t)~internet_checksum(frame + 26, 8, 17 + length - 34);
    frame[40] = (uint8_t)(pseudo >> 8);
    frame[41] = (uint8_t)pseudo;
    send_with_segments(wire.name[0], frame, length, 100);
    spec.payload = 33;
    check_arrives(&wire, frame, build_frame(&spec, frame));
    check_empty(wire.side[1].cq);
    CHECK_EQ(0, softverbs_query_counters(wire.world[1].context, &counters));
    CHECK_EQ(1, counters.received.gso_datagrams);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

/* Only the tc program sees that there are several. */
static void test_several_datagrams_in_one_packet_are_left_to_the_kernel(void)
{
    if (have_namespace())
        with_xdp_mode("tap", datagrams_in_one_packet_are_left_to_the_kernel);
}

IN_BOTH_MODES(similar_frames_do_not_share_a_verdict)
IN_BOTH_MODES(tags_stay_in_frames)

const struct test xdp_frames_tests[] = {
    {"xdp: similar frames do not share a verdict", test_similar_frames_do_not_share_a_verdict},
    {"xdp: VLAN tags stay in frames", test_tags_stay_in_frames},
    {"xdp: several datagrams in one packet are left to the kernel",
     test_several_datagrams_in_one_packet_are_left_to_the_kernel},
    {NULL, NULL},
};
