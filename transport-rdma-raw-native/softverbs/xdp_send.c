/* SPDX-License-Identifier: Apache-2.0 */
/* Sends frames through AF_XDP sockets: see xdp_queue.h. */
#include "xdp_queue.h"

#include <errno.h>
#include <sys/socket.h>

enum { MAX_IDLE_KICKS = 2 };

static inline uint32_t tx_consumed(const struct sv_xdp_queue *queue)
{
    return __atomic_load_n(queue->tx.consumer, __ATOMIC_ACQUIRE);
}

static void reap_completions(struct sv_xdp_queue *queue)
{
    const uint64_t *done = queue->completion.entries;
    uint32_t end = __atomic_load_n(queue->completion.producer, __ATOMIC_ACQUIRE);
    for (; queue->completion.position != end; queue->completion.position++)
        if (SV_LIKELY(queue->free_count < queue->send_chunks))      /* never exceed the array */
            queue->free_chunks[queue->free_count++] = done[queue->completion.position & queue->completion.mask];
    __atomic_store_n(queue->completion.consumer, queue->completion.position, __ATOMIC_RELEASE);
}

static bool is_transient(int error)
{
    return error == EAGAIN || error == EBUSY || error == ENOBUFS || error == EINTR;
}

/*
 * Wakes the driver if it requests it. With busy polling the driver sends only while it is polled, and it requests no
 * wakeup, so the call is always made.
 */
