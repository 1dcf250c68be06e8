/* SPDX-License-Identifier: Apache-2.0 */
/* See xdp_queue.h: what goes through a socket. */
#include "xdp_queue.h"

#include "copy.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

enum { DRAIN_BURSTS = 4, FEW_SYNS = 8, KICK_TRIES = 1000, DRIVER_TRIES = 64 };

/* ---- receiving ---- */

/* In the upper bits there is how far behind the chunk's beginning the frame lies, when chunks are not aligned. */
static inline const uint8_t *data_at(const struct sv_xdp_queue *queue, uint64_t address)
{
    return queue->umem + (address & XSK_UNALIGNED_BUF_ADDR_MASK) + (address >> XSK_UNALIGNED_BUF_OFFSET_SHIFT);
}

static const struct xdp_desc *received(const struct sv_xdp_ring *rx, uint32_t position)
{
    return (const struct xdp_desc *)rx->entries + (position & rx->mask);
}

static inline uint32_t produced(const struct sv_xdp_ring *rx)
{
    return __atomic_load_n(rx->producer, __ATOMIC_ACQUIRE);
}

/*
 * A frame in several chunks, all before `end`, where the kernel has got to. Returns how many, or 0: the last one is not
 * there yet, or there is no room for the frame.
 */
static unsigned assemble(struct sv_xdp_queue *queue, const struct sv_xdp_ring *rx, uint32_t position, uint32_t end,
                         struct sv_frame *frame)
{
    const uint32_t room = SV_XDP_MAX_MTU + 18;
    unsigned parts = 0;
    uint32_t length = 0;
    bool more = true;
    if (queue->scratch_used == SV_XDP_SCRATCH_FRAMES)
        return 0;
    uint8_t *to = queue->scratch + queue->scratch_used * room;
    for (; more && (int32_t)(end - (position + parts)) > 0; parts++) {
        const struct xdp_desc *part = received(rx, position + parts);
        if (part->len <= room && length <= room - part->len)
            memcpy(to + length, data_at(queue, part->addr), part->len);
        length += part->len;    /* beyond the room it is too long in any case */
        more = part->options & XDP_PKT_CONTD;
    }
    if (more)
        return 0;
    queue->scratch_used++;
    *frame = (struct sv_frame){.data = to, .length = length};
    return parts;
}

static inline unsigned take(struct sv_xdp_queue *queue, const struct sv_xdp_ring *rx, uint32_t position,
                            uint32_t end, struct sv_frame *frame)
{
    const struct xdp_desc *descriptor = received(rx, position);
    if (SV_UNLIKELY(descriptor->options & XDP_PKT_CONTD))
        return assemble(queue, rx, position, end, frame);
    *frame = (struct sv_frame){.data = data_at(queue, descriptor->addr), .length = descriptor->len};
    __builtin_prefetch(frame->data);
    return 1;
}

