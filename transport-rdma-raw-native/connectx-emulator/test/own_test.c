/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames sent by a port are received only by queue pairs that were created to receive them. An e-switch passes frames
 * for listed addresses only.
 */
#include "harness.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_SEND = SLOTS / 2 };

static const uint8_t group_mac[6] = {0x01, 0x00, 0x5e, 0x01, 0x02, 0x03};

/* Opens a side with queue pair flags of enum mlx5dv_qp_create_flags. */
static void open_with(struct world *world, struct side *side, uint32_t flags)
{
    side_open(world, side, 0, false);
    CHECK_EQ(0, ibv_destroy_qp(side->qp));
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = side->cq, .recv_cq = side->cq, .qp_type = IBV_QPT_RAW_PACKET, .pd = world->pd,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
        .cap = {.max_send_wr = SENDS, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1},
    };
    struct mlx5dv_qp_init_attr driver = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS, .create_flags = flags};
    side->qp = mlx5dv_create_qp(world->context, &attr, &driver);
    CHECK(side->qp != NULL);
    to_ready(side->qp);
}

static uint64_t blocked(void)
{
    struct cxemu_counters counters;
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &counters));
    return counters.self_loopback_blocked;
}

/* Returns true if the queue pair receives a frame that the port sends to this address, for which it has a rule. */
static bool is_looped_back(uint32_t flags, const uint8_t *mac)
{
    struct world world;
    struct side sender, receiver;
    uint8_t frame[SLOT_BYTES];
    uint64_t before = blocked();
    world_open(&world, "mlx5_0");
    side_open(&world, &sender, 0, false);
    open_with(&world, &receiver, flags);
    struct ibv_flow *flow = steer_mac(receiver.qp, mac, 1);
    uint32_t length = build_frame(frame, 17, 1000, 100, 1);
    memcpy(frame, mac, 6);
    post_receive(&receiver, 0, SLOT_BYTES);
    post_send(&sender, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
    CHECK_EQ(IBV_WC_SEND, next_success(sender.cq).opcode);
    bool came = blocked() == before;
    if (came) {
        CHECK_EQ(length, next_success(receiver.cq).byte_len);
        CHECK(memcmp(slot_at(&receiver, 0), frame, length) == 0);
    } else {
        check_quiet(&receiver);
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&receiver);
    side_close(&sender);
    world_close(&world);
    return came;
}

static void own_frames_are_not_received_by_default(void)
{
    CHECK(!is_looped_back(0, mac_b));
    CHECK(!is_looped_back(0, group_mac));
}

static void own_frames_are_received_on_request(void)
{
    CHECK(is_looped_back(MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC, mac_b));
    CHECK(!is_looped_back(MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC, group_mac));
    CHECK(!is_looped_back(MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC, mac_b));
    CHECK(is_looped_back(MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC, group_mac));
}

/* ---- addresses that an interface lists ---- */

static uint64_t foreign(void)
{
    struct cxemu_counters counters;
    CHECK_EQ(0, emulator.query_counters("mlx5_0", &counters));
    return counters.foreign_mac;
}

/* Returns true if the function receives a frame for the address. */
static bool is_let_in(const uint8_t *mac)
{
    uint8_t frame[SLOT_BYTES];
    uint64_t before = foreign();
    uint32_t length = build_frame(frame, 17, 1000, 100, 1);
    memcpy(frame, mac, ETH_ALEN);
    CHECK_EQ(0, emulator.inject("mlx5_0", frame, length));
    return foreign() == before;
}

/* Returns a packet socket with the address, or -1 without the right to open one. */
static int add_membership(uint16_t type, const uint8_t *mac, uint16_t bytes, int expected_error)
{
    enum { FIRST_INTERFACE_INDEX = 1 << 30 };
    struct packet_mreq request = {.mr_ifindex = FIRST_INTERFACE_INDEX, .mr_type = type, .mr_alen = bytes};
    memcpy(request.mr_address, mac, ETH_ALEN);
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int error = setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) == 0 ? 0 : errno;
    CHECK_EQ(expected_error, error);
    return fd;
}

/* With SR-IOV a function receives its own address, broadcast, and what its interface lists, which counts users. */
static void an_e_switch_passes_what_is_listed(void)
{
    static const uint8_t broadcast[ETH_ALEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t own[ETH_ALEN] = {2, 0xc5, 0, 0, 0, 1};
    static const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 7, 7};
    const char *setup = getenv("CONNECTX_EMULATOR_SETUP");
    const bool is_sriov = setup != NULL && (strcmp(setup, "vf") == 0 || strcmp(setup, "sriov") == 0);
    CHECK(is_let_in(broadcast));
    CHECK(is_let_in(own));
    CHECK_EQ(!is_sriov, is_let_in(mac));
    CHECK_EQ(!is_sriov, is_let_in(group_mac));
    int first = add_membership(PACKET_MR_UNICAST, mac, ETH_ALEN, 0);
    if (first < 0)
        return;
    int second = add_membership(PACKET_MR_UNICAST, mac, ETH_ALEN, 0);
    int group = add_membership(PACKET_MR_MULTICAST, group_mac, ETH_ALEN, 0);
    CHECK(is_let_in(mac));
    CHECK(is_let_in(group_mac));
    close(first);
    close(group);
    CHECK(is_let_in(mac));
    CHECK_EQ(!is_sriov, is_let_in(group_mac));
    close(second);
    CHECK_EQ(!is_sriov, is_let_in(mac));
    int wrong_list = add_membership(PACKET_MR_UNICAST, group_mac, ETH_ALEN, 0);
    CHECK_EQ(!is_sriov, is_let_in(group_mac));
    close(wrong_list);
    close(add_membership(PACKET_MR_UNICAST, mac, 4, EINVAL));
}

const struct test own_tests[] = {
    {"an e-switch passes what is listed", an_e_switch_passes_what_is_listed},
    {"own frames are not received by default", own_frames_are_not_received_by_default},
    {"own frames are received on request", own_frames_are_received_on_request},
    {NULL, NULL},
};
