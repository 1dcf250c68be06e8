/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of flow rules (ibv_counters), of devices and of queues. */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ibv_counters *sv_create_counters(struct ibv_context *context, struct ibv_counters_init_attr *attr)
{
    if (attr->comp_mask != 0)
        return sv_fail(EOPNOTSUPP);
    struct sv_flow_stats *stats = sv_alloc_zeroed(sizeof *stats);
    if (stats == NULL)
        return sv_fail(ENOMEM);
    stats->ibv.context = context;
    stats->packets_index = stats->bytes_index = -1;
    atomic_fetch_add(&sv_context_of(context)->objects, 1);
    return &stats->ibv;
}

int sv_destroy_counters(struct ibv_counters *counters)
{
    struct sv_flow_stats *stats = (struct sv_flow_stats *)counters;
    if (atomic_load(&stats->users) != 0)
        return EBUSY;
    atomic_fetch_sub(&sv_context_of(counters->context)->objects, 1);
    free(stats);
    return 0;
}

int sv_attach_counters(struct ibv_counters *counters, struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
    struct sv_flow_stats *stats = (struct sv_flow_stats *)counters;
    if (attr->comp_mask != 0)
        return EOPNOTSUPP;
    if (flow != NULL || attr->index > 1)
        return EINVAL;      /* only static attachment, before the flow is created */
    if (atomic_load(&stats->users) != 0)
        return EBUSY;
    if (attr->counter_desc == IBV_COUNTER_PACKETS)
        stats->packets_index = (int)attr->index;
    else if (attr->counter_desc == IBV_COUNTER_BYTES)
        stats->bytes_index = (int)attr->index;
    else
        return EOPNOTSUPP;
    return 0;
}

int sv_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count, uint32_t flags)
{
    struct sv_flow_stats *stats = (struct sv_flow_stats *)counters;
    (void)flags;
    if (stats->packets_index >= (int)count || stats->bytes_index >= (int)count)
        return EINVAL;
    if (stats->packets_index >= 0)
        values[stats->packets_index] = atomic_load_explicit(&stats->packets, memory_order_relaxed);
    if (stats->bytes_index >= 0)
        values[stats->bytes_index] = atomic_load_explicit(&stats->bytes, memory_order_relaxed);
    return 0;
}

/* ---- softverbs' own ---- */

void sv_counters_add(struct softverbs_queue_counters *sum, const struct softverbs_queue_counters *one)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)one;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

static void add_sent(struct sv_qp *qp, struct softverbs_queue_counters *sum)
{
    sv_spin_lock(&qp->sq.lock);
    sv_counters_add(sum, &qp->sq.counters);
    sv_spin_unlock(&qp->sq.lock);
}

static void add_received(struct sv_rq *rq, struct softverbs_queue_counters *sum)
{
    sv_spin_lock(&rq->deliver_lock);
    sv_counters_add(sum, &rq->counters);
    sv_spin_unlock(&rq->deliver_lock);
}

SV_EXPORT int softverbs_query_counters(struct ibv_context *context, struct softverbs_counters *counters)
{
    struct sv_device *device = sv_device_of(context);
    memset(counters, 0, sizeof *counters);
    sv_device_lock(device);
    counters->sent = device->retired_tx;
    counters->received = device->retired_rx;
    for (struct sv_qp *qp = device->qps; qp != NULL; qp = qp->next) {
        add_sent(qp, &counters->sent);
        add_received(&qp->rq, &counters->received);
    }
    for (struct sv_wq *wq = device->wqs; wq != NULL; wq = wq->next)
        add_received(&wq->rq, &counters->received);
    if (device->ops->add_counters != NULL)
        device->ops->add_counters(device, counters);
    counters->flow_rules = atomic_load(&device->flows.rules);
    counters->registered_bytes = device->registered_bytes;
    sv_device_unlock(device);
    return 0;
}

SV_EXPORT int softverbs_query_qp_counters(struct ibv_qp *ibqp, struct softverbs_queue_counters *sent,
                                          struct softverbs_queue_counters *received)
{
    struct sv_qp *qp = (struct sv_qp *)ibqp;
    if (sent != NULL) {
        memset(sent, 0, sizeof *sent);
        add_sent(qp, sent);
    }
    if (received != NULL) {
        memset(received, 0, sizeof *received);
        add_received(&qp->rq, received);
    }
    return 0;
}

SV_EXPORT int softverbs_query_wq_counters(struct ibv_wq *wq, struct softverbs_queue_counters *received)
{
    memset(received, 0, sizeof *received);
    add_received(&((struct sv_wq *)wq)->rq, received);
    return 0;
}
