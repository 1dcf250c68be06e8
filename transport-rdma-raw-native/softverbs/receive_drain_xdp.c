/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step 2 of the receive path (receive.h) for AF_XDP sockets: takes frames out of the receive rings, dispatches them
 * (step 3), and returns their chunks to the kernel. A queue of the interface has two sockets, each with a receive ring
 * (xdp_queue.h): the main one, and one for SYNs.
 */
#include "xdp_queue.h"

#include "checksum.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { DRAIN_BURSTS = 4, MAX_SYNS_UNDER_FLOOD = 8 };
/*
 * Number of descriptors after which a burst ends, even if it has few frames. Descriptors are counted separately from
 * frames, because a frame may have several, and frames that are dropped here do not count as frames of the burst.
 */
enum { MAX_DESCRIPTORS = 4 * SV_BURST };

/* ---- receiving ---- */

/*
 * Returns the frame at a descriptor's address. With unaligned chunks the lower bits of the address are the chunk, and
 * the upper ones the frame's offset in it.
 */
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
 * (af_xdp.rst, XDP_USE_NEED_WAKEUP). It may set XDP_RING_NEED_WAKEUP after the library has already returned all chunks.
 * Nothing else would wake it then, so each poll checks this flag.
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
        fill[queue->fill.position++ & queue->fill.mask] = rx_descriptor(rx, rx->position + i)->addr & queue->chunk_mask;
    rx->position += count;
    __atomic_store_n(rx->consumer, rx->position, __ATOMIC_RELEASE);
    __atomic_store_n(queue->fill.producer, queue->fill.position, __ATOMIC_RELEASE);
}

/* The state of drain_burst(): a batch of frames that are not dispatched yet, and the cost of the dispatched ones. */
struct batch {
    struct sv_xdp_queue *queue;
    struct sv_xdp_receive_socket *rx_socket;
    struct sv_device *device;
    uint32_t max_frame_bytes;
    bool drops_unsolicited;         /* this burst of the main ring drops them: see limit_unsolicited() */
    unsigned cost;                  /* of the dispatched frames: 1 each, SV_GSO_COST_FRAMES if delivered unsegmented */
    unsigned count;                 /* frames in `frame` */
    struct sv_frame frame[SV_BURST];
};

/*
 * Drops the segments of the batch for which sv_connections_is_unsolicited() holds. Keeps the order of the other frames.
 */
static void drop_unsolicited(struct batch *batch)
{
    const struct sv_connections *connections =
        sv_kernel_steering_connections(((struct sv_netdev_port *)batch->device->port)->steering);
    unsigned kept = 0;
    for (unsigned i = 0; i < batch->count; i++) {
        if (sv_connections_is_unsolicited(connections, &batch->frame[i]))
            batch->queue->main.receiver.counters.unsolicited_drops++;
        else
            batch->frame[kept++] = batch->frame[i];
    }
    batch->count = kept;
}

/*
 * Computes the checksums that senders on this host or GRO left incomplete, and writes them to the frames. The library
 * owns the chunks until return_chunks(), so it may write to them.
 */
static void complete_checksums(struct batch *batch)
{
    struct sv_headers unused;
    for (unsigned i = 0; i < batch->count; i++) {
        struct sv_frame *frame = &batch->frame[i];
        uint8_t *data = (uint8_t *)(uintptr_t)frame->data;
        if (frame->checksums_done ||
            !sv_checksum_fill_partial(data, frame->length, sv_parse_headers(data, frame->length, &unused)))
            continue;
        frame->checksums_done = true;
        batch->rx_socket->receiver.counters.partial_checksums++;
    }
}

/*
 * Dispatches the frames of the batch and empties it. Before that it completes checksums and, if `drops_unsolicited` is
 * set, drops unsolicited segments. May be called several times in a burst.
 */
