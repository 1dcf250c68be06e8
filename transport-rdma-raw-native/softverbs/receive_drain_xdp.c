/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step 2 of the receive path (receive.h) for AF_XDP sockets: takes frames out of the receive rings, passes them to the
 * receive queues of the program, and returns their chunks to the kernel. A queue of the interface has two rings, called
 * lanes (xdp_queue.h): the main lane, and one for SYNs.
 */
#include "xdp_queue.h"

#include "checksum.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { DRAIN_BURSTS = 4, FEW_SYNS = 8 };
/*
 * Number of descriptors after which a burst ends, even if it has few frames. Dropped frames do not count as frames of
 * the burst, but cost time.
 */
enum { MAX_DESCRIPTORS = 4 * SV_BURST };

/* ---- receiving ---- */

/* Returns the frame at a descriptor's address. With unaligned chunks the upper bits contain its offset in the chunk. */
static inline const uint8_t *data_at(const struct sv_xdp_queue *queue, uint64_t address)
{
    return queue->umem + (address & XSK_UNALIGNED_BUF_ADDR_MASK) + (address >> XSK_UNALIGNED_BUF_OFFSET_SHIFT);
}

static const struct xdp_desc *rx_descriptor(const struct sv_xdp_ring *rx, uint32_t position)
{
    return (const struct xdp_desc *)rx->entries + (position & rx->mask);
}

static inline uint32_t rx_produced(const struct sv_xdp_ring *rx)
{
    return __atomic_load_n(rx->producer, __ATOMIC_ACQUIRE);
}

/*
 * Wakes a zero-copy driver that found no free chunk and stopped. The driver does not notice new chunks by itself
 * (af_xdp.rst, XDP_USE_NEED_WAKEUP). It may set the flag just after the library has returned the last chunk, so each
 * poll checks the flag.
 */
