/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of tests: see include/connectx_emulator.h. */
#include "program.h"

#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { MIN_MTU = 68, MAX_MTU = 9000 };

/* Runs `statement` with the device's mutex held. Returns ENODEV if there is no such device. */
#define WITH_DEVICE(name, device, statement) \
    do { \
        struct cx_device *device = cx_device_by_name(name); \
        if (device == NULL) \
            return ENODEV; \
        cx_lock(device); \
        statement; \
        cx_unlock(device); \
    } while (0)

EXPORT int cxemu_query_counters(const char *name, struct cxemu_counters *counters)
{
    WITH_DEVICE(name, device, *counters = device->counters);
    return 0;
}

EXPORT int cxemu_trace(const char *name, struct cxemu_doorbell *bells, uint32_t *count)
{
    struct cx_device *device = cx_device_by_name(name);
    if (device == NULL)
        return ENODEV;
    cx_lock(device);
    uint64_t there = device->trace_count < CX_TRACE_ENTRIES ? device->trace_count : CX_TRACE_ENTRIES;
    uint32_t copied = there < *count ? (uint32_t)there : *count;
    for (uint32_t i = 0; i < copied; i++)
        bells[i] = device->trace[(device->trace_count - copied + i) % CX_TRACE_ENTRIES];
    cx_unlock(device);
    *count = copied;
    return 0;
}

EXPORT int cxemu_set_stepping(const char *name, int on)
{
    WITH_DEVICE(name, device, {
        cx_doorbells_scan(device);
        cx_blueflame_clear(device);
        device->stepping = on != 0;
    });
    return 0;
}

EXPORT int cxemu_set_eager(const char *name, int on)
{
    WITH_DEVICE(name, device, device->eager = on != 0);
    return 0;
}

EXPORT int cxemu_set_min_inline(const char *name, uint32_t bytes)
{
    WITH_DEVICE(name, device, device->min_inline_bytes = bytes);
    return 0;
}

EXPORT int cxemu_step(const char *name, uint32_t requests, uint32_t *done)
{
    WITH_DEVICE(name, device, *done = cx_engine_round(device, requests));
    return 0;
}

/* ---- queues ---- */

static struct cx_qp *find_qp(const struct cx_device *device, uint32_t number)
{
    for (struct cx_qp *qp = device->qps; qp != NULL; qp = qp->next)
        if (qp->number == number)
            return qp;
    return NULL;
}

static uint8_t *injected_syndrome_of(struct cx_device *device, uint32_t number, bool receive)
{
    struct cx_qp *qp = find_qp(device, number);
    if (qp != NULL)
        return receive ? &qp->rq.injected_syndrome : &qp->sq.injected_syndrome;
    for (struct cx_wq *wq = device->wqs; wq != NULL; wq = wq->next)
        if (wq->rq.number == number && receive)
            return &wq->rq.injected_syndrome;
    return NULL;
}

EXPORT int cxemu_fail_next_completion(const char *name, uint32_t number, int receive, uint8_t syndrome)
{
    uint8_t *failure;
    if (syndrome == 0)
        return EINVAL;
    WITH_DEVICE(name, device, {
        failure = injected_syndrome_of(device, number, receive != 0);
        if (failure != NULL)
            *failure = syndrome;
    });
    return failure != NULL ? 0 : EINVAL;
}

EXPORT int cxemu_fail_qp(const char *name, uint32_t number)
{
    struct cx_qp *qp;
    WITH_DEVICE(name, device, {
        qp = find_qp(device, number);
        if (qp != NULL) {
            cx_qp_enter_error(qp);
            cx_raise(&qp->object, IBV_EVENT_QP_FATAL);
        }
    });
    return qp != NULL ? 0 : EINVAL;
}

EXPORT int cxemu_overrun_cq(const char *name, uint32_t cqn)
{
    struct cx_cq *cq;
    WITH_DEVICE(name, device, {
        for (cq = device->cqs; cq != NULL && cq->cqn != cqn; cq = cq->next)
            continue;
        if (cq != NULL)
            cx_cq_overrun(cq);
    });
    return cq != NULL ? 0 : EINVAL;
}

static struct cx_cq *cq_of_queue(const struct cx_device *device, uint32_t number, bool receive)
{
    struct cx_qp *qp = find_qp(device, number);
    if (qp != NULL)
        return receive ? qp->rq.cq : qp->sq.cq;
    for (struct cx_wq *wq = device->wqs; wq != NULL; wq = wq->next)
        if (wq->rq.number == number && receive)
            return wq->rq.cq;
    return NULL;
}

