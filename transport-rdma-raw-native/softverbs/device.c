/* SPDX-License-Identifier: Apache-2.0 */
/* The list of devices. Devices live as long as the process: a name means the same device from first to last. */
#include "device.h"

#include "wire.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_DEVICE_ROOM = 16, FIRST_QUEUE_NUMBER = 0x40, DEFAULT_MTU = 1500 };

static pthread_mutex_t devices_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sv_device **devices;
static unsigned device_count;
static unsigned device_room;

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

static const struct sv_port_ops *ops_for(const char *name)
{
    if (sv_wire_name(name, "xdp:"))
        return &sv_xdp_ops;
    if (sv_wire_name(name, "packet:"))
        return &sv_packet_ops;
    if (strcmp(name, "loop") == 0 || (strncmp(name, "loop:", 5) == 0 && name[5] != '\0'))
        return &sv_loop_ops;
    return NULL;
}

/* A locally administered unicast address that follows from the name (FNV-1a), so that it is the same in every run. */
static void mac_from_name(const char *name, uint8_t mac[6])
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = name; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
    mac[0] = 0x02;
    for (int i = 1; i < 6; i++)
        mac[i] = (uint8_t)(hash >> (8 * i));
}

static struct sv_device *find_locked(const char *name)
{
    for (unsigned i = 0; i < device_count; i++)
        if (strcmp(devices[i]->ibv.name, name) == 0)
            return devices[i];
    return NULL;
}

static void init_ibv_device(struct ibv_device *ibv, const char *name)
{
    ibv->node_type = IBV_NODE_CA;
    ibv->transport_type = IBV_TRANSPORT_IB;
    snprintf(ibv->name, sizeof ibv->name, "%s", name);
    snprintf(ibv->dev_name, sizeof ibv->dev_name, "softverbs%u", device_count);
    /* There is nothing in sysfs; readers of attributes there get "no such file". */
    snprintf(ibv->dev_path, sizeof ibv->dev_path, "/sys/class/infiniband_verbs/softverbs%u", device_count);
    snprintf(ibv->ibdev_path, sizeof ibv->ibdev_path, "/sys/class/infiniband/%s", name);
}

/* Processes that see interfaces come and go, as on hosts of containers, name ever new devices. */
static bool make_room_locked(void)
{
    if (device_count < device_room)
        return true;
    unsigned room = device_room == 0 ? FIRST_DEVICE_ROOM : 2 * device_room;
    struct sv_device **larger = realloc(devices, room * sizeof *larger);
    if (larger == NULL)
        return false;
    devices = larger;
    device_room = room;
    return true;
}

static int add_locked(const char *name)
{
    const struct sv_port_ops *ops = ops_for(name);
    if (ops == NULL || strlen(name) >= IBV_SYSFS_NAME_MAX || strchr(name, '/') != NULL)
        return EINVAL;
    if (find_locked(name) != NULL)
        return EEXIST;
    if (!make_room_locked())
        return ENOMEM;
    struct sv_device *device = sv_alloc_zeroed(sizeof *device);
    if (device == NULL)
        return ENOMEM;
    device->mrs = sv_mr_table_create();
    if (device->mrs == NULL || sv_flow_table_init(&device->flows) != 0) {
        free(device->mrs);
        free(device);
        return ENOMEM;
    }
    init_ibv_device(&device->ibv, name);
    device->ops = ops;
    mac_from_name(name, device->mac);
    atomic_init(&device->mtu, DEFAULT_MTU);
    atomic_init(&device->port_up, true);
    pthread_mutex_init(&device->mutex, NULL);
    device->next_number = FIRST_QUEUE_NUMBER;
    device->faults.memlock_limit = UINT64_MAX;
    devices[device_count++] = device;
    return 0;
}

static void add_configured_locked(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    add_locked("loop");
    const char *list = getenv("SOFTVERBS_DEVICES");
    while (list != NULL && *list != '\0') {
        char name[IBV_SYSFS_NAME_MAX];
        size_t length = strcspn(list, ",");
        if (length > 0) {
            snprintf(name, sizeof name, "%.*s", (int)length, list);
            int error = length < sizeof name ? add_locked(name) : EINVAL;
            if (error != 0 && error != EEXIST)
                fprintf(stderr, "softverbs: SOFTVERBS_DEVICES names \"%.*s\", which is no device: expected loop, "
                                "loop:<name>, xdp:<interface> or packet:<interface>\n", (int)length, list);
        }
        list += length + (list[length] == ',');
    }
}

struct sv_device *sv_device_by_name(const char *name)
{
    pthread_mutex_lock(&devices_mutex);
    add_configured_locked();
    struct sv_device *device = name == NULL ? NULL : find_locked(name);
    pthread_mutex_unlock(&devices_mutex);
    return device;
}

SV_EXPORT int softverbs_add_device(const char *name)
{
    if (name == NULL)
        return EINVAL;
    pthread_mutex_lock(&devices_mutex);
    add_configured_locked();
    int error = add_locked(name);
    pthread_mutex_unlock(&devices_mutex);
    return error;
}

/* A device on an interface that does not exist, in this thread's network namespace, is not listed. */
static bool is_there(const struct sv_device *device)
{
    return device->ops->open == NULL || if_nametoindex(strchr(device->ibv.name, ':') + 1) != 0;
}

#undef ibv_get_device_list
SV_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
    if (num_devices != NULL)
        *num_devices = 0;
    pthread_mutex_lock(&devices_mutex);
    add_configured_locked();
    struct ibv_device **list = calloc(device_count + 1, sizeof *list);
    if (list != NULL) {
        unsigned listed = 0;
        for (unsigned i = 0; i < device_count; i++)
            if (is_there(devices[i]))
                list[listed++] = &devices[i]->ibv;
        if (num_devices != NULL)
            *num_devices = (int)listed;
    }
    pthread_mutex_unlock(&devices_mutex);
    return list != NULL ? list : sv_fail(ENOMEM);
}

SV_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

SV_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

SV_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
    int index = -1;
    pthread_mutex_lock(&devices_mutex);
    for (unsigned i = 0; i < device_count; i++)
        if (&devices[i]->ibv == device)
            index = (int)i;
    pthread_mutex_unlock(&devices_mutex);
    return index;
}

/* EUI-64 of the MAC address, as Ethernet devices have it. */
SV_EXPORT __be64 ibv_get_device_guid(struct ibv_device *ibv)
{
    const uint8_t *mac = ((struct sv_device *)ibv)->mac;
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
    device->next_number = number == 0xffffff ? FIRST_QUEUE_NUMBER : number + 1;
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
