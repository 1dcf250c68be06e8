/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wakes sleepers when frames arrive while queues are armed. The port's sockets are in one epoll instance, that of
 *   - the receive thread (receive_thread.c), which moves the frames and so raises events, or
 *   - a completion channel: its descriptor is readable while frames wait, and ibv_get_cq_event() moves them. This
 *     saves two context switches per event.
 *
 * The sockets may be in a channel's instance only while no other channel has armed queues: the thread that reads the
 * channel may be busy, and frames of others must not wait for it. The program must also have made the descriptor
 * non-blocking, because frames of unarmed queues make it readable without an event.
 */
#include "netdev_port.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/*
 * MAX_UNARMED_FRAMES: a socket in an epoll instance costs the kernel a call with locks per frame, while removing and
 * adding it again costs two system calls. So it is removed after this number of frames since the last arming.
 *
 * SINGLE_ARMINGS: a channel gets the sockets after it was the only armed one this number of times in a row. Moving the
 * sockets is expensive, and event loops that sleep in turns would move them every time.
 */
enum { MAX_UNARMED_FRAMES = 32, SINGLE_ARMINGS = 8 };

int sv_event_source_add(int epoll_fd, int fd, enum sv_event_source source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = source};
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

static void remove_sockets(const struct sv_netdev_port *port, int epoll_fd, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        epoll_ctl(epoll_fd, EPOLL_CTL_DEL, port->receivers[i]->fd, NULL);
}

/*
 * Moves the sockets to the epoll instance `to`, or to none if it is -1. The caller holds the mutex. Returns 0 or an
 * errno of the kernel: it may be out of memory, or the user may have too many entries (max_user_watches of epoll(7)).
 * Then the sockets are in no instance, and the receive thread retries, because other channels may have been armed
 * before.
 */
static int move_sockets(struct sv_netdev_port *port, int to)
{
    int from = atomic_load(&port->sockets_epoll_fd);
    if (from == to)
        return 0;
    if (from >= 0)
        remove_sockets(port, from, port->receiver_count);
    int error = 0;
    uint32_t added = 0;
    uint32_t count = atomic_load(&port->receiver_count);
    while (to >= 0 && added < count && error == 0) {
        error = sv_event_source_add(to, port->receivers[added]->fd, SV_EVENT_SOCKET);
        added += error == 0;
    }
    if (error != 0)
        remove_sockets(port, to, added);
    atomic_store(&port->sockets_epoll_fd, error == 0 ? to : -1);
    if (error == 0 && to >= 0)
        atomic_store(&port->rx_thread_must_retry, false);
    else if (error != 0 && !atomic_exchange(&port->rx_thread_must_retry, true))
        sv_receive_thread_wake(port);
    return error;
}

int sv_netdev_port_add_receiver(struct sv_netdev_port *port, struct sv_receiver *receiver)
{
    uint32_t count = atomic_load(&port->receiver_count);
    if (count == SV_NETDEV_PORT_MAX_RECEIVERS)
        return ENOSPC;
    pthread_mutex_lock(&port->event_mutex);
    int epoll_fd = atomic_load(&port->sockets_epoll_fd);
    (void)move_sockets(port, -1);
    port->receivers[count] = receiver;
    atomic_store(&port->receiver_count, count + 1);
    (void)move_sockets(port, epoll_fd);
    pthread_mutex_unlock(&port->event_mutex);
    return 0;
}

/*
 * Returns the sockets to the receive thread if a channel is armed, otherwise to none. The caller holds the mutex. A
 * channel counts as armed before it reads sockets_epoll_fd, so one of the two sees the other.
 */
static void return_sockets(struct sv_netdev_port *port)
{
    (void)move_sockets(port, -1);
    if (atomic_load(&port->device->armed_channels) > 0)
        (void)move_sockets(port, port->rx_thread_epoll_fd);
}

/*
 * Returns true if a channel other than this one is armed. A frame may disarm this one at any time, so all are counted
 * first. A channel disarmed in between then counts as another's arming, never the reverse.
 */
