/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receive thread: wakes sleepers when frames arrive, and follows the interface's state. See receive.h and wire.h.
 */
#define _GNU_SOURCE
#include "wire.h"

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
static void clear_socket_errors(struct sv_wire *wire)
{
    for (uint32_t i = 0; i < wire->receiver_count; i++) {
        int error;
        socklen_t size = sizeof error;
        (void)!getsockopt(wire->receivers[i]->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
}

static void handle_frames(struct sv_wire *wire)
{
    static _Thread_local uint64_t polled_before;
    unsigned moved = 0;
    sv_event_source_pause(wire);
    for (unsigned burst = 1; burst > 0 && !atomic_load(&wire->stopping); moved += burst)
        burst = wire->kind->drain(wire);
    if (moved == 0)
        clear_socket_errors(wire);
    if (atomic_load(&wire->device->armed_channels) <= 0) {
        if (atomic_load(&wire->rx_thread_retries))
            sv_event_source_resume(wire);
        return;
    }
    /* One thread sleeps while another polls. The poller moves the frames for both, so wait briefly. */
    uint64_t polled = atomic_load_explicit(&wire->polled_frames, memory_order_relaxed);
    if (polled != polled_before)
        pause_briefly();
    polled_before = polled;
    sv_event_source_resume(wire);
}

static uint64_t now_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void check_receivers(struct sv_wire *wire, uint64_t *last)
{
    uint64_t now = now_millis();
    if (now - *last < CHECK_MILLIS)
        return;
    *last = now;
    sv_wire_check_receivers(wire);
}

static void clear_wake(const struct sv_wire *wire)
{
    uint64_t kicks;
    (void)!read(wire->wake_fd, &kicks, sizeof kicks);
}

/* ---- life ---- */

static void *run_rx_thread(void *argument)
{
    struct sv_wire *wire = argument;
    struct epoll_event events[MAX_EVENTS];
    uint64_t checked = now_millis();
    while (!atomic_load(&wire->stopping)) {
        bool arrived = atomic_load(&wire->rx_thread_retries);
        int count = epoll_wait(wire->epoll_fd, events, MAX_EVENTS, arrived ? RETRY_MILLIS : CHECK_MILLIS);
        for (int i = 0; i < count && !atomic_load(&wire->stopping); i++) {
            arrived |= events[i].data.u32 == SV_EVENT_SOCKET;
            if (events[i].data.u32 == SV_EVENT_LINK)
                sv_link_process(wire);
            if (events[i].data.u32 == SV_EVENT_WAKE)
                clear_wake(wire);
        }
        sv_wire_update_steering_mac(wire);
        if (arrived && !atomic_load(&wire->stopping))
            handle_frames(wire);
        check_receivers(wire, &checked);
    }
    return NULL;
}

int sv_wire_start(struct sv_wire *wire)
{
    int error = sv_link_open(wire);
    if (error == 0)
        error = sv_event_source_add(wire->epoll_fd, wire->netlink_fd, SV_EVENT_LINK);
    if (error == 0)
        error = sv_event_source_add(wire->epoll_fd, wire->wake_fd, SV_EVENT_WAKE);
    if (error != 0)
        return error;
    error = sv_thread_start(&wire->rx_thread, run_rx_thread, wire, "softverbs-wire");
    wire->rx_thread_runs = error == 0;
    return error;
}

void sv_wire_stop(struct sv_wire *wire)
{
    atomic_store(&wire->stopping, true);
    if (!wire->rx_thread_runs)
        return;
    sv_receive_thread_wake(wire);
    sv_thread_join(wire->rx_thread);
    wire->rx_thread_runs = false;
}