static void dispatch_batch(struct batch *batch)
{
    if (SV_UNLIKELY(batch->drops_unsolicited))
        drop_unsolicited(batch);
    if (batch->queue->expects_partial_checksums)
        complete_checksums(batch);
    batch->cost += batch->count;
    if (batch->count > 0)
        sv_receiver_dispatch(&batch->rx_socket->receiver, batch->device, batch->frame, batch->count);
    batch->count = 0;
}

/* ---- GSO frames ---- */

static uint64_t *refusal_counter(struct softverbs_queue_counters *counters, enum sv_gso_verdict verdict)
{
    switch (verdict) {
    case SV_GSO_BAD_FLAGS:
        return &counters->gso_flags;
    case SV_GSO_TOO_LONG:
        return &counters->gso_too_long;
    case SV_GSO_MALFORMED:
        return &counters->gso_malformed;
    default:
        return &counters->length_errors;
    }
}

/* A GSO frame to deliver unsegmented, and its pieces, for copy_pieces(). */
struct gso_pieces {
    struct sv_gso_frame gso_frame;
    const struct iovec *pieces;
};

static bool copy_pieces(const struct sv_gso_frame *gso_frame, uint8_t *to)
{
    sv_pieces_copy(to, ((const struct gso_pieces *)gso_frame)->pieces, 0, gso_frame->length);
    return true;
}

/*
 * Tries to copy a GSO frame unsegmented to a receive of 64 KB. The caller has dispatched the earlier frames. Returns
 * true if the frame is done: delivered, or lost and counted. Returns false if the caller has to segment it.
 */
static bool deliver_gso_frame(struct batch *batch, const struct sv_gso_segmenter *gso)
{
    const struct gso_pieces unsegmented = {
        .gso_frame = {.head = gso->header, .head_bytes = SV_GSO_MAX_HEADER_BYTES, .copy = copy_pieces,
                      .length = gso->header_bytes + gso->payload_bytes},
        .pieces = gso->pieces,
    };
    /* While the burst drops unsolicited segments, the frame is segmented: drop_unsolicited() checks single segments. */
    if (batch->drops_unsolicited ||
        sv_receiver_deliver_gso(&batch->rx_socket->receiver, batch->device, &unsegmented.gso_frame) ==
            SV_GSO_REFUSED)
        return false;
    batch->cost += SV_GSO_COST_FRAMES;
    return true;
}

/*
 * Handles a GSO frame: delivers it unsegmented or as segments, or drops and counts it if it cannot be segmented.
 * Dispatches the earlier frames first, to keep the order. The caller's pieces are valid during this call only, so all
 * segments are dispatched before it returns.
 */
static void handle_gso_frame(struct batch *batch, const struct iovec *pieces, uint32_t count)
{
    struct softverbs_queue_counters *counters = &batch->rx_socket->receiver.counters;
    const struct sv_gso_info info = {
        .mtu = sv_netdev_port_segment_mtu(batch->device),
        .partial_checksum = true,
    };
    struct sv_gso_segmenter gso;
    enum sv_gso_verdict verdict = sv_gso_begin(&gso, pieces, count, &info);
    if (verdict != SV_GSO_GOOD) {
        ++*refusal_counter(counters, verdict);
        return;
    }
    counters->partial_checksums += sv_gso_has_partial_checksum(&gso);
    dispatch_batch(batch);
    if (deliver_gso_frame(batch, &gso))
        return;
    struct sv_gso_slot *slots = batch->queue->gso_slots;
    while (sv_gso_next(&gso, &slots[batch->count], &batch->frame[batch->count])) {
        counters->gso_segments++;
        if (++batch->count == SV_BURST)
            dispatch_batch(batch);
    }
    dispatch_batch(batch);
    counters->gso_frames++;
}

/*
 * Adds a frame to the batch, without the tag of the VLAN. The programs redirect frames of the VLAN only, so others are
 * dropped.
 */
static inline void add_frame(struct batch *batch, uint8_t *data, uint32_t length)
{
    const struct sv_xdp_queue *queue = batch->queue;
    if (SV_UNLIKELY(queue->tag_bytes != 0) && (data = sv_vlan_remove_tag(queue->tag, data, length)) == NULL) {
        batch->rx_socket->receiver.counters.length_errors++;
        return;
    }
    batch->frame[batch->count++] = (struct sv_frame){.data = data, .length = length - queue->tag_bytes};
}

