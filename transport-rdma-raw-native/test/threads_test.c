/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All operations at once: senders, a receiver that sleeps on its completion channel, rules and memory regions that are
 * added and removed. No frame of the steady flow may be lost, reordered or changed. Mainly for the thread sanitizer.
 */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SENDERS = 2, FRAMES = 20000, WINDOW = 8 };

struct stress {
    struct world world;
    struct side receiver;
    struct side sender[SENDERS];
    struct ibv_comp_channel *channel;
    _Atomic uint32_t taken[SENDERS];
    _Atomic bool done;
    _Atomic int failures;
};

struct sender_argument {
    struct stress *stress;
    unsigned number;
};

/* Frames contain the sender and a sequence number. The window keeps the receive queue from running empty. */
static void *send_all(void *argument)
{
    struct stress *s = ((struct sender_argument *)argument)->stress;
    unsigned number = ((struct sender_argument *)argument)->number;
    struct side *side = &s->sender[number];
    struct frame_spec spec = default_frame();
    uint8_t frame[2048];
    struct ibv_wc wc;
    uint32_t length = build_frame(&spec, frame);
    for (uint32_t sequence = 0; sequence < FRAMES && atomic_load(&s->failures) == 0; sequence++) {
        while (sequence - atomic_load(&s->taken[number]) >= WINDOW && atomic_load(&s->failures) == 0)
            ;
        frame[42] = (uint8_t)number;
        memcpy(frame + 43, &sequence, 4);
        if (send_frame(side, frame, length, IBV_SEND_SIGNALED) != 0)
            atomic_fetch_add(&s->failures, 1);
        if (ibv_poll_cq(side->cq, 1, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
            atomic_fetch_add(&s->failures, 1);
    }
    return NULL;
}

static void take(struct stress *s, const struct ibv_wc *wc)
{
    const uint8_t *frame = slot_at(&s->receiver, (unsigned)wc->wr_id);
    uint32_t sequence;
    memcpy(&sequence, frame + 43, 4);
    unsigned number = frame[42];
    if (wc->status != IBV_WC_SUCCESS || number >= SENDERS || sequence != atomic_load(&s->taken[number])) {
        atomic_fetch_add(&s->failures, 1);
        return;
    }
    if (post_recv_slot(&s->receiver, (unsigned)wc->wr_id, SLOT_BYTES) != 0)
        atomic_fetch_add(&s->failures, 1);
    atomic_store(&s->taken[number], sequence + 1);
}

/* Arms, polls once more and sleeps. A lost wakeup would hang here. */
static void *receive_all(void *argument)
{
    struct stress *s = argument;
    struct ibv_wc wc[4];
    struct ibv_cq *cq;
    void *context;
    uint32_t total = 0;
    while (total < SENDERS * FRAMES && atomic_load(&s->failures) == 0) {
        int count = ibv_poll_cq(s->receiver.cq, 4, wc);
        if (count == 0) {
            ibv_req_notify_cq(s->receiver.cq, 0);
            count = ibv_poll_cq(s->receiver.cq, 4, wc);
            if (count == 0) {
                ibv_get_cq_event(s->channel, &cq, &context);
                ibv_ack_cq_events(cq, 1);
            }
        }
        for (int i = 0; i < count; i++)
            take(s, &wc[i]);
        total += (uint32_t)count;
    }
    atomic_store(&s->done, true);
    return NULL;
}

/* Changes other rules, memory regions and counters. */
static void *disturb(void *argument)
{
    struct stress *s = argument;
    static uint8_t memory[8192];
    struct softverbs_counters counters;
    for (unsigned i = 0; !atomic_load(&s->done); i++) {
        struct rule rule;
        rule_init(&rule, (uint16_t)(i % 16));
        rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, (uint16_t)(3000 + i % 100));
        struct ibv_flow *flow = ibv_create_flow(s->receiver.qp, &rule.attr);
        struct ibv_mr *mr = ibv_reg_mr(s->world.pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
        if (flow == NULL || mr == NULL || ibv_destroy_flow(flow) != 0 || ibv_dereg_mr(mr) != 0 ||
            softverbs_query_counters(s->world.context, &counters) != 0)
            atomic_fetch_add(&s->failures, 1);
    }
    return NULL;
}

static void no_frame_is_lost(void)
{
    static struct stress s;
    struct sender_argument arguments[SENDERS];
    pthread_t senders[SENDERS], receiver, disturber;
    memset(&s, 0, sizeof s);
    world_open(&s.world);
    side_open(&s.world, &s.receiver);
    CHECK_EQ(0, ibv_destroy_qp(s.receiver.qp));
    CHECK_EQ(0, ibv_destroy_cq(s.receiver.cq));
    s.channel = ibv_create_comp_channel(s.world.context);
    s.receiver.cq = ibv_create_cq(s.world.context, 64, NULL, s.channel, 0);
    s.receiver.qp = qp_create(&s.world, s.receiver.cq);
    to_ready(s.receiver.qp);
    struct ibv_flow *flow = steer_mac(&s.receiver, mac_b);
    for (unsigned i = 0; i < 16; i++)
        CHECK_EQ(0, post_recv_slot(&s.receiver, i, SLOT_BYTES));
    CHECK_EQ(0, pthread_create(&receiver, NULL, receive_all, &s));
    CHECK_EQ(0, pthread_create(&disturber, NULL, disturb, &s));
    for (unsigned i = 0; i < SENDERS; i++) {
        side_open(&s.world, &s.sender[i]);
        arguments[i] = (struct sender_argument){&s, i};
        CHECK_EQ(0, pthread_create(&senders[i], NULL, send_all, &arguments[i]));
    }
    for (unsigned i = 0; i < SENDERS; i++)
        pthread_join(senders[i], NULL);
    pthread_join(receiver, NULL);
    pthread_join(disturber, NULL);
    CHECK_EQ(0, atomic_load(&s.failures));
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(s.world.context, &counters));
    CHECK_EQ(SENDERS * FRAMES, counters.sent.frames);
    CHECK_EQ(SENDERS * FRAMES, counters.received.frames);
    CHECK_EQ(0, counters.received.no_receive);
    CHECK_EQ(0, counters.sent.no_match);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    for (unsigned i = 0; i < SENDERS; i++)
        side_close(&s.sender[i]);
    side_close(&s.receiver);
    CHECK_EQ(0, ibv_destroy_comp_channel(s.channel));
    world_close(&s.world);
}

struct flapper {
    struct side *side;
    _Atomic bool stop;
};

static void *flap(void *argument)
{
    struct flapper *flapper = argument;
    struct ibv_wc wc[16];
    for (int i = 0; i < 3000; i++) {
        struct ibv_qp *qp = flapper->side->qp;
        to_state(qp, IBV_QPS_ERR);
        while (ibv_poll_cq(flapper->side->cq, 16, wc) > 0)
            ;
        to_state(qp, IBV_QPS_RESET);
        to_init(qp);
        for (unsigned slot = 0; slot < 8; slot++)
            post_recv_slot(flapper->side, slot, SLOT_BYTES);
        to_state(qp, IBV_QPS_RTR);
        to_state(qp, IBV_QPS_RTS);
    }
    atomic_store(&flapper->stop, true);
    return NULL;
}

/* A receiver is reset repeatedly while frames arrive. Every frame is received or counted. */
static void resets_race_with_frames(void)
{
    struct world world;
    struct side a, b;
    pthread_t thread;
    struct ibv_wc wc;
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    uint32_t length = build_frame(&spec, frame);
    world_open(&world);
    side_open(&world, &a);
    side_open(&world, &b);
    struct ibv_flow *flow = steer_mac(&b, mac_b);
    struct flapper flapper = {.side = &b};
    CHECK_EQ(0, pthread_create(&thread, NULL, flap, &flapper));
    uint64_t sent = 0;
    while (!atomic_load(&flapper.stop)) {
        CHECK_EQ(0, send_frame(&a, frame, length, IBV_SEND_SIGNALED));
        CHECK_EQ(1, ibv_poll_cq(a.cq, 1, &wc));
        CHECK_EQ(IBV_WC_SUCCESS, wc.status);
        sent++;
    }
    pthread_join(thread, NULL);
    struct softverbs_queue_counters received;
    CHECK_EQ(0, softverbs_query_qp_counters(b.qp, NULL, &received));
    CHECK_EQ(sent, received.frames + received.not_ready + received.no_receive);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&a);
    side_close(&b);
    world_close(&world);
}

const struct test thread_tests[] = {
    {"threads: no frame is lost", no_frame_is_lost},
    {"threads: resets race with frames", resets_race_with_frames},
    {NULL, NULL},
};
