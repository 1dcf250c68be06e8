/* SPDX-License-Identifier: Apache-2.0 */
/* See xdp_queue.h: opening a socket and closing it. The traffic is in xdp_queue.c. */
#include "xdp_mode.h"
#include "xdp_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9     /* Linux 6.17 */
#endif

/*
 * The fill ring has room for every receive chunk, so returning one never fails. The kernel cycles through all chunks:
 * more would absorb longer pauses, but cost cache misses for every frame. Under a low memlock limit there are fewer.
 */
enum { RECEIVE_CHUNKS = 2048, MIN_RECEIVE_CHUNKS = 512, PAGE = 4096 };
enum { BUSY_RETRIES = 120, BUSY_RETRY_MILLIS = 25, UNUSED_ENTRIES = 2 };

/* ---- opening ---- */

static int map_ring(int fd, struct sv_xdp_ring *ring, const struct xdp_ring_offset *offset, uint64_t page,
                    uint32_t entries, size_t entry_bytes)
{
    size_t bytes = offset->desc + entries * entry_bytes;
    uint8_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)page);
    if (map == MAP_FAILED)
        return errno;
    *ring = (struct sv_xdp_ring){
        .producer = (uint32_t *)(map + offset->producer),
        .consumer = (uint32_t *)(map + offset->consumer),
        .flags = (uint32_t *)(map + offset->flags),
        .entries = map + offset->desc,
        .mask = entries - 1,
        .map = map,
        .map_bytes = bytes,
    };
    return 0;
}

static int ring_offsets(int fd, struct xdp_mmap_offsets *offsets)
{
    socklen_t size = sizeof *offsets;
    return getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, offsets, &size) == 0 ? 0 : errno;
}

static int map_receive_ring(struct sv_xdp_lane *lane, const struct xdp_mmap_offsets *offsets)
{
    return map_ring(lane->receiver.fd, &lane->rx, &offsets->rx, XDP_PGOFF_RX_RING, lane->entries,
                    sizeof(struct xdp_desc));
}

/* The rings of sending belong to the socket that sends. */
static int map_send_rings(struct sv_xdp_queue *queue)
{
    struct xdp_mmap_offsets offsets;
    int error = ring_offsets(queue->sender, &offsets);
    if (error == 0)
        error = map_ring(queue->sender, &queue->tx, &offsets.tx, XDP_PGOFF_TX_RING, queue->send_chunks,
                         sizeof(struct xdp_desc));
    if (error == 0)
        error = map_ring(queue->sender, &queue->completion, &offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING,
                         queue->send_chunks, sizeof(uint64_t));
    return error;
}

static int map_rings(struct sv_xdp_queue *queue)
{
    struct xdp_mmap_offsets offsets;
    int error = ring_offsets(queue->main.receiver.fd, &offsets);
    if (error == 0)
        error = map_receive_ring(&queue->main, &offsets);
    if (error == 0)
        error = map_ring(queue->main.receiver.fd, &queue->fill, &offsets.fr, XDP_UMEM_PGOFF_FILL_RING,
                         queue->receive_chunks, sizeof(uint64_t));
    return error;
}

static int set_ring(int fd, int option, uint32_t entries)
{
    return setsockopt(fd, SOL_XDP, option, &entries, sizeof entries) == 0 ? 0 : errno;
}

