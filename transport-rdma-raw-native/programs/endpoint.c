/* SPDX-License-Identifier: Apache-2.0 */
/* See endpoint.h. */
#define _GNU_SOURCE
#include "endpoint.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

void die(const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(error));
    exit(1);
}

double now_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void pin_to(unsigned n)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && n-- == 0) {
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
    }
}

/* ---- setting up ---- */

struct ibv_context *open_device(const char *name)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (list == NULL)
        die("ibv_get_device_list", errno);
    for (int i = 0; i < count; i++) {
        if (strcmp(ibv_get_device_name(list[i]), name) == 0) {
            struct ibv_context *context = ibv_open_device(list[i]);
            if (context == NULL)
                die("ibv_open_device", errno);
            ibv_free_device_list(list);
            return context;
        }
    }
    fprintf(stderr, "%s: no device %s; there are:", program_invocation_short_name, name);
    for (int i = 0; i < count; i++)
        fprintf(stderr, " %s", ibv_get_device_name(list[i]));
    fprintf(stderr, "\n");
    exit(1);
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

static void link_lists(struct endpoint *endpoint)
{
    for (unsigned i = 0; i < MAX_BURST; i++) {
        endpoint->recv_sge[i] = (struct ibv_sge){.length = SLOT_BYTES, .lkey = endpoint->mr->lkey};
        endpoint->recv[i] = (struct ibv_recv_wr){.sg_list = &endpoint->recv_sge[i], .num_sge = 1};
        endpoint->send_sge[i] = (struct ibv_sge){.lkey = endpoint->mr->lkey};
        endpoint->send[i] = (struct ibv_send_wr){.sg_list = &endpoint->send_sge[i], .num_sge = 1,
                                                 .opcode = IBV_WR_SEND, .wr_id = UINT64_MAX};
    }
}

void post_receives(struct endpoint *endpoint, const uint64_t *slots, unsigned count)
{
    struct ibv_recv_wr *bad;
    for (unsigned i = 0; i < count; i++) {
        endpoint->recv[i].wr_id = slots[i];
        endpoint->recv[i].next = i + 1 < count ? &endpoint->recv[i + 1] : NULL;
        endpoint->recv_sge[i].addr = slots[i];
    }
    int error = ibv_post_recv(endpoint->qp, endpoint->recv, &bad);
    if (error != 0)
        die("ibv_post_recv", error);
}

void endpoint_create(struct endpoint *endpoint, struct ibv_context *context, struct ibv_pd *pd,
                     struct ibv_flow_attr *rule)
{
    const size_t bytes = (size_t)(QUEUE_ENTRIES + MAX_BURST) * SLOT_BYTES;
    endpoint->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (endpoint->memory == MAP_FAILED)
        die("mmap", errno);
    memset(endpoint->memory, 0, bytes);
    endpoint->mr = ibv_reg_mr(pd, endpoint->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
    if (endpoint->mr == NULL)
        die("ibv_reg_mr", errno);
    endpoint->cq = ibv_create_cq(context, 2 * QUEUE_ENTRIES, NULL, NULL, 0);
    if (endpoint->cq == NULL)
        die("ibv_create_cq", errno);
    struct ibv_qp_init_attr attr = {
        .send_cq = endpoint->cq, .recv_cq = endpoint->cq, .qp_type = IBV_QPT_RAW_PACKET,
        .cap = {.max_send_wr = QUEUE_ENTRIES, .max_recv_wr = QUEUE_ENTRIES, .max_send_sge = 1, .max_recv_sge = 1},
    };
    endpoint->qp = ibv_create_qp(pd, &attr);
    if (endpoint->qp == NULL)
        die("ibv_create_qp", errno);
    to_ready(endpoint->qp);
    if (rule != NULL) {
        endpoint->flow = ibv_create_flow(endpoint->qp, rule);
        if (endpoint->flow == NULL)
            die("ibv_create_flow", errno);
    }
    link_lists(endpoint);
    for (unsigned i = 0; i < QUEUE_ENTRIES; i += MAX_BURST) {
        uint64_t slots[MAX_BURST];
        for (unsigned j = 0; j < MAX_BURST; j++)
            slots[j] = (uint64_t)(uintptr_t)(endpoint->memory + (size_t)(i + j) * SLOT_BYTES);
        post_receives(endpoint, slots, MAX_BURST);
    }
}

void endpoint_destroy(struct endpoint *endpoint)
{
    if (endpoint->flow != NULL)
        ibv_destroy_flow(endpoint->flow);
    ibv_destroy_qp(endpoint->qp);
    ibv_destroy_cq(endpoint->cq);
    ibv_dereg_mr(endpoint->mr);
    munmap(endpoint->memory, (size_t)(QUEUE_ENTRIES + MAX_BURST) * SLOT_BYTES);
}

/* ---- traffic ---- */

void check_status(const struct ibv_wc *wc)
{
    if (wc->status != IBV_WC_SUCCESS) {
        fprintf(stderr, "%s: completion: %s\n", program_invocation_short_name,
                ibv_wc_status_str(wc->status));
        exit(1);
    }
}

void send_list(struct endpoint *endpoint, unsigned count)
{
    struct ibv_send_wr *bad;
    for (unsigned i = 0; i < count; i++) {
        endpoint->send[i].next = i + 1 < count ? &endpoint->send[i + 1] : NULL;
        endpoint->send[i].send_flags = i + 1 < count ? 0 : IBV_SEND_SIGNALED;
    }
    int error = ibv_post_send(endpoint->qp, endpoint->send, &bad);
    if (error != 0)
        die("ibv_post_send", error);
}

static void swap_macs(uint8_t *frame)
{
    uint8_t macs[12];
    memcpy(macs, frame, 12);
    memcpy(frame, macs + 6, 6);
    memcpy(frame + 6, macs, 6);
}

/* The slots return to the receive queue when the send completes. */
unsigned echo_frames(struct endpoint *echoer, unsigned burst)
{
    struct ibv_wc wc[MAX_BURST];
    uint64_t slots[MAX_BURST];
    unsigned frames = 0, done = 0;
    int count = ibv_poll_cq(echoer->cq, (int)burst, wc);
    if (count <= 0)
        return 0;
    for (int i = 0; i < count; i++) {
        check_status(&wc[i]);
        if (!(wc[i].opcode & IBV_WC_RECV)) {
            done += (unsigned)wc[i].wr_id;
            continue;
        }
        swap_macs((uint8_t *)(uintptr_t)wc[i].wr_id);
        echoer->send_sge[frames].addr = wc[i].wr_id;
        echoer->send_sge[frames++].length = wc[i].byte_len;
        echoer->in_send[echoer->in_send_head++ % QUEUE_ENTRIES] = wc[i].wr_id;
    }
    while (done > 0) {
        unsigned n = 0;
        for (; n < MAX_BURST && done > 0; n++, done--)
            slots[n] = echoer->in_send[echoer->in_send_tail++ % QUEUE_ENTRIES];
        post_receives(echoer, slots, n);
    }
    if (frames > 0) {
        echoer->send[frames - 1].wr_id = frames;    /* number of sends that this completion covers */
        send_list(echoer, frames);
    }
    return frames;
}
