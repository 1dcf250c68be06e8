/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic through AF_XDP sockets: see xdp_queue.h. */
#include "xdp_queue.h"

#include "checksum.h"
#include "copy.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

enum { DRAIN_BURSTS = 4, FEW_SYNS = 8, KICK_TRIES = 1000, KICKS_BEFORE_YIELD = 8,
       DRIVER_TRIES = 64 };
/* A burst ends here too, so that refused frames hold up the others for a bounded time. */
enum { MAX_DESCRIPTORS = 4 * SV_BURST };

/* ---- receiving ---- */

/* With unaligned chunks the upper bits have the offset of the frame in its chunk. */
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

static inline bool wants_wakeup(const struct sv_xdp_ring *ring)
{
    return __atomic_load_n(ring->flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP;
}

/*
 * A zero-copy driver that found no free chunk has stopped, and does not notice new chunks by itself (af_xdp.rst,
 * XDP_USE_NEED_WAKEUP). It may set the flag a moment after the last chunk was returned, so each poll checks it.
 */
static inline void wake_driver(const struct sv_xdp_queue *queue)
{
    if (SV_UNLIKELY(queue->zero_copy) && wants_wakeup(&queue->fill))
        (void)recvfrom(queue->main.receiver.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

/* Returns chunks to the kernel through the fill ring. */
static void return_chunks(struct sv_xdp_queue *queue, struct sv_xdp_ring *rx, unsigned count)
{
    uint64_t *fill = queue->fill.entries;
    for (unsigned i = 0; i < count; i++)
        fill[queue->fill.position++ & queue->fill.mask] = rx_descriptor(rx, rx->position + i)->addr & queue->base_mask;
    rx->position += count;
    __atomic_store_n(rx->consumer, rx->position, __ATOMIC_RELEASE);
    __atomic_store_n(queue->fill.producer, queue->fill.position, __ATOMIC_RELEASE);
}

/* The frames of a burst before they are dispatched. */
struct gathered {
    struct sv_xdp_queue *queue;
    struct sv_xdp_lane *lane;
    struct sv_device *device;
    uint32_t longest;
    bool sorts;                     /* unsolicited segments are dropped */
    unsigned total;                 /* with those that were dispatched */
    unsigned count;
    struct sv_frame frame[SV_BURST];
};

/* Keeps the other frames in order. */
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

/* Computes what senders on this host left out. The chunks are the library's to write, as long as it has them. */
static void complete_checksums(struct gathered *gathered)
{
    static const struct sv_frame_rest in_one_piece = {.head_bytes = UINT32_MAX};
    struct sv_headers unused;
    for (unsigned i = 0; i < gathered->count; i++) {
        struct sv_frame *frame = &gathered->frame[i];
        uint8_t *data = (uint8_t *)(uintptr_t)frame->data;
        if (frame->rest != NULL ||
            !sv_checksum_fill_partial(data, frame->length, sv_parse_headers(data, frame->length, &unused)))
            continue;
        frame->rest = &in_one_piece;
        gathered->lane->receiver.counters.partial_checksums++;
    }
}

static void dispatch_gathered(struct gathered *gathered)
{
    if (SV_UNLIKELY(gathered->sorts))
        drop_unsolicited(gathered);
    if (gathered->queue->partial)
        complete_checksums(gathered);
    gathered->total += gathered->count;
    if (gathered->count > 0)
        sv_receiver_dispatch(&gathered->lane->receiver, gathered->device, gathered->frame, gathered->count);
    gathered->count = 0;
}

/* ---- frames beyond the MTU ---- */

static uint64_t *refusal_counter(struct softverbs_queue_counters *counters, enum sv_super_verdict verdict)
{
    switch (verdict) {
    case SV_SUPER_FLAGS:
        return &counters->super_flags;
    case SV_SUPER_TOO_LONG:
        return &counters->super_too_long;
    case SV_SUPER_UNSOUND:
        return &counters->super_unsound;
    default:
        return &counters->length_errors;
    }
}

/* The pieces of a frame that may go whole. */
struct whole_chain {
    struct sv_whole whole;
    const struct iovec *pieces;
};

static bool copy_chain(const struct sv_whole *whole, uint8_t *to)
{
    sv_pieces_copy(to, ((const struct whole_chain *)whole)->pieces, 0, whole->length);
    return true;
}

/* What is before it has been dispatched. False: it is to be cut. */
static bool deliver_whole(struct gathered *gathered, const struct sv_super *super)
{
    const struct whole_chain chain = {
        .whole = {.head = super->header, .head_bytes = SV_SUPER_HEADERS, .copy = copy_chain,
                  .length = super->header_bytes + super->payload_bytes},
        .pieces = super->pieces,
    };
    /* Under a flood it is looked at frame by frame. */
    if (gathered->sorts || sv_receiver_deliver_whole(&gathered->lane->receiver, gathered->device, &chain.whole) ==
                               SV_WHOLE_REFUSED)
        return false;
    gathered->total += SV_WHOLE_COST;
    return true;
}

/* Dispatches what is before it, and then it or its frames, since the pieces are the caller's only during this call. */
static void cut_super_frame(struct gathered *gathered, const struct iovec *pieces, uint32_t count)
{
    struct softverbs_queue_counters *counters = &gathered->lane->receiver.counters;
    const struct sv_super_facts facts = {
        .mtu = sv_wire_cut_mtu(gathered->device),
        .partial = true,
    };
    struct sv_super super;
    enum sv_super_verdict verdict = sv_super_begin(&super, pieces, count, &facts);
    if (verdict != SV_SUPER_GOOD) {
        ++*refusal_counter(counters, verdict);
        return;
    }
    counters->partial_checksums += sv_super_has_partial_checksum(&super);
    dispatch_gathered(gathered);
    if (deliver_whole(gathered, &super))
        return;
    struct sv_super_slot *slots = gathered->queue->slots;
    while (sv_super_next(&super, &slots[gathered->count], &gathered->frame[gathered->count])) {
        counters->cut_frames++;
        if (++gathered->count == SV_BURST)
            dispatch_gathered(gathered);
    }
    dispatch_gathered(gathered);
    counters->super_frames++;
}

/* ---- frames of several chunks ---- */

struct chain {
    uint32_t count;
    uint64_t length;
    struct iovec piece[SV_XDP_CHAIN];
};

/*
 * Finds the chunks of a frame, all before `end`, up to which the kernel has filled the ring. Returns their number, or 0
 * if the last one has not come yet. The rest of a chain that is too long is skipped.
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

/* Puts a frame together. False: there is no room for it in this burst. */
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

/* Returns how many descriptors were used; 0: none, for now. */
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
    if (lane->skipping && chain.length > SV_SUPER_MAX_IP_BYTES)
        lane->receiver.counters.super_too_long++;
    else if (lane->skipping)
        lane->receiver.counters.super_unsound++;
    else if (gathered->queue->super_frames && chain.length > gathered->longest)
        cut_super_frame(gathered, chain.piece, chain.count);
    else
        lane->receiver.counters.length_errors++;
    return parts;
}

/* A frame of one chunk that is too short or too long. */
static __attribute__((cold, noinline)) void take_odd_frame(struct gathered *gathered, const struct xdp_desc *descriptor)
{
    struct iovec whole = {(uint8_t *)(uintptr_t)data_at(gathered->queue, descriptor->addr), descriptor->len};
    if (gathered->queue->super_frames && descriptor->len > gathered->longest)
        cut_super_frame(gathered, &whole, 1);
    else
        gathered->lane->receiver.counters.length_errors++;
}

/* Returns how many descriptors were used; 0: none, for now. */
static inline unsigned take_frame(struct gathered *gathered, uint32_t position, uint32_t end)
{
    const struct xdp_desc *descriptor = rx_descriptor(&gathered->lane->rx, position);
    if (SV_UNLIKELY((descriptor->options & XDP_PKT_CONTD) || gathered->lane->skipping))
        return take_chain(gathered, position, end);
    if (SV_UNLIKELY(descriptor->len < ETH_HLEN || descriptor->len > gathered->longest)) {
        take_odd_frame(gathered, descriptor);
        return 1;
    }
    struct sv_frame *frame = &gathered->frame[gathered->count++];
    *frame = (struct sv_frame){.data = data_at(gathered->queue, descriptor->addr), .length = descriptor->len};
    __builtin_prefetch(frame->data);
    return 1;
}

/*
 * Takes at most about `most` frames that begin before `limit`: a super-frame counts as those it is cut into, since each
 * needs a receive, and is cut as a whole. The limit may be older than the lock that the caller holds;
 * the kernel's producer, read here, is the bound in any case.
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
    gathered.sorts = lane == &queue->main && (int32_t)(queue->sorted_until - position) > 0;
    if (lane == &queue->main && SV_LIKELY(!gathered.sorts))
        queue->sorted_until = position;     /* follows, so that it is not ahead again after 2^31 frames */
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
 * Drains SYNs last, and at most one burst, so that the next segment of a connection waits for no more than these. If
 * more than half of their ring is full, SYNs arrive faster than they are handled: then fewer are admitted, and the ring
 * is emptied slowly. The limits count frames, not descriptors.
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
    sv_spin_lock(&queue->syns.receiver.lock);   /* a thread that reads this lane's counters holds no other lock */
    unsigned seen = drain_burst(queue, &queue->syns, device, end, most);
    sv_spin_unlock(&queue->syns.receiver.lock);
    return seen;
}

/* Whether more than so many frames wait before `limit`: one of several chunks counts once. */
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
 * If as many frames wait as are half of the main ring, they arrive faster than they are handled, and soon some are lost.
 * These should be unsolicited ones: from now on few are admitted, and those already in the ring are dropped, since to
 * answer a thousand of them would take longer than a connection's retransmission timeout.
 */
static void limit_unsolicited(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit)
{
    if (SV_LIKELY(!more_frames_wait(queue, limit, queue->main.entries / 2)))
        return;
    sv_steering_limit_unsolicited(((struct sv_wire *)device->port)->steering);
    queue->sorted_until = limit;
}

/* xsk_recvmsg() runs one turn of the NAPI instance (net/xdp/xsk.c). The position is a hint, as in sv_xdp_queue_drain(). */
void sv_xdp_queue_busy_poll(const struct sv_xdp_queue *queue)
{
    if (SV_UNLIKELY(queue->busy_poll) && sv_xdp_queue_produced(queue) == rx_consumed(&queue->main.rx))
        (void)recvfrom(queue->main.receiver.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

unsigned sv_xdp_queue_drain(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit)
{
    unsigned total = 0;
    wake_driver(queue);
    /* The positions belong to another thread, so this is a hint: at worst it drains once more, or a poll later. */
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

/* ---- sending ---- */

static inline uint32_t tx_consumed(const struct sv_xdp_queue *queue)
{
    return __atomic_load_n(queue->tx.consumer, __ATOMIC_ACQUIRE);
}

static void take_completions(struct sv_xdp_queue *queue)
{
    const uint64_t *done = queue->completion.entries;
    uint32_t end = __atomic_load_n(queue->completion.producer, __ATOMIC_ACQUIRE);
    for (; queue->completion.position != end; queue->completion.position++)
        if (SV_LIKELY(queue->free_count < queue->send_chunks))      /* never beyond the array */
            queue->free_chunks[queue->free_count++] = done[queue->completion.position & queue->completion.mask];
    __atomic_store_n(queue->completion.consumer, queue->completion.position, __ATOMIC_RELEASE);
}

static bool is_transient(int error)
{
    return error == EAGAIN || error == EBUSY || error == ENOBUFS || error == EINTR;
}

/*
 * Wakes the driver if it asks for it. The driver sends when it likes. One that is polled busily sends while it is polled,
 * and does not ask.
 */
static int kick_driver(const struct sv_xdp_queue *queue)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* the driver sees the frames, or this sees it stopped */
    if ((!queue->busy_poll && !wants_wakeup(&queue->tx)) || sendto(queue->sender, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
        return 0;
    return is_transient(errno) ? 0 : errno;
}

/*
 * Makes the kernel send the frames in the ring up to `end`, of whatever thread. In copy mode it sends during the call, a
 * few dozen at a time, and returns EAGAIN if there are more. No lock is held, as the kernel has its own: what it sends
 * may wake a process on this core, which then runs before the call returns, and other threads would wait for that.
 */
static int kick_kernel(struct sv_xdp_queue *queue, uint32_t end)
{
    if (queue->zero_copy)
        return kick_driver(queue);
    uint32_t before = tx_consumed(queue) - 1;
    for (unsigned idle = 0; idle < KICK_TRIES; idle++) {
        uint32_t consumed = tx_consumed(queue);
        if ((int32_t)(end - consumed) <= 0)
            return 0;
        if (consumed != before)
            idle = 0;
        before = consumed;
        if (idle > KICKS_BEFORE_YIELD)
            sched_yield();
        if (sendto(queue->sender, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && !is_transient(errno))
            return errno;
    }
    return ENOBUFS;
}

static void put_chunk(struct sv_xdp_queue *queue, const uint8_t *data, uint32_t length, uint32_t options)
{
    uint64_t chunk = queue->free_chunks[--queue->free_count];
    struct xdp_desc *descriptors = queue->tx.entries;
    sv_copy(queue->umem + chunk, data, length);
    descriptors[queue->tx.position++ & queue->tx.mask] =
        (struct xdp_desc){.addr = chunk, .len = length, .options = options};
}

static unsigned put_frames(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count)
{
    uint32_t room = queue->tx.mask + 1 - (queue->tx.position - tx_consumed(queue));
    uint32_t chunk_bytes = queue->chunk_bytes;
    unsigned n = 0;
    if (room > queue->free_count)
        room = queue->free_count;
    for (; n < count; n++) {
        const uint8_t *data = frames[n].data;
        uint32_t left = frames[n].length;
        uint32_t parts = SV_LIKELY(left <= chunk_bytes) ? 1 : (left + chunk_bytes - 1) / chunk_bytes;
        if (parts > room)
            break;
        room -= parts;
        for (; left > chunk_bytes; left -= chunk_bytes, data += chunk_bytes)
            put_chunk(queue, data, chunk_bytes, XDP_PKT_CONTD);
        put_chunk(queue, data, left, 0);
    }
    __atomic_store_n(queue->tx.producer, queue->tx.position, __ATOMIC_RELEASE);
    return n;
}

unsigned sv_xdp_queue_send(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count, int *error)
{
    const unsigned tries = queue->zero_copy ? DRIVER_TRIES : KICK_TRIES;
    unsigned sent = 0;
    unsigned idle = 0;
    uint32_t returned = 0;
    *error = 0;
    while (sent < count && *error == 0) {
        sv_spin_lock(&queue->send_lock);
        take_completions(queue);
        unsigned n = put_frames(queue, frames + sent, count - sent);
        uint32_t end = queue->tx.position;
        uint32_t returned_now = queue->completion.position;
        sv_spin_unlock(&queue->send_lock);
        sent += n;
        *error = kick_kernel(queue, end);
        /* The interface has all chunks: it returns some soon, maybe to another thread first, or it is stuck. */
        if (n == 0) {
            sched_yield();
            idle = returned_now == returned ? idle + 1 : 1;
            if (idle > tries)
                *error = ENOBUFS;
        }
        returned = returned_now;
    }
    return sent;
}
