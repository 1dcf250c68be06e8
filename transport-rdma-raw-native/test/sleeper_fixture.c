/* SPDX-License-Identifier: Apache-2.0 */
/* See sleeper_fixture.h. */
#define _GNU_SOURCE
#include "sleeper_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

void sleeper_open(struct sleeper_pair *pair, unsigned number)
{
    struct world *world = &pair->wire.world[1];
    struct sleeper *sleeper = &pair->sleeper[number];
    side_open(world, &sleeper->side);
    CHECK_EQ(0, ibv_destroy_qp(sleeper->side.qp));
    CHECK_EQ(0, ibv_destroy_cq(sleeper->side.cq));
    sleeper->channel = ibv_create_comp_channel(world->context);
    CHECK(sleeper->channel != NULL);
    CHECK_EQ(0, fcntl(sleeper->channel->fd, F_SETFL, O_NONBLOCK));
    sleeper->side.cq = ibv_create_cq(world->context, 256, sleeper, sleeper->channel, 0);
    sleeper->side.qp = qp_create(world, sleeper->side.cq);
    to_ready(sleeper->side.qp);
    sleeper->port = (uint16_t)(FIRST_PORT + number);
    sleeper->flow = udp_rule(&sleeper->side, sleeper->port);
}

void sleeper_close(struct sleeper *sleeper)
{
    CHECK_EQ(0, ibv_destroy_flow(sleeper->flow));
    side_close(&sleeper->side);
    CHECK_EQ(0, ibv_destroy_comp_channel(sleeper->channel));
}

void sleeper_pair_open(struct sleeper_pair *pair, const char *kind)
{
    pair->slot = 0;
    wire_open(&pair->wire, kind, 1500, 1);
    for (unsigned i = 0; i < 2; i++)
        sleeper_open(pair, i);
}

void sleeper_pair_close(struct sleeper_pair *pair)
{
    for (unsigned i = 0; i < 2; i++)
        sleeper_close(&pair->sleeper[i]);
    wire_close(&pair->wire);
}

void send_to(struct sleeper_pair *pair, const struct sleeper *sleeper)
{
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    spec.dst_port = sleeper->port;
    uint32_t length = build_frame(&spec, frame);
    CHECK_EQ(0, send_frame(&pair->wire.side[0], frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(pair->wire.side[0].cq).status);
}

void arm(struct sleeper *sleeper)
{
    CHECK_EQ(0, ibv_req_notify_cq(sleeper->side.cq, 0));
}

bool is_readable(const struct sleeper *sleeper)
{
    struct pollfd readable = {.fd = sleeper->channel->fd, .events = POLLIN};
    return poll(&readable, 1, 0) == 1;
}

void await_event(struct sleeper *sleeper)
{
    struct ibv_cq *cq;
    void *context;
    int error;
    do {
        struct pollfd readable = {.fd = sleeper->channel->fd, .events = POLLIN};
        CHECK_EQ(1, poll(&readable, 1, PATIENCE_MILLIS));
        error = ibv_get_cq_event(sleeper->channel, &cq, &context);
        CHECK(error == 0 || errno == EAGAIN);
    } while (error != 0);
    CHECK(cq == sleeper->side.cq && context == sleeper);
    ibv_ack_cq_events(cq, 1);
}

void check_no_event(struct sleeper *sleeper)
{
    struct ibv_cq *cq;
    void *context;
    CHECK_EQ(-1, ibv_get_cq_event(sleeper->channel, &cq, &context));
    CHECK_EQ(EAGAIN, errno);
}

void sleep_for_frame(struct sleeper_pair *pair, struct sleeper *sleeper)
{
    CHECK_EQ(0, post_recv_slot(&sleeper->side, pair->slot++ % 16, SLOT_BYTES));
    arm(sleeper);
    check_empty(sleeper->side.cq);
    send_to(pair, sleeper);
    await_event(sleeper);
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(sleeper->side.cq).status);
}

static uint64_t monotonic_nanos(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct thread_sleeps thread_sleeps(void)
{
    struct thread_sleeps sleeps = {0, monotonic_nanos()};
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
        char path[300], line[256];
        bool ours = false;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *status = fopen(path, "r");
        while (status != NULL && fgets(line, sizeof line, status) != NULL) {
            long count;
            ours |= strcmp(line, "Name:\tsoftverbs-rx\n") == 0;
            if (ours && sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1)
                sleeps.count += count;
        }
        if (status != NULL)
            fclose(status);
    }
    closedir(tasks);
    return sleeps;
}

long thread_wakeups_since(struct thread_sleeps before)
{
    enum { THREADS = 2, CHECK_NANOS = 100000000 };
    struct thread_sleeps now = thread_sleeps();
    return now.count - before.count - THREADS * ((long)((now.nanos - before.nanos) / CHECK_NANOS) + 1);
}

void settle(struct sleeper_pair *pair, struct sleeper *sleeper)
{
    for (int i = 0; i < SETTLING_EVENTS; i++)
        sleep_for_frame(pair, sleeper);
}
