/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues: one ring, producers under one lock, consumers under another. */
#include "device.h"
#include "rings.h"

#include <errno.h>
#include <stdlib.h>

/* ---- producing ---- */

void sv_cq_overrun(struct sv_cq *cq)
{
    atomic_fetch_add_explicit(&cq->overruns, 1, memory_order_relaxed);
    if (cq->has_overrun || cq->ignore_overrun)
        return;
    cq->has_overrun = true;
    struct ibv_async_event event = {.element.cq = (struct ibv_cq *)&cq->ibv, .event_type = IBV_EVENT_CQ_ERR};
    sv_async_raise(sv_context_of(cq->ibv.context), &event);
}

/*
 * Publishes completions. Arming happens under the produce lock too, so either the armer's next poll sees the
 * completions or the producer sees the arming. No wakeup is lost, and an unarmed queue costs one comparison.
 */
bool sv_cq_publish(struct sv_cq *cq, uint32_t produced, bool error)
{
    cq->cached_produced = produced;
    atomic_store_explicit(&cq->produced, produced, memory_order_release);
    if (SV_LIKELY(cq->armed == SV_ARM_NONE))
        return false;
    /* A raw packet queue pair receives nothing that is solicited. Errors count as solicited. */
    if (cq->armed != SV_ARM_ANY && !error)
        return false;
    cq->armed = SV_ARM_NONE;
    sv_channel_on_cq_disarmed(cq);
    return true;
}

void sv_cq_push(struct sv_cq *cq, const struct sv_cqe *cqe)
{
    bool must_notify = false;
    sv_spin_lock(&cq->produce_lock);
    uint32_t produced = sv_cq_produced(cq);
    struct sv_cqe *slot = sv_cq_slot(cq, produced);
    if (slot == NULL) {
        sv_cq_overrun(cq);
    } else {
        *slot = *cqe;
        must_notify = sv_cq_publish(cq, produced + 1, sv_cqe_status(cqe) != IBV_WC_SUCCESS);
    }
    sv_spin_unlock(&cq->produce_lock);
    if (must_notify)
        sv_channel_notify(cq);
}

/*
 * Removes the completions of a queue that is reset or destroyed, and returns how many were successful. This also ends
 * an overrun: a queue that lost a completion is in the error state and starts again after its own reset. (Hardware
 * needs a new completion queue.)
 */
uint32_t sv_cq_purge(struct sv_cq *cq, const struct sv_wr_ring *wr_ring)
{
    sv_spin_lock(&cq->produce_lock);
    sv_spin_lock(&cq->consume_lock);
    uint32_t to = atomic_load_explicit(&cq->consumed, memory_order_relaxed);
    uint32_t end = sv_cq_produced(cq);
    uint32_t successes = 0;
    for (uint32_t from = to; from != end; from++) {
        const struct sv_cqe *cqe = &cq->ring[from & cq->mask];
        if (sv_cqe_wr_ring(cqe) != wr_ring)
            cq->ring[to++ & cq->mask] = *cqe;
        else
            successes += sv_cqe_status(cqe) == IBV_WC_SUCCESS;
    }
    cq->cached_produced = to;
    atomic_store_explicit(&cq->produced, to, memory_order_release);
    cq->produced_seen = to;
    cq->has_overrun = false;
    sv_spin_unlock(&cq->consume_lock);
    sv_spin_unlock(&cq->produce_lock);
    return successes;
}

/* ---- consuming ---- */

static inline void to_wc(const struct sv_cqe *cqe, struct ibv_wc *wc)
{
    static const enum ibv_wc_opcode opcodes[] = {IBV_WC_SEND, IBV_WC_TSO, IBV_WC_RECV, IBV_WC_RECV};
    const struct sv_wr_ring *wr_ring = sv_cqe_wr_ring(cqe);
    wc->wr_id = wr_ring->wr_ids[cqe->wr_ring_and_index & wr_ring->mask];
    wc->status = sv_cqe_status(cqe);
    wc->opcode = opcodes[cqe->info >> SV_CQE_KIND_SHIFT & 3];
    wc->vendor_err = wc->status;
    wc->byte_len = cqe->byte_len;
    wc->imm_data = 0;
    wc->qp_num = cqe->info & 0xffffff;
    wc->src_qp = 0;
    wc->wc_flags = cqe->info & SV_CQE_CHECKSUM_OK ? IBV_WC_IP_CSUM_OK : 0;
    wc->pkey_index = 0;
    wc->slid = 0;
    wc->sl = 0;
    wc->dlid_path_bits = 0;
}