/* ---- frames of several chunks ---- */

struct chain {
    uint32_t count;
    uint64_t length;
    struct iovec piece[SV_XDP_MAX_CHAIN_CHUNKS];
};

/*
 * Finds the chunks of the frame at `position`. The kernel has filled the ring up to `end`. Returns the number of
 * chunks, or 0 if the last one has not arrived yet. A frame of more than SV_XDP_MAX_CHAIN_CHUNKS chunks cannot be used:
 * the function returns SV_XDP_MAX_CHAIN_CHUNKS and sets `skipping_chain`, and process_chain() discards the rest as it
 * arrives.
 */
static unsigned find_chain(struct sv_xdp_queue *queue, struct sv_xdp_receive_socket *rx_socket, uint32_t position,
                           uint32_t end, struct chain *chain)
{
    chain->count = 0;
    chain->length = 0;
    for (; (int32_t)(end - (position + chain->count)) > 0 && chain->count < SV_XDP_MAX_CHAIN_CHUNKS;) {
        const struct xdp_desc *part = rx_descriptor(&rx_socket->rx, position + chain->count);
        chain->piece[chain->count++] = (struct iovec){(uint8_t *)(uintptr_t)data_at(queue, part->addr), part->len};
        chain->length += part->len;
        if (!(part->options & XDP_PKT_CONTD))
            return chain->count;
    }
    rx_socket->skipping_chain = chain->count == SV_XDP_MAX_CHAIN_CHUNKS;
    return rx_socket->skipping_chain ? SV_XDP_MAX_CHAIN_CHUNKS : 0;
}

/*
 * Copies a frame of several chunks to contiguous memory and adds it to the batch. Returns false if the memory for this
 * burst is used up; the frame then waits for the next burst.
 */
static bool assemble_frame(struct batch *batch, const struct chain *chain)
{
    const uint32_t frame_capacity = SV_XDP_MAX_MTU + SV_MAX_OVERHEAD;
    struct sv_xdp_queue *queue = batch->queue;
    if (queue->scratch_used_frames == SV_XDP_SCRATCH_FRAMES)
        return false;
    uint8_t *to = queue->scratch + queue->scratch_used_frames++ * frame_capacity;
    sv_pieces_copy(to, chain->piece, 0, (uint32_t)chain->length);
    add_frame(batch, to, (uint32_t)chain->length);
    return true;
}

/*
 * Handles a frame of several chunks, or a chunk of a frame that is being skipped. Returns the number of descriptors
 * used; 0 if the frame has to wait.
 */
static __attribute__((cold, noinline)) unsigned process_chain(struct batch *batch, uint32_t position, uint32_t end)
{
    struct sv_xdp_receive_socket *rx_socket = batch->rx_socket;
    struct chain chain;
    if (rx_socket->skipping_chain) {
        rx_socket->skipping_chain = rx_descriptor(&rx_socket->rx, position)->options & XDP_PKT_CONTD;
        return 1;
    }
    unsigned parts = find_chain(batch->queue, rx_socket, position, end, &chain);
    if (parts == 0)
        return 0;
    if (chain.length >= ETH_HLEN && chain.length <= batch->max_frame_bytes && !rx_socket->skipping_chain)
        return assemble_frame(batch, &chain) ? parts : 0;
    /* A frame of 64 KB has fewer chunks than the maximum. A chain of more chunks exceeds 64 KB, or it is malformed. */
    if (rx_socket->skipping_chain && chain.length > SV_GSO_MAX_IP_BYTES)
        rx_socket->receiver.counters.gso_too_long++;
    else if (rx_socket->skipping_chain)
        rx_socket->receiver.counters.gso_malformed++;
    else if (batch->queue->receives_gso && chain.length > batch->max_frame_bytes)
        handle_gso_frame(batch, chain.piece, chain.count);
    else
        rx_socket->receiver.counters.length_errors++;
    return parts;
}

