/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receive thread: wakes sleepers when frames arrive, and follows the interface's state. See receive.h and
 * netdev_port.h.
 */
#define _GNU_SOURCE
#include "netdev_port.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The receive thread checks the rings every CHECK_MILLIS. A stalled ring loses frames for at most twice that time. */
enum { PAUSE_NANOS = 100000, MAX_EVENTS = 4, RETRY_MILLIS = 10, CHECK_MILLIS = 100 };

static void pause_briefly(void)
{
    struct timespec pause = {.tv_nsec = PAUSE_NANOS};
    nanosleep(&pause, NULL);
}

/* ---- frames ---- */

/* A socket of an interface that went down stays ready until its error is read. */
static void clear_socket_errors(struct sv_netdev_port *port)
{
    for (uint32_t i = 0; i < port->receiver_count; i++) {
        int error;
        socklen_t size = sizeof error;
        (void)!getsockopt(port->receivers[i]->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
}

static void handle_frames(struct sv_netdev_port *port)
{
    static _Thread_local uint64_t polled_before;
    unsigned moved = 0;
    sv_event_source_pause(port);
    for (unsigned burst = 1; burst > 0 && !atomic_load(&port->stopping); moved += burst)
        burst = port->kind->drain(port);
    if (moved == 0)
        clear_socket_errors(port);
    if (atomic_load(&port->device->armed_channels) <= 0) {
        if (atomic_load(&port->rx_thread_must_retry))
            sv_event_source_resume(port);
        return;
    }
    /* One thread sleeps while another polls. The poller moves the frames for both, so wait briefly. */
    uint64_t polled = atomic_load_explicit(&port->polled_work, memory_order_relaxed);
    if (polled != polled_before)
        pause_briefly();
    polled_before = polled;
    sv_event_source_resume(port);
}

static uint64_t now_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void check_receivers(struct sv_netdev_port *port, uint64_t *last_check_millis)
{
    uint64_t now = now_millis();
    if (now - *last_check_millis < CHECK_MILLIS)
        return;
    *last_check_millis = now;
    sv_netdev_port_check_receivers(port);
}

/* Messages make it due at once. A failed attempt is repeated. */
static void update_legs(struct sv_netdev_port *port)
{
    uint64_t now = now_millis();
    if (port->legs_due_millis != 0 && port->legs_due_millis <= now && !atomic_load(&port->stopping))
        port->legs_due_millis = port->kind->update_legs(port, now);
}

static void clear_wake(const struct sv_netdev_port *port)
{
    uint64_t kicks;
    (void)!read(port->wake_fd, &kicks, sizeof kicks);
}

/* ---- life ---- */

static void *run_rx_thread(void *argument)
{
    struct sv_netdev_port *port = argument;
    struct epoll_event events[MAX_EVENTS];
    uint64_t last_check_millis = now_millis();
    while (!atomic_load(&port->stopping)) {
        bool arrived = atomic_load(&port->rx_thread_must_retry);
        int count = epoll_wait(port->rx_thread_epoll_fd, events, MAX_EVENTS, arrived ? RETRY_MILLIS : CHECK_MILLIS);
        for (int i = 0; i < count && !atomic_load(&port->stopping); i++) {
            arrived |= events[i].data.u32 == SV_EVENT_SOCKET;
            if (events[i].data.u32 == SV_EVENT_LINK)
                sv_link_process(port);
            if (events[i].data.u32 == SV_EVENT_WAKE)
                clear_wake(port);
        }
        sv_netdev_port_update_steering_mac(port);
        update_legs(port);
        if (arrived && !atomic_load(&port->stopping))
            handle_frames(port);
        check_receivers(port, &last_check_millis);
    }
    return NULL;
}

int sv_netdev_port_start(struct sv_netdev_port *port)
{
    int error = sv_link_open(port);
    if (error == 0)
        error = sv_event_source_add(port->rx_thread_epoll_fd, port->netlink_fd, SV_EVENT_LINK);
    if (error == 0)
        error = sv_event_source_add(port->rx_thread_epoll_fd, port->wake_fd, SV_EVENT_WAKE);
    if (error != 0)
        return error;
    error = sv_thread_start(&port->rx_thread, run_rx_thread, port, "softverbs-rx");
    port->rx_thread_runs = error == 0;
    return error;
}

void sv_netdev_port_stop(struct sv_netdev_port *port)
{
    atomic_store(&port->stopping, true);
    if (!port->rx_thread_runs)
        return;
    sv_receive_thread_wake(port);
    sv_thread_join(port->rx_thread);
    port->rx_thread_runs = false;
}
