/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for all files, and the queues of a device. device_list.c has the list of devices. */
#include "device.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *sv_fail(int error)
{
    errno = error;
    return NULL;
}

static _Thread_local char last_error[SV_EXPLANATION_BYTES];

int sv_explain(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return error;
}

const char *sv_explanation(void)
{
    return last_error;
}

SV_EXPORT const char *softverbs_open_error(const struct ibv_device *device)
{
    return ((const struct sv_device *)device)->open_error;
}

void *sv_alloc_zeroed(size_t size)
{
    size_t rounded = (size + 127) & ~(size_t)127;
    void *memory = aligned_alloc(128, rounded);
    return memory == NULL ? NULL : memset(memory, 0, rounded);
}

uint32_t sv_round_up_pow2(uint32_t value)
{
    uint32_t result = 1;
    while (result < value)
        result <<= 1;
    return result;
}

/* EUI-64 of the MAC address, as Ethernet devices have it. */
SV_EXPORT __be64 ibv_get_device_guid(struct ibv_device *ibv)
{
    struct sv_device *device = (struct sv_device *)ibv;
    uint8_t mac[6];
    pthread_mutex_lock(&device->mutex);
    memcpy(mac, device->mac, 6);
    pthread_mutex_unlock(&device->mutex);
    uint8_t bytes[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
    __be64 guid;
    memcpy(&guid, bytes, sizeof guid);
    return guid;
}

/* ---- the queues of a device ---- */

void sv_device_quiesce(struct sv_device *device)
{
    for (struct sv_qp *qp = device->qps; qp != NULL; qp = qp->next) {
        sv_spin_lock(&qp->sq.lock);
        sv_spin_unlock(&qp->sq.lock);
        sv_spin_lock(&qp->rq.deliver_lock);
        sv_spin_unlock(&qp->rq.deliver_lock);
    }
    for (struct sv_wq *wq = device->wqs; wq != NULL; wq = wq->next) {
        sv_spin_lock(&wq->rq.deliver_lock);
        sv_spin_unlock(&wq->rq.deliver_lock);
    }
    if (device->ops->quiesce != NULL)
        device->ops->quiesce(device);
}

static uint32_t next_number(struct sv_device *device)
{
    uint32_t number = device->next_number;
    device->next_number = number == 0xffffff ? SV_FIRST_QUEUE_NUMBER : number + 1;
    return number;
}

void sv_device_add_qp(struct sv_device *device, struct sv_qp *qp)
{
    pthread_mutex_lock(&device->mutex);
    qp->ibv.qp_num = qp->ibv.handle = next_number(device);
    qp->rq.number = qp->ibv.qp_num;
    qp->next = device->qps;
    if (qp->next != NULL)
        qp->next->prev = qp;
    device->qps = qp;
    pthread_mutex_unlock(&device->mutex);
}

void sv_device_remove_qp(struct sv_device *device, struct sv_qp *qp)
{
    *(qp->prev != NULL ? &qp->prev->next : &device->qps) = qp->next;
    if (qp->next != NULL)
        qp->next->prev = qp->prev;
    sv_counters_add(&device->retired_tx, &qp->sq.counters);
    sv_counters_add(&device->retired_rx, &qp->rq.counters);
}

void sv_device_add_wq(struct sv_device *device, struct sv_wq *wq)
{
    pthread_mutex_lock(&device->mutex);
    wq->ibv.wq_num = wq->ibv.handle = next_number(device);
    wq->rq.number = wq->ibv.wq_num;
    wq->next = device->wqs;
    if (wq->next != NULL)
        wq->next->prev = wq;
    device->wqs = wq;
    pthread_mutex_unlock(&device->mutex);
}

void sv_device_remove_wq(struct sv_device *device, struct sv_wq *wq)
{
    *(wq->prev != NULL ? &wq->prev->next : &device->wqs) = wq->next;
    if (wq->next != NULL)
        wq->next->prev = wq->prev;
    sv_counters_add(&device->retired_rx, &wq->rq.counters);
}
