/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drops that a queue of AF_XDP sockets counts. xdp_socket.c is included, with the system calls on sockets replaced,
 * because no driver of the test's interfaces has zero copy.
 */
#define sv_xdp_queue_open tested_queue_open
#define sv_xdp_queue_close tested_queue_close
#define sv_xdp_queue_max_mtu tested_queue_max_mtu

#include "harness.h"
#include "xdp_queue.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static struct xdp_statistics counted;   /* by the kernel */
static unsigned wakes;

static int fake_socket(void)
{
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* As in the kernel's rings, each index has its own cache line. */
static int fake_getsockopt(int fd, int option, void *value, socklen_t *size)
{
    static const struct xdp_ring_offset offset = {.producer = 0, .consumer = 64, .flags = 128, .desc = 192};
    (void)fd;
    if (option == XDP_STATISTICS) {
        memcpy(value, &counted, *size);
        return 0;
    }
    CHECK_EQ(XDP_MMAP_OFFSETS, option);
    *(struct xdp_mmap_offsets *)value = (struct xdp_mmap_offsets){offset, offset, offset, offset};
    return 0;
}

static ssize_t fake_recvfrom(void)
{
    wakes++;
    return 0;
}

static ssize_t fake_sendto(void)
{
    counted.tx_invalid_descs++;
    return 0;
}

static int fake_bind(int fd, const void *address)
{
    (void)fd, (void)address;
    return 0;
}

static void *fake_mmap(size_t bytes, int fd, off_t start)
{
    (void)fd, (void)start;
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int fake_receiver_init(struct sv_receiver *receiver, void (*count_drops)(struct sv_receiver *receiver))
{
    receiver->fd = -1;
    receiver->count_drops = count_drops;
    return 0;
}

#define socket(...) fake_socket()
#define bind(FD, ADDRESS, ...) fake_bind(FD, ADDRESS)
#define setsockopt(...) 0
#define getsockopt(FD, LEVEL, OPTION, VALUE, SIZE) fake_getsockopt(FD, OPTION, VALUE, SIZE)
#define recvfrom(...) fake_recvfrom()
#define sendto(...) fake_sendto()
#define mmap(ADDRESS, BYTES, PROTECTION, FLAGS, FD, START) fake_mmap(BYTES, FD, START)
#define sv_xdp_set_ring_size(...) 0
#define sv_xdp_raise_limits(...) ((void)0)
#define sv_receiver_init fake_receiver_init
#define sv_receiver_close(...) ((void)0)

#include "../softverbs/xdp_socket.c"

static void queue_open(struct sv_xdp_queue *queue, bool zero_copy)
{
    const struct sv_xdp_queue_config config = {.ifindex = 1, .receive_ifindex = 1, .mtu = 1500,
                                               .zero_copy = zero_copy};
    memset(&counted, 0, sizeof counted);
    CHECK_EQ(0, tested_queue_open(queue, &config));
    CHECK(atomic_load(&queue->can_send));
    counted.rx_dropped = 2;
    counted.rx_ring_full = 3;
    counted.rx_fill_ring_empty_descs = 7;
    wakes = 0;
    queue->main.receiver.count_drops(&queue->main.receiver);
    CHECK_EQ(5, queue->main.receiver.counters.ring_full);
}

/* A zero-copy driver drops frames for which it finds no chunk, and the kernel counts only the times. */
static void an_empty_fill_ring_is_counted_in_zero_copy(void)
{
    struct sv_xdp_queue queue;
    queue_open(&queue, true);
    CHECK_EQ(7, queue.main.receiver.counters.driver_no_buffer);
    CHECK_EQ(1, wakes);
    CHECK(queue.main.receiver.may_stall);       /* so the receive thread repeats this */
    counted.rx_fill_ring_empty_descs = 9;
    queue.main.receiver.count_drops(&queue.main.receiver);
    CHECK_EQ(9, queue.main.receiver.counters.driver_no_buffer);
    CHECK_EQ(5, queue.main.receiver.counters.ring_full);
    tested_queue_close(&queue);
}

/* In copy mode the kernel drops the frame itself and counts it as dropped. */
static void an_empty_fill_ring_is_not_counted_twice_in_copy_mode(void)
{
    struct sv_xdp_queue queue;
    queue_open(&queue, false);
    CHECK_EQ(0, queue.main.receiver.counters.driver_no_buffer);
    CHECK_EQ(0, wakes);
    tested_queue_close(&queue);
}

const struct test xdp_counters_tests[] = {
    {"xdp queue: an empty fill ring is counted in zero copy", an_empty_fill_ring_is_counted_in_zero_copy},
    {"xdp queue: an empty fill ring is not counted twice in copy mode",
     an_empty_fill_ring_is_not_counted_twice_in_copy_mode},
    {NULL, NULL},
};
