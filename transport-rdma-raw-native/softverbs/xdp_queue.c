/* SPDX-License-Identifier: Apache-2.0 */
/* See xdp_queue.h. */
#include "xdp_queue.h"

#include "copy.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <sched.h>
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

/* The fill ring takes every chunk that receives, so giving one back never fails. */
enum { RECEIVE_CHUNKS = 4096, SEND_CHUNKS = 2048, DRAIN_BURSTS = 4 };
enum { BUSY_RETRIES = 40, BUSY_RETRY_MILLIS = 25, KICK_TRIES = 1000 };

/* ---- opening ---- */

static int map_ring(struct sv_xdp_queue *queue, struct sv_xdp_ring *ring, const struct xdp_ring_offset *offset,
                    uint64_t page, uint32_t entries, size_t entry_bytes)
{
    size_t bytes = offset->desc + entries * entry_bytes;
    uint8_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, queue->fd, (off_t)page);
    if (map == MAP_FAILED)
        return errno;
    *ring = (struct sv_xdp_ring){
        .producer = (uint32_t *)(map + offset->producer),
        .consumer = (uint32_t *)(map + offset->consumer),
        .entries = map + offset->desc,
        .mask = entries - 1,
        .map = map,
        .map_bytes = bytes,
    };
    return 0;
}

static int map_rings(struct sv_xdp_queue *queue)
{
    struct xdp_mmap_offsets offsets;
    socklen_t size = sizeof offsets;
    if (getsockopt(queue->fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size) != 0)
        return errno;
    int error = map_ring(queue, &queue->rx, &offsets.rx, XDP_PGOFF_RX_RING, RECEIVE_CHUNKS, sizeof(struct xdp_desc));
    if (error == 0)
        error = map_ring(queue, &queue->tx, &offsets.tx, XDP_PGOFF_TX_RING, SEND_CHUNKS, sizeof(struct xdp_desc));
    if (error == 0)
        error = map_ring(queue, &queue->fill, &offsets.fr, XDP_UMEM_PGOFF_FILL_RING, RECEIVE_CHUNKS,
                         sizeof(uint64_t));
    if (error == 0)
        error = map_ring(queue, &queue->completion, &offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING, SEND_CHUNKS,
                         sizeof(uint64_t));
    return error;
}

static int set_ring(int fd, int option, int entries)
{
    return setsockopt(fd, SOL_XDP, option, &entries, sizeof entries) == 0 ? 0 : errno;
}

