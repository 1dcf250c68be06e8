/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_XDP_QUEUE_H
#define SV_XDP_QUEUE_H

#include "af_xdp.h"
#include "gso_frame.h"
#include "netdev_port.h"

/* The AF_XDP sockets of one receive queue of the interface, with their UMEM. See the kernel's af_xdp.rst. */

/* Each frame follows the headroom of XDP. A frame longer than a large chunk occupies several. */
enum { SV_XDP_HEADROOM = 256, SV_XDP_SMALL_CHUNK = 2048, SV_XDP_LARGE_CHUNK = 4096, SV_XDP_MAX_MTU = 9000 };

/*
 * The fill ring has room for every receive chunk, so returning a chunk never fails. The number is a compromise: more
 * chunks would absorb longer pauses. But the kernel uses all chunks in turn, and their memory would not stay in the
 * cache. Under a low memlock limit there are fewer. A queue that sends has half as many send chunks.
 */
enum { SV_XDP_RECEIVE_CHUNKS = 2048, SV_XDP_MIN_RECEIVE_CHUNKS = 512 };

/* Bounds the wait for a queue or an XDP hook of a process that has just ended. */
enum { SV_XDP_BUSY_RETRIES = 120, SV_XDP_BUSY_RETRY_MILLIS = 25 };

/*
 * Extra distance between chunks. If chunks were a power of two apart, the heads of all frames would share a few cache
 * sets, and a ring of them would fit no cache. In copy mode chunks may be unaligned, so they are one cache line further
 * apart.
 */
enum { SV_XDP_STRIDE_PADDING = 64 };

enum { SV_XDP_SCRATCH_FRAMES = 16, SV_XDP_SCRATCH_BYTES = SV_XDP_SCRATCH_FRAMES * (SV_XDP_MAX_MTU + SV_MAX_OVERHEAD) };

/* Maximum number of chunks in a chain. The longest chains of the kernel have 37: a frame of 64 KB in small chunks. */
enum { SV_XDP_MAX_CHAIN_CHUNKS = 64 };

/* A ring shared with the kernel. `position` is the index of this side. */
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

/* A socket with its receive ring. */
struct sv_xdp_receive_socket {
    struct sv_receiver receiver;
    struct sv_xdp_ring rx;
    uint32_t entries;
    bool skipping_chain;            /* the next chunks are the rest of a chain that is too long */
};

/*
 * SYNs may arrive in any number, so they have a separate socket. If they arrive faster than they are handled, only that
 * socket fills up. Both sockets share the UMEM and the fill ring, so the lock of `main` covers both.
 */
struct sv_xdp_queue {
    struct sv_xdp_receive_socket main;
    struct sv_xdp_receive_socket syn;
    struct sv_xdp_ring fill;
    uint32_t filtered_until_position;   /* bursts of the main ring that begin before it drop unsolicited segments */
    bool multi_buffer;              /* frames may consist of several chunks */
    bool jumbo;                     /* frames of the MTU consist of several chunks */
    bool expects_partial_checksums; /* checksums may be missing: from senders on this host, and after GRO */
    bool receives_gso;              /* GSO frames may arrive: they are segmented or delivered unsegmented */
    bool zero_copy;                 /* the driver uses the chunks directly and reports when it needs a wakeup */
    uint32_t tag_bytes;             /* SV_VLAN_HLEN if frames have the tag of a VLAN on the interface, else 0 */
    uint8_t tag[SV_VLAN_HLEN];
    bool busy_poll;                 /* a thread that finds the ring empty runs the driver: see busy_poll.h */
    uint32_t chunk_bytes;
    uint32_t stride_bytes;          /* distance between chunks */
    uint64_t chunk_mask;            /* mask from a received frame's address to the beginning of its chunk */
    uint32_t receive_chunks;
    uint32_t send_chunks;
    uint8_t *umem;
    size_t umem_bytes;
    uint8_t *scratch;               /* with multi_buffer: frames assembled for one burst */
    uint32_t scratch_used_frames;
    struct sv_gso_slot *gso_slots;  /* with receives_gso: headers of the segments of one burst */

    /* Guards both rings below and the free chunks; never held during a system call. */
    SV_CACHELINE_ALIGNED struct sv_spin send_lock;
    int send_fd;                    /* socket that sends, that of `main`; -1: the queue only receives */
    _Atomic bool can_send;          /* the interface has a send queue of this number */
    _Atomic bool leg_is_idle;       /* its leg of a bond sends no more, so polls retry nothing */
    _Atomic bool tx_pending;        /* the interface was busy and frames remain in the ring: each poll retries */
    struct sv_xdp_ring tx;
    struct sv_xdp_ring completion;
    uint32_t free_count;
    uint64_t *free_chunks;          /* in the part of the UMEM that sends */
};