static bool others_are_armed(const struct sv_netdev_port *port, const struct sv_channel *channel)
{
    int all = atomic_load(&port->device->armed_channels);
    return all > (atomic_load(&channel->armed_cqs) > 0);
}

/* The caller holds the mutex. A channel armed at the same time may rely on this call: see return_sockets(). */
static int attach_to_channel(struct sv_netdev_port *port, const struct sv_channel *channel)
{
    int error = move_sockets(port, channel->ibv.fd);
    if (error == 0 && others_are_armed(port, channel))
        error = move_sockets(port, port->rx_thread_epoll_fd);
    return error;
}

int sv_netdev_port_arm(struct sv_device *device, struct sv_cq *cq)
{
    struct sv_netdev_port *port = device->port;
    const struct sv_channel *channel = (const struct sv_channel *)cq->ibv.channel;
    int epoll_fd = atomic_load(&port->sockets_epoll_fd);
    atomic_store_explicit(&port->unarmed_frames, 0, memory_order_relaxed);
    if (others_are_armed(port, channel)) {
        atomic_store_explicit(&port->single_armings, 0, memory_order_relaxed);
        if (epoll_fd == port->rx_thread_epoll_fd)
            return 0;
    } else if (epoll_fd == channel->ibv.fd) {
        return 0;
    }
    pthread_mutex_lock(&port->event_mutex);
    bool single = !others_are_armed(port, channel) &&
                  atomic_fetch_add_explicit(&port->single_armings, 1, memory_order_relaxed) >= SINGLE_ARMINGS;
    int error = single && sv_channel_is_nonblocking(channel) ? attach_to_channel(port, channel)
                                                             : move_sockets(port, port->rx_thread_epoll_fd);
    pthread_mutex_unlock(&port->event_mutex);
    return error;
}

bool sv_netdev_port_poll_channel(struct sv_device *device, const struct sv_channel *channel)
{
    struct sv_netdev_port *port = device->port;
    if (atomic_load_explicit(&port->sockets_epoll_fd, memory_order_relaxed) != channel->ibv.fd)
        return false;
    port->kind->drain(port);
    return true;
}

void sv_netdev_port_return_sockets(struct sv_device *device, struct sv_channel *channel)
{
    struct sv_netdev_port *port = device->port;
    pthread_mutex_lock(&port->event_mutex);
    if (atomic_load(&port->sockets_epoll_fd) == channel->ibv.fd) {
        return_sockets(port);
        atomic_store_explicit(&port->single_armings, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&port->event_mutex);
}

void sv_event_source_on_frames_polled(struct sv_netdev_port *port, unsigned moved)
{
    if (atomic_load_explicit(&port->device->armed_channels, memory_order_relaxed) > 0 ||
        atomic_fetch_add_explicit(&port->unarmed_frames, moved, memory_order_relaxed) + moved < MAX_UNARMED_FRAMES ||
        !sv_mutex_trylock(&port->event_mutex))
        return;
    return_sockets(port);
    pthread_mutex_unlock(&port->event_mutex);
}

void sv_event_source_pause(struct sv_netdev_port *port)
{
    pthread_mutex_lock(&port->event_mutex);
    if (atomic_load(&port->sockets_epoll_fd) == port->rx_thread_epoll_fd)
        (void)move_sockets(port, -1);
    pthread_mutex_unlock(&port->event_mutex);
}

void sv_event_source_resume(struct sv_netdev_port *port)
{
    pthread_mutex_lock(&port->event_mutex);
    /* A channel that is armed later checks by itself. */
    if (atomic_load(&port->device->armed_channels) <= 0)
        atomic_store(&port->rx_thread_must_retry, false);
    else if (atomic_load(&port->sockets_epoll_fd) < 0)
        (void)move_sockets(port, port->rx_thread_epoll_fd);
    pthread_mutex_unlock(&port->event_mutex);
}

void sv_receive_thread_wake(struct sv_netdev_port *port)
{
    const uint64_t one = 1;
    while (write(port->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}
