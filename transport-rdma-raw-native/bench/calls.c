/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ibv_post_send, ibv_post_recv and ibv_poll_cq of libmlx5 cost a C program, per frame of a burst, on an emulated
 * ConnectX that stands still meanwhile: the reference for the rings that Java writes in place.
 *
 *   calls-bench send|receive [DEVICE [BURSTS [FRAME_BYTES]]]
 *
 * To be run under connectx-emulator/emulate.sh. The last line is a JSON object.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BURST 64
#define DEPTH 1024
#define SLOTS (2 * DEPTH)
#define SLOT_BYTES 2048
#define SIGNAL_INTERVAL 32

struct bench {
    const char *device;
    uint32_t frame_bytes;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *memory;
    struct ibv_send_wr send[BURST];
    struct ibv_recv_wr receive[BURST];
    struct ibv_sge elements[BURST];
    uint64_t next_slot;
    int (*step)(const char *device, uint32_t requests, uint32_t *done);
    int (*inject)(const char *device, const void *frame, uint32_t length);
};

static void die(const char *what, int error)
{
    fprintf(stderr, "calls-bench: %s: %s\n", what, strerror(error));
    exit(1);
}

static void *emulator_function(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL) {
        fprintf(stderr, "calls-bench: run it under connectx-emulator/emulate.sh\n");
        exit(1);
    }
    return function;
}

static struct ibv_context *open_device(const char *name)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; i < count; i++) {
        if (strcmp(ibv_get_device_name(list[i]), name) == 0) {
            struct ibv_context *context = ibv_open_device(list[i]);
            if (context == NULL)
                die("ibv_open_device", errno);
            ibv_free_device_list(list);
            return context;
        }
    }
    die(name, ENODEV);
    return NULL;
}

static void to_ready(struct ibv_qp *qp)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS};
    int error = ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PORT);
    if (error == 0)
        error = ibv_modify_qp(qp, &rtr, IBV_QP_STATE);
    if (error == 0)
        error = ibv_modify_qp(qp, &rts, IBV_QP_STATE);
    if (error != 0)
        die("ibv_modify_qp", error);
}

static void steer(struct ibv_qp *qp, const uint8_t *mac)
{
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
    if (ibv_create_flow(qp, &rule.attr) == NULL)
        die("ibv_create_flow", errno);
}

static uint8_t *next_slot(struct bench *bench)
{
    return bench->memory + (size_t)(bench->next_slot++ % SLOTS) * SLOT_BYTES;
}

static void post_receives(struct bench *bench)
{
    struct ibv_recv_wr *bad;
    for (unsigned i = 0; i < BURST; i++)
        bench->receive[i].wr_id = bench->elements[i].addr;
    int error = ibv_post_recv(bench->qp, bench->receive, &bad);
    if (error != 0)
        die("ibv_post_recv", error);
}

static void open_queue(struct bench *bench, const uint8_t *mac)
{
    struct ibv_context *context = open_device(bench->device);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    const size_t bytes = (size_t)SLOTS * SLOT_BYTES;
    if (pd == NULL)
        die("ibv_alloc_pd", errno);
    bench->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (bench->memory == MAP_FAILED)
        die("mmap", errno);
    bench->mr = ibv_reg_mr(pd, bench->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
    bench->cq = ibv_create_cq(context, 2 * DEPTH, NULL, NULL, 0);
    if (bench->mr == NULL || bench->cq == NULL)
        die("ibv_reg_mr or ibv_create_cq", errno);
    struct ibv_qp_init_attr attr = {
        .send_cq = bench->cq, .recv_cq = bench->cq, .qp_type = IBV_QPT_RAW_PACKET,
        .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 4, .max_recv_sge = 1},
    };
    bench->qp = ibv_create_qp(pd, &attr);
    if (bench->qp == NULL)
        die("ibv_create_qp", errno);
    to_ready(bench->qp);
    steer(bench->qp, mac);
    for (unsigned i = 0; i < BURST; i++) {
        struct ibv_sge *element = &bench->elements[i];
        *element = (struct ibv_sge){.length = SLOT_BYTES, .lkey = bench->mr->lkey};
        bench->receive[i] = (struct ibv_recv_wr){.sg_list = element, .num_sge = 1,
                                                 .next = i + 1 < BURST ? &bench->receive[i + 1] : NULL};
        bench->send[i] = (struct ibv_send_wr){.sg_list = element, .num_sge = 1, .opcode = IBV_WR_SEND,
                                              .next = i + 1 < BURST ? &bench->send[i + 1] : NULL,
                                              .send_flags = (i + 1) % SIGNAL_INTERVAL == 0 ? IBV_SEND_SIGNALED : 0};
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
    int count = ibv_poll_cq(bench->cq, BURST, wc);
    for (int i = 0; i < count; i++)
        if (wc[i].status != IBV_WC_SUCCESS)
            die(ibv_wc_status_str(wc[i].status), EIO);
    return count;
}

static double send_burst(struct bench *bench, const uint8_t *frame)
{
    struct ibv_wc wc[BURST];
    struct ibv_send_wr *bad;
    uint8_t *slots[BURST];
    for (unsigned i = 0; i < BURST; i++) {
        slots[i] = next_slot(bench);
        memcpy(slots[i], frame, bench->frame_bytes);
    }
    double start = now_nanos();
    for (unsigned i = 0; i < BURST; i++) {
        bench->elements[i].addr = (uint64_t)(uintptr_t)slots[i];
        bench->elements[i].length = bench->frame_bytes;
    }
    int error = ibv_post_send(bench->qp, bench->send, &bad);
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
    for (unsigned i = 0; i < BURST; i++)
        bench->inject(bench->device, frame, bench->frame_bytes);
    work(bench);
    double start = now_nanos();
    int count = take(bench, wc);
    for (int i = 0; i < count; i++)
        bench->elements[i].addr = wc[i].wr_id;
    if (count == BURST)
        post_receives(bench);
    double nanos = now_nanos() - start;
    if (count != BURST)
        die("frames are missing", EIO);
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
    if (!sends) {
        for (unsigned n = 0; n < DEPTH; n += BURST) {
            for (unsigned i = 0; i < BURST; i++)
                bench.elements[i].addr = (uint64_t)(uintptr_t)next_slot(&bench);
            post_receives(&bench);
        }
    } else {
        frame[5] = 7;       /* to nobody */
    }
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