/* Copies `count` completions, and retires the work requests of each queue once per run of its completions. */
static inline void consume_completions(struct sv_cq *cq, uint32_t consumed, uint32_t count, struct ibv_wc *wc)
{
    uint64_t last = cq->ring[consumed & cq->mask].wr_ring_and_index;

    for (uint32_t i = 0; i < count; i++) {
        const struct sv_cqe *cqe = &cq->ring[(consumed + i) & cq->mask];
        to_wc(cqe, &wc[i]);
        if ((cqe->wr_ring_and_index ^ last) >> 16 != 0)
            sv_wr_ring_retire((struct sv_wr_ring *)(uintptr_t)SV_UNPACK(last >> 16), (uint16_t)last);
        last = cqe->wr_ring_and_index;
    }
    sv_wr_ring_retire((struct sv_wr_ring *)(uintptr_t)SV_UNPACK(last >> 16), (uint16_t)last);
}

/*
 * Returns true if enough completions wait. A poller that lags behind leaves further frames in the kernel's rings. Those
 * are deep, and the kernel drops excess frames before they cost anything here. In the receive queue they would use up
 * receives that other frames need.
 */
static inline bool has_completions(const struct sv_cq *cq, int count)
{
    return (int)(atomic_load_explicit(&cq->produced, memory_order_relaxed) -
                 atomic_load_explicit(&cq->consumed, memory_order_relaxed)) >= count;
}

/* A thread that polls only for send completions does not move frames. */
static inline bool polls_receives(const struct sv_cq *cq)
{
    return atomic_load_explicit(&cq->has_receives, memory_order_relaxed);
}

SV_HOT int sv_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
    struct sv_cq *cq = (struct sv_cq *)ibcq;

    if (SV_UNLIKELY(cq->progress_device != NULL) && !has_completions(cq, num_entries) && polls_receives(cq))
        cq->progress_device->ops->progress(cq->progress_device);
    if (SV_UNLIKELY(num_entries <= 0))
        return 0;
    if (!cq->single_threaded)
        sv_spin_lock(&cq->consume_lock);
    uint32_t consumed = atomic_load_explicit(&cq->consumed, memory_order_relaxed);
    uint32_t count = cq->produced_seen - consumed;
    if (count < (uint32_t)num_entries) {
        cq->produced_seen = atomic_load_explicit(&cq->produced, memory_order_acquire);
        count = cq->produced_seen - consumed;
    }
    if (count > (uint32_t)num_entries)
        count = (uint32_t)num_entries;
    if (count > 0) {
        consume_completions(cq, consumed, count, wc);
        atomic_store_explicit(&cq->consumed, consumed + count, memory_order_release);
    }
    if (!cq->single_threaded)
        sv_spin_unlock(&cq->consume_lock);
    return (int)count;
}

int sv_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
    struct sv_cq *cq = (struct sv_cq *)ibcq;
    struct sv_device *device = sv_device_of(ibcq->context);
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_REQ_NOTIFY_CQ);
    if (error != 0)
        return error;
    sv_spin_lock(&cq->produce_lock);
    if (cq->armed == SV_ARM_NONE)
        sv_channel_on_cq_armed(cq);
    /* A request for all completions replaces one for solicited ones, never the reverse. */
    if (!solicited_only)
        cq->armed = SV_ARM_ANY;
    else if (cq->armed == SV_ARM_NONE)
        cq->armed = SV_ARM_SOLICITED;
    bool steered = cq->steering_rules > 0;
    sv_spin_unlock(&cq->produce_lock);
    return steered && device->ops->arm != NULL && cq->ibv.channel != NULL ? device->ops->arm(device, cq) : 0;
}

/* ---- life ---- */

