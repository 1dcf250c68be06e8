/* SPDX-License-Identifier: Apache-2.0 */
/* See busy_poll.h. */
#include "busy_poll.h"

#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_INCOMING_NAPI_ID
#define SO_INCOMING_NAPI_ID 56
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69      /* Linux 5.11, like the next one */
#endif
#ifndef SO_BUSY_POLL_BUDGET
#define SO_BUSY_POLL_BUDGET 70
#endif

/* Files in sysfs, below the interface. */
#define DEFER_HARD_IRQS_FILE "napi_defer_hard_irqs"
#define GRO_FLUSH_TIMEOUT_FILE "gro_flush_timeout"

enum { BUSY_POLL_MICROS = 20, NUMBER_BYTES = 32, PATH_BYTES = 64 };

static const struct sv_napi_settings deferring_settings = {
    .defer_hard_irqs = SV_BUSY_POLL_DEFER_HARD_IRQS,
    .gro_flush_timeout_nanos = SV_BUSY_POLL_GRO_FLUSH_TIMEOUT_NANOS,
};

static pthread_mutex_t ports_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sv_busy_poll *enabled_ports;
static _Atomic pid_t owner_pid; /* process that has last added to the list */

bool sv_busy_poll_is_leftover(const struct sv_napi_settings *settings)
{
    return settings->defer_hard_irqs == deferring_settings.defer_hard_irqs &&
           settings->gro_flush_timeout_nanos == deferring_settings.gro_flush_timeout_nanos;
}

/*
 * Ignores settings that a killed process has left, which would otherwise stay for ever. The kernel's default is 0 for
 * both.
 */
static void ignore_leftover_settings(struct sv_napi_settings *saved)
{
    if (sv_busy_poll_is_leftover(saved))
        memset(saved, 0, sizeof *saved);
}

int sv_busy_poll_init(struct sv_busy_poll *poll, const char *netdev, int ifindex)
{
    const char *env_value = getenv("SOFTVERBS_XDP_BUSY_POLL");
    memset(poll, 0, sizeof *poll);
    poll->family.fd = -1;
    poll->ifindex = ifindex;
    snprintf(poll->netdev, sizeof poll->netdev, "%s", netdev);
    if (env_value == NULL || *env_value == '\0' || strcmp(env_value, "off") == 0)
        return 0;
    if (strcmp(env_value, "on") != 0)
        return sv_explain(EINVAL, "SOFTVERBS_XDP_BUSY_POLL is '%s': use on or off", env_value);
    poll->enabled = true;
    poll->pid = getpid();
    owner_pid = poll->pid;
    (void)sv_netdev_family_open(&poll->family); /* absent before Linux 6.3 */
    pthread_mutex_lock(&ports_mutex);
    poll->next = enabled_ports;
    enabled_ports = poll;
    pthread_mutex_unlock(&ports_mutex);
    return 0;
}

/* ---- sockets ---- */

static int set_option(int socket, int option, int value)
{
    return setsockopt(socket, SOL_SOCKET, option, &value, sizeof value) == 0 ? 0 : errno;
}

static int set_options(int socket)
{
    int error = set_option(socket, SO_PREFER_BUSY_POLL, 1);
    if (error == 0)
        error = set_option(socket, SO_BUSY_POLL, BUSY_POLL_MICROS);
    if (error == 0)
        error = set_option(socket, SO_BUSY_POLL_BUDGET, SV_BURST);
    if (error == EPERM)
        return sv_explain(EPERM, "SOFTVERBS_XDP_BUSY_POLL=on needs CAP_NET_ADMIN, also with a broker");
    return error == 0 ? 0 : sv_explain(error, "SOFTVERBS_XDP_BUSY_POLL=on: the kernel refuses it "
                                       "(CONFIG_NET_RX_BUSY_POLL)");
}

/* ---- an instance ---- */

static int change_instance(struct sv_busy_poll *poll, uint32_t id)
{
    struct sv_napi_settings saved;
    for (uint32_t i = 0; i < poll->count; i++)
        if (poll->napi[i].id == id)
            return 0;
    if (poll->family.fd < 0 || poll->count == SV_BPF_MAX_QUEUES)
        return EOPNOTSUPP;
    int error = sv_netdev_get_napi(&poll->family, id, &saved);
    if (error == 0)
        error = sv_netdev_set_napi(&poll->family, id, &deferring_settings);
    if (error != 0)
        return error;
    ignore_leftover_settings(&saved);
    poll->napi[poll->count].id = id;
    poll->napi[poll->count++].saved = saved;
    return 0;
}

/* ---- the interface ---- */

static int open_file(const struct sv_busy_poll *poll, const char *file, int flags)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/sys/class/net/%s/%s", poll->netdev, file);
    return open(path, flags | O_CLOEXEC);
}

static bool read_number(const struct sv_busy_poll *poll, const char *file, uint64_t *number)
{
    char text[NUMBER_BYTES];
    int fd = open_file(poll, file, O_RDONLY);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    *number = strtoull(text, NULL, 10);
    return true;
}

static int write_number(const struct sv_busy_poll *poll, const char *file, uint64_t number)
{
    char text[NUMBER_BYTES];
    int length = snprintf(text, sizeof text, "%llu\n", (unsigned long long)number);
    int fd = open_file(poll, file, O_WRONLY);
    if (fd < 0)
        return errno;
    int error = write(fd, text, (size_t)length) == length ? 0 : errno;
    close(fd);
    return error;
}

