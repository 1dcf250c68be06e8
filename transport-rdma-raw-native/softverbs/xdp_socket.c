/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the AF_XDP sockets of a queue: see xdp_queue.h. */
#include "xdp_mode.h"
#include "xdp_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, UNUSED_ENTRIES = 2 };

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

static int map_receive_ring(struct sv_xdp_receive_socket *rx_socket, const struct xdp_mmap_offsets *offsets)
{
    return map_ring(rx_socket->receiver.fd, &rx_socket->rx, &offsets->rx, XDP_PGOFF_RX_RING, rx_socket->entries,
                    sizeof(struct xdp_desc));
}

/* The send rings belong to the socket that sends. */
static int map_send_rings(struct sv_xdp_queue *queue)
{
    struct xdp_mmap_offsets offsets;
    int error = ring_offsets(queue->send_fd, &offsets);
    if (error == 0)
        error = map_ring(queue->send_fd, &queue->tx, &offsets.tx, XDP_PGOFF_TX_RING, queue->send_chunks,
                         sizeof(struct xdp_desc));
    if (error == 0)
        error = map_ring(queue->send_fd, &queue->completion, &offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING,
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
    for (uint32_t chunks = SV_XDP_RECEIVE_CHUNKS; error == ENOBUFS && chunks >= SV_XDP_MIN_RECEIVE_CHUNKS;
         chunks /= 2) {
        queue->receive_chunks = chunks;
        queue->send_chunks = queue->send_fd >= 0 ? chunks / 2 : 0;
        error = try_umem(queue);
    }
    if (error == ENOBUFS)
        return sv_explain(ENOMEM, "the memlock limit, which all processes of a user share, is too low for %zu bytes of "
                          "AF_XDP memory per receive queue: ulimit -l unlimited, or CAP_IPC_LOCK, or fewer queues "
                          "(ethtool -L)", queue->umem_bytes);
    return error;
}

/*
 * Binds a socket, and retries while the queue is busy. The kernel releases the queue of a closed socket in a deferred
 * task that needs the RTNL lock. On a busy machine this takes more than a second.
 */
static int bind_with_retry(int fd, const struct sockaddr_xdp *address, bool may_wait)
{
    sv_assert_may_block();
    for (int i = 0; bind(fd, (const struct sockaddr *)address, sizeof *address) != 0; i++) {
        if (errno != EBUSY || !may_wait || i == SV_XDP_BUSY_RETRIES)
            return errno;
        struct timespec pause = {.tv_nsec = SV_XDP_BUSY_RETRY_MILLIS * 1000000L};
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
    return bind_with_retry(queue->main.receiver.fd, &address, config->may_wait);
}

/* Fills the address of a socket that shares the memory and the flags of the main one. */
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

/* Sets rings and limits of the socket that sends. */
static int set_up_sending(struct sv_xdp_queue *queue)
{
    int error = sv_xdp_set_ring_size(queue->send_fd, XDP_UMEM_COMPLETION_RING, queue->send_chunks);
    if (error == 0)
        error = sv_xdp_set_ring_size(queue->send_fd, XDP_TX_RING, queue->send_chunks);
    if (error == 0)
        error = map_send_rings(queue);
    sv_xdp_raise_limits(queue->send_fd);
    return error;
}

static int list_free_chunks(struct sv_xdp_queue *queue)
{
    queue->free_chunks = malloc((queue->send_chunks + 1) * sizeof queue->free_chunks[0]);
    if (queue->free_chunks == NULL)
        return ENOMEM;
    for (uint32_t i = 0; i < queue->send_chunks; i++)
        queue->free_chunks[queue->free_count++] = (uint64_t)(queue->receive_chunks + i) * queue->stride_bytes;
    return 0;
}

static int populate_fill_ring(struct sv_xdp_queue *queue)
{
    uint64_t *fill = queue->fill.entries;
    for (uint32_t i = 0; i < queue->receive_chunks; i++)
        fill[i] = (uint64_t)i * queue->stride_bytes;
    queue->fill.position = queue->receive_chunks;
    __atomic_store_n(queue->fill.producer, queue->fill.position, __ATOMIC_RELEASE);
    return list_free_chunks(queue);
}

static int set_up_main(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    int fd = queue->main.receiver.fd;
    bool sends = config->receive_ifindex == config->ifindex;
    queue->send_fd = sends ? fd : -1;
    int error = register_umem(queue);
    queue->main.entries = queue->receive_chunks / sv_xdp_main_divisor(queue->zero_copy);
    if (error == 0)
        error = sv_xdp_set_ring_size(fd, XDP_UMEM_FILL_RING, queue->receive_chunks);
    if (error == 0)
        error = sv_xdp_set_ring_size(fd, XDP_RX_RING, queue->main.entries);
    if (error == 0)
        error = map_rings(queue);
    if (error == 0)
        error = sends ? set_up_sending(queue) : sv_xdp_set_ring_size(fd, XDP_UMEM_COMPLETION_RING, UNUSED_ENTRIES);
    /*
     * At the bind, a zero-copy driver takes its receive buffers from the fill ring. If virtio_net finds none there, it
     * receives nothing and checks again only when a frame arrives.
     */
    if (error == 0)
        error = populate_fill_ring(queue);
    if (error != 0)
        return error;
    error = bind_main(queue, config);
    if (error == EINVAL && queue->multi_buffer && !queue->jumbo) {
        queue->multi_buffer = false;    /* before Linux 6.6: GSO frames arrive only if they fit a chunk */
        error = bind_main(queue, config);
    }
    /* ENOENT: virtio_net that receives into lists of pages (big_packets without mergeable buffers). */
    bool refused = error == EOPNOTSUPP || error == EINVAL || error == ENOENT;
    if (refused && config->number == 0 && config->zero_copy)
        return sv_explain(EOPNOTSUPP, "the interface's driver has no zero copy for AF_XDP, or not with this MTU%s",
                          sv_xdp_mode_is_forced(SV_XDP_MODE_ZERO_COPY) && error != ENOENT
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

/* This socket has its own receive ring. It shares memory, flags and fill ring with the main one. */
static int open_syn_socket(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    struct sv_xdp_receive_socket *syn = &queue->syn;
    struct xdp_mmap_offsets offsets;
    int error = open_socket(&syn->receiver.fd);
    if (error != 0)
        return error;
    syn->entries = queue->receive_chunks / sv_xdp_syn_divisor(queue->zero_copy);
    error = sv_xdp_set_ring_size(syn->receiver.fd, XDP_RX_RING, syn->entries);
    if (error == 0)
        error = ring_offsets(syn->receiver.fd, &offsets);
    if (error == 0)
        error = map_receive_ring(syn, &offsets);
    struct sockaddr_xdp address;
    fill_shared_address(&address, queue, config->receive_ifindex, config->number);
    return error != 0 ? error : bind_with_retry(syn->receiver.fd, &address, config->may_wait);
}

/*
 * In tap mode the queue belongs to the TAP interface. This checks that the network interface has a queue of this number
 * too: a bind fails with EINVAL if not, and with EBUSY if another process uses it.
 */
static int check_queue_exists(const struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    struct sockaddr_xdp address;
    int fd;
    int error = open_socket(&fd);
    if (error != 0)
        return error;
    fill_shared_address(&address, queue, config->ifindex, config->number);
    error = sv_xdp_set_ring_size(fd, XDP_UMEM_FILL_RING, UNUSED_ENTRIES);
    if (error == 0)
        error = sv_xdp_set_ring_size(fd, XDP_UMEM_COMPLETION_RING, UNUSED_ENTRIES);
    if (error == 0)
        error = sv_xdp_set_ring_size(fd, XDP_TX_RING, UNUSED_ENTRIES);
    if (error == 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 && errno != EBUSY)
        error = errno;
    close(fd);
    return error;
}

/* ---- sockets from a broker ---- */

static void apply_layout(struct sv_xdp_queue *queue, const struct sv_broker_layout *layout, uint32_t number)
{
    queue->chunk_bytes = layout->chunk_bytes;
    queue->stride_bytes = layout->stride_bytes;
    queue->multi_buffer = layout->multi_buffer != 0;
    queue->receive_chunks = layout->receive_chunks[number];
    queue->send_chunks = queue->receive_chunks / 2;
    queue->main.entries = queue->receive_chunks / layout->main_divisor;
    queue->syn.entries = queue->receive_chunks / layout->syn_divisor;
}

static int map_memory(struct sv_xdp_queue *queue, const struct sv_xdp_broker_sockets *broker_sockets, uint32_t number)
{
    off_t start = (off_t)number * broker_sockets->layout->queue_bytes;
    void *memory = mmap(NULL, broker_sockets->layout->queue_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        broker_sockets->memory_fd, start);
    if (memory == MAP_FAILED)
        return errno;
    queue->umem = memory;
    queue->umem_bytes = broker_sockets->layout->queue_bytes;
    return 0;
}

/* The broker has filled the fill ring and bound the sockets, so all sizes are fixed. */
static int adopt_broker_sockets(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    const struct sv_xdp_broker_sockets *broker_sockets = config->broker_sockets;
    struct xdp_mmap_offsets offsets;
    queue->main.receiver.fd = queue->send_fd = broker_sockets->main_socket;
    queue->syn.receiver.fd = broker_sockets->syn_socket;
    apply_layout(queue, broker_sockets->layout, config->number);
    int error = map_memory(queue, broker_sockets, config->number);
    if (error == 0)
        error = map_rings(queue);
    if (error == 0)
        error = map_send_rings(queue);
    if (error == 0)
        error = ring_offsets(queue->syn.receiver.fd, &offsets);
    if (error == 0)
        error = map_receive_ring(&queue->syn, &offsets);
    if (error == 0)
        error = list_free_chunks(queue);
    if (error == 0)
        queue->fill.position = __atomic_load_n(queue->fill.producer, __ATOMIC_ACQUIRE);
    return error;
}

/* Reads the statistics, which the kernel counts from the opening of the socket on. Older kernels have fewer fields. */
static bool read_statistics(int fd, struct xdp_statistics *statistics)
{
    socklen_t size = sizeof *statistics;
    memset(statistics, 0, sizeof *statistics);
    return getsockopt(fd, SOL_XDP, XDP_STATISTICS, statistics, &size) == 0;
}

/*
 * Returns true if the interface has a send queue of this number. A bind succeeds also if there is only a receive queue.
 * A send call then reports success and does nothing, and not every driver and kernel reports the number of send queues.
 * So this sends a descriptor outside of the memory: if the kernel reads the ring, it rejects and counts the descriptor.
 * A queue with zero copy always receives and sends.
 */
static bool probe_send_queue(struct sv_xdp_queue *queue)
{
    struct xdp_statistics statistics;
    if (queue->send_fd < 0 || queue->zero_copy)
        return queue->zero_copy;
    struct xdp_desc *descriptors = queue->tx.entries;
    descriptors[queue->tx.position++ & queue->tx.mask] = (struct xdp_desc){.addr = queue->umem_bytes, .len = ETH_ZLEN};
    __atomic_store_n(queue->tx.producer, queue->tx.position, __ATOMIC_RELEASE);
    return sendto(queue->send_fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 ||
           !read_statistics(queue->send_fd, &statistics) || statistics.tx_invalid_descs > 0;
}

static void count_drops_as(struct sv_receiver *receiver, uint64_t *counter)
{
    struct xdp_statistics statistics;
    if (read_statistics(receiver->fd, &statistics))
        *counter = statistics.rx_dropped + statistics.rx_ring_full;
}

static void count_drops(struct sv_receiver *receiver)
{
    count_drops_as(receiver, &receiver->counters.ring_full);
}

/*
 * Counts how often the driver found no free chunk; the kernel does not know how many frames it dropped. Also wakes the
 * driver, which may have stopped after the last poll (XDP_RING_NEED_WAKEUP). While all threads sleep, none polls and
 * wakes it.
 */
static void count_drops_and_wake_driver(struct sv_receiver *receiver)
{
    struct xdp_statistics statistics;
    count_drops(receiver);
    if (read_statistics(receiver->fd, &statistics))
        receiver->counters.driver_no_buffer = statistics.rx_fill_ring_empty_descs;
    (void)recvfrom(receiver->fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
}

static void count_dropped_syns(struct sv_receiver *receiver)
{
    count_drops_as(receiver, &receiver->counters.syn_ring_full);
}

/* A zero-copy driver may refuse chunks that cross pages, so they are page-aligned for it. */
static void choose_chunks(struct sv_xdp_queue *queue, uint32_t mtu, bool zero_copy)
{
    queue->chunk_bytes = sv_xdp_chunk_bytes(mtu, zero_copy);
    queue->stride_bytes = queue->chunk_bytes + (zero_copy ? 0 : SV_XDP_STRIDE_PADDING);
    queue->chunk_mask = zero_copy ? ~(uint64_t)(queue->chunk_bytes - 1) : XSK_UNALIGNED_BUF_ADDR_MASK;
    queue->jumbo = sv_xdp_is_jumbo(mtu);
    queue->zero_copy = zero_copy;
}

uint32_t sv_xdp_queue_max_mtu(const struct sv_xdp_queue *queue)
{
    return queue->jumbo ? SV_XDP_MAX_MTU : queue->chunk_bytes - SV_XDP_HEADROOM - SV_MAX_OVERHEAD;
}

static int open_sockets(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    int error = open_socket(&queue->main.receiver.fd);
    if (error == 0)
        error = set_up_main(queue, config);
    return error != 0 ? error : open_syn_socket(queue, config);
}

int sv_xdp_queue_open(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config)
{
    memset(queue, 0, sizeof *queue);
    queue->send_fd = -1;
    choose_chunks(queue, config->mtu, config->zero_copy);
    queue->expects_partial_checksums = config->expects_partial_checksums;
    queue->receives_gso = config->receives_gso;
    queue->multi_buffer = queue->jumbo || queue->receives_gso;
    if (config->vlan != NULL) {
        queue->tag_bytes = SV_VLAN_HLEN;
        sv_vlan_write_tag(config->vlan, queue->tag);
    }
    int error = sv_receiver_init(&queue->main.receiver, queue->zero_copy ? count_drops_and_wake_driver : count_drops);
    queue->main.receiver.may_stall = queue->zero_copy;
    int syn_error = sv_receiver_init(&queue->syn.receiver, count_dropped_syns);
    if (error == 0)
        error = syn_error;
    if (error == 0)
        error = config->broker_sockets != NULL ? adopt_broker_sockets(queue, config) : open_sockets(queue, config);
    if (error == 0 && queue->send_fd < 0 && config->existence_unknown)
        error = check_queue_exists(queue, config);
    if (error == 0 && queue->multi_buffer && (queue->scratch = malloc(SV_XDP_SCRATCH_BYTES)) == NULL)
        error = ENOMEM;
    if (error == 0 && queue->receives_gso && (queue->gso_slots = calloc(SV_BURST, sizeof queue->gso_slots[0])) == NULL)
        error = ENOMEM;
    if (error == 0)
        atomic_store(&queue->can_send, probe_send_queue(queue));
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

static void close_receive_socket(struct sv_xdp_receive_socket *rx_socket)
{
    unmap_ring(&rx_socket->rx);
    if (rx_socket->receiver.fd >= 0)
        close(rx_socket->receiver.fd);
    sv_receiver_close(&rx_socket->receiver);
    rx_socket->receiver.fd = -1;
}

void sv_xdp_queue_close(struct sv_xdp_queue *queue)
{
    /* The rings first: the kernel unbinds the socket only when nothing maps it. */
    unmap_ring(&queue->tx);
    unmap_ring(&queue->fill);
    unmap_ring(&queue->completion);
    queue->send_fd = -1;
    close_receive_socket(&queue->syn);
    close_receive_socket(&queue->main);
    if (queue->umem != NULL)
        munmap(queue->umem, queue->umem_bytes);
    free(queue->free_chunks);
    free(queue->scratch);
    free(queue->gso_slots);
    queue->umem = NULL;
    queue->free_chunks = NULL;
    queue->scratch = NULL;
    queue->gso_slots = NULL;
}
