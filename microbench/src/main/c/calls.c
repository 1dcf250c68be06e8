/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what ibv_post_send, ibv_post_recv and ibv_poll_cq of libmlx5 cost a C program, per frame of a burst, on a
 * stopped emulated ConnectX. This is the reference for the rings that Java writes in place.
 *   calls-bench send|receive [DEVICE [BURSTS [FRAME_BYTES]]]
 *
 * Runs under connectx-emulator/emulate.sh. The last line is a JSON object.
 */
#define _GNU_SOURCE
#include "endpoint.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BURST = MAX_BURST, SIGNAL_INTERVAL = 32 };

/* The lists are linked once. The measured code fills in addresses and posts. */
struct bench {
    const char *device;
    uint32_t frame_bytes;
    struct endpoint endpoint;
    int (*step)(const char *device, uint32_t requests, uint32_t *done);
    int (*inject)(const char *device, const void *frame, uint32_t length);
};

static void *emulator_function(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL) {
        fprintf(stderr, "calls-bench: run it under connectx-emulator/emulate.sh\n");
        exit(1);
    }
    return function;
}

static void open_queue(struct bench *bench, const uint8_t *mac)
{
    struct endpoint *endpoint = &bench->endpoint;
    struct {
        struct ibv_flow_attr attr;
        struct ibv_flow_spec_eth eth;
    } rule;
    memset(&rule, 0, sizeof rule);
    rule.attr = (struct ibv_flow_attr){.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof rule, .num_of_specs = 1, .port = 1};
    rule.eth.type = IBV_FLOW_SPEC_ETH;
    rule.eth.size = sizeof rule.eth;
    memcpy(rule.eth.val.dst_mac, mac, 6);
    memset(rule.eth.mask.dst_mac, 0xff, 6);
    struct ibv_context *context = open_device(bench->device);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    if (pd == NULL)
        die("ibv_alloc_pd", errno);
    endpoint_create(endpoint, context, pd, &rule.attr);
    for (unsigned i = 0; i < BURST; i++) {
        endpoint->recv[i].next = i + 1 < BURST ? &endpoint->recv[i + 1] : NULL;
        endpoint->send[i].next = i + 1 < BURST ? &endpoint->send[i + 1] : NULL;
        endpoint->send[i].send_flags = (i + 1) % SIGNAL_INTERVAL == 0 ? IBV_SEND_SIGNALED : 0;
    }
}

static double now_nanos(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void work(struct bench *bench)
{
    uint32_t done;
    do
        bench->step(bench->device, INT32_MAX, &done);
    while (done > 0);
}

static int take(struct bench *bench, struct ibv_wc *wc)
{
    int count = ibv_poll_cq(bench->endpoint.cq, BURST, wc);
    for (int i = 0; i < count; i++)
        check_status(&wc[i]);
    return count;
}

/* All bursts use the same slots, as with a pool that reuses the last returned slots first. */
static double send_burst(struct bench *bench, const uint8_t *frame)
{
    struct ibv_wc wc[BURST];
    struct ibv_send_wr *bad;
    uint8_t *slots[BURST];
    for (unsigned i = 0; i < BURST; i++) {
        slots[i] = send_slot(&bench->endpoint, i);
        memcpy(slots[i], frame, bench->frame_bytes);
    }
    double start = now_nanos();
    for (unsigned i = 0; i < BURST; i++) {
        bench->endpoint.send_sge[i].addr = (uint64_t)(uintptr_t)slots[i];
        bench->endpoint.send_sge[i].length = bench->frame_bytes;
    }
    int error = ibv_post_send(bench->endpoint.qp, bench->endpoint.send, &bad);
    double posted = now_nanos();
    if (error != 0)
        die("ibv_post_send", error);
    work(bench);
    double polled = now_nanos();
    take(bench, wc);
    return now_nanos() - polled + posted - start;
}

static double receive_burst(struct bench *bench, const uint8_t *frame)
{
    struct ibv_wc wc[BURST];
    struct endpoint *endpoint = &bench->endpoint;
    struct ibv_recv_wr *bad;
    int error = 0;
    for (unsigned i = 0; i < BURST; i++)
        bench->inject(bench->device, frame, bench->frame_bytes);
    work(bench);
    double start = now_nanos();
    int count = take(bench, wc);
    for (int i = 0; i < count; i++)
        endpoint->recv[i].wr_id = endpoint->recv_sge[i].addr = wc[i].wr_id;
    if (count == BURST)
        error = ibv_post_recv(endpoint->qp, endpoint->recv, &bad);
    double nanos = now_nanos() - start;
    if (count != BURST)
        die("frames are missing", EIO);
    if (error != 0)
        die("ibv_post_recv", error);
    return nanos;
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference < 0 ? -1 : difference > 0;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    uint8_t frame[1514] = {2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 6, 0x88, 0xb5};
    if (argc < 2)
        die("send or receive?", EINVAL);
    int sends = strcmp(argv[1], "send") == 0;
    int (*stop)(const char *, int) = (int (*)(const char *, int))emulator_function("cxemu_set_stepping");
    bench.step = (int (*)(const char *, uint32_t, uint32_t *))emulator_function("cxemu_step");
    bench.inject = (int (*)(const char *, const void *, uint32_t))emulator_function("cxemu_inject");
    bench.device = argc > 2 ? argv[2] : "mlx5_0";
    size_t bursts = argc > 3 ? (size_t)atol(argv[3]) : 20000;
    bench.frame_bytes = argc > 4 ? (uint32_t)atoi(argv[4]) : 64;
    if (bursts == 0 || bench.frame_bytes < 60 || bench.frame_bytes > sizeof frame)
        die("bursts from 1 on, frames of 60 to 1514 bytes", EINVAL);
    open_queue(&bench, frame);
    stop(bench.device, 1);
    if (sends)
        frame[5] = 7;       /* an unused address */
    double *nanos = calloc(bursts, sizeof *nanos);
    if (nanos == NULL)
        die("calloc", ENOMEM);
    for (size_t b = 0; b < bursts; b++)
        nanos[b] = sends ? send_burst(&bench, frame) : receive_burst(&bench, frame);
    qsort(nanos, bursts, sizeof *nanos, compare);
    printf("{\"mode\": \"%s\", \"device\": \"%s\", \"frameLength\": %u, \"bursts\": %zu, \"nsPerFrame\": %.3f}\n",
           sends ? "send" : "receive", bench.device, bench.frame_bytes, bursts, nanos[bursts / 2] / BURST);
    free(nanos);
    return 0;
}
