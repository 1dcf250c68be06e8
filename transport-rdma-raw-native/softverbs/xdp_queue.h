/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_XDP_QUEUE_H
#define SV_XDP_QUEUE_H

#include "super_frame.h"
#include "wire.h"

#include <linux/if_xdp.h>

/* Newer than the oldest <linux/if_xdp.h> this builds with: Linux 6.6. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

/*
 * The AF_XDP sockets of one receive queue of the interface, with a UMEM of their own. See af_xdp.rst of the kernel.
 */

/* Each frame follows the headroom of XDP; a frame longer than a large chunk takes several. */
enum { SV_XDP_HEADROOM = 256, SV_XDP_SMALL_CHUNK = 2048, SV_XDP_LARGE_CHUNK = 4096, SV_XDP_MAX_MTU = 9000 };

/*
 * With chunks a power of two apart the heads of all frames would share a few cache sets, and a ring of them would not
 * fit in any cache. In copy mode chunks may be unaligned, so they are one line further apart.
 */
enum { SV_XDP_SPREAD = 64 };

enum { SV_XDP_SCRATCH_FRAMES = 16, SV_XDP_SCRATCH_BYTES = SV_XDP_SCRATCH_FRAMES * (SV_XDP_MAX_MTU + SV_MAX_OVERHEAD) };

/* A chain of more chunks is no frame that the kernel makes: one of 64 KB takes 37 of the small ones. */
enum { SV_XDP_CHAIN = 64 };

/* A ring shared with the kernel. `position` is our own side's index. */
struct sv_xdp_ring {
    uint32_t *producer;
    uint32_t *consumer;
    uint32_t *flags;
    void *entries;
    uint32_t mask;
    uint32_t position;
    void *map;
    size_t map_bytes;
};

/* A socket and what it has received. */
struct sv_xdp_lane {
    struct sv_receiver receiver;
    struct sv_xdp_ring rx;
    uint32_t entries;
    bool skipping;                  /* the next chunks are the rest of a chain that was too long */
};

/*
 * SYNs can come in any number, so they have a socket of their own. If they arrive faster than they are handled, only
 * that socket is full. Both sockets share the UMEM and the fill ring, so the lock of `main` covers both.
 */
struct sv_xdp_queue {
    struct sv_xdp_lane main;
    struct sv_xdp_lane syns;
    struct sv_xdp_ring fill;
    uint32_t sorted_until;          /* position in the main ring: unsolicited segments before it are dropped */
    bool multi_buffer;              /* frames may come in several chunks */
    bool jumbo;                     /* frames of the MTU do */
    bool partial;                   /* senders on this host, and GRO, leave checksums out */
    bool super_frames;              /* ... and TCP uncut: what is beyond the MTU may be cut */
    bool zero_copy;                 /* the driver uses the chunks directly and reports when it has to be woken */
    bool busy_poll;                 /* who finds the ring empty runs the driver: see busy_poll.h */
    uint32_t chunk_bytes;
    uint32_t stride_bytes;          /* from chunk to chunk */
    uint64_t base_mask;             /* of a received frame's address: where its chunk begins */
    uint32_t receive_chunks;
    uint32_t send_chunks;
    uint8_t *umem;
    size_t umem_bytes;
    uint8_t *scratch;               /* with multi_buffer: frames put together, for one burst */
    uint32_t scratch_used;
    struct sv_super_slot *slots;    /* with super_frames: what was cut, for one burst */

    SV_SEPARATE struct sv_spin send_lock;   /* of both rings below and the free chunks; never held during a call */
    int sender;                     /* the socket that sends, that of `main`; -1: the queue only receives */
    struct sv_xdp_ring tx;
    struct sv_xdp_ring completion;
    uint32_t free_count;
    uint64_t *free_chunks;          /* of the part of the UMEM that sends */
};

/* The configuration of a queue. */
struct sv_xdp_queue_config {
    int ifindex;                    /* of the network interface */
    int receive_ifindex;            /* of the interface that receives: the same, or the TAP interface */
    uint32_t number;                /* of the queue, on both */
    uint32_t mtu;
    bool zero_copy;                 /* zero copy by the driver, or an error */
    bool partial;                   /* as in struct sv_xdp_queue */
    bool super_frames;
    bool is_untold;                 /* the driver has not told whether the network interface has this queue */
    bool has_sockets;               /* a broker has made the sockets: the queue takes them, also on an error */
    int main_socket;
    int syn_socket;
};

/*
 * A queue of a TAP interface only receives. Returns 0 or an errno. EINVAL for a queue number above 0 means that the interface has no such queue. EBUSY means that
 * another process has the queue, and still had it after a while.
 */
int sv_xdp_queue_open(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config);
void sv_xdp_queue_close(struct sv_xdp_queue *queue);
/* The largest MTU that the queue can carry. */
uint32_t sv_xdp_queue_max_mtu(const struct sv_xdp_queue *queue);
/*
 * Without a copy the card writes into the chunk, and some cards are told the room behind its headroom in whole KiB
 * (SRRCTL.BSIZEPKT of igb, igc and ixgbe): they would cut frames of 1500 bytes at 1024 in a small one.
 */
static inline uint32_t sv_xdp_chunk_bytes(uint32_t mtu, bool zero_copy)
{
    bool small = !zero_copy && mtu + SV_MAX_OVERHEAD + SV_XDP_HEADROOM <= SV_XDP_SMALL_CHUNK;
    return small ? SV_XDP_SMALL_CHUNK : SV_XDP_LARGE_CHUNK;
}

/* Whether frames of this MTU need several chunks. */
static inline bool sv_xdp_is_jumbo(uint32_t mtu)
{
    return mtu + SV_MAX_OVERHEAD + SV_XDP_HEADROOM > SV_XDP_LARGE_CHUNK;
}

/* Returns the kernel's producer index of the main receive ring. */
static inline uint32_t sv_xdp_queue_produced(const struct sv_xdp_queue *queue)
{
    return __atomic_load_n(queue->main.rx.producer, __ATOMIC_ACQUIRE);
}

/* Runs the driver for an empty ring, if it is to be polled busily. What it brings comes into the ring. */
void sv_xdp_queue_busy_poll(const struct sv_xdp_queue *queue);

/* Dispatches the frames of the main ring before `limit`, and then some SYNs; returns their number. */
unsigned sv_xdp_queue_drain(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit);

/* Copies frames out and makes the kernel send them. Returns how many it took; *error is the reason for less. */
unsigned sv_xdp_queue_send(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count, int *error);

#endif
