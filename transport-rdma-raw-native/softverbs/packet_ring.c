/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An AF_PACKET receive ring: see packet.h, and packet_mmap.rst of the kernel.
 *
 * A slot holds a frame of the MTU. If a sender on the same host passes on one packet of up to 64 KB, its first bytes
 * are in a slot, and the whole packet is read from the socket (PACKET_COPY_THRESH). The kernel queues both in the same
 * order.
 */
#define _GNU_SOURCE
#include "packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_ATTACH_BPF
#define SO_ATTACH_BPF 50
#endif

enum {
    BLOCK_BYTES = 1 << 18,
    HEADER_BYTES = 192,     /* maximum length of the headers before a frame */
    SOCKET_BYTES = 8 << 20, /* for packets read from the socket: more than a window of TCP */
};

/* Creates the ring; 0 frames remove it. */
static int set_ring(const struct sv_packet_ring *ring, uint32_t frames)
{
    struct tpacket_req request = {
        .tp_block_size = frames > 0 ? BLOCK_BYTES : 0,
        .tp_frame_size = frames > 0 ? ring->frame_bytes : 0,
        .tp_block_nr = frames > 0 ? (unsigned)(ring->map_bytes / BLOCK_BYTES) : 0,
        .tp_frame_nr = frames,
    };
    return setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) == 0 ? 0 : errno;
}

static int set_options(const struct sv_packet_ring *ring, int filter_fd)
{
    int version = TPACKET_V2;
    int reserve = SV_PACKET_RESERVE_BYTES;
    int on = 1;
    int any_length = 1;
    int bytes = SOCKET_BYTES;
    if (setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_RESERVE, &reserve, sizeof reserve) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_COPY_THRESH, &any_length, sizeof any_length) != 0)
        return errno;
    int error = set_ring(ring, ring->frame_count);
    if (error != 0)
        return error;
    if (filter_fd >= 0 && setsockopt(ring->receiver.fd, SOL_SOCKET, SO_ATTACH_BPF, &filter_fd, sizeof filter_fd) != 0)
        return errno;
    if (setsockopt(ring->receiver.fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        (void)!setsockopt(ring->receiver.fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return 0;
}

/* ---- a ring that has stalled ---- */

/*
 * Some kinds of segmentation have no value in struct virtio_net_hdr (UDP fragmentation offload, SCTP). Such a frame
 * stalls the ring. The kernel's tpacket_rcv() takes a slot for it, fails in virtio_net_hdr_from_skb(), and does not
 * return the slot. From then on it drops every frame. The ring is then created again on the same socket, which keeps
 * its filter. For this the kernel detaches the socket from the interface for some tens of milliseconds. No counter
 * counts the frames of that time.
 */

/*
 * Replaces the mapped memory, which stays readable all the time, because other threads read the status of a slot
 * without the lock. A direct system call, since the thread sanitizer treats mmap() as a write to the memory.
 */
static bool replace_map(const struct sv_packet_ring *ring, int flags, int fd)
{
    return syscall(SYS_mmap, ring->map, ring->map_bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) != -1;
}

/* Maps empty slots. */
static bool map_empty_slots(const struct sv_packet_ring *ring)
{
    return replace_map(ring, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static bool map_ring(const struct sv_packet_ring *ring)
{
    if (replace_map(ring, MAP_SHARED, ring->receiver.fd))
        return true;
    map_empty_slots(ring);
    return false;
}

static struct tpacket_stats read_stats(const struct sv_packet_ring *ring)
{
    struct tpacket_stats stats = {0};
    socklen_t size = sizeof stats;
    if (getsockopt(ring->receiver.fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0)
        memset(&stats, 0, sizeof stats);
    return stats;
}

/* Recreates the ring. Without memory, the next check of the ring retries. */
static void recreate_ring(struct sv_packet_ring *ring)
{
    if (!ring->lacks_ring && !map_empty_slots(ring))
        return;
    ring->lacks_ring = true;
    if (set_ring(ring, 0) != 0) {       /* a child of fork() still has the old ring */
        ring->lacks_ring = !map_ring(ring);
        return;
    }
    if (set_ring(ring, ring->frame_count) != 0 || !map_ring(ring))
        return;
    ring->lacks_ring = false;
    ring->seen_empty = false;
    atomic_store_explicit(&ring->next_index, 0, memory_order_relaxed);
}

/*
 * Returns true if the kernel has dropped each frame since the last call although the ring was empty: it was empty at
 * the last call and is now, and no frame was taken in between.
 */
static bool has_stalled(struct sv_packet_ring *ring, const struct tpacket_stats *stats)
{
    uint32_t next = atomic_load_explicit(&ring->next_index, memory_order_relaxed);
    bool empty = !(sv_packet_slot_status(ring, next) & TP_STATUS_USER);
    bool was_empty = ring->seen_empty && ring->seen_next_index == next;
    ring->seen_empty = empty;
    ring->seen_next_index = next;
    return empty && was_empty && stats->tp_drops > 0 && stats->tp_packets == stats->tp_drops;
}

/* Reading the socket's drops resets them to 0. */
static void count_drops_and_repair(struct sv_receiver *receiver)
{
    struct sv_packet_ring *ring = (struct sv_packet_ring *)receiver;
    if (ring->map == NULL)
        return;
    struct tpacket_stats stats = read_stats(ring);
    receiver->counters.ring_full += stats.tp_drops;
    if (ring->lacks_ring) {
        recreate_ring(ring);
    } else if (has_stalled(ring, &stats)) {
        receiver->counters.ring_full--;         /* the stalling frame counts as gso_malformed instead */
        receiver->counters.gso_malformed++;
        recreate_ring(ring);
    }
}

int sv_packet_ring_open(struct sv_packet_ring *ring, uint32_t mtu, uint32_t frame_count, int filter_fd)
{
    memset(ring, 0, sizeof *ring);
    int error = sv_receiver_init(&ring->receiver, count_drops_and_repair);
    if (error != 0)
        return error;
    ring->receiver.may_stall = true;
    ring->segmenter = sv_alloc_zeroed(sizeof *ring->segmenter);
    if (ring->segmenter == NULL)
        return ENOMEM;
    ring->frame_bytes = sv_round_up_pow2(mtu + SV_MAX_OVERHEAD + HEADER_BYTES);
    ring->map_bytes = ((size_t)ring->frame_bytes * frame_count + BLOCK_BYTES - 1) & ~(size_t)(BLOCK_BYTES - 1);
    ring->frame_count = (uint32_t)(ring->map_bytes / ring->frame_bytes);
    ring->receiver.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ring->receiver.fd < 0)
        return errno;
    error = set_options(ring, filter_fd);
    if (error != 0)
        return error;
    ring->map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->receiver.fd, 0);
    if (ring->map == MAP_FAILED) {
        ring->map = NULL;
        return errno;
    }
    return 0;
}

int sv_packet_ring_bind(struct sv_packet_ring *ring, int ifindex)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifindex};
    if (ring->bound)
        return 0;
    if (bind(ring->receiver.fd, (struct sockaddr *)&address, sizeof address) != 0)
        return errno;
    ring->bound = true;
    return 0;
}

void sv_packet_ring_close(struct sv_packet_ring *ring)
{
    if (ring->map != NULL)
        munmap(ring->map, ring->map_bytes);
    if (ring->receiver.fd >= 0)
        close(ring->receiver.fd);
    sv_receiver_close(&ring->receiver);
    free(ring->segmenter);
    ring->segmenter = NULL;
    ring->map = NULL;
    ring->receiver.fd = -1;
}