/*
 * Handles a frame of one chunk that is too short or longer than the MTU allows. GSO frames are accepted if the queue
 * receives them; all others are dropped.
 */
static __attribute__((cold, noinline)) void process_odd_length_frame(struct batch *batch,
                                                                     const struct xdp_desc *descriptor)
{
    struct iovec piece = {(uint8_t *)(uintptr_t)data_at(batch->queue, descriptor->addr), descriptor->len};
    if (batch->queue->receives_gso && descriptor->len > batch->max_frame_bytes)
        handle_gso_frame(batch, &piece, 1);
    else
        batch->rx_socket->receiver.counters.length_errors++;
}

/*
 * Handles the frame at `position`: adds it to the batch, delivers it, or drops it. Returns the number of descriptors
 * used; 0 if the frame has to wait.
 */
static inline unsigned process_frame(struct batch *batch, uint32_t position, uint32_t end)
{
    const struct xdp_desc *descriptor = rx_descriptor(&batch->rx_socket->rx, position);
    if (SV_UNLIKELY((descriptor->options & XDP_PKT_CONTD) || batch->rx_socket->skipping_chain))
        return process_chain(batch, position, end);
    if (SV_UNLIKELY(descriptor->len < ETH_HLEN || descriptor->len > batch->max_frame_bytes)) {
        process_odd_length_frame(batch, descriptor);
        return 1;
    }
    const uint8_t *data = data_at(batch->queue, descriptor->addr);
    __builtin_prefetch(data);
    add_frame(batch, (uint8_t *)(uintptr_t)data, descriptor->len);
    return 1;
}

/*
 * Takes one burst out of a socket's receive ring and returns the number of descriptors consumed. The caller holds the
 * lock of the main socket. For the ring of SYNs it also holds that socket's lock, because other threads read its
 * counters under it.
 *
 * Takes frames whose first descriptor lies before position `limit`. That is the kernel's producer index, read before
 * the AF_PACKET ring with copies was drained (drain() of port_xdp.c): a copy is delivered before a frame that was sent
 * later. No caller passes a `limit` beyond the present index; it would be reduced to it.
 *
 * The burst ends after MAX_DESCRIPTORS descriptors, at a frame that has to wait, or when its frames cost `max_frames`:
 *   - a frame costs 1;
 *   - a GSO frame that is segmented costs 1 per segment, since each needs a receive;
 *   - a GSO frame that is delivered unsegmented costs SV_GSO_COST_FRAMES.
 * No GSO frame is split between two bursts, so a burst that ends with one may exceed `max_frames`.
 *
 * limit_unsolicited() sets `filtered_until_position`. Bursts of the main ring that begin before this position drop
 * their unsolicited segments.
 */
static unsigned drain_burst(struct sv_xdp_queue *queue, struct sv_xdp_receive_socket *rx_socket,
                            struct sv_device *device, uint32_t limit, unsigned max_frames)
{
    struct sv_xdp_ring *rx = &rx_socket->rx;
    uint32_t position = rx->position;
    uint32_t end = rx_produced(rx);
    unsigned consumed = 0;
    struct batch batch;

    batch.queue = queue;
    batch.rx_socket = rx_socket;
    batch.device = device;
    batch.max_frame_bytes = sv_netdev_port_max_frame_bytes(device);
    batch.count = batch.cost = 0;
    batch.drops_unsolicited = rx_socket == &queue->main && (int32_t)(queue->filtered_until_position - position) > 0;
    /* Moves filtered_until_position along: the comparison wraps, so one 2^31 descriptors behind would look ahead. */
    if (rx_socket == &queue->main && SV_LIKELY(!batch.drops_unsolicited))
        queue->filtered_until_position = position;
    if (SV_UNLIKELY((int32_t)(limit - end) > 0))
        limit = end;
    queue->scratch_used_frames = 0;
    while (batch.cost + batch.count < max_frames && consumed < MAX_DESCRIPTORS &&
           (int32_t)(limit - (position + consumed)) > 0) {
        unsigned parts = process_frame(&batch, position + consumed, end);
        if (SV_UNLIKELY(parts == 0))
            break;
        consumed += parts;
    }
    dispatch_batch(&batch);
    return_chunks(queue, rx, consumed);
    return consumed;
}

