/* SPDX-License-Identifier: Apache-2.0 */
/* Injected faults for tests: see include/softverbs.h. */
#include "device.h"

#include <errno.h>
#include <string.h>

enum { MIN_MTU = 68, MAX_MTU = 9000 };

_Static_assert((int)SOFTVERBS_CALL_COUNT <= 64, "a bit for each call");

static uint64_t fault_bit(enum softverbs_call call)
{
    return (uint64_t)1 << call;
}

int sv_consume_injected_error(struct sv_device *device, enum softverbs_call call)
{
    int error = 0;
    if (SV_LIKELY(!(atomic_load_explicit(&device->faults.armed, memory_order_relaxed) & fault_bit(call))))
        return 0;
    sv_device_lock(device);
    if (device->faults.next[call].calls > 0) {
        error = device->faults.next[call].error;
        if (--device->faults.next[call].calls == 0)
            atomic_fetch_and(&device->faults.armed, ~fault_bit(call));
    }
    sv_device_unlock(device);
    return error;
}

SV_EXPORT int softverbs_fail_next_call(const char *device_name, enum softverbs_call call, int error, unsigned calls)
{
    struct sv_device *device = sv_device_by_name(device_name);
    if (device == NULL)
        return ENODEV;
    if ((unsigned)call >= SOFTVERBS_CALL_COUNT || error <= 0)
        return EINVAL;
    sv_device_lock(device);
    device->faults.next[call].error = error;
    device->faults.next[call].calls = calls;
    if (calls > 0)
        atomic_fetch_or(&device->faults.armed, fault_bit(call));
    else
        atomic_fetch_and(&device->faults.armed, ~fault_bit(call));
    sv_device_unlock(device);
    return 0;
}

SV_EXPORT int softverbs_set_memlock_limit(const char *device_name, uint64_t bytes)
{
    struct sv_device *device = sv_device_by_name(device_name);
    if (device == NULL)
        return ENODEV;
    sv_device_lock(device);
    device->faults.memlock_limit = bytes;
    sv_device_unlock(device);
    return 0;
}

SV_EXPORT int softverbs_set_flow_capacity(const char *device_name, uint32_t rules)
{
    struct sv_device *device = sv_device_by_name(device_name);
    if (device == NULL)
        return ENODEV;
    atomic_store(&device->flows.capacity, rules);
    return 0;
}

SV_EXPORT int softverbs_set_raw_packet_error(const char *device_name, int error)
{
    struct sv_device *device = sv_device_by_name(device_name);
    if (device == NULL)
        return ENODEV;
    if (error < 0)
        return EINVAL;
    device->faults.raw_packet_error = error;
    return 0;
}

SV_EXPORT int softverbs_overrun_cq(struct ibv_cq *ibcq)
{
    struct sv_cq *cq = (struct sv_cq *)ibcq;
    sv_spin_lock(&cq->produce_lock);
    sv_cq_overrun(cq);
    sv_spin_unlock(&cq->produce_lock);
    return 0;
}

static bool is_failure(enum ibv_wc_status status)
{
    return status != IBV_WC_SUCCESS && (unsigned)status <= IBV_WC_TM_RNDV_INCOMPLETE;
}

static void inject_status(struct sv_spin *lock, uint32_t *injected_status, enum ibv_wc_status status)
{
    sv_spin_lock(lock);
    *injected_status = status;
    sv_spin_unlock(lock);
}

SV_EXPORT int softverbs_fail_next_completion(struct ibv_qp *ibqp, int receive, enum ibv_wc_status status)
{
    struct sv_qp *qp = (struct sv_qp *)ibqp;
    if (qp->ind_table != NULL || !is_failure(status))
        return EINVAL;
    if (receive)
        inject_status(&qp->rq.deliver_lock, &qp->rq.injected_status, status);
    else
        inject_status(&qp->sq.lock, &qp->sq.injected_status, status);
    return 0;
}

static void fail_gso_wq(struct sv_rq *rq, enum ibv_wc_status status)
{
    struct sv_wq *gso_wq = atomic_load(&rq->gso_wq);
    if (gso_wq != NULL)
        inject_status(&gso_wq->rq.deliver_lock, &gso_wq->rq.injected_status, status);
}

SV_EXPORT int softverbs_fail_next_gso_frame(const char *device_name, enum ibv_wc_status status)
{
    struct sv_device *device = sv_device_by_name(device_name);
    if (device == NULL)
        return ENODEV;
    if (!is_failure(status))
        return EINVAL;
    sv_device_lock(device);
    for (struct sv_qp *qp = device->qps; qp != NULL; qp = qp->next)
        fail_gso_wq(&qp->rq, status);
    for (struct sv_wq *wq = device->wqs; wq != NULL; wq = wq->next)
        fail_gso_wq(&wq->rq, status);
    sv_device_unlock(device);
    return 0;
}

void sv_device_set_port_up(struct sv_device *device, bool up)
{
    if (atomic_exchange(&device->port_up, up) != up)
        sv_async_raise_all(device, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

SV_EXPORT int softverbs_set_port_up(struct ibv_context *context, int up)
{
    struct sv_device *device = sv_device_of(context);
    sv_device_lock(device);
    sv_device_set_port_up(device, up != 0);
    sv_device_unlock(device);
    return 0;
}

static void move_queues_to_error(struct sv_device *device)
{
    for (struct sv_qp *qp = device->qps; qp != NULL; qp = qp->next) {
        if (qp->ind_table != NULL || atomic_load(&qp->state) == IBV_QPS_RESET)
            continue;
        sv_spin_lock(&qp->sq.lock);
        sv_qp_enter_error(qp);
        sv_spin_unlock(&qp->sq.lock);
    }
    for (struct sv_wq *wq = device->wqs; wq != NULL; wq = wq->next) {
        sv_spin_lock(&wq->rq.deliver_lock);
        if (atomic_load(&wq->rq.state) != SV_RQ_RESET)
            sv_wq_enter_error_locked(wq);
        sv_spin_unlock(&wq->rq.deliver_lock);
    }
}

void sv_device_fail(struct sv_device *device)
{
    if (atomic_exchange(&device->failed, true))
        return;
    move_queues_to_error(device);
    sv_async_raise_all(device, IBV_EVENT_DEVICE_FATAL);
}

SV_EXPORT int softverbs_fail_device(struct ibv_context *context)
{
    struct sv_device *device = sv_device_of(context);
    sv_device_lock(device);
    sv_device_fail(device);
    sv_device_unlock(device);
    return 0;
}

SV_EXPORT int softverbs_repair_device(struct ibv_context *context)
{
    atomic_store(&sv_device_of(context)->failed, false);
    return 0;
}

SV_EXPORT int softverbs_set_mtu(struct ibv_context *context, uint32_t mtu)
{
    if (mtu < MIN_MTU || mtu > MAX_MTU)
        return EINVAL;
    if (sv_device_of(context)->ops->open != NULL)
        return EOPNOTSUPP;      /* the interface has its own MTU */
    atomic_store(&sv_device_of(context)->mtu, mtu);
    return 0;
}

SV_EXPORT int softverbs_get_mtu(struct ibv_context *context, uint32_t *mtu)
{
    *mtu = atomic_load(&sv_device_of(context)->mtu);
    return 0;
}

SV_EXPORT int softverbs_get_mac(struct ibv_context *context, uint8_t mac[6])
{
    struct sv_device *device = sv_device_of(context);
    sv_device_lock(device);
    memcpy(mac, device->mac, 6);
    sv_device_unlock(device);
    return 0;
}