static int try_umem(struct sv_xdp_queue *queue)
{
    size_t bytes = (size_t)(queue->receive_chunks + queue->send_chunks) * queue->stride_bytes;
    queue->umem_bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    void *memory = mmap(NULL, queue->umem_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    struct xdp_umem_reg umem;
    memset(&umem, 0, sizeof umem);
    umem.addr = (uint64_t)(uintptr_t)memory;
    umem.len = queue->umem_bytes;
    umem.chunk_size = queue->chunk_bytes;
    umem.flags = queue->stride_bytes == queue->chunk_bytes ? 0 : XDP_UMEM_UNALIGNED_CHUNK_FLAG;
    if (setsockopt(queue->main.receiver.fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem) == 0) {
        queue->umem = memory;
        return 0;
    }
    int error = errno;
    munmap(memory, queue->umem_bytes);
    return error;
}

static int register_umem(struct sv_xdp_queue *queue)
{
    int error = ENOBUFS;
    for (uint32_t chunks = RECEIVE_CHUNKS; error == ENOBUFS && chunks >= MIN_RECEIVE_CHUNKS; chunks /= 2) {
        queue->receive_chunks = chunks;
        queue->send_chunks = queue->sender >= 0 ? chunks / 2 : 0;
        error = try_umem(queue);
    }
    if (error == ENOBUFS)
        return sv_explain(ENOMEM, "the memlock limit, which all processes of a user share, is too low for %zu bytes of "
                          "AF_XDP memory per receive queue: ulimit -l unlimited, or CAP_IPC_LOCK, or fewer queues "
                          "(ethtool -L)", queue->umem_bytes);
    return error;
}

/*
 * A socket closed a moment ago, here or by a process that has just ended, holds its queue a little longer: the kernel
 * frees it in a task that waits for its lock of all interfaces, on a busy machine for more than a second.
 */
static int bind_patiently(int fd, const struct sockaddr_xdp *address)
{
    for (int i = 0; bind(fd, (const struct sockaddr *)address, sizeof *address) != 0; i++) {
        if (errno != EBUSY || i == BUSY_RETRIES)
            return errno;
        struct timespec pause = {.tv_nsec = BUSY_RETRY_MILLIS * 1000000L};
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int bind_main(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    struct sockaddr_xdp address;
    memset(&address, 0, sizeof address);
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = (uint16_t)(XDP_USE_NEED_WAKEUP | (config->zero_copy ? XDP_ZEROCOPY : XDP_COPY) |
                                    (queue->multi_buffer ? XDP_USE_SG : 0));
    address.sxdp_ifindex = (uint32_t)config->receive_ifindex;
    address.sxdp_queue_id = config->number;
    return bind_patiently(queue->main.receiver.fd, &address);
}

/* Of a socket that shares the memory and the flags of the main one. */
static void fill_shared_address(struct sockaddr_xdp *address, const struct sv_xdp_queue *queue, int ifindex,
                                uint32_t number)
{
    memset(address, 0, sizeof *address);
    address->sxdp_family = AF_XDP;
    address->sxdp_flags = XDP_SHARED_UMEM;
    address->sxdp_shared_umem_fd = (uint32_t)queue->main.receiver.fd;
    address->sxdp_ifindex = (uint32_t)ifindex;
    address->sxdp_queue_id = number;
}

/* Rings and limits of the socket that sends. */
static int set_up_sending(struct sv_xdp_queue *queue)
{
    int error = set_ring(queue->sender, XDP_UMEM_COMPLETION_RING, queue->send_chunks);
    if (error == 0)
        error = set_ring(queue->sender, XDP_TX_RING, queue->send_chunks);
    if (error == 0)
        error = map_send_rings(queue);
    /* A whole burst with each call; older kernels send 32. */
    const int budget = SV_BURST;
    (void)setsockopt(queue->sender, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof budget);
    return error;
}

static int hand_out_chunks(struct sv_xdp_queue *queue)
{
    uint64_t *fill = queue->fill.entries;
    queue->free_chunks = malloc((queue->send_chunks + 1) * sizeof queue->free_chunks[0]);
    if (queue->free_chunks == NULL)
        return ENOMEM;
    for (uint32_t i = 0; i < queue->receive_chunks; i++)
        fill[i] = (uint64_t)i * queue->stride_bytes;
    queue->fill.position = queue->receive_chunks;
    __atomic_store_n(queue->fill.producer, queue->fill.position, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < queue->send_chunks; i++)
        queue->free_chunks[queue->free_count++] = (uint64_t)(queue->receive_chunks + i) * queue->stride_bytes;
    return 0;
}

static int set_up(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    int fd = queue->main.receiver.fd;
    bool sends = config->receive_ifindex == config->ifindex;
    queue->sender = sends ? fd : -1;
    int error = register_umem(queue);
    queue->main.entries = queue->receive_chunks;
    if (error == 0)
        error = set_ring(fd, XDP_UMEM_FILL_RING, queue->receive_chunks);
    if (error == 0)
        error = set_ring(fd, XDP_RX_RING, queue->main.entries);
    if (error == 0)
        error = map_rings(queue);
    if (error == 0)
        error = sends ? set_up_sending(queue) : set_ring(fd, XDP_UMEM_COMPLETION_RING, UNUSED_ENTRIES);
    /*
     * Before the socket is bound: a driver with zero copy takes its receive buffers from the fill ring then. virtio_net
     * that finds none there has none, gets no frame, and looks again when a frame comes.
     */
    if (error == 0)
        error = hand_out_chunks(queue);
    if (error != 0)
        return error;
    error = bind_main(queue, config);
    if (error == EINVAL && queue->multi_buffer && !queue->jumbo) {
        queue->multi_buffer = false;    /* before Linux 6.6: of super-frames only those that fit a chunk come */
        error = bind_main(queue, config);
    }
    /* ENOENT: virtio_net that receives into lists of pages (big_packets without mergeable buffers). */
    bool refused = error == EOPNOTSUPP || error == EINVAL || error == ENOENT;
    if (refused && config->number == 0 && config->zero_copy)
        return sv_explain(EOPNOTSUPP, "the interface's driver has no zero copy for AF_XDP, or not with this MTU%s",
                          sv_xdp_mode_is_named(SV_XDP_MODE_ZERO_COPY) && error != ENOENT
                              ? ": SOFTVERBS_XDP_MODE=native copies" : "");
    if (error == EINVAL && config->number == 0 && queue->multi_buffer)
        return sv_explain(EOPNOTSUPP, "AF_XDP carries frames of this MTU from Linux 6.6 on: set the MTU to %d or less, "
                          "or use soft:packet:", SV_XDP_LARGE_CHUNK - SV_XDP_HEADROOM - SV_MAX_OVERHEAD);
    return error;
}

static int open_socket(int *fd)
{
    *fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (*fd >= 0)
        return 0;
    return errno == EPERM ? sv_explain(EPERM, "AF_XDP sockets are not permitted: the process needs CAP_NET_RAW")
                          : sv_explain(errno, "AF_XDP sockets can't be made: the kernel must be built with "
                                       "CONFIG_XDP_SOCKETS; soft:packet: works without");
}

/* SYNs occupy at most half of the chunks. The socket shares flags and rings with the other. */
static int open_syns(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    struct sv_xdp_lane *syns = &queue->syns;
    struct xdp_mmap_offsets offsets;
    int error = config->has_sockets ? 0 : open_socket(&syns->receiver.fd);
    if (error != 0)
        return error;
    syns->entries = queue->receive_chunks / 2;
    error = set_ring(syns->receiver.fd, XDP_RX_RING, syns->entries);
    if (error == 0)
        error = ring_offsets(syns->receiver.fd, &offsets);
    if (error == 0)
        error = map_receive_ring(syns, &offsets);
    struct sockaddr_xdp address;
    fill_shared_address(&address, queue, config->receive_ifindex, config->number);
    return error != 0 ? error : bind_patiently(syns->receiver.fd, &address);
}

/*
 * In tap mode the queue is the TAP interface's. Whether the network interface has one of this number is told by binding
 * a socket to it for a moment: not EINVAL. Another process may have the queue.
 */
static int find_queue(const struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    struct sockaddr_xdp address;
    int fd;
    int error = open_socket(&fd);
    if (error != 0)
        return error;
    fill_shared_address(&address, queue, config->ifindex, config->number);
    error = set_ring(fd, XDP_UMEM_FILL_RING, UNUSED_ENTRIES);
    if (error == 0)
        error = set_ring(fd, XDP_UMEM_COMPLETION_RING, UNUSED_ENTRIES);
    if (error == 0)
        error = set_ring(fd, XDP_TX_RING, UNUSED_ENTRIES);
    if (error == 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 && errno != EBUSY)
        error = errno;
    close(fd);
    return error;
}

/* The kernel counts from when the socket was opened. */
static void count_drops_as(struct sv_receiver *receiver, uint64_t *counter)
{
    struct xdp_statistics statistics;
    socklen_t size = sizeof statistics;
    memset(&statistics, 0, sizeof statistics);
    if (getsockopt(receiver->fd, SOL_XDP, XDP_STATISTICS, &statistics, &size) == 0)
        *counter = statistics.rx_dropped + statistics.rx_ring_full;
}

static void count_drops(struct sv_receiver *receiver)
{
    count_drops_as(receiver, &receiver->counters.wire_full);
}

static void count_dropped_syns(struct sv_receiver *receiver)
{
    count_drops_as(receiver, &receiver->counters.syns_full);
}

/* A zero-copy driver may refuse chunks that cross pages, so they are aligned for it. */
static void choose_chunks(struct sv_xdp_queue *queue, uint32_t mtu, bool zero_copy)
{
    queue->chunk_bytes = sv_xdp_chunk_bytes(mtu, zero_copy);
    queue->stride_bytes = queue->chunk_bytes + (zero_copy ? 0 : SV_XDP_SPREAD);
    queue->base_mask = zero_copy ? ~(uint64_t)(queue->chunk_bytes - 1) : XSK_UNALIGNED_BUF_ADDR_MASK;
    queue->jumbo = sv_xdp_is_jumbo(mtu);
    queue->zero_copy = zero_copy;
}

uint32_t sv_xdp_queue_max_mtu(const struct sv_xdp_queue *queue)
{
    return queue->jumbo ? SV_XDP_MAX_MTU : queue->chunk_bytes - SV_XDP_HEADROOM - SV_MAX_OVERHEAD;
}

int sv_xdp_queue_open(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    memset(queue, 0, sizeof *queue);
    queue->sender = -1;
    choose_chunks(queue, config->mtu, config->zero_copy);
    queue->partial = config->partial;
    queue->super_frames = config->super_frames;
    queue->multi_buffer = queue->jumbo || queue->super_frames;
    int error = sv_receiver_init(&queue->main.receiver, count_drops);
    int syns_error = sv_receiver_init(&queue->syns.receiver, count_dropped_syns);
    if (error == 0)
        error = syns_error;
    if (config->has_sockets) {
        queue->main.receiver.fd = config->main_socket;
        queue->syns.receiver.fd = config->syn_socket;
    }
    if (error == 0 && !config->has_sockets)
        error = open_socket(&queue->main.receiver.fd);
    if (error == 0)
        error = set_up(queue, config);
    if (error == 0)
        error = open_syns(queue, config);
    if (error == 0 && queue->sender < 0 && config->is_untold)
        error = find_queue(queue, config);
    if (error == 0 && queue->multi_buffer && (queue->scratch = malloc(SV_XDP_SCRATCH_BYTES)) == NULL)
        error = ENOMEM;
    if (error == 0 && queue->super_frames && (queue->slots = calloc(SV_BURST, sizeof queue->slots[0])) == NULL)
        error = ENOMEM;
    if (error != 0)
        sv_xdp_queue_close(queue);
    return error;
}

static void unmap_ring(struct sv_xdp_ring *ring)
{
    if (ring->map != NULL)
        munmap(ring->map, ring->map_bytes);
    ring->map = NULL;
}

static void close_lane(struct sv_xdp_lane *lane)
{
    unmap_ring(&lane->rx);
    if (lane->receiver.fd >= 0)
        close(lane->receiver.fd);
    sv_receiver_close(&lane->receiver);
    lane->receiver.fd = -1;
}

void sv_xdp_queue_close(struct sv_xdp_queue *queue)
{
    /* The rings first: the kernel unbinds the socket only when nothing maps it. */
    unmap_ring(&queue->tx);
    unmap_ring(&queue->fill);
    unmap_ring(&queue->completion);
    queue->sender = -1;
    close_lane(&queue->syns);
    close_lane(&queue->main);
    if (queue->umem != NULL)
        munmap(queue->umem, queue->umem_bytes);
    free(queue->free_chunks);
    free(queue->scratch);
    free(queue->slots);
    queue->umem = NULL;
    queue->free_chunks = NULL;
    queue->scratch = NULL;
    queue->slots = NULL;
}
