/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures ibv_req_notify_cq(), which event loops call before each sleep, while another thread adds and removes flow
 * rules. The rules have PRIORITIES different priorities, so subtables come and go and the provider needs grace periods.
 *   SOFTVERBS_DEVICES=xdp:veth0 LD_LIBRARY_PATH=target/native/lib target/native/arming xdp:veth0 [RULES_PER_SECOND
 *     [SECONDS]]
 */
#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_PORT = 20000, PORTS = 1000, PRIORITIES = 16, KEPT = 8, SAMPLES = 4000000 };

struct udp_rule {
    struct ibv_flow_attr attr;
    struct ibv_flow_spec_tcp_udp udp;
};

static struct ibv_qp *queue_pair;
static double rules_per_second = 1000, seconds = 10;
static _Atomic bool ends;
static unsigned changes;

static struct ibv_flow *add_rule(uint16_t port, unsigned priority)
{
    struct udp_rule rule;
    memset(&rule, 0, sizeof rule);
    rule.attr.type = IBV_FLOW_ATTR_NORMAL;
    rule.attr.size = sizeof rule;
    rule.attr.priority = (uint16_t)priority;
    rule.attr.num_of_specs = 1;
    rule.attr.port = 1;
    rule.udp.type = IBV_FLOW_SPEC_UDP;
    rule.udp.size = sizeof rule.udp;
    rule.udp.val.dst_port = htons(port);
    rule.udp.mask.dst_port = 0xffff;
    struct ibv_flow *flow = ibv_create_flow(queue_pair, &rule.attr);
    if (flow == NULL)
        die("ibv_create_flow", errno);
    return flow;
}

static void *change_rules(void *unused)
{
    struct ibv_flow *flow[KEPT] = {NULL};
    double next = now_seconds();
    for (unsigned i = 0; !atomic_load(&ends); i++) {
        if (flow[i % KEPT] != NULL && ibv_destroy_flow(flow[i % KEPT]) != 0)
            die("ibv_destroy_flow", errno);
        flow[i % KEPT] = add_rule((uint16_t)(FIRST_PORT + i % PORTS), i % PRIORITIES);
        changes += i < KEPT ? 1 : 2;
        next += 2 / rules_per_second;
        double left = next - now_seconds();
        struct timespec pause = {.tv_nsec = left > 0 ? (long)(left * 1e9) % 1000000000 : 0};
        if (left > 0)
            nanosleep(&pause, NULL);
    }
    for (unsigned i = 0; i < KEPT; i++)
        if (flow[i] != NULL)
            ibv_destroy_flow(flow[i]);
    return unused;
}

static uint64_t nanos(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return (first > second) - (first < second);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        die("usage: arming DEVICE [RULES_PER_SECOND [SECONDS]]", EINVAL);
    rules_per_second = argc > 2 ? atof(argv[2]) : rules_per_second;
    seconds = argc > 3 ? atof(argv[3]) : seconds;
    struct ibv_context *context = open_device(argv[1]);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *cq = channel == NULL ? NULL : ibv_create_cq(context, 64, NULL, channel, 0);
    uint32_t *sample = malloc(SAMPLES * sizeof *sample);
    if (pd == NULL || cq == NULL || sample == NULL)
        die("completion queue", errno);
    struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET,
                                    .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    queue_pair = ibv_create_qp(pd, &attr);
    if (queue_pair == NULL)
        die("ibv_create_qp", errno);
    struct ibv_flow *kept = add_rule(FIRST_PORT - 1, 0);
    pthread_t changer;
    if (pthread_create(&changer, NULL, change_rules, NULL) != 0)
        die("pthread_create", errno);
    unsigned count = 0;
    double begun = now_seconds();
    for (double end = begun + seconds; count < SAMPLES && now_seconds() < end; count++) {
        uint64_t before = nanos();
        if (ibv_req_notify_cq(cq, 0) != 0)
            die("ibv_req_notify_cq", errno);
        uint64_t took = nanos() - before;
        sample[count] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
        const struct timespec pause = {.tv_nsec = 1000};
        nanosleep(&pause, NULL);
    }
    double took = now_seconds() - begun;
    atomic_store(&ends, true);
    pthread_join(changer, NULL);
    ibv_destroy_flow(kept);
    qsort(sample, count, sizeof *sample, compare);
    printf("%u armings beside %.0f rules/s: p50 %.2f us, p99 %.2f us, p99.9 %.2f us, max %.0f us\n", count,
           changes / took, sample[count / 2] / 1e3, sample[(uint64_t)count * 99 / 100] / 1e3,
           sample[(uint64_t)count * 999 / 1000] / 1e3,
           sample[count - 1] / 1e3);
    return 0;
}