/* The configuration of a queue. */
struct sv_xdp_queue_config {
    int ifindex;                    /* of the network interface */
    int receive_ifindex;            /* interface that receives: the same, or the TAP interface */
    uint32_t number;                /* number of the queue on both interfaces */
    uint32_t mtu;
    const struct sv_vlan *vlan;     /* NULL: none */
    bool zero_copy;                 /* requires zero copy by the driver */
    bool may_wait;                  /* retries while a process that has just ended still has the queue */
    bool expects_partial_checksums; /* as in struct sv_xdp_queue */
    bool receives_gso;
    bool existence_unknown;         /* the driver does not report whether the interface has this queue */
    const struct sv_xdp_broker_sockets *broker_sockets; /* NULL: the process creates the sockets itself */
};

/* The bound sockets and the memory of a queue from a broker. The queue owns the sockets, also after an error. */
struct sv_xdp_broker_sockets {
    const struct sv_broker_layout *layout;
    int main_socket;
    int syn_socket;
    int memory_fd;                  /* owned by the caller */
};

/*
 * Opens a queue. A queue of a TAP interface only receives. Returns 0 or an errno. EINVAL for a queue number above 0
 * means that the interface has no such queue. EBUSY means that another process still had the queue after a while.
 */
int sv_xdp_queue_open(struct sv_xdp_queue *queue, const struct sv_xdp_queue_config *config);
void sv_xdp_queue_close(struct sv_xdp_queue *queue);
/* Returns the largest MTU that the queue can carry. */
uint32_t sv_xdp_queue_max_mtu(const struct sv_xdp_queue *queue);
/*
 * Returns the chunk size. A card that writes to chunks (zero copy) may measure the space after the headroom in whole
 * KiB (SRRCTL.BSIZEPKT of igb, igc and ixgbe). With small chunks it would truncate frames of 1500 bytes to 1024.
 */
static inline uint32_t sv_xdp_chunk_bytes(uint32_t mtu, bool zero_copy)
{
    bool small = !zero_copy && mtu + SV_MAX_OVERHEAD + SV_XDP_HEADROOM <= SV_XDP_SMALL_CHUNK;
    return small ? SV_XDP_SMALL_CHUNK : SV_XDP_LARGE_CHUNK;
}

/*
 * The divisors give the ring sizes: number of receive chunks / divisor. In copy mode only the process's own frames
 * occupy chunks, so the main ring may hold all of them. A zero-copy driver also receives the host's frames into the
 * chunks, so both rings together hold at most three quarters. If the process pauses and its rings are full, the driver
 * still has the rest for the host's frames.
 */
static inline uint32_t sv_xdp_main_divisor(bool zero_copy)
{
    return zero_copy ? 2 : 1;
}

static inline uint32_t sv_xdp_syn_divisor(bool zero_copy)
{
    return 2 * sv_xdp_main_divisor(zero_copy);
}

/* ---- xdp_socket_options.c, which the broker shares ---- */

/* Creates a ring. Returns 0 or an errno. */
int sv_xdp_set_ring_size(int fd, int option, uint32_t entries);
/*
 * Raises two limits of a sending socket, as far as the kernel and the process's capabilities allow: the number of
 * frames per send call, and the size of the send buffer.
 */
void sv_xdp_raise_limits(int fd);

/* Returns true if frames of this MTU need several chunks. */
static inline bool sv_xdp_is_jumbo(uint32_t mtu)
{
    return mtu + SV_MAX_OVERHEAD + SV_XDP_HEADROOM > SV_XDP_LARGE_CHUNK;
}

/* Returns the kernel's producer index of the main receive ring. */
static inline uint32_t sv_xdp_queue_produced(const struct sv_xdp_queue *queue)
{
    return __atomic_load_n(queue->main.rx.producer, __ATOMIC_ACQUIRE);
}

/* Returns true if the driver has stopped and needs a wakeup by a system call. */
static inline bool sv_xdp_wants_wakeup(const struct sv_xdp_ring *ring)
{
    return __atomic_load_n(ring->flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP;
}

/* Runs the driver if the ring is empty and busy polling is on. The frames that it receives enter the ring. */
void sv_xdp_queue_busy_poll(const struct sv_xdp_queue *queue);

/*
 * Dispatches frames of the main ring before `limit`, a few bursts at most, then up to a burst of SYNs. Returns the
 * number of descriptors consumed: a frame may occupy several, and dropped frames count too. Returns 0 also if another
 * thread is draining the queue.
 */
unsigned sv_xdp_queue_drain(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit);

/*
 * Copies frames into the ring and makes the kernel send them. Returns the number of accepted frames. If it is less than
 * `count`, *error is the reason.
 *
 * If the interface accepts none for a while, the frames in the ring count as accepted: a later send or poll transmits
 * them. If the interface has no send queue of this number, `can_send` becomes false, and the frames of the burst have
 * not been sent.
 */
unsigned sv_xdp_queue_send(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count, int *error);
/* Retries the frames that are still in the ring. Every poll calls this while `tx_pending` is set. */
void sv_xdp_queue_retry_sending(struct sv_xdp_queue *queue);
/*
 * The leg of the queue sends no more, or sends again. First the kernel sends or drops the frames in the ring, as far as
 * it accepts them. The others stay in the ring and leave when the leg sends again. All of them count as sent.
 */
void sv_xdp_queue_set_idle(struct sv_xdp_queue *queue, bool is_idle);

#endif