static inline bool wants_wakeup(const struct sv_xdp_ring *ring)
{
    return __atomic_load_n(ring->flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP;
}

/*
 * A driver that does without copies and found no chunk to receive into has stopped, and does not look by itself whether
 * there are some again (af_xdp.rst, XDP_USE_NEED_WAKEUP). It may say so a moment after the last chunk was given back, so
 * each poll looks.
 */
static inline void wake_driver(const struct sv_xdp_queue *queue)
{
    if (SV_UNLIKELY(queue->zero_copy) && wants_wakeup(&queue->fill))
        (void)recvfrom(queue->main.receiver.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

/* Gives chunks back, and has the kernel see it. */
static void refill(struct sv_xdp_queue *queue, struct sv_xdp_ring *rx, unsigned count)
{
    uint64_t *fill = queue->fill.entries;
    for (unsigned i = 0; i < count; i++)
        fill[queue->fill.position++ & queue->fill.mask] = received(rx, rx->position + i)->addr & queue->base_mask;
    rx->position += count;
    __atomic_store_n(rx->consumer, rx->position, __ATOMIC_RELEASE);
    __atomic_store_n(queue->fill.producer, queue->fill.position, __ATOMIC_RELEASE);
}

/* Returns how many frames are left, in their order. */
static unsigned drop_strangers(struct sv_xdp_queue *queue, struct sv_device *device, struct sv_frame *frames,
                               unsigned count)
{
    const struct sv_connections *connections =
        sv_steering_connections(((struct sv_wire *)device->port)->steering);
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) {
        if (sv_connections_is_stranger(connections, &frames[i]))
            queue->main.receiver.counters.strangers_full++;
        else
            frames[kept++] = frames[i];
    }
    return kept;
}

/*
 * Takes at most so many frames, each of which begins before `limit`. The caller's limit may be older than the lock that
 * it holds; the kernel's own producer, read here, is what nothing goes beyond.
 */
static unsigned drain_burst(struct sv_xdp_queue *queue, struct sv_xdp_lane *lane, struct sv_device *device,
                            uint32_t limit, unsigned most)
{
    struct sv_frame frames[SV_BURST];
    struct sv_xdp_ring *rx = &lane->rx;
    uint32_t longest = sv_wire_longest_frame(device);
    uint32_t position = rx->position;
    uint32_t end = produced(rx);
    unsigned taken = 0;
    unsigned seen = 0;

    if (SV_UNLIKELY((int32_t)(limit - end) > 0))
        limit = end;
    queue->scratch_used = 0;
    for (unsigned i = 0; i < most && (int32_t)(limit - (position + seen)) > 0; i++) {
        unsigned parts = take(queue, rx, position + seen, end, &frames[taken]);
        if (SV_UNLIKELY(parts == 0))
            break;
        seen += parts;
        if (SV_UNLIKELY(frames[taken].length < 14 || frames[taken].length > longest))
            lane->receiver.counters.length_errors++;
        else
            taken++;
    }
    if (lane == &queue->main && SV_UNLIKELY((int32_t)(queue->sorted_until - position) > 0))
        taken = drop_strangers(queue, device, frames, taken);
    else if (lane == &queue->main)
        queue->sorted_until = position;     /* keeps up, so that it is not ahead again after 2^31 frames */
    if (taken > 0)
        sv_receiver_dispatch(&lane->receiver, device, frames, taken);
    refill(queue, rx, seen);
    return seen;
}

static inline uint32_t taken_of(const struct sv_xdp_ring *rx)
{
    return __atomic_load_n(rx->consumer, __ATOMIC_RELAXED);
}

/*
 * SYNs come after everything else, and at most a burst, so what comes next for a connection waits for no more than these.
 * When more than half of their ring is full they come faster than they are looked at: then fewer are let through, and
 * it is emptied little by little. So many are frames, not descriptors: a frame of many takes as many at once.
 */
static unsigned drain_syns(struct sv_xdp_queue *queue, struct sv_device *device)
{
    uint32_t end = produced(&queue->syns.rx);
    unsigned most = SV_BURST;
    if (SV_LIKELY(end == queue->syns.rx.position))
        return 0;
    if (SV_UNLIKELY((int32_t)(end - queue->syns.rx.position) > (int32_t)(queue->syns.entries / 2))) {
        sv_steering_limit_syns(((struct sv_wire *)device->port)->steering);
        most = FEW_SYNS;
    }
    sv_spin_lock(&queue->syns.receiver.lock);   /* who asks for this lane's counters holds no other */
    unsigned seen = drain_burst(queue, &queue->syns, device, end, most);
    sv_spin_unlock(&queue->syns.receiver.lock);
    return seen;
}

/*
 * When more than half of the main ring is full, frames come faster than they are looked at, and soon some are lost. Let
 * it be those that belong to no connection: from now on few are let through, and those that wait already are dropped,
 * since to answer a thousand of them would take longer than a connection's patience.
 */
static void watch_main(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit)
{
    if (SV_LIKELY((int32_t)(limit - queue->main.rx.position) <= (int32_t)(queue->main.entries / 2)))
        return;
    sv_steering_limit_strangers(((struct sv_wire *)device->port)->steering);
    queue->sorted_until = limit;
}

unsigned sv_xdp_queue_drain(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit)
{
    unsigned total = 0;
    wake_driver(queue);
    /* A hint, as the positions are another thread's: at worst this looks once more, or a poll later. */
    if ((limit == taken_of(&queue->main.rx) && produced(&queue->syns.rx) == taken_of(&queue->syns.rx)) ||
        !sv_receiver_try(&queue->main.receiver))
        return 0;
    watch_main(queue, device, limit);
    for (int i = 0; i < DRAIN_BURSTS; i++) {
        unsigned burst = drain_burst(queue, &queue->main, device, limit, SV_BURST);
        total += burst;
        if (burst < SV_BURST)
            break;
    }
    total += drain_syns(queue, device);
    wake_driver(queue);
    sv_spin_unlock(&queue->main.receiver.lock);
    return total;
}

/* ---- sending, with send_lock held ---- */

static void take_completions(struct sv_xdp_queue *queue)
{
    const uint64_t *done = queue->completion.entries;
    uint32_t end = __atomic_load_n(queue->completion.producer, __ATOMIC_ACQUIRE);
    for (; queue->completion.position != end; queue->completion.position++)
        if (SV_LIKELY(queue->free_count < queue->send_chunks))      /* the kernel may err: beyond is not our memory */
            queue->free_chunks[queue->free_count++] = done[queue->completion.position & queue->completion.mask];
    __atomic_store_n(queue->completion.consumer, queue->completion.position, __ATOMIC_RELEASE);
}

static bool is_passing(int error)
{
    return error == EAGAIN || error == EBUSY || error == ENOBUFS || error == EINTR;
}

/* Has the driver look at the ring, if it does not by itself. It sends when it likes. */
static int kick_driver(const struct sv_xdp_queue *queue)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* either it sees the frames, or we that it has stopped */
    if (!wants_wakeup(&queue->tx) || sendto(queue->sender, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
        return 0;
    return is_passing(errno) ? 0 : errno;
}

/*
 * Has the kernel send what is in the ring. Where it copies it does so during the call, takes a few dozen at a time, and
 * says EAGAIN when there are more.
 */
static int kick(struct sv_xdp_queue *queue)
{
    if (queue->zero_copy)
        return kick_driver(queue);
    for (int i = 0; i < KICK_TRIES; i++) {
        if (__atomic_load_n(queue->tx.consumer, __ATOMIC_ACQUIRE) == queue->tx.position)
            return 0;
        if (sendto(queue->sender, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
            continue;
        if (!is_passing(errno))
            return errno;
        if (i > 8)
            sched_yield();
    }
    return ENOBUFS;
}

static void put_part(struct sv_xdp_queue *queue, const uint8_t *data, uint32_t length, uint32_t options)
{
    uint64_t chunk = queue->free_chunks[--queue->free_count];
    struct xdp_desc *descriptors = queue->tx.entries;
    sv_copy(queue->umem + chunk, data, length);
    descriptors[queue->tx.position++ & queue->tx.mask] =
        (struct xdp_desc){.addr = chunk, .len = length, .options = options};
}

static unsigned put(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count)
{
    uint32_t room = queue->tx.mask + 1 - (queue->tx.position - __atomic_load_n(queue->tx.consumer, __ATOMIC_ACQUIRE));
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
            put_part(queue, data, chunk_bytes, XDP_PKT_CONTD);
        put_part(queue, data, left, 0);
    }
    __atomic_store_n(queue->tx.producer, queue->tx.position, __ATOMIC_RELEASE);
    return n;
}

unsigned sv_xdp_queue_send(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count, int *error)
{
    const unsigned tries = queue->zero_copy ? DRIVER_TRIES : KICK_TRIES;
    unsigned sent = 0;
    unsigned idle = 0;
    *error = 0;
    sv_spin_lock(&queue->send_lock);
    while (sent < count && *error == 0) {
        take_completions(queue);
        unsigned n = put(queue, frames + sent, count - sent);
        sent += n;
        *error = kick(queue);
        /* All chunks are with the interface: it will give some back soon, or it is stuck. */
        if (n == 0) {
            sched_yield();
            if (++idle > tries)
                *error = ENOBUFS;
        }
    }
    sv_spin_unlock(&queue->send_lock);
    return sent;
}