EXPORT int cxemu_overrun_completions(const char *name, uint32_t number, int receive)
{
    struct cx_cq *cq;
    WITH_DEVICE(name, device, {
        cq = cq_of_queue(device, number, receive != 0);
        if (cq != NULL)
            cx_cq_overrun(cq);
    });
    return cq != NULL ? 0 : EINVAL;
}

EXPORT int cxemu_query_completion_vector(const char *name, uint32_t cqn, uint32_t *vector)
{
    struct cx_cq *cq;
    WITH_DEVICE(name, device, {
        for (cq = device->cqs; cq != NULL && cq->cqn != cqn; cq = cq->next)
            continue;
        if (cq != NULL)
            *vector = cq->vector;
    });
    return cq != NULL ? 0 : EINVAL;
}

EXPORT int cxemu_query_region_access(const char *name, uint32_t lkey, uint32_t *access)
{
    const uint32_t index = (lkey >> 8) - CX_FIRST_MKEY;
    bool found = false;
    WITH_DEVICE(name, device, {
        found = index < CX_MKEYS && device->mkeys[index].key == lkey;
        if (found)
            *access = device->mkeys[index].access;
    });
    return found ? 0 : EINVAL;
}

/* ---- frames, port, device ---- */

EXPORT int cxemu_drop_frames(const char *name, uint32_t frames)
{
    WITH_DEVICE(name, device, device->faults.drop_frames = frames);
    return 0;
}

EXPORT int cxemu_duplicate_frames(const char *name, uint32_t frames)
{
    WITH_DEVICE(name, device, device->faults.duplicate_frames = frames);
    return 0;
}

static void set_port_up(struct cx_device *device, bool up)
{
    if (device->port_up == up)
        return;
    device->port_up = up;
    cx_raise_all(device, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, device->own_port);
}

EXPORT int cxemu_set_port_up(const char *name, int up)
{
    WITH_DEVICE(name, device, set_port_up(device, up != 0));
    return 0;
}

static void remove_device(struct cx_device *device)
{
    if (device->removed)
        return;
    device->removed = true;
    for (struct cx_qp *qp = device->qps; qp != NULL; qp = qp->next)
        if (qp->ind_table == NULL && qp->state != IBV_QPS_RESET)
            cx_qp_enter_error(qp);
    for (struct cx_wq *wq = device->wqs; wq != NULL; wq = wq->next)
        if (wq->state != IBV_WQS_RESET)
            cx_rq_enter_error(&wq->rq);
    for (struct cx_cq *cq = device->cqs; cq != NULL; cq = cq->next)
        if (cq->channel != NULL)
            cx_events_close(cq->channel);
    cx_raise_all(device, IBV_EVENT_DEVICE_FATAL, 0);
}

EXPORT int cxemu_remove_device(const char *name)
{
    WITH_DEVICE(name, device, remove_device(device));
    return 0;
}

EXPORT int cxemu_restore_device(const char *name)
{
    WITH_DEVICE(name, device, device->removed = false);
    return 0;
}

EXPORT int cxemu_fail_commands(const char *name, uint32_t command, int error, uint32_t count)
{
    if (error <= 0)
        return EINVAL;
    WITH_DEVICE(name, device, {
        device->faults.next_command.command = command;
        device->faults.next_command.error = error;
        device->faults.next_command.count = count;
    });
    return 0;
}

EXPORT int cxemu_set_rule_capacity(const char *name, uint32_t rules)
{
    WITH_DEVICE(name, device, device->flows.capacity = rules);
    return 0;
}

EXPORT int cxemu_set_mtu(const char *name, uint32_t mtu)
{
    if (mtu < MIN_MTU || mtu > MAX_MTU)
        return EINVAL;
    WITH_DEVICE(name, device, device->mtu = mtu);
    return 0;
}

EXPORT int cxemu_inject(const char *name, const void *frame, uint32_t length)
{
    if (length < ETH_HLEN || length > CX_MAX_FRAME_BYTES)
        return EINVAL;
    WITH_DEVICE(name, device, {
        cx_device_receive(device, frame, length);
        /* In step mode other commands may precede the next step. */
        if (!device->stepping)
            cx_cqs_close_sessions(device);
    });
    return 0;
}
