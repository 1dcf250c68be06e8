/* SPDX-License-Identifier: Apache-2.0 */
/* The list of devices. A name denotes the same device while its interface exists or the device is in use. */
#include "device.h"

#include "netdev_port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_DEVICE_CAPACITY = 16, MAX_IDLE_DEVICES = 32, DEFAULT_MTU = 1500 };

static pthread_mutex_t devices_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sv_device **devices;      /* oldest first */
static unsigned device_count;
static unsigned device_capacity;

static const struct sv_port_ops *ops_for(const char *name)
{
    if (sv_netdev_port_is_device_name(name, "xdp:"))
        return &sv_xdp_ops;
    if (sv_netdev_port_is_device_name(name, "packet:"))
        return &sv_packet_ops;
    if (strcmp(name, "loop") == 0 || (strncmp(name, "loop:", 5) == 0 && name[5] != '\0'))
        return &sv_loop_ops;
    return NULL;
}

/* Derives a locally administered unicast address from the name (FNV-1a), the same in every run. */
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

static void init_ibv_device(struct ibv_device *ibv, const char *name, unsigned index)
{
    ibv->node_type = IBV_NODE_CA;
    ibv->transport_type = IBV_TRANSPORT_IB;
    snprintf(ibv->name, sizeof ibv->name, "%s", name);
    snprintf(ibv->dev_name, sizeof ibv->dev_name, "softverbs%u", index);
    /* The device is not in sysfs. Reading an attribute there fails with "no such file". */
    snprintf(ibv->dev_path, sizeof ibv->dev_path, "/sys/class/infiniband_verbs/softverbs%u", index);
    snprintf(ibv->ibdev_path, sizeof ibv->ibdev_path, "/sys/class/infiniband/%s", name);
}

/* Returns true if the device is listed. A device on an interface is listed if the thread's network namespace has it. */
static bool is_listed(const struct sv_device *device)
{
    return device->ops->open == NULL || if_nametoindex(strchr(device->ibv.name, ':') + 1) != 0;
}

static bool in_use(struct sv_device *device)
{
    sv_device_lock(device);
    bool used = device->users > 0 || device->configured || device->list_refs > 0;
    sv_device_unlock(device);
    return used;
}

static void destroy(struct sv_device *device)
{
    sv_flow_table_destroy(&device->flows);
    sv_mr_table_destroy(device->mrs);
    pthread_mutex_destroy(&device->port_mutex);
    pthread_mutex_destroy(&device->rules_mutex);
    pthread_mutex_destroy(&device->grace_mutex);
    pthread_mutex_destroy(&device->mutex);
    free(device);
}

/*
 * A process on a host with containers sees interfaces appear and disappear, and names more and more devices. Only the
 * last few unused devices without an interface are kept.
 */
static void remove_idle_locked(void)
{
    unsigned idle = 0;
    for (unsigned i = device_count; i-- > 0;) {
        struct sv_device *device = devices[i];
        if (is_listed(device) || in_use(device) || ++idle <= MAX_IDLE_DEVICES)
            continue;
        memmove(&devices[i], &devices[i + 1], (--device_count - i) * sizeof devices[0]);
        destroy(device);
    }
}

static bool ensure_capacity_locked(void)
{
    remove_idle_locked();
    if (device_count < device_capacity)
        return true;
    unsigned capacity = device_capacity == 0 ? FIRST_DEVICE_CAPACITY : 2 * device_capacity;
    struct sv_device **larger = realloc(devices, capacity * sizeof *larger);
    if (larger == NULL)
        return false;
    devices = larger;
    device_capacity = capacity;
    return true;
}

static void quiesce_device_of(struct sv_flow_table *flows)
{
    sv_device_quiesce((struct sv_device *)((uint8_t *)flows - offsetof(struct sv_device, flows)));
}

static struct sv_device *new_device(const char *name, const struct sv_port_ops *ops)
{
    static unsigned created;
    struct sv_device *device = sv_alloc_zeroed(sizeof *device);
    if (device == NULL)
        return NULL;
    device->mrs = sv_mr_table_create();
    if (device->mrs == NULL || sv_flow_table_init(&device->flows, quiesce_device_of) != 0) {
        sv_mr_table_destroy(device->mrs);
        free(device);
        return NULL;
    }
    device->index = created++;
    init_ibv_device(&device->ibv, name, device->index);
    device->ops = ops;
    mac_from_name(name, device->mac);
    atomic_init(&device->mtu, DEFAULT_MTU);
    atomic_init(&device->port_up, true);
    pthread_mutex_init(&device->port_mutex, NULL);
    pthread_mutex_init(&device->rules_mutex, NULL);
    pthread_mutex_init(&device->grace_mutex, NULL);
    pthread_mutex_init(&device->mutex, NULL);
    device->next_queue_number = SV_FIRST_QUEUE_NUMBER;
    device->faults.memlock_limit = UINT64_MAX;
    return device;
}

static int add_locked(const char *name, bool configured)
{
    const struct sv_port_ops *ops = ops_for(name);
    if (ops == NULL || strlen(name) >= IBV_SYSFS_NAME_MAX || strchr(name, '/') != NULL)
        return EINVAL;
    if (find_locked(name) != NULL)
        return EEXIST;
    struct sv_device *device = ensure_capacity_locked() ? new_device(name, ops) : NULL;
    if (device == NULL)
        return ENOMEM;
    device->configured = configured;
    devices[device_count++] = device;
    return 0;
}

static void add_configured_locked(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    add_locked("loop", true);
    const char *list = getenv("SOFTVERBS_DEVICES");
    while (list != NULL && *list != '\0') {
        char name[IBV_SYSFS_NAME_MAX];
        size_t length = strcspn(list, ",");
        if (length > 0) {
            snprintf(name, sizeof name, "%.*s", (int)length, list);
            int error = length < sizeof name ? add_locked(name, true) : EINVAL;
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
    int error = add_locked(name, false);
    pthread_mutex_unlock(&devices_mutex);
    return error;
}

static struct sv_device *retain(struct sv_device *device)
{
    device->list_refs++;
    return device;
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
            if (is_listed(devices[i]))
                list[listed++] = &retain(devices[i])->ibv;
        if (num_devices != NULL)
            *num_devices = (int)listed;
    }
    pthread_mutex_unlock(&devices_mutex);
    return list != NULL ? list : sv_fail(ENOMEM);
}

SV_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
    pthread_mutex_lock(&devices_mutex);
    for (struct ibv_device **device = list; device != NULL && *device != NULL; device++)
        ((struct sv_device *)*device)->list_refs--;
    pthread_mutex_unlock(&devices_mutex);
    free(list);
}

SV_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

SV_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
    return (int)((struct sv_device *)device)->index;
}
