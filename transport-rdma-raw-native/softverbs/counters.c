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
    struct sv_counters *counters = sv_alloc_zeroed(sizeof *counters);
    if (counters == NULL)
        return sv_fail(ENOMEM);
    counters->ibv.context = context;
    counters->packets_index = counters->bytes_index = -1;
    atomic_fetch_add(&sv_context_of(context)->objects, 1);
    return &counters->ibv;
}

int sv_destroy_counters(struct ibv_counters *ibcounters)
{
    struct sv_counters *counters = (struct sv_counters *)ibcounters;
    if (atomic_load(&counters->users) != 0)
        return EBUSY;
    atomic_fetch_sub(&sv_context_of(ibcounters->context)->objects, 1);
    free(counters);
    return 0;
}

int sv_attach_counters(struct ibv_counters *ibcounters, struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
    struct sv_counters *counters = (struct sv_counters *)ibcounters;
    if (attr->comp_mask != 0)
        return EOPNOTSUPP;
    if (flow != NULL || attr->index > 1)
        return EINVAL;      /* only static attachment, before the flow is created */
    if (atomic_load(&counters->users) != 0)
        return EBUSY;
    if (attr->counter_desc == IBV_COUNTER_PACKETS)
        counters->packets_index = (int)attr->index;
    else if (attr->counter_desc == IBV_COUNTER_BYTES)
        counters->bytes_index = (int)attr->index;
    else
        return EOPNOTSUPP;
    return 0;
}

int sv_read_counters(struct ibv_counters *ibcounters, uint64_t *values, uint32_t count, uint32_t flags)
{
    struct sv_counters *counters = (struct sv_counters *)ibcounters;
    (void)flags;
    if (counters->packets_index >= (int)count || counters->bytes_index >= (int)count)
        return EINVAL;
    if (counters->packets_index >= 0)
        values[counters->packets_index] = atomic_load_explicit(&counters->packets, memory_order_relaxed);
    if (counters->bytes_index >= 0)
        values[counters->bytes_index] = atomic_load_explicit(&counters->bytes, memory_order_relaxed);
    return 0;
}

/* ---- softverbs' own ---- */

void sv_queue_counters_add(struct softverbs_queue_counters *sum, const struct softverbs_queue_counters *one)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)one;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

static void add_sent(struct sv_qp *qp, struct softverbs_queue_counters *sum)
{
    sv_spin_lock(&qp->sq.lock);
    sv_queue_counters_add(sum, &qp->sq.counters);
    sv_spin_unlock(&qp->sq.lock);
}

static void add_received(struct sv_rq *rq, struct softverbs_queue_counters *sum)
{
    sv_spin_lock(&rq->deliver_lock);
    sv_queue_counters_add(sum, &rq->counters);
    sv_spin_unlock(&rq->deliver_lock);
}

SV_EXPORT int softverbs_query_counters(struct ibv_context *context, struct softverbs_counters *counters)
{
    struct sv_device *device = sv_device_of(context);
    memset(counters, 0, sizeof *counters);
    sv_device_lock(device);
    counters->sent = device->closed_sent;
    counters->received = device->closed_received;
    for (struct sv_qp *qp = device->qps; qp != NULL; qp = qp->next) {
        add_sent(qp, &counters->sent);
        add_received(&qp->rq, &counters->received);
    }
    for (struct sv_wq *wq = device->wqs; wq != NULL; wq = wq->next)
        add_received(&wq->rq, &counters->received);
    counters->flow_rules = atomic_load(&device->flows.rule_count);
    if (device->ops->add_counters != NULL)
        device->ops->add_counters(device, counters);
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