static inline uint32_t rx_consumed(const struct sv_xdp_ring *rx)
{
    return __atomic_load_n(rx->consumer, __ATOMIC_RELAXED);
}

/*
 * Drains the ring of SYNs, after the main ring. Takes at most one burst per poll, so that segments of connections do
 * not wait for many SYNs. If the ring is more than half full, SYNs arrive faster than they are handled. The XDP program
 * then admits fewer, and only MAX_SYNS_UNDER_FLOOD are handled per poll, so that connections keep most of the time.
 * Returns the number of descriptors consumed.
 */
static unsigned drain_syns(struct sv_xdp_queue *queue, struct sv_device *device)
{
    uint32_t end = rx_produced(&queue->syn.rx);
    unsigned max_frames = SV_BURST;
    if (SV_LIKELY(end == queue->syn.rx.position))
        return 0;
    if (SV_UNLIKELY((int32_t)(end - queue->syn.rx.position) > (int32_t)(queue->syn.entries / 2))) {
        sv_kernel_steering_limit_syns(((struct sv_netdev_port *)device->port)->steering);
        max_frames = MAX_SYNS_UNDER_FLOOD;
    }
    sv_spin_lock(&queue->syn.receiver.lock);    /* held for threads that read this socket's counters */
    unsigned consumed = drain_burst(queue, &queue->syn, device, end, max_frames);
    sv_spin_unlock(&queue->syn.receiver.lock);
    return consumed;
}

/*
 * Returns true if more than `max_frames` frames wait in the main ring before `limit`. A frame of several chunks counts
 * once. Without multi_buffer each descriptor is a frame.
 */
static bool more_frames_wait(const struct sv_xdp_queue *queue, uint32_t limit, uint32_t max_frames)
{
    const struct sv_xdp_ring *rx = &queue->main.rx;
    uint32_t frames = 0;
    if (SV_LIKELY((int32_t)(limit - rx->position) <= (int32_t)max_frames))
        return false;
    if (!queue->multi_buffer)
        return true;
    uint32_t end = rx_produced(rx);
    for (uint32_t at = rx->position; frames <= max_frames && at != limit && at != end; at++)
        frames += !(rx_descriptor(rx, at)->options & XDP_PKT_CONTD);
    return frames > max_frames;
}

/*
 * Protects connections when the number of waiting frames exceeds half of the main ring's entries. The cause may be a
 * flood or a pause of the process. In both cases frames will soon be lost. It is better to lose unsolicited segments
 * than those of connections. For the next second the XDP program admits only few unsolicited segments. Those in the
 * ring are dropped, because answering them would delay the segments of connections.
 */
static void limit_unsolicited(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit)
{
    if (SV_LIKELY(!more_frames_wait(queue, limit, queue->main.entries / 2)))
        return;
    sv_kernel_steering_limit_unsolicited(((struct sv_netdev_port *)device->port)->steering);
    queue->filtered_until_position = limit;
}

/*
 * Runs the driver by a receive call: xsk_recvmsg() polls the NAPI instance once (net/xdp/xsk.c). The caller holds no
 * lock, so the result of rx_consumed() is a hint, as in sv_xdp_queue_drain().
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
    if (SV_UNLIKELY(atomic_load_explicit(&queue->tx_pending, memory_order_relaxed)))
        sv_xdp_queue_retry_sending(queue);
    /*
     * The lock is not held here, and another thread may change the positions. They are a hint: at worst the ring is
     * drained once too often, or one poll later.
     */
    if ((limit == rx_consumed(&queue->main.rx) && rx_produced(&queue->syn.rx) == rx_consumed(&queue->syn.rx)) ||
        !sv_receiver_trylock(&queue->main.receiver))
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