struct sv_cq *sv_cq_create(struct ibv_context *context, uint32_t cqe, struct ibv_comp_channel *channel,
                           void *cq_context, uint32_t comp_vector)
{
    struct sv_device *device = sv_device_of(context);
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_CREATE_CQ);
    if (error == 0 && (cqe == 0 || cqe > SV_MAX_CQE || comp_vector >= (uint32_t)context->num_comp_vectors ||
                       (channel != NULL && channel->context != context)))
        error = EINVAL;
    if (error != 0)
        return sv_fail(error);
    uint32_t slots = sv_round_up_pow2(cqe + 1);
    struct sv_cq *cq = sv_alloc_zeroed(sizeof *cq);
    struct sv_cqe *ring = sv_alloc_zeroed(slots * sizeof *ring);
    if (cq == NULL || ring == NULL) {
        free(cq);
        free(ring);
        return sv_fail(ENOMEM);
    }
    cq->ring = ring;
    cq->mask = slots - 1;
    cq->capacity = slots - 1;
    cq->progress_device = device->ops->progress != NULL ? device : NULL;
    cq->ibv.context = context;
    cq->ibv.channel = channel;
    cq->ibv.cq_context = cq_context;
    cq->ibv.cqe = (int)cq->capacity;
    pthread_mutex_init(&cq->ibv.mutex, NULL);
    pthread_cond_init(&cq->ibv.cond, NULL);
    if (channel != NULL) {
        pthread_mutex_lock(&((struct sv_channel *)channel)->mutex);
        channel->refcnt++;
        pthread_mutex_unlock(&((struct sv_channel *)channel)->mutex);
    }
    cq->ibv.handle = atomic_fetch_add(&sv_context_of(context)->objects, 1);
    return cq;
}

SV_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                                       struct ibv_comp_channel *channel, int comp_vector)
{
    if (cqe <= 0 || comp_vector < 0)
        return sv_fail(EINVAL);
    return (struct ibv_cq *)sv_cq_create(context, (uint32_t)cqe, channel, cq_context, (uint32_t)comp_vector);
}

SV_EXPORT int ibv_resize_cq(struct ibv_cq *ibcq, int cqe)
{
    struct sv_cq *cq = (struct sv_cq *)ibcq;
    int error = sv_consume_injected_error(sv_device_of(ibcq->context), SOFTVERBS_CALL_RESIZE_CQ);
    if (error != 0)
        return error;
    if (cqe <= 0 || cqe > SV_MAX_CQE)
        return EINVAL;
    uint32_t slots = sv_round_up_pow2((uint32_t)cqe + 1);
    struct sv_cqe *ring = sv_alloc_zeroed(slots * sizeof *ring);
    if (ring == NULL)
        return ENOMEM;
    struct sv_cqe *unused = ring;
    sv_spin_lock(&cq->produce_lock);
    sv_spin_lock(&cq->consume_lock);
    uint32_t consumed = atomic_load_explicit(&cq->consumed, memory_order_relaxed);
    uint32_t produced = sv_cq_produced(cq);
    if (produced - consumed > slots - 1) {
        error = EINVAL;
    } else {
        for (uint32_t i = consumed; i != produced; i++)
            ring[i & (slots - 1)] = cq->ring[i & cq->mask];
        unused = cq->ring;
        cq->ring = ring;
        cq->mask = cq->capacity = slots - 1;
        cq->ibv.cqe = (int)cq->capacity;
    }
    sv_spin_unlock(&cq->consume_lock);
    sv_spin_unlock(&cq->produce_lock);
    free(unused);
    return error;
}

SV_EXPORT int ibv_destroy_cq(struct ibv_cq *ibcq)
{
    struct sv_cq *cq = (struct sv_cq *)ibcq;
    struct sv_context *context = sv_context_of(ibcq->context);
    if (atomic_load(&cq->users) != 0)
        return EBUSY;
    if (cq->armed != SV_ARM_NONE)
        sv_channel_on_cq_disarmed(cq);
    sv_channel_withdraw_events(cq);
    sv_async_withdraw_events(context, cq);
    pthread_mutex_lock(&ibcq->mutex);
    while (ibcq->async_events_completed != cq->async_events_reported)
        pthread_cond_wait(&ibcq->cond, &ibcq->mutex);
    pthread_mutex_unlock(&ibcq->mutex);
    if (ibcq->channel != NULL) {
        struct sv_channel *channel = (struct sv_channel *)ibcq->channel;
        pthread_mutex_lock(&channel->mutex);
        channel->ibv.refcnt--;
        pthread_mutex_unlock(&channel->mutex);
    }
    atomic_fetch_sub(&context->objects, 1);
    pthread_mutex_destroy(&ibcq->mutex);
    pthread_cond_destroy(&ibcq->cond);
    free(cq->ring);
    free(cq);
    return 0;
}