static int kick_driver(const struct sv_xdp_queue *queue)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the driver sees the frames, or this thread sees that it has stopped */
    if ((!queue->busy_poll && !sv_xdp_wants_wakeup(&queue->tx)) ||
        sendto(queue->send_fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
        return 0;
    return is_transient(errno) ? 0 : errno;
}

/*
 * Makes the kernel send the frames in the ring up to `end`, including those of other threads. In copy mode the kernel
 * sends during the call, a few dozen frames at a time, and returns EAGAIN if there are more. No lock is held, because
 * the kernel has its own. Sending may wake a process on this core, which then runs before the call returns, and other
 * threads would wait for the lock.
 */
static int kick_kernel(struct sv_xdp_queue *queue, uint32_t end, struct sv_spin_deadline *deadline)
{
    if (queue->zero_copy)
        return kick_driver(queue);
    unsigned idle_kicks = 0;
    for (uint32_t consumed; (int32_t)(end - (consumed = tx_consumed(queue))) > 0;) {
        int error = sendto(queue->send_fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 ? errno : 0;
        if (error != 0 && !is_transient(error))
            return error;
        if (tx_consumed(queue) != consumed) {
            *deadline = (struct sv_spin_deadline){0};
            idle_kicks = 0;
        } else if (error == 0 && ++idle_kicks == MAX_IDLE_KICKS) {
            /* Beyond real_num_tx_queues, xsk_generic_xmit() reports success and does nothing (net/xdp/xsk.c). */
            atomic_store_explicit(&queue->can_send, false, memory_order_relaxed);
            return ENOBUFS;
        } else if (error != 0 && !sv_spin_wait(deadline)) {
            atomic_store_explicit(&queue->tx_pending, true, memory_order_relaxed);
            return 0;
        }
    }
    return 0;
}

/*
 * Retries frames for which the interface was too busy. Every poll calls this, so one attempt is enough. If the
 * interface was removed, or its leg no longer sends, no further poll retries.
 */
__attribute__((cold, noinline)) void sv_xdp_queue_retry_sending(struct sv_xdp_queue *queue)
{
    uint32_t end = __atomic_load_n(queue->tx.producer, __ATOMIC_RELAXED);
    atomic_store_explicit(&queue->tx_pending, false, memory_order_relaxed);
    int error = sendto(queue->send_fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 ? errno : 0;
    bool may_succeed = error != ENXIO && error != ENODEV && !atomic_load(&queue->leg_is_idle);
    if (may_succeed && (int32_t)(end - tx_consumed(queue)) > 0)
        atomic_store_explicit(&queue->tx_pending, true, memory_order_relaxed);
}

/* Repeats while the kernel takes frames: without a carrier it drops one at each call. */
void sv_xdp_queue_set_idle(struct sv_xdp_queue *queue, bool is_idle)
{
    if (queue->send_fd < 0 || atomic_exchange(&queue->leg_is_idle, is_idle) == is_idle)
        return;
    if (!is_idle) {
        /* The next poll sends the frames that were left. */
        atomic_store_explicit(&queue->tx_pending, true, memory_order_relaxed);
        return;
    }
    uint32_t before;
    do {
        before = tx_consumed(queue);
        sv_xdp_queue_retry_sending(queue);
    } while (tx_consumed(queue) != before);
}

static void enqueue_chunk(struct sv_xdp_queue *queue, const uint8_t *data, uint32_t length, uint32_t options)
{
    uint64_t chunk = queue->free_chunks[--queue->free_count];
    struct xdp_desc *descriptors = queue->tx.entries;
    sv_copy(queue->umem + chunk, data, length);
    descriptors[queue->tx.position++ & queue->tx.mask] =
        (struct xdp_desc){.addr = chunk, .len = length, .options = options};
}

/* Enqueues the beginning of a frame with the tag of the VLAN. Returns how many of the frame's bytes that is. */
static __attribute__((noinline)) uint32_t enqueue_tagged(struct sv_xdp_queue *queue, const struct sv_frame *frame)
{
    const uint32_t room = queue->chunk_bytes - SV_VLAN_HLEN;
    uint32_t part = frame->length < room ? frame->length : room;
    uint64_t chunk = queue->free_chunks[--queue->free_count];
    uint8_t *to = queue->umem + chunk;
    struct xdp_desc *descriptors = queue->tx.entries;
    memcpy(to, frame->data, SV_ETHERTYPE_AT);
    memcpy(to + SV_ETHERTYPE_AT, queue->tag, SV_VLAN_HLEN);
    sv_copy(to + SV_VLAN_ETHERTYPE_AT, frame->data + SV_ETHERTYPE_AT, part - SV_ETHERTYPE_AT);
    descriptors[queue->tx.position++ & queue->tx.mask] = (struct xdp_desc){
        .addr = chunk, .len = part + SV_VLAN_HLEN, .options = part < frame->length ? XDP_PKT_CONTD : 0};
    return part;
}

static uint32_t chunks_of(const struct sv_xdp_queue *queue, const struct sv_frame *frame)
{
    uint32_t length = frame->length + queue->tag_bytes;
    return SV_LIKELY(length <= queue->chunk_bytes) ? 1 : (length + queue->chunk_bytes - 1) / queue->chunk_bytes;
}

static unsigned enqueue_frames(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count)
{
    uint32_t room = queue->tx.mask + 1 - (queue->tx.position - tx_consumed(queue));
    uint32_t chunk_bytes = queue->chunk_bytes;
    unsigned n = 0;
    if (room > queue->free_count)
        room = queue->free_count;
    for (; n < count; n++) {
        const uint8_t *data = frames[n].data;
        uint32_t left = frames[n].length;
        uint32_t parts = chunks_of(queue, &frames[n]);
        if (parts > room)
            break;
        room -= parts;
        if (SV_UNLIKELY(queue->tag_bytes != 0)) {
            uint32_t tagged = enqueue_tagged(queue, &frames[n]);
            data += tagged;
            left -= tagged;
            if (left == 0)
                continue;
        }
        for (; left > chunk_bytes; left -= chunk_bytes, data += chunk_bytes)
            enqueue_chunk(queue, data, chunk_bytes, XDP_PKT_CONTD);
        enqueue_chunk(queue, data, left, 0);
    }
    __atomic_store_n(queue->tx.producer, queue->tx.position, __ATOMIC_RELEASE);
    return n;
}

/* Returns how many of these frames, the last of which ends at `end`, are still in the ring. */
static unsigned left_in_ring(const struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count,
                             uint32_t end)
{
    uint32_t consumed = tx_consumed(queue);
    unsigned left = 0;
    for (; left < count && (int32_t)(end - consumed) > 0; left++)
        end -= chunks_of(queue, &frames[count - 1 - left]);
    return left;
}

unsigned sv_xdp_queue_send(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count, int *error)
{
    struct sv_spin_deadline deadline = {0};
    unsigned sent = 0;
    uint32_t returned = 0;
    bool retried = false;
    *error = 0;
    while (sent < count && *error == 0) {
        sv_spin_lock(&queue->send_lock);
        reap_completions(queue);
        unsigned n = enqueue_frames(queue, frames + sent, count - sent);
        uint32_t end = queue->tx.position;
        uint32_t returned_now = queue->completion.position;
        sv_spin_unlock(&queue->send_lock);
        *error = kick_kernel(queue, end, &deadline);
        if (SV_UNLIKELY(*error != 0) && !queue->zero_copy)
            return sent + n - left_in_ring(queue, frames + sent, n, end);
        sent += n;
        /* The interface has all chunks. It returns some soon, perhaps to another thread first, or it is stuck. */
        if (retried && returned_now != returned)
            deadline = (struct sv_spin_deadline){0};
        if (n == 0 && *error == 0 && !sv_spin_wait(&deadline))
            *error = ENOBUFS;
        returned = returned_now;
        retried = true;
    }
    return sent;
}