static int register_umem(struct sv_xdp_queue *queue)
{
    queue->umem_bytes = (size_t)(RECEIVE_CHUNKS + SEND_CHUNKS) * queue->chunk_bytes;
    void *memory = mmap(NULL, queue->umem_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    queue->umem = memory;
    struct xdp_umem_reg umem;
    memset(&umem, 0, sizeof umem);
    umem.addr = (uint64_t)(uintptr_t)memory;
    umem.len = queue->umem_bytes;
    umem.chunk_size = queue->chunk_bytes;
    if (setsockopt(queue->fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem) == 0)
        return 0;
    if (errno == ENOBUFS)
        return sv_explain(ENOMEM, "the memlock limit is too low for %zu bytes of AF_XDP memory per receive queue: "
                          "ulimit -l unlimited, or CAP_IPC_LOCK", queue->umem_bytes);
    return errno;
}

/* A socket that was closed a moment ago, by us or by a process that has just ended, holds its queue a little longer. */
static int bind_queue(struct sv_xdp_queue *queue, int ifindex, uint32_t number, bool native)
{
    struct sockaddr_xdp address;
    memset(&address, 0, sizeof address);
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = (uint16_t)(XDP_USE_NEED_WAKEUP | (native ? 0 : XDP_COPY));
    address.sxdp_ifindex = (uint32_t)ifindex;
    address.sxdp_queue_id = number;
    for (int i = 0; bind(queue->fd, (struct sockaddr *)&address, sizeof address) != 0; i++) {
        if (errno != EBUSY || i == BUSY_RETRIES)
            return errno;
        struct timespec pause = {.tv_nsec = BUSY_RETRY_MILLIS * 1000000L};
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int set_up(struct sv_xdp_queue *queue, int ifindex, uint32_t number, bool native)
{
    int error = register_umem(queue);
    if (error == 0)
        error = set_ring(queue->fd, XDP_UMEM_FILL_RING, RECEIVE_CHUNKS);
    if (error == 0)
        error = set_ring(queue->fd, XDP_UMEM_COMPLETION_RING, SEND_CHUNKS);
    if (error == 0)
        error = set_ring(queue->fd, XDP_RX_RING, RECEIVE_CHUNKS);
    if (error == 0)
        error = set_ring(queue->fd, XDP_TX_RING, SEND_CHUNKS);
    if (error == 0)
        error = map_rings(queue);
    return error != 0 ? error : bind_queue(queue, ifindex, number, native);
}

static void hand_out_chunks(struct sv_xdp_queue *queue)
{
    uint64_t *fill = queue->fill.entries;
    for (uint32_t i = 0; i < RECEIVE_CHUNKS; i++)
        fill[i] = (uint64_t)i * queue->chunk_bytes;
    queue->fill.position = RECEIVE_CHUNKS;
    __atomic_store_n(queue->fill.producer, queue->fill.position, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < SEND_CHUNKS; i++)
        queue->free_chunks[queue->free_count++] = (uint64_t)(RECEIVE_CHUNKS + i) * queue->chunk_bytes;
}

int sv_xdp_queue_open(struct sv_xdp_queue *queue, int ifindex, uint32_t number, uint32_t mtu, bool native)
{
    memset(queue, 0, sizeof *queue);
    queue->chunk_bytes = mtu + 18 + SV_XDP_HEADROOM <= SV_XDP_SMALL_CHUNK ? SV_XDP_SMALL_CHUNK : SV_XDP_LARGE_CHUNK;
    queue->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (queue->fd < 0)
        return errno == EPERM ? sv_explain(EPERM, "AF_XDP sockets are not permitted: the process needs CAP_NET_RAW")
                              : sv_explain(errno, "AF_XDP sockets can't be made: the kernel must be built with "
                                           "CONFIG_XDP_SOCKETS; soft:packet: works without");
    queue->free_chunks = malloc(SEND_CHUNKS * sizeof queue->free_chunks[0]);
    int error = queue->free_chunks == NULL ? ENOMEM : sv_receiver_init(&queue->receiver);
    if (error == 0)
        error = set_up(queue, ifindex, number, native);
    if (error == 0)
        hand_out_chunks(queue);
    else
        sv_xdp_queue_close(queue);
    return error;
}

static void unmap_ring(struct sv_xdp_ring *ring)
{
    if (ring->map != NULL)
        munmap(ring->map, ring->map_bytes);
    ring->map = NULL;
}

void sv_xdp_queue_close(struct sv_xdp_queue *queue)
{
    /* The rings first: the kernel unbinds the socket only when nothing maps it. */
    unmap_ring(&queue->rx);
    unmap_ring(&queue->tx);
    unmap_ring(&queue->fill);
    unmap_ring(&queue->completion);
    if (queue->fd >= 0)
        close(queue->fd);
    if (queue->umem != NULL)
        munmap(queue->umem, queue->umem_bytes);
    free(queue->free_chunks);
    free(queue->receiver.cache);
    queue->fd = -1;
    queue->umem = NULL;
    queue->free_chunks = NULL;
    queue->receiver.cache = NULL;
}

/* ---- receiving ---- */

static unsigned drain_burst(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit)
{
    struct sv_frame frames[SV_BURST];
    const struct xdp_desc *descriptors = queue->rx.entries;
    uint64_t *fill = queue->fill.entries;
    uint32_t position = queue->rx.position;
    unsigned taken = 0;
    unsigned seen = 0;

    while (seen < SV_BURST && (int32_t)(limit - (position + seen)) > 0) {
        const struct xdp_desc *descriptor = &descriptors[(position + seen++) & queue->rx.mask];
        if (SV_UNLIKELY(descriptor->len < 14)) {
            queue->receiver.counters.length_errors++;
            continue;
        }
        frames[taken++] = (struct sv_frame){.data = queue->umem + descriptor->addr, .length = descriptor->len};
        __builtin_prefetch(queue->umem + descriptor->addr);
    }
    if (taken > 0)
        sv_receiver_dispatch(&queue->receiver, device, frames, taken);
    for (unsigned i = 0; i < seen; i++)
        fill[queue->fill.position++ & queue->fill.mask] =
            descriptors[(position + i) & queue->rx.mask].addr & ~(uint64_t)(queue->chunk_bytes - 1);
    queue->rx.position = position + seen;
    __atomic_store_n(queue->rx.consumer, queue->rx.position, __ATOMIC_RELEASE);
    __atomic_store_n(queue->fill.producer, queue->fill.position, __ATOMIC_RELEASE);
    return seen;
}

unsigned sv_xdp_queue_drain(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit)
{
    unsigned total = 0;
    /* A hint, as the position is another thread's: at worst this looks once more, or a poll later. */
    if (limit == __atomic_load_n(queue->rx.consumer, __ATOMIC_RELAXED) || !sv_receiver_try(&queue->receiver))
        return 0;
    for (int i = 0; i < DRAIN_BURSTS; i++) {
        unsigned burst = drain_burst(queue, device, limit);
        total += burst;
        if (burst < SV_BURST)
            break;
    }
    sv_spin_unlock(&queue->receiver.lock);
    return total;
}

uint64_t sv_xdp_queue_drops(const struct sv_xdp_queue *queue)
{
    struct xdp_statistics statistics;
    socklen_t size = sizeof statistics;
    memset(&statistics, 0, sizeof statistics);
    if (getsockopt(queue->fd, SOL_XDP, XDP_STATISTICS, &statistics, &size) != 0)
        return 0;
    return statistics.rx_dropped + statistics.rx_ring_full;
}

/* ---- sending, with send_lock held ---- */

static void take_completions(struct sv_xdp_queue *queue)
{
    const uint64_t *done = queue->completion.entries;
    uint32_t end = __atomic_load_n(queue->completion.producer, __ATOMIC_ACQUIRE);
    while (queue->completion.position != end)
        queue->free_chunks[queue->free_count++] = done[queue->completion.position++ & queue->completion.mask];
    __atomic_store_n(queue->completion.consumer, queue->completion.position, __ATOMIC_RELEASE);
}

/* Has the kernel send what is in the ring. It takes a few dozen per call, and says EAGAIN when there are more. */
static int kick(struct sv_xdp_queue *queue)
{
    for (int i = 0; i < KICK_TRIES; i++) {
        if (__atomic_load_n(queue->tx.consumer, __ATOMIC_ACQUIRE) == queue->tx.position)
            return 0;
        if (sendto(queue->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
            continue;
        if (errno != EAGAIN && errno != EBUSY && errno != ENOBUFS && errno != EINTR)
            return errno;
        if (i > 8)
            sched_yield();
    }
    return ENOBUFS;
}

static unsigned put(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count)
{
    struct xdp_desc *descriptors = queue->tx.entries;
    uint32_t room = queue->tx.mask + 1 - (queue->tx.position - __atomic_load_n(queue->tx.consumer, __ATOMIC_ACQUIRE));
    unsigned n = 0;
    for (; n < count && n < room && queue->free_count > 0; n++) {
        uint64_t chunk = queue->free_chunks[--queue->free_count];
        sv_copy(queue->umem + chunk, frames[n].data, frames[n].length);
        descriptors[queue->tx.position++ & queue->tx.mask] = (struct xdp_desc){.addr = chunk,
                                                                               .len = frames[n].length};
    }
    __atomic_store_n(queue->tx.producer, queue->tx.position, __ATOMIC_RELEASE);
    return n;
}

unsigned sv_xdp_queue_send(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count, int *error)
{
    unsigned sent = 0;
    *error = 0;
    sv_spin_lock(&queue->send_lock);
    for (int i = 0; sent < count && *error == 0; i++) {
        take_completions(queue);
        unsigned n = put(queue, frames + sent, count - sent);
        sent += n;
        *error = kick(queue);
        /* All chunks are with the interface: it will give some back soon, or it is stuck. */
        if (n == 0) {
            sched_yield();
            if (i > KICK_TRIES)
                *error = ENOBUFS;
        }
    }
    sv_spin_unlock(&queue->send_lock);
    return sent;
}
