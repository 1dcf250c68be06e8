/* SPDX-License-Identifier: Apache-2.0 */
/* A frame that stalls the ring of a packet socket, which is then created again. */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PORT = 2000, BEFORE = 20, AFTER = 40, STALLS = 3, RECEIVES = 16 };

struct taps {
    struct wire wire;
    int tap[2];
    uint64_t sent;
    uint64_t taken;
    struct ibv_flow *flow;
};

static int open_tap(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    int tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    if (tap < 0)
        return -1;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    CHECK_EQ(0, ioctl(tap, TUNSETIFF, &request));
    run("sysctl -qw net.ipv6.conf.%s.disable_ipv6=1", name);
    run("ip link set %s up", name);
    return tap;
}

static bool taps_open(struct taps *t, const char *kind)
{
    static unsigned number;
    memset(t, 0, sizeof *t);
    for (int end = 0; end < 2; end++) {
        snprintf(t->wire.name[end], sizeof t->wire.name[end], "svtap%u", number++);
        t->tap[end] = open_tap(t->wire.name[end]);
        if (t->tap[end] < 0)
            return false;
    }
    wire_open_on(&t->wire, kind);
    t->flow = udp_rule(&t->wire.side[1], PORT);
    for (unsigned i = 0; i < RECEIVES; i++)
        CHECK_EQ(0, post_recv_slot(&t->wire.side[1], i, SLOT_BYTES));
    return true;
}

static void taps_close(struct taps *t)
{
    CHECK_EQ(0, ibv_destroy_flow(t->flow));
    wire_close(&t->wire);
    for (int end = 0; end < 2; end++)
        close(t->tap[end]);
}

static void inject(struct taps *t, const struct virtio_net_hdr *offload, uint16_t payload)
{
    static uint8_t frame[65536];
    struct frame_spec spec = default_frame();
    spec.dst_port = PORT;
    spec.payload = payload;
    size_t length = build_frame(&spec, frame);
    struct iovec parts[] = {{(void *)(uintptr_t)offload, sizeof *offload}, {frame, length}};
    CHECK_EQ(sizeof *offload + length, writev(t->tap[1], parts, 2));
    t->sent++;
}

static void inject_good(struct taps *t)
{
    const struct virtio_net_hdr plain = {0};
    inject(t, &plain, 100);
}

/* UDP fragmentation offload, which a virtual machine may request. The kernel does not pass it on. */
static void inject_bad(struct taps *t)
{
    const struct virtio_net_hdr offload = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_UDP,
                                           .hdr_len = 42, .gso_size = 1400, .csum_start = 34, .csum_offset = 6};
    inject(t, &offload, 4000);
}

static unsigned poll_once(struct taps *t)
{
    struct ibv_wc wc;
    int count = ibv_poll_cq(t->wire.side[1].cq, 1, &wc);
    CHECK(count >= 0);
    if (count == 0)
        return 0;
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(0, post_recv_slot(&t->wire.side[1], (unsigned)(t->taken++ % RECEIVES), SLOT_BYTES));
    return 1;
}

static void pass_good(struct taps *t, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t taken = t->taken;
        struct timespec start = now();
        inject_good(t);
        while (poll_once(t) == 0 && !overdue(start))
            ;
        CHECK_EQ(taken + 1, t->taken);
    }
}

/* Good frames are lost until the ring has been created again. Only the library's own thread does this. */
static void inject_until_one_passes(struct taps *t)
{
    uint64_t taken = t->taken;
    struct timespec start = now();
    while (t->taken == taken && !overdue(start)) {
        inject_good(t);
        (void)poll(NULL, 0, 1);
        poll_once(t);
    }
    CHECK(t->taken > taken);
    while (poll_once(t) > 0)
        ;
}

static struct softverbs_queue_counters received(const struct taps *t)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(t->wire.world[1].context, &counters));
    return counters.received;
}

/* A poll finds no frame while the library's thread looks at the ring, so a poll that finds none may not be the last. */
static void take_all_received(struct taps *t)
{
    for (struct timespec start = now(); received(t).frames != t->taken && !overdue(start);)
        poll_once(t);
}

/* Kernels such as Debian's 6.12.117 release the slot: the frame counts as one too many, and no other frame is lost. */
static void check_bad_frames(const struct softverbs_queue_counters *counters, unsigned bad)
{
    if (counters->gso_malformed == 0)
        CHECK_EQ(bad, counters->ring_full);
    else
        CHECK_EQ(bad, counters->gso_malformed);
}

static void a_stalled_ring_is_created_again(void)
{
    struct taps t;
    if (!have_namespace())
        return;
    if (!taps_open(&t, "packet")) {
        printf("left out: tests on TAP interfaces, which need /dev/net/tun\n");
        return;
    }
    pass_good(&t, BEFORE);
    for (unsigned stall = 1; stall <= STALLS; stall++) {
        inject_bad(&t);
        inject_until_one_passes(&t);
        struct softverbs_queue_counters before = received(&t);
        check_bad_frames(&before, stall);
        pass_good(&t, AFTER);
        CHECK_EQ(before.ring_full, received(&t).ring_full);
    }
    take_all_received(&t);
    struct softverbs_queue_counters counters = received(&t);
    check_bad_frames(&counters, STALLS);
    CHECK_EQ(t.taken, counters.frames);
    CHECK(counters.frames + counters.ring_full + counters.gso_malformed <= t.sent);
    taps_close(&t);
}

/* A ring that was full, and is drained between two looks, has not stalled. */
static void a_full_ring_has_not_stalled(void)
{
    enum { RING = 4096 };
    struct taps t;
    if (!have_namespace() || !taps_open(&t, "packet"))
        return;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < RING + 10; i++)
            inject_good(&t);
        received(&t);                               /* looks at the ring */
        for (unsigned i = 0; i < 10; i++)
            inject_good(&t);
        while (poll_once(&t) > 0)
            ;
        CHECK_EQ(0, received(&t).gso_malformed);
    }
    pass_good(&t, AFTER);
    CHECK(received(&t).ring_full > 0);
    CHECK_EQ(0, received(&t).gso_malformed);
    taps_close(&t);
}

const struct test packet_stall_tests[] = {
    {"packet ring: a stalled ring is created again", a_stalled_ring_is_created_again},
    {"packet ring: a full ring has not stalled", a_full_ring_has_not_stalled},
    {NULL, NULL},
};
