/* SPDX-License-Identifier: Apache-2.0 */
/* Frames sent by a port are received only by queue pairs that were created to receive them. */
#include "harness.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/if_ether.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

/* ---- addresses that an interface lets in ---- */

struct change {
    struct nlmsghdr header;
    struct ndmsg neighbour;
    struct rtattr attribute;
    uint8_t mac[ETH_ALEN];
};

/* Sends the request of `bridge fdb add MAC dev DEV self`. Returns the errno of the answer. */
static int change_list(uint16_t type, const uint8_t *mac)
{
    enum { FIRST_INTERFACE_INDEX = 1 << 30 };
    struct change change = {
        .header = {.nlmsg_len = sizeof change, .nlmsg_type = type,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (type == RTM_NEWNEIGH ? NLM_F_CREATE | NLM_F_EXCL : 0)},
        .neighbour = {.ndm_family = AF_BRIDGE, .ndm_ifindex = FIRST_INTERFACE_INDEX, .ndm_state = NUD_PERMANENT,
                      .ndm_flags = NTF_SELF},
        .attribute = {.rta_len = RTA_LENGTH(ETH_ALEN), .rta_type = NDA_LLADDR},
    };
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        uint8_t more[512];
    } answer;
    memcpy(change.mac, mac, ETH_ALEN);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    CHECK(fd >= 0);
    CHECK_EQ(sizeof change, sendto(fd, &change, sizeof change, 0, (const struct sockaddr *)&kernel, sizeof kernel));
    CHECK(recv(fd, &answer, sizeof answer, 0) >= (ssize_t)(sizeof answer.header + sizeof answer.error.error));
    CHECK_EQ(NLMSG_ERROR, answer.header.nlmsg_type);
    close(fd);
    return -answer.error.error;
}

static bool may_change_interfaces(bool may)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    CHECK_EQ(0, syscall(SYS_capget, &header, data));
    if (!(data[0].permitted & 1u << CAP_NET_ADMIN))
        return false;
    data[0].effective &= ~(1u << CAP_NET_ADMIN);
    if (may)
        data[0].effective |= 1u << CAP_NET_ADMIN;
    CHECK_EQ(0, syscall(SYS_capset, &header, data));
    return true;
}

/* rtnl_fdb_add() and ndo_dflt_fdb_del() of the kernel */
static void address_lists_behave_like_the_kernels(void)
{
    static const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 7, 7};
    CHECK(!may_change_interfaces(false) || change_list(RTM_NEWNEIGH, mac) == EPERM);
    if (!may_change_interfaces(true)) {
        CHECK_EQ(EPERM, change_list(RTM_NEWNEIGH, mac));
        return;
    }
    CHECK_EQ(0, change_list(RTM_NEWNEIGH, mac));
    CHECK_EQ(EEXIST, change_list(RTM_NEWNEIGH, mac));
    CHECK_EQ(0, change_list(RTM_DELNEIGH, mac));
    CHECK_EQ(ENOENT, change_list(RTM_DELNEIGH, mac));
}

const struct test own_tests[] = {
    {"address lists behave like the kernel's", address_lists_behave_like_the_kernels},
    {"own frames are not received by default", own_frames_are_not_received_by_default},
    {"own frames are received on request", own_frames_are_received_on_request},
    {NULL, NULL},
};
