/* SPDX-License-Identifier: Apache-2.0 */
/* An AF_PACKET receive ring: see wire.h, and packet_mmap.rst of the kernel. */
#include "wire.h"

#include "checksum.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_ATTACH_BPF
#define SO_ATTACH_BPF 50
#endif

enum {
    BLOCK_BYTES = 1 << 18,
    RESERVE_BYTES = 64,     /* room before the frame, where a VLAN tag goes back in */
    HEADER_BYTES = 192,     /* what the kernel puts before a frame, at most */
    DRAIN_BURSTS = 4,
};

static struct tpacket2_hdr *slot(const struct sv_packet_ring *ring, uint32_t index)
{
    return (struct tpacket2_hdr *)(ring->map + (size_t)index * ring->frame_bytes);
}

static uint32_t status_of(const struct sv_packet_ring *ring, uint32_t index)
{
    return __atomic_load_n(&slot(ring, index)->tp_status, __ATOMIC_ACQUIRE);
}

static int set_options(struct sv_packet_ring *ring, int filter)
{
    int version = TPACKET_V2;
    int reserve = RESERVE_BYTES;
    int on = 1;
    struct tpacket_req request = {
        .tp_block_size = BLOCK_BYTES,
        .tp_frame_size = ring->frame_bytes,
        .tp_block_nr = (unsigned)(ring->map_bytes / BLOCK_BYTES),
        .tp_frame_nr = ring->frames,
    };
    if (setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_RESERVE, &reserve, sizeof reserve) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0 ||
        setsockopt(ring->receiver.fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0)
        return errno;
    if (filter >= 0 && setsockopt(ring->receiver.fd, SOL_SOCKET, SO_ATTACH_BPF, &filter, sizeof filter) != 0)
        return errno;
    return 0;
}

/* Asking the socket for its drops sets them to 0. */
static void count_drops(struct sv_receiver *receiver)
{
    struct tpacket_stats stats;
    socklen_t size = sizeof stats;
    if (getsockopt(receiver->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0)
        receiver->counters.wire_full += stats.tp_drops;
}

int sv_packet_ring_open(struct sv_packet_ring *ring, uint32_t mtu, uint32_t frames, int filter)
{
    memset(ring, 0, sizeof *ring);
    int error = sv_receiver_init(&ring->receiver, count_drops);
    if (error != 0)
        return error;
    ring->frame_bytes = sv_round_up_pow2(mtu + SV_MAX_OVERHEAD + HEADER_BYTES);
    ring->map_bytes = ((size_t)ring->frame_bytes * frames + BLOCK_BYTES - 1) & ~(size_t)(BLOCK_BYTES - 1);
    ring->frames = (uint32_t)(ring->map_bytes / ring->frame_bytes);
    ring->receiver.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ring->receiver.fd < 0)
        return errno;
    error = set_options(ring, filter);
    if (error != 0)
        return error;
    ring->map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->receiver.fd, 0);
    if (ring->map == MAP_FAILED) {
        ring->map = NULL;
        return errno;
    }
    return 0;
}

int sv_packet_ring_listen(struct sv_packet_ring *ring, int ifindex)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifindex};
    if (ring->listens)
        return 0;
    if (bind(ring->receiver.fd, (struct sockaddr *)&address, sizeof address) != 0)
        return errno;
    ring->listens = true;
    return 0;
}

void sv_packet_ring_close(struct sv_packet_ring *ring)
{
    if (ring->map != NULL)
        munmap(ring->map, ring->map_bytes);
    if (ring->receiver.fd >= 0)
        close(ring->receiver.fd);
    sv_receiver_close(&ring->receiver);
    ring->map = NULL;
    ring->receiver.fd = -1;
}

/* The kernel removes the outer tag from every frame; this puts it back. */
static uint8_t *put_tag_back(const struct tpacket2_hdr *header, uint8_t *data, uint32_t *length)
{
    if (!(header->tp_status & TP_STATUS_VLAN_VALID))
        return data;
    uint16_t tpid = htons(header->tp_status & TP_STATUS_VLAN_TPID_VALID ? header->tp_vlan_tpid : ETH_P_8021Q);
    uint16_t tci = htons(header->tp_vlan_tci);
    memmove(data - SV_VLAN_HLEN, data, SV_ETHERTYPE_AT);
    memcpy(data + 8, &tpid, 2);
    memcpy(data + 10, &tci, 2);
    *length += 4;
    return data - 4;
}

/* False: the frame is lost, and counted. */
static bool take_frame(struct sv_packet_ring *ring, struct tpacket2_hdr *header, uint32_t longest,
                       struct sv_frame *frame)
{
    uint8_t *data = (uint8_t *)header + header->tp_mac;
    uint32_t length = header->tp_len;
    bool whole = header->tp_snaplen == header->tp_len && length >= ETH_HLEN;
    if (whole)
        data = put_tag_back(header, data, &length);
    if (!whole || length > longest) {
        ring->receiver.counters.length_errors++;    /* longer than the MTU: a large packet that was not segmented */
        return false;
    }
    /* The sender's kernel left the checksum to hardware that veth does not have: fill it in here. */
    if (header->tp_status & TP_STATUS_CSUMNOTREADY) {
        struct sv_headers headers;
        sv_checksum_fill(data, length, sv_parse_headers(data, length, &headers));
    }
    *frame = (struct sv_frame){.data = data, .length = length};
    return true;
}

static unsigned drain_burst(struct sv_packet_ring *ring, struct sv_device *device)
{
    struct sv_frame frames[SV_BURST];
    uint32_t longest = sv_wire_longest_frame(device);
    uint32_t first = atomic_load_explicit(&ring->next, memory_order_relaxed);
    uint32_t next = first;
    unsigned taken = 0;
    unsigned seen = 0;
    while (seen < SV_BURST && (status_of(ring, next) & TP_STATUS_USER)) {
        taken += take_frame(ring, slot(ring, next), longest, &frames[taken]);
        seen++;
        next = next + 1 == ring->frames ? 0 : next + 1;
    }
    if (taken > 0)
        sv_receiver_dispatch(&ring->receiver, device, frames, taken);
    for (uint32_t i = first; i != next; i = i + 1 == ring->frames ? 0 : i + 1)
        __atomic_store_n(&slot(ring, i)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    atomic_store_explicit(&ring->next, next, memory_order_relaxed);
    return seen;
}

unsigned sv_packet_ring_drain(struct sv_packet_ring *ring, struct sv_device *device)
{
    unsigned total = 0;
    uint32_t next = atomic_load_explicit(&ring->next, memory_order_relaxed);
    if (!(status_of(ring, next) & TP_STATUS_USER) || !sv_receiver_try(&ring->receiver))
        return 0;
    for (int i = 0; i < DRAIN_BURSTS; i++) {
        unsigned burst = drain_burst(ring, device);
        total += burst;
        if (burst < SV_BURST)
            break;
    }
    sv_spin_unlock(&ring->receiver.lock);
    return total;
}
