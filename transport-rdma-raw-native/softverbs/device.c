/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of a device. device_list.c has the list of devices. */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

SV_EXPORT const char *softverbs_open_error(const struct ibv_device *device)
{
    return ((const struct sv_device *)device)->open_error;
}

SV_EXPORT const char *softverbs_mode(struct ibv_context *context)
{
    return sv_device_of(context)->mode_text;
}

/* Returns the EUI-64 of the MAC address, as Ethernet devices do. */
SV_EXPORT __be64 ibv_get_device_guid(struct ibv_device *ibv)
{
    struct sv_device *device = (struct sv_device *)ibv;
    uint8_t mac[6];
    sv_device_lock(device);
    memcpy(mac, device->mac, 6);
    sv_device_unlock(device);
    uint8_t bytes[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
    __be64 guid;
    memcpy(&guid, bytes, sizeof guid);
    return guid;
}

/* ---- the queues of a device ---- */

void sv_device_quiesce(struct sv_device *device)
{
    sv_assert_may_block();
    pthread_mutex_lock(&device->grace_mutex);
    /* Queues that are added from now on see the new state, and none is removed. */
    sv_device_lock(device);
    struct sv_qp *qps = device->qps;
    struct sv_wq *wqs = device->wqs;
    sv_device_unlock(device);
    for (struct sv_qp *qp = qps; qp != NULL; qp = qp->next) {
        sv_spin_lock(&qp->sq.lock);
        sv_spin_unlock(&qp->sq.lock);
        sv_spin_lock(&qp->rq.deliver_lock);
        sv_spin_unlock(&qp->rq.deliver_lock);
    }
    for (struct sv_wq *wq = wqs; wq != NULL; wq = wq->next) {
        sv_spin_lock(&wq->rq.deliver_lock);
        sv_spin_unlock(&wq->rq.deliver_lock);
    }
    if (device->ops->quiesce != NULL)
        device->ops->quiesce(device);
    pthread_mutex_unlock(&device->grace_mutex);
}

static uint32_t next_queue_number(struct sv_device *device)
{
    uint32_t number = device->next_queue_number;
    device->next_queue_number = number == 0xffffff ? SV_FIRST_QUEUE_NUMBER : number + 1;
    return number;
}

void sv_device_add_qp(struct sv_device *device, struct sv_qp *qp)
{
    sv_device_lock(device);
    qp->ibv.qp_num = qp->ibv.handle = next_queue_number(device);
    qp->rq.number = qp->ibv.qp_num;
    if (qp->ind_table == NULL)
        qp->sender_number = device->next_sender_number++;
    qp->next = device->qps;
    if (qp->next != NULL)
        qp->next->prev = qp;
    device->qps = qp;
    sv_device_unlock(device);
}

static void unlink_qp(struct sv_device *device, struct sv_qp *qp)
{
    *(qp->prev != NULL ? &qp->prev->next : &device->qps) = qp->next;
    if (qp->next != NULL)
        qp->next->prev = qp->prev;
    sv_queue_counters_add(&device->closed_sent, &qp->sq.counters);
    sv_queue_counters_add(&device->closed_received, &qp->rq.counters);
}

int sv_device_remove_qp(struct sv_device *device, struct sv_qp *qp)
{
    pthread_mutex_lock(&device->grace_mutex);
    sv_device_lock(device);
    bool busy = qp->flow_count != 0;
    if (!busy)
        unlink_qp(device, qp);
    sv_device_unlock(device);
    pthread_mutex_unlock(&device->grace_mutex);
    return busy ? EBUSY : 0;
}

void sv_device_add_wq(struct sv_device *device, struct sv_wq *wq)
{
    sv_device_lock(device);
    wq->ibv.wq_num = wq->ibv.handle = next_queue_number(device);
    wq->rq.number = wq->ibv.wq_num;
    wq->next = device->wqs;
    if (wq->next != NULL)
        wq->next->prev = wq;
    device->wqs = wq;
    sv_device_unlock(device);
}

void sv_device_remove_wq(struct sv_device *device, struct sv_wq *wq)
{
    pthread_mutex_lock(&device->grace_mutex);
    sv_device_lock(device);
    *(wq->prev != NULL ? &wq->prev->next : &device->wqs) = wq->next;
    if (wq->next != NULL)
        wq->next->prev = wq->prev;
    sv_queue_counters_add(&device->closed_received, &wq->rq.counters);
    sv_device_unlock(device);
    pthread_mutex_unlock(&device->grace_mutex);
}
