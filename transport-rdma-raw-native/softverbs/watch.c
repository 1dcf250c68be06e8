/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who wakes when frames arrive while queues are armed. The wire's sockets are in the epoll instance of one watcher:
 *
 *   - the wire's own thread (watcher.c), which moves the frames and so raises events, or
 *   - a completion channel: its descriptor is readable while frames wait, and ibv_get_cq_event() moves them. That
 *     spares two switches of threads for each event.
 *
 * A channel may watch only while no other one has armed queues: the thread that reads it may be busy, and frames for
 * others must not wait for it. And only when the program has made the descriptor non-blocking, since it may be readable
 * for frames of queues that are not armed: then there is no event.
 */
#include "wire.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/*
 * MAX_UNARMED_FRAMES: a socket in a set costs the kernel a call with locks for every frame, taking it out and putting it
 * back costs two system calls. So it goes when so many frames have come since somebody was armed.
 * LONELY_ARMINGS: so often in a row a channel must have been the only one before it becomes the watcher: changing
 * watchers is dear too, and loops that sleep in turns would do it every time.
 */
enum { MAX_UNARMED_FRAMES = 32, LONELY_ARMINGS = 8 };

int sv_watch_add(int epoll, int fd, enum sv_watch_source source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = source};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

static void leave(const struct sv_wire *wire, int epoll, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        epoll_ctl(epoll, EPOLL_CTL_DEL, wire->receivers[i]->fd, NULL);
}

/*
 * With the mutex held; -1: nobody watches. 0, or an errno of the kernel: it may be out of memory, or this user have too
 * many entries (max_user_watches of epoll(7)). Then nobody watches, and the watcher thread tries until it can: others may
 * have been armed before.
 */
static int change(struct sv_wire *wire, int to)
{
    int from = atomic_load(&wire->watching);
    if (from == to)
        return 0;
    if (from >= 0)
        leave(wire, from, wire->receiver_count);
    int error = 0;
    uint32_t added = 0;
    while (to >= 0 && added < wire->receiver_count && error == 0) {
        error = sv_watch_add(to, wire->receivers[added]->fd, SV_WATCH_SOCKET);
        added += error == 0;
    }
    if (error != 0)
        leave(wire, to, added);
    atomic_store(&wire->watching, error == 0 ? to : -1);
    if (error == 0 && to >= 0)
        atomic_store(&wire->unwatched, false);
    else if (error != 0 && !atomic_exchange(&wire->unwatched, true))
        sv_watch_kick(wire);
    return error;
}

/* With the mutex held. Who arms counts as armed before it looks who watches, so one of both sees the other. */
static void stop(struct sv_wire *wire)
{
    (void)change(wire, -1);
    if (atomic_load(&wire->device->armed_channels) > 0)
        (void)change(wire, wire->epoll);
}

/*
 * Whether a channel other than this one is armed. A frame may disarm this one at any time, so all are counted before it
 * is asked: then one that was disarmed between is taken for another's, never the other way round.
 */
static bool others_are_armed(const struct sv_wire *wire, const struct sv_channel *channel)
{
    int all = atomic_load(&wire->device->armed_channels);
    return all > (atomic_load(&channel->armed) > 0);
}

/* With the mutex held. Who armed meanwhile and still saw another watcher relies on us: see stop(). */
static int watch_by(struct sv_wire *wire, const struct sv_channel *channel)
{
    int error = change(wire, channel->ibv.fd);
    if (error == 0 && others_are_armed(wire, channel))
        error = change(wire, wire->epoll);
    return error;
}

int sv_wire_arm(struct sv_device *device, struct sv_cq *cq)
{
    struct sv_wire *wire = device->port;
    const struct sv_channel *channel = (const struct sv_channel *)cq->ibv.channel;
    int watching = atomic_load(&wire->watching);
    atomic_store_explicit(&wire->unarmed_frames, 0, memory_order_relaxed);
    if (others_are_armed(wire, channel)) {
        atomic_store_explicit(&wire->lonely_armings, 0, memory_order_relaxed);
        if (watching == wire->epoll)
            return 0;
    } else if (watching == channel->ibv.fd) {
        return 0;
    }
    pthread_mutex_lock(&wire->watch_mutex);
    bool lonely = !others_are_armed(wire, channel) &&
                  atomic_fetch_add_explicit(&wire->lonely_armings, 1, memory_order_relaxed) >= LONELY_ARMINGS;
    int error = lonely && sv_channel_polled(channel) ? watch_by(wire, channel) : change(wire, wire->epoll);
    pthread_mutex_unlock(&wire->watch_mutex);
    return error;
}

bool sv_wire_look(struct sv_device *device, const struct sv_channel *channel)
{
    struct sv_wire *wire = device->port;
    if (atomic_load_explicit(&wire->watching, memory_order_relaxed) != channel->ibv.fd)
        return false;
    wire->kind->drain(wire);
    return true;
}

void sv_wire_relieve(struct sv_device *device, struct sv_channel *channel)
{
    struct sv_wire *wire = device->port;
    pthread_mutex_lock(&wire->watch_mutex);
    if (atomic_load(&wire->watching) == channel->ibv.fd) {
        stop(wire);
        atomic_store_explicit(&wire->lonely_armings, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&wire->watch_mutex);
}

void sv_watch_unarmed_frames(struct sv_wire *wire, unsigned moved)
{
    if (atomic_load_explicit(&wire->device->armed_channels, memory_order_relaxed) > 0 ||
        atomic_fetch_add_explicit(&wire->unarmed_frames, moved, memory_order_relaxed) + moved < MAX_UNARMED_FRAMES ||
        pthread_mutex_trylock(&wire->watch_mutex) != 0)
        return;
    stop(wire);
    pthread_mutex_unlock(&wire->watch_mutex);
}

void sv_watch_pause(struct sv_wire *wire)
{
    pthread_mutex_lock(&wire->watch_mutex);
    if (atomic_load(&wire->watching) == wire->epoll)
        (void)change(wire, -1);
    pthread_mutex_unlock(&wire->watch_mutex);
}

void sv_watch_resume(struct sv_wire *wire)
{
    pthread_mutex_lock(&wire->watch_mutex);
    /* Who is armed later looks itself. */
    if (atomic_load(&wire->device->armed_channels) <= 0)
        atomic_store(&wire->unwatched, false);
    else if (atomic_load(&wire->watching) < 0)
        (void)change(wire, wire->epoll);
    pthread_mutex_unlock(&wire->watch_mutex);
}

void sv_watch_kick(struct sv_wire *wire)
{
    const uint64_t one = 1;
    while (write(wire->kick, &one, sizeof one) < 0 && errno == EINTR)
        ;
}
