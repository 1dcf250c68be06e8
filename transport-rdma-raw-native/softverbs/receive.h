/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_RECEIVE_H
#define SV_RECEIVE_H

/*
 * The receive path. A received frame passes these files in this order:
 *
 *   1. poll      receive_poll.c      ibv_poll_cq() calls the port's progress(), which drains the kernel's rings. While
 *                receive_thread.c    all threads sleep on armed completion queues, the receive thread drains them.
 *   2. drain     receive_drain_xdp.c, receive_drain_packet.c
 *                                    take a burst of frames from a ring, fill in omitted checksums, restore VLAN tags,
 *                                    and segment GSO frames or deliver them unsegmented (receive_gso.c).
 *   3. dispatch  receive_dispatch.c  finds the rules of each frame (flow_search.c), and groups the burst by receive
 *                                    queue.
 *   4. deliver   receive_deliver.c   copies the frames of one queue into its posted receives and adds the completions.
 *
 * receive_post.c posts the receives. Frames between queue pairs of one device begin with step 3, on the sender's
 * thread. Draining holds the receiver's lock, delivering the receive queue's deliver_lock (objects.h).
 */
#include "device.h"

/* ---- receive_poll.c ---- */

/* A socket with received frames. A grace period takes and releases the lock. */
struct sv_receiver {
    int fd;                         /* the socket of the ring, or -1 */
    struct sv_spin lock;
    struct sv_cached_verdict *cache;
    /* Adds the frames that the kernel has dropped since the last call to `counters`. The caller holds the lock. */
    void (*count_drops)(struct sv_receiver *receiver);
    bool may_stall;                 /* count_drops() also repairs a stalled ring, so the receive thread calls it */
    struct softverbs_queue_counters counters;
};

int sv_receiver_init(struct sv_receiver *receiver, void (*count_drops)(struct sv_receiver *receiver));
void sv_receiver_close(struct sv_receiver *receiver);
/* Takes the lock unless another thread drains this receiver. */
static inline bool sv_receiver_trylock(struct sv_receiver *receiver)
{
    return atomic_exchange_explicit(&receiver->lock.held, 1, memory_order_acquire) == 0;
}

/* ---- receive_dispatch.c ---- */

/* Dispatches a burst of received frames. The caller holds the receiver's lock. */
void sv_receiver_dispatch(struct sv_receiver *receiver, struct sv_device *device, struct sv_frame *frames,
                          unsigned count);
/*
 * Steers a burst and delivers it. `sender` is NULL for frames from outside. Only the caller uses `cache` and
 * `counters`. The caller holds a lock that keeps rules and queues alive: the sender's sq.lock, or a lock that a grace
 * period acquires.
 */
void sv_dispatch(struct sv_flow_table *flows, const struct sv_qp *sender, struct sv_cached_verdict *cache,
                 struct softverbs_queue_counters *counters, struct sv_frame *frames, unsigned count);

/* ---- receive_deliver.c ---- */

/* Delivers the frames at these indexes, each with its tag, to one receive queue. */
void sv_rq_deliver(struct sv_rq *rq, const struct sv_frame *frames, const uint8_t *indexes, const uint32_t *tags,
                   unsigned count);

/* A GSO frame to be delivered unsegmented, and its copy function. */
struct sv_gso_frame {
    const uint8_t *head;            /* its headers */
    uint32_t head_bytes;
    uint32_t length;
    /* Copies the complete frame. Returns false if the frame is lost; the function has counted it then. */
    bool (*copy)(const struct sv_gso_frame *gso_frame, uint8_t *to);
};

enum sv_gso_delivery {
    /* No queue takes it unsegmented. The frame has not been read and not been counted, and can be segmented. */
    SV_GSO_REFUSED,
    SV_GSO_DELIVERED,
    SV_GSO_LOST,                    /* it could not be read, or its completion found no room; it has been counted */
};

enum sv_gso_delivery sv_rq_deliver_gso(struct sv_rq *rq, const struct sv_gso_frame *gso_frame, uint32_t tag);

/* ---- receive_gso.c ---- */

/*
 * Delivers a GSO frame of TCP unsegmented if the program has requested it (softverbs.h). Refuses it if several rules
 * match, if the rule does not permit it, if no receive is posted, or if the frame exceeds the receive or fills less
 * than half of it. If the receive itself is faulty, it completes with an error, and the frame is refused. The caller
 * holds the receiver's lock. Such a frame counts as SV_GSO_COST_FRAMES frames of a burst, so that the receives posted
 * for GSO frames last for one poll.
 */
enum sv_gso_delivery sv_receiver_deliver_gso(struct sv_receiver *receiver, struct sv_device *device,
                                             const struct sv_gso_frame *gso_frame);
enum { SV_GSO_COST_FRAMES = SV_BURST / 4 };

int sv_rq_set_gso_wq(struct sv_rq *rq, struct ibv_wq *gso_wq);
/* Detaches the queue for GSO frames when `rq` is destroyed. No rule steers frames to `rq` any more. */
void sv_rq_clear_gso_wq(struct sv_rq *rq);

#endif
