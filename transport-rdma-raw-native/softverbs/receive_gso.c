/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the queue for GSO frames of TCP that are received unsegmented: see softverbs.h. receive_drain_packet.c and
 * receive_drain_xdp.c copy the frames.
 */
#include "gso_frame.h"
#include "netdev_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the queue for GSO frames ---- */

int sv_rq_set_gso_wq(struct sv_rq *rq, struct ibv_wq *gso_wq)
{
    struct sv_wq *wq = (struct sv_wq *)gso_wq;
    struct sv_device *device = rq->device;
    if (wq != NULL && (wq->rq.device != device || wq->rq.cq != rq->cq || &wq->rq == rq))
        return EINVAL;
    if (wq != NULL)
        atomic_fetch_add(&wq->users, 1);
    struct sv_wq *previous = atomic_exchange(&rq->gso_wq, wq);
    if (previous != NULL)
        sv_device_quiesce(device);
    if (previous != NULL)
        atomic_fetch_sub(&previous->users, 1);
    return 0;
}

void sv_rq_clear_gso_wq(struct sv_rq *rq)
{
    struct sv_wq *previous = atomic_exchange(&rq->gso_wq, NULL);
    if (previous != NULL)
        atomic_fetch_sub(&previous->users, 1);
}

SV_EXPORT int softverbs_set_qp_gso_wq(struct ibv_qp *ibqp, struct ibv_wq *gso_wq)
{
    struct sv_qp *qp = (struct sv_qp *)ibqp;
    return qp->ind_table != NULL ? EINVAL : sv_rq_set_gso_wq(&qp->rq, gso_wq);
}

SV_EXPORT int softverbs_set_wq_gso_wq(struct ibv_wq *wq, struct ibv_wq *gso_wq)
{
    return sv_rq_set_gso_wq(&((struct sv_wq *)wq)->rq, gso_wq);
}

/* SOFTVERBS_UNSEGMENTED_GSO=off makes the device segment all GSO frames, for measurements. */
static bool is_switched_off(void)
{
    const char *env_value = getenv("SOFTVERBS_UNSEGMENTED_GSO");
    return env_value != NULL && strcmp(env_value, "off") == 0;
}

SV_EXPORT int softverbs_get_max_gso_bytes(struct ibv_context *context, uint32_t *bytes)
{
    const struct sv_device *device = sv_device_of(context);
    const bool has_netdev_port = device->ops != &sv_loop_ops;
    const bool is_supported = has_netdev_port && ((const struct sv_netdev_port *)device->port)->delivers_gso;
    *bytes = is_supported && !is_switched_off() ? SV_GSO_MAX_BYTES : 0;
    return 0;
}

/* ---- delivering ---- */

static void count_match(struct sv_counters *counters, uint32_t length)
{
    atomic_fetch_add_explicit(&counters->packets, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counters->bytes, length, memory_order_relaxed);
}

/* Returns the queue for GSO frames if exactly one rule matches the frame and accepts it, or NULL. */
static struct sv_wq *find_gso_wq(const struct sv_verdict *verdict)
{
    const struct sv_target *target = &verdict->target[0];
    if (verdict->target_count != 1 || verdict->drop_reason == SV_DROP_RULE || !target->accepts_gso ||
        atomic_load_explicit(&target->rq->state, memory_order_relaxed) != SV_RQ_READY)
        return NULL;
    return atomic_load_explicit(&target->rq->gso_wq, memory_order_acquire);
}

enum sv_gso_delivery sv_receiver_deliver_gso(struct sv_receiver *receiver, struct sv_device *device,
                                             const struct sv_gso_frame *gso_frame)
{
    const struct sv_frame_rest rest = {.head_bytes = gso_frame->head_bytes};
    const struct sv_frame frame = {.data = gso_frame->head, .length = gso_frame->length, .rest = &rest};
    uint64_t generation = atomic_load_explicit(&device->flows.generation, memory_order_acquire);
    if (gso_frame->head_bytes < SV_WINDOW_BYTES)
        return SV_GSO_REFUSED;
    sv_flow_search(&device->flows, NULL, &frame, receiver->cache, generation);
    const struct sv_verdict *verdict = &receiver->cache->verdict;
    struct sv_wq *gso_wq = find_gso_wq(verdict);
    if (gso_wq == NULL)
        return SV_GSO_REFUSED;
    enum sv_gso_delivery result = sv_rq_deliver_gso(&gso_wq->rq, gso_frame, verdict->target[0].tag);
    if (result != SV_GSO_DELIVERED)
        return result;
    receiver->counters.copied++;
    receiver->counters.gso_unsegmented++;
    if (verdict->target[0].counters != NULL)
        count_match(verdict->target[0].counters, gso_frame->length);
    return SV_GSO_DELIVERED;
}