static int write_settings(const struct sv_busy_poll *poll, const struct sv_napi_settings *settings)
{
    int error = write_number(poll, DEFER_HARD_IRQS_FILE, settings->defer_hard_irqs);
    return error != 0 ? error : write_number(poll, GRO_FLUSH_TIMEOUT_FILE, settings->gro_flush_timeout_nanos);
}

/*
 * Returns true if /sys shows this interface. It may belong to another network namespace with an interface of this name.
 */
static bool is_same_interface(const struct sv_busy_poll *poll)
{
    uint64_t ifindex;
    return read_number(poll, "ifindex", &ifindex) && ifindex == (uint64_t)poll->ifindex &&
           if_nametoindex(poll->netdev) == (unsigned)poll->ifindex;
}

static int change_interface(struct sv_busy_poll *poll)
{
    uint64_t hard_irqs, timeout;
    if (poll->interface_changed)
        return 0;
    if (!is_same_interface(poll) || !read_number(poll, DEFER_HARD_IRQS_FILE, &hard_irqs) ||
        !read_number(poll, GRO_FLUSH_TIMEOUT_FILE, &timeout))
        return ENOENT;
    poll->saved = (struct sv_napi_settings){.defer_hard_irqs = (uint32_t)hard_irqs, .gro_flush_timeout_nanos = timeout};
    ignore_leftover_settings(&poll->saved);
    int error = write_settings(poll, &deferring_settings);
    poll->interface_changed = error == 0;
    if (error != 0)
        (void)write_settings(poll, &poll->saved);
    return error;
}

/* ---- both ---- */

/*
 * Returns true if the socket learns its NAPI instance from its first frame. Before Linux 6.13 this is so in driver
 * modes, whatever the kernel reports about queues (from 6.8 on; i40e reports none, mlx5_core only from 6.9 on). Since
 * 6.14 (6.15 if the kernel copies) it is the instance of the queue to which the socket is bound, if the driver reports
 * it.
 */
static bool learns_napi_from_frame(const struct sv_busy_poll *poll)
{
    return !sv_netdev_has_napi_settings(&poll->family);
}

/* The caller holds the mutex, because another thread may call exit(3). */
static int change_settings(struct sv_busy_poll *poll, uint32_t id, uint32_t queue, bool native)
{
    if (id == 0 && (!native || !learns_napi_from_frame(poll)))
        return sv_explain(EOPNOTSUPP, "receive queue %u of '%s' has no NAPI instance that a socket can poll, as with "
                          "veth: run without SOFTVERBS_XDP_BUSY_POLL", queue, poll->netdev);
    int error = id != 0 ? change_instance(poll, id) : EOPNOTSUPP;
    if (error == EOPNOTSUPP)
        error = change_interface(poll);
    return error == 0 ? 0 : sv_explain(error, "SOFTVERBS_XDP_BUSY_POLL=on can't defer the interrupts of '%s': it needs "
                                       "CAP_NET_ADMIN, and before Linux 6.13 a /sys that can be written", poll->netdev);
}

int sv_busy_poll_add(struct sv_busy_poll *poll, int socket, uint32_t queue, bool native)
{
    int id = 0;
    socklen_t size = sizeof id;
    if (!poll->enabled)
        return 0;
    int error = set_options(socket);
    if (error != 0)
        return error;
    if (getsockopt(socket, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &size) != 0)
        id = 0;
    pthread_mutex_lock(&ports_mutex);
    error = change_settings(poll, (uint32_t)id, queue, native);
    pthread_mutex_unlock(&ports_mutex);
    return error;
}

/*
 * Restores an instance. `ethtool -L` creates new instances. The kernel increments their numbers and wraps around, so an
 * old number may belong to another interface. For an interface that is down the kernel reports no instance but accepts
 * settings.
 */
static void restore_instance(const struct sv_busy_poll *poll, uint32_t id, const struct sv_napi_settings *saved)
{
    struct sv_napi_settings current;
    if (sv_netdev_get_napi(&poll->family, id, &current) != 0 || current.ifindex == poll->ifindex)
        (void)sv_netdev_set_napi(&poll->family, id, saved);
}

/*
 * Restores the interface first, because values written there are written to all instances. The caller holds the mutex.
 */
static void restore_settings(struct sv_busy_poll *poll)
{
    if (poll->pid != getpid())
        return;
    if (poll->interface_changed && if_indextoname((unsigned)poll->ifindex, poll->netdev) != NULL &&
        is_same_interface(poll))
        (void)write_settings(poll, &poll->saved);
    for (uint32_t i = 0; i < poll->count; i++)
        restore_instance(poll, poll->napi[i].id, &poll->napi[i].saved);
    poll->count = 0;
    poll->interface_changed = false;
}

void sv_busy_poll_restore(struct sv_busy_poll *poll)
{
    if (!poll->enabled)
        return;
    pthread_mutex_lock(&ports_mutex);
    restore_settings(poll);
    struct sv_busy_poll **link = &enabled_ports;
    while (*link != poll)
        link = &(*link)->next;
    *link = poll->next;
    pthread_mutex_unlock(&ports_mutex);
    sv_netdev_family_close(&poll->family);
    poll->enabled = false;
}

/* A child that has not called exec(2) has its parent's list and its mutex, which may be locked for ever. */
__attribute__((destructor)) void sv_busy_poll_restore_all(void)
{
    if (owner_pid != getpid())
        return;
    pthread_mutex_lock(&ports_mutex);
    for (struct sv_busy_poll *poll = enabled_ports; poll != NULL; poll = poll->next)
        restore_settings(poll);
    pthread_mutex_unlock(&ports_mutex);
}
