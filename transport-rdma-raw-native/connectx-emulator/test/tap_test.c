/* SPDX-License-Identifier: Apache-2.0 */
/* A TAP device of the kernel as the wire. The other end is a packet socket of this process. Run as root. */
#include "harness.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_SEND = SLOTS / 2, ETHER_TYPE = 0x88b5, TAG = 0x7a9, FRAMES = 200, PATIENCE_MILLIS = 20000 };

static const char *tap_name(void)
{
    const char *wires = getenv("CONNECTX_EMULATOR_WIRES");
    const char *tap = wires == NULL ? NULL : strstr(wires, "tap:");
    return tap == NULL ? NULL : tap + 4;
}

bool has_tap(void)
{
    return tap_name() != NULL;
}

/* Opens the kernel's end, which is up and sends nothing except to discover neighbours. */
static int open_kernel_end(void)
{
    struct ifreq request = {0};
    strncpy(request.ifr_name, tap_name(), sizeof request.ifr_name - 1);
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETHER_TYPE));
    CHECK(fd >= 0);
    CHECK_EQ(0, ioctl(fd, SIOCGIFFLAGS, &request));
    request.ifr_flags |= IFF_UP | IFF_PROMISC;
    CHECK_EQ(0, ioctl(fd, SIOCSIFFLAGS, &request));
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETHER_TYPE),
                                  .sll_ifindex = (int)if_nametoindex(request.ifr_name)};
    CHECK_EQ(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    return fd;
}

static uint32_t build(uint8_t *frame, const uint8_t *to, const uint8_t *from, uint32_t seed)
{
    uint32_t length = 60 + seed * 37 % 1455;
    memcpy(frame, to, 6);
    memcpy(frame + 6, from, 6);
    frame[12] = ETHER_TYPE >> 8;
    frame[13] = ETHER_TYPE & 0xff;
    for (uint32_t i = 14; i < length; i++)
        frame[i] = (uint8_t)(seed * 7 + i);
    return length;
}

static void frames_go_to_the_kernel_and_come_from_it(void)
{
    struct world world;
    struct side side;
    uint8_t frame[SLOT_BYTES], received[SLOT_BYTES];
    world_open(&world, "mlx5_0");
    side_open(&world, &side, 0, false);
    struct ibv_flow *flow = steer_mac(side.qp, mac_a, TAG);
    int kernel = open_kernel_end();
    for (uint32_t i = 0; i < FRAMES; i++) {
        uint32_t length = build(frame, mac_b, mac_a, i);
        post_send(&side, FIRST_SEND, frame, length, IBV_SEND_SIGNALED);
        CHECK_EQ(IBV_WC_SEND, next_success(side.cq).opcode);
        struct pollfd readable = {.fd = kernel, .events = POLLIN};
        CHECK_EQ(1, poll(&readable, 1, PATIENCE_MILLIS));
        CHECK_EQ(length, recv(kernel, received, sizeof received, 0));
        CHECK(memcmp(frame, received, length) == 0);

        length = build(frame, mac_a, mac_b, i + FRAMES);
        post_receive(&side, 0, SLOT_BYTES);
        CHECK_EQ(length, send(kernel, frame, length, 0));
        struct ibv_wc wc = next_success(side.cq);
        CHECK_EQ(length, wc.byte_len);
        CHECK_EQ(TAG, wc.qp_num);
        CHECK(memcmp(slot_at(&side, 0), frame, length) == 0);
    }
    close(kernel);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&side);
    world_close(&world);
}

const struct test tap_tests[] = {
    {"frames go to the kernel and come from it", frames_go_to_the_kernel_and_come_from_it},
    {NULL, NULL},
};
