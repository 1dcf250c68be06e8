/* SPDX-License-Identifier: Apache-2.0 */
#ifndef XDP_QUEUE_FIXTURE_H
#define XDP_QUEUE_FIXTURE_H

/*
 * A queue of AF_XDP sockets on rings on which the test acts as the kernel. Tests receive_drain_xdp.c and xdp_send.c,
 * with the functions that they call replaced.
 */

#include "harness.h"
#include "xdp_queue.h"

enum { ENTRIES = 64, CHUNKS = 4 * ENTRIES, CHUNK = 4096, MTU = 1500, FRAME = 60, SEEN = 4096 };

/* The kernel's view of a ring. */
struct kernel_ring {
    uint32_t producer;
    uint32_t consumer;
    uint32_t flags;
    union {
        struct xdp_desc descriptors[ENTRIES];
        uint64_t addresses[CHUNKS];
    };
};

struct kernel {
    struct sv_xdp_queue queue;
    struct sv_netdev_port netdev_port;
    struct sv_device device;
    struct kernel_ring main, syn, fill, tx, completion;
    uint32_t filled;                /* position up to which the fill ring has been checked */
    bool owned_by_library[CHUNKS];  /* chunks owned by the library, each with a frame */
    uint32_t next_chunk;
    uint32_t next_number;
    unsigned seen[SEEN];            /* number of times that each frame was dispatched */
    unsigned dispatched;
    unsigned limited;
    bool all_are_unsolicited;
    unsigned segments;              /* segments so far, in order */
    uint32_t segment_bytes_seen;
    unsigned gso_to_take;           /* number of GSO frames to be taken unsegmented from now on */
    unsigned delivered_gso;         /* GSO frames taken unsegmented so far */
    void (*meanwhile)(void);        /* work of another thread just before the lock is acquired */
    unsigned wakes;
    unsigned sends;
    int send_error;
    void (*on_send)(void);
    uint64_t nanos;
    unsigned turns;                 /* number of times that a sender has read the clock */
    void (*on_turn)(void);
};

extern struct kernel k;
extern uint8_t umem[CHUNKS * CHUNK];

enum { GSO_PAYLOAD = 20000, PART = 1792, GSO_PARTS = 12, HEADERS = 54 };

/* The functions under test. */
unsigned tested_drain(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit);
unsigned tested_send(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count, int *error);
void tested_busy_poll(const struct sv_xdp_queue *queue);
void tested_finish_sending(struct sv_xdp_queue *queue);
void tested_set_idle(struct sv_xdp_queue *queue, bool is_idle);

/* ---- the kernel ---- */

/* The payload depends on the position, so that missing or wrong bytes are detected. */
uint8_t payload_at(uint32_t offset);
/* Sets up all rings with their indexes at `start`. */
void kernel_open(uint32_t start);
/* Checks the returned chunks: each was given to the library, and none twice. */
void check_returned_chunks(void);
/* Makes the kernel receive a frame of this number of chunks, if the ring has room. Returns the frame's number. */
uint32_t arrive(struct kernel_ring *ring, unsigned chunks, uint32_t length);
void arrive_many(struct kernel_ring *ring, unsigned count);
unsigned drain(void);
/* Drains one burst of the main ring, of about this number of frames. */
unsigned drain_at_most(unsigned most);
/* Returns how many SYNs one call drains while they arrive faster than they are handled. */
unsigned syns_when_overloaded(void);
void drain_all(void);
void check_ring_empty(const struct kernel_ring *ring);
/* Checks that each frame was dispatched once, and that the kernel owns all chunks again. */
void check_all_seen_once(void);
void for_each_start(void (*test)(void));
/* Builds TCP over IPv4, with the sum of the pseudo header as its checksum. */
uint32_t build_gso_frame(uint8_t *frame, uint8_t flags, uint32_t payload);
/* Writes a chunk to the ring that the kernel has not published yet. */
void put_part(struct kernel_ring *ring, uint32_t ahead, const uint8_t *data, uint32_t length, bool more);
unsigned put_gso_frame(const uint8_t *frame, uint32_t length);
void publish(unsigned count);
void check_gso_frames_seen(unsigned gso_frames);
void fake_dispatch(struct sv_receiver *receiver, struct sv_device *device, struct sv_frame *frames,
                          unsigned count);

#endif