static inline void wake_driver(const struct sv_xdp_queue *queue)
{
    if (SV_UNLIKELY(queue->zero_copy) && sv_xdp_wants_wakeup(&queue->fill))
        (void)recvfrom(queue->main.receiver.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

/* Consumes `count` descriptors and returns their chunks to the kernel through the fill ring. */
static void return_chunks(struct sv_xdp_queue *queue, struct sv_xdp_ring *rx, unsigned count)
{
    uint64_t *fill = queue->fill.entries;
    for (unsigned i = 0; i < count; i++)
        fill[queue->fill.position++ & queue->fill.mask] = rx_descriptor(rx, rx->position + i)->addr & queue->base_mask;
    rx->position += count;
    __atomic_store_n(rx->consumer, rx->position, __ATOMIC_RELEASE);
    __atomic_store_n(queue->fill.producer, queue->fill.position, __ATOMIC_RELEASE);
}

/* A burst: the frames that were taken out of the ring but not dispatched yet, and the number of those that were. */
struct gathered {
    struct sv_xdp_queue *queue;
    struct sv_xdp_lane *lane;
    struct sv_device *device;
    uint32_t longest;
    bool filters;                   /* drop unsolicited segments */
    unsigned total;                 /* frames dispatched so far; a GSO frame delivered whole counts SV_WHOLE_COST */
    unsigned count;                 /* frames in `frame` */
    struct sv_frame frame[SV_BURST];
};

/* Drops the gathered segments for which sv_connections_is_unsolicited() holds. Keeps the order of the other frames. */
static void drop_unsolicited(struct gathered *gathered)
{
    const struct sv_connections *connections =
        sv_steering_connections(((struct sv_wire *)gathered->device->port)->steering);
    unsigned kept = 0;
    for (unsigned i = 0; i < gathered->count; i++) {
        if (sv_connections_is_unsolicited(connections, &gathered->frame[i]))
            gathered->queue->main.receiver.counters.unsolicited_full++;
        else
            gathered->frame[kept++] = gathered->frame[i];
    }
    gathered->count = kept;
}

/*
 * Computes the checksums that senders on this host left out, and writes them to the frames. The library owns the chunks
 * until return_chunks(), so it may write to them.
 *
 * Delivery does not verify the checksum of a frame whose `rest` is set (frame.h). So these frames get a `rest` without
 * pieces. Its head_bytes exceed every length, which means that all bytes of the frame are at `data`.
 */
static void complete_checksums(struct gathered *gathered)
{
    static const struct sv_frame_rest checksum_done = {.head_bytes = UINT32_MAX};
    struct sv_headers unused;
    for (unsigned i = 0; i < gathered->count; i++) {
        struct sv_frame *frame = &gathered->frame[i];
        uint8_t *data = (uint8_t *)(uintptr_t)frame->data;
        if (frame->rest != NULL ||
            !sv_checksum_fill_partial(data, frame->length, sv_parse_headers(data, frame->length, &unused)))
            continue;
        frame->rest = &checksum_done;
        gathered->lane->receiver.counters.partial_checksums++;
    }
}

/* Passes the gathered frames to the receive queues. The burst may continue with further frames. */
static void dispatch_gathered(struct gathered *gathered)
{
    if (SV_UNLIKELY(gathered->filters))
        drop_unsolicited(gathered);
    if (gathered->queue->partial)
        complete_checksums(gathered);
    gathered->total += gathered->count;
    if (gathered->count > 0)
        sv_receiver_dispatch(&gathered->lane->receiver, gathered->device, gathered->frame, gathered->count);
    gathered->count = 0;
}

/* ---- GSO frames ---- */

static uint64_t *refusal_counter(struct softverbs_queue_counters *counters, enum sv_gso_verdict verdict)
{
    switch (verdict) {
    case SV_GSO_FLAGS:
        return &counters->gso_flags;
    case SV_GSO_TOO_LONG:
        return &counters->gso_too_long;
    case SV_GSO_MALFORMED:
        return &counters->gso_malformed;
    default:
        return &counters->length_errors;
    }
}

/* A GSO frame to deliver whole, for copy_chain(). */
struct whole_chain {
    struct sv_whole whole;
    const struct iovec *pieces;
};

static bool copy_chain(const struct sv_whole *whole, uint8_t *to)
{
    sv_pieces_copy(to, ((const struct whole_chain *)whole)->pieces, 0, whole->length);
    return true;
}

/*
 * Tries to copy a GSO frame unsegmented to a receive of 64 KB. The caller has dispatched the earlier frames. Returns
 * false if the frame has to be segmented. Returns true if it was delivered, or lost at delivery and counted.
 */
static bool deliver_whole(struct gathered *gathered, const struct sv_gso *gso)
{
    const struct whole_chain chain = {
        .whole = {.head = gso->header, .head_bytes = SV_GSO_HEADERS, .copy = copy_chain,
                  .length = gso->header_bytes + gso->payload_bytes},
        .pieces = gso->pieces,
    };
    /* The filter against floods works on segments of at most the MTU. */
    if (gathered->filters || sv_receiver_deliver_whole(&gathered->lane->receiver, gathered->device, &chain.whole) ==
                                 SV_WHOLE_REFUSED)
        return false;
    gathered->total += SV_WHOLE_COST;
    return true;
}

/*
 * Handles a GSO frame: delivers it unsegmented or as segments, or drops and counts it if it is malformed. Dispatches
 * the earlier frames first, to keep the order. Dispatches all segments before it returns, because the caller's pieces
 * are valid during this call only.
 */
static void segment_gso_frame(struct gathered *gathered, const struct iovec *pieces, uint32_t count)
{
    struct softverbs_queue_counters *counters = &gathered->lane->receiver.counters;
    const struct sv_gso_info facts = {
        .mtu = sv_wire_segment_mtu(gathered->device),
        .partial = true,
    };
    struct sv_gso gso;
    enum sv_gso_verdict verdict = sv_gso_begin(&gso, pieces, count, &facts);
    if (verdict != SV_GSO_GOOD) {
        ++*refusal_counter(counters, verdict);
        return;
    }
    counters->partial_checksums += sv_gso_has_partial_checksum(&gso);
    dispatch_gathered(gathered);
    if (deliver_whole(gathered, &gso))
        return;
    struct sv_gso_slot *slots = gathered->queue->slots;
    while (sv_gso_next(&gso, &slots[gathered->count], &gathered->frame[gathered->count])) {
        counters->gso_segments++;
        if (++gathered->count == SV_BURST)
            dispatch_gathered(gathered);
    }
    dispatch_gathered(gathered);
    counters->gso_frames++;
}

/* ---- frames of several chunks ---- */

struct chain {
    uint32_t count;
    uint64_t length;
    struct iovec piece[SV_XDP_CHAIN];
};

/*
 * Finds the chunks of the frame at `position`. The kernel has filled the ring up to `end`. Returns their number, or 0
 * if the last chunk has not arrived yet. If the frame has more than SV_XDP_CHAIN chunks, returns SV_XDP_CHAIN and sets
 * `skipping`: the frame cannot be used, and take_chain() discards its further chunks as they arrive.
 */
static unsigned find_chain(struct sv_xdp_queue *queue, struct sv_xdp_lane *lane, uint32_t position, uint32_t end,
                           struct chain *chain)
{
    chain->count = 0;
    chain->length = 0;
    for (; (int32_t)(end - (position + chain->count)) > 0 && chain->count < SV_XDP_CHAIN;) {
        const struct xdp_desc *part = rx_descriptor(&lane->rx, position + chain->count);
        chain->piece[chain->count++] = (struct iovec){(uint8_t *)(uintptr_t)data_at(queue, part->addr), part->len};
        chain->length += part->len;
        if (!(part->options & XDP_PKT_CONTD))
            return chain->count;
    }
    lane->skipping = chain->count == SV_XDP_CHAIN;
    return lane->skipping ? SV_XDP_CHAIN : 0;
}

/*
 * Copies a frame of several chunks to contiguous memory and gathers it. Returns false if the memory for this burst is
 * used up; the frame then waits for the next burst.
 */
static bool assemble_frame(struct gathered *gathered, const struct chain *chain)
{
    const uint32_t room = SV_XDP_MAX_MTU + SV_MAX_OVERHEAD;
    struct sv_xdp_queue *queue = gathered->queue;
    if (queue->scratch_used == SV_XDP_SCRATCH_FRAMES)
        return false;
    uint8_t *to = queue->scratch + queue->scratch_used++ * room;
    sv_pieces_copy(to, chain->piece, 0, (uint32_t)chain->length);
    gathered->frame[gathered->count++] = (struct sv_frame){.data = to, .length = (uint32_t)chain->length};
    return true;
}

/*
 * Handles a frame of several chunks, or a chunk of a frame that is being skipped. Returns the number of descriptors
 * used; 0 if the frame has to wait.
 */
static __attribute__((cold, noinline)) unsigned take_chain(struct gathered *gathered, uint32_t position, uint32_t end)
{
    struct sv_xdp_lane *lane = gathered->lane;
    struct chain chain;
    if (lane->skipping) {
        lane->skipping = rx_descriptor(&lane->rx, position)->options & XDP_PKT_CONTD;
        return 1;
    }
    unsigned parts = find_chain(gathered->queue, lane, position, end, &chain);
    if (parts == 0)
        return 0;
    if (chain.length >= ETH_HLEN && chain.length <= gathered->longest && !lane->skipping)
        return assemble_frame(gathered, &chain) ? parts : 0;
    if (lane->skipping && chain.length > SV_GSO_MAX_IP_BYTES)
        lane->receiver.counters.gso_too_long++;
    else if (lane->skipping)
        lane->receiver.counters.gso_malformed++;
    else if (gathered->queue->gso_frames && chain.length > gathered->longest)
        segment_gso_frame(gathered, chain.piece, chain.count);
    else
        lane->receiver.counters.length_errors++;
    return parts;
}

/* Handles a frame of one chunk that is too short, or longer than the MTU permits and perhaps a GSO frame. */
static __attribute__((cold, noinline)) void take_bad_length_frame(struct gathered *gathered,
                                                                  const struct xdp_desc *descriptor)
{
    struct iovec whole = {(uint8_t *)(uintptr_t)data_at(gathered->queue, descriptor->addr), descriptor->len};
    if (gathered->queue->gso_frames && descriptor->len > gathered->longest)
        segment_gso_frame(gathered, &whole, 1);
    else
        gathered->lane->receiver.counters.length_errors++;
}

/* Gathers, delivers or drops the frame at `position`. Returns the number of descriptors used; 0 if it has to wait. */
static inline unsigned take_frame(struct gathered *gathered, uint32_t position, uint32_t end)
{
    const struct xdp_desc *descriptor = rx_descriptor(&gathered->lane->rx, position);
    if (SV_UNLIKELY((descriptor->options & XDP_PKT_CONTD) || gathered->lane->skipping))
        return take_chain(gathered, position, end);
    if (SV_UNLIKELY(descriptor->len < ETH_HLEN || descriptor->len > gathered->longest)) {
        take_bad_length_frame(gathered, descriptor);
        return 1;
    }
    struct sv_frame *frame = &gathered->frame[gathered->count++];
    *frame = (struct sv_frame){.data = data_at(gathered->queue, descriptor->addr), .length = descriptor->len};
    __builtin_prefetch(frame->data);
    return 1;
}

/*
 * Takes one burst out of a lane and returns the number of descriptors consumed. The caller holds the lane's lock.
 *
 * Takes frames whose first descriptor lies before position `limit`. The caller may have read `limit` before it acquired
 * the lock, so the kernel's producer index, read here, is a second bound.
 *
 * The burst ends after `most` frames. A GSO frame that is segmented counts as its segments, since each needs a
 * receive; one that is delivered whole counts as SV_WHOLE_COST frames. Neither is split between two bursts, so the last
 * one may exceed `most`. The burst also ends after MAX_DESCRIPTORS descriptors, or at a frame that has to wait.
 *
 * limit_unsolicited() sets `sorted_until`. While the main lane's position is before it, unsolicited segments are
 * dropped from each burst, also from the part of the last burst behind it.
 */
static unsigned drain_burst(struct sv_xdp_queue *queue, struct sv_xdp_lane *lane, struct sv_device *device,
                            uint32_t limit, unsigned most)
{
    struct sv_xdp_ring *rx = &lane->rx;
    uint32_t position = rx->position;
    uint32_t end = rx_produced(rx);
    unsigned seen = 0;
    struct gathered gathered;

    gathered.queue = queue;
    gathered.lane = lane;
    gathered.device = device;
    gathered.longest = sv_wire_longest_frame(device);
    gathered.count = gathered.total = 0;
    gathered.filters = lane == &queue->main && (int32_t)(queue->sorted_until - position) > 0;
    if (lane == &queue->main && SV_LIKELY(!gathered.filters))
        queue->sorted_until = position;     /* follows the position: 2^31 frames later it would seem to be ahead */
    if (SV_UNLIKELY((int32_t)(limit - end) > 0))
        limit = end;
    queue->scratch_used = 0;
    while (gathered.total + gathered.count < most && seen < MAX_DESCRIPTORS &&
           (int32_t)(limit - (position + seen)) > 0) {
        unsigned parts = take_frame(&gathered, position + seen, end);
        if (SV_UNLIKELY(parts == 0))
            break;
        seen += parts;
    }
    dispatch_gathered(&gathered);
    return_chunks(queue, rx, seen);
    return seen;
}

static inline uint32_t rx_consumed(const struct sv_xdp_ring *rx)
{
    return __atomic_load_n(rx->consumer, __ATOMIC_RELAXED);
}

/*
 * Drains the lane of SYNs, after the main lane. Takes at most one burst per poll, so that segments of connections wait
 * for no more than that. If the ring is more than half full, SYNs arrive faster than they are handled. The XDP program
 * then admits fewer, and only FEW_SYNS are handled per poll, so that connections keep most of the time. Returns the
 * number of descriptors consumed.
 */
static unsigned drain_syns(struct sv_xdp_queue *queue, struct sv_device *device)
{
    uint32_t end = rx_produced(&queue->syns.rx);
    unsigned most = SV_BURST;
    if (SV_LIKELY(end == queue->syns.rx.position))
        return 0;
    if (SV_UNLIKELY((int32_t)(end - queue->syns.rx.position) > (int32_t)(queue->syns.entries / 2))) {
        sv_steering_limit_syns(((struct sv_wire *)device->port)->steering);
        most = FEW_SYNS;
    }
    sv_spin_lock(&queue->syns.receiver.lock);   /* held for threads that read this lane's counters */
    unsigned seen = drain_burst(queue, &queue->syns, device, end, most);
    sv_spin_unlock(&queue->syns.receiver.lock);
    return seen;
}

/*
 * Returns true if more than `most` frames wait in the main lane before `limit`. A frame of several chunks counts once.
 */
static bool more_frames_wait(const struct sv_xdp_queue *queue, uint32_t limit, uint32_t most)
{
    const struct sv_xdp_ring *rx = &queue->main.rx;
    uint32_t frames = 0;
    if (SV_LIKELY((int32_t)(limit - rx->position) <= (int32_t)most))
        return false;
    if (!queue->multi_buffer)
        return true;
    uint32_t end = rx_produced(rx);
    for (uint32_t at = rx->position; frames <= most && at != limit && at != end; at++)
        frames += !(rx_descriptor(rx, at)->options & XDP_PKT_CONTD);
    return frames > most;
}

/*
 * Protects connections if waiting frames fill half of the main ring. The cause may be a flood or a pause of the
 * program; in both cases frames will soon be lost. It is better to lose unsolicited segments than those of connections.
 * For the next second the XDP program admits only few of them, and those that are in the ring are dropped. Answering
 * them would delay the segments of connections.
 */
static void limit_unsolicited(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit)
{
    if (SV_LIKELY(!more_frames_wait(queue, limit, queue->main.entries / 2)))
        return;
    sv_steering_limit_unsolicited(((struct sv_wire *)device->port)->steering);
    queue->sorted_until = limit;
}

/*
 * Runs the driver by a receive call: xsk_recvmsg() polls the NAPI instance once (net/xdp/xsk.c). The caller holds no
 * lock, so the position is a hint, as in sv_xdp_queue_drain().
 */
void sv_xdp_queue_busy_poll(const struct sv_xdp_queue *queue)
{
    if (SV_UNLIKELY(queue->busy_poll) && sv_xdp_queue_produced(queue) == rx_consumed(&queue->main.rx))
        (void)recvfrom(queue->main.receiver.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

unsigned sv_xdp_queue_drain(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit)
{
    unsigned total = 0;
    wake_driver(queue);
    if (SV_UNLIKELY(atomic_load_explicit(&queue->unfinished, memory_order_relaxed)))
        sv_xdp_queue_finish_sending(queue);
    /*
     * The lock is not held here, and another thread may change the positions. So they are a hint: at worst the ring is
     * drained once too often, or one poll later.
     */
    if ((limit == rx_consumed(&queue->main.rx) && rx_produced(&queue->syns.rx) == rx_consumed(&queue->syns.rx)) ||
        !sv_receiver_try(&queue->main.receiver))
        return 0;
    limit_unsolicited(queue, device, limit);
    for (int i = 0; i < DRAIN_BURSTS; i++) {
        unsigned burst = drain_burst(queue, &queue->main, device, limit, SV_BURST);
        total += burst;
        if (burst == 0 || (int32_t)(limit - queue->main.rx.position) <= 0)
            break;
    }
    total += drain_syns(queue, device);
    wake_driver(queue);
    sv_spin_unlock(&queue->main.receiver.lock);
    return total;
}
