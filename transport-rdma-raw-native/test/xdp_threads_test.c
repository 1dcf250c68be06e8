/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads poll a device on AF_XDP and read its counters, while SYNs and datagrams arrive from two processors;
 * or several threads send through one ring to threads that sleep. The payload of each frame repeats its number. No
 * frame may be lost, duplicated, reordered within its queue pair, or mixed with another.
 */
#define _GNU_SOURCE
#include "wire_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { THREADS = 4, KINDS = 2, SENDERS = 3, RECEIVES = 512, FEW_NUMBERS = 200000, WINDOW = 256, BURST = 16,
      MILLIS = 1500 };
enum { PORT = 2000, TCP_FLAGS = 47, SYN = 2 };
enum { PAYLOAD = 54, MIN_WORDS = 4, WORDS = 64 };     /* after either L4 header */

/* Maximum number of frames of each kind. With SOFTVERBS_TEST_FRAMES all of them are sent, however long that takes. */
static uint32_t wanted_numbers(void)
{
    const char *env_value = getenv("SOFTVERBS_TEST_FRAMES");
    return env_value == NULL ? FEW_NUMBERS : (uint32_t)strtoul(env_value, NULL, 10) / (KINDS * BURST) * BURST;
}

/* The SYNs or the datagrams of a device, and their receiver. Additional threads only poll. */
struct poller {
    pthread_t thread;
    struct world *world;
    struct ibv_comp_channel *channel;   /* channel on which it sleeps, or NULL if it always polls */
    int stopped;                        /* eventfd that ends its sleep */
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_flow *flow;
    struct ibv_mr *mr;
    uint8_t *memory;
    uint8_t *seen;
    uint32_t numbers;
    _Atomic uint32_t received;
    _Atomic bool *stop;
    unsigned twice;
    unsigned torn;
    unsigned misplaced;
};

static void post(struct poller *poller, uint64_t slot)
{
    struct ibv_sge sge = {(uintptr_t)poller->memory + slot * SLOT_BYTES, SLOT_BYTES, poller->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;
    if (ibv_post_recv(poller->qp, &wr, &bad) != 0)
        poller->torn++;
}

static void take(struct poller *poller, const struct ibv_wc *wc)
{
    const uint8_t *payload = poller->memory + wc->wr_id * SLOT_BYTES + PAYLOAD;
    uint32_t words = (wc->byte_len - PAYLOAD) / 4;
    uint32_t number, word;
    memcpy(&number, payload, 4);
    bool whole = wc->status == IBV_WC_SUCCESS && number < poller->numbers && words == MIN_WORDS + number % WORDS;
    for (uint32_t i = 0; whole && i < words; i++) {
        memcpy(&word, payload + 4 * i, 4);
        whole = word == number;
    }
    if (!whole)
        poller->torn++;
    else if (poller->seen[number]++ != 0)
        poller->twice++;
    poller->misplaced += whole && number != atomic_load(&poller->received);
    atomic_fetch_add(&poller->received, 1);
    post(poller, wc->wr_id);
}

static int take_all(struct poller *poller)
{
    struct ibv_wc wc[16];
    int count = ibv_poll_cq(poller->cq, 16, wc);
    for (int i = 0; i < count; i++)
        take(poller, &wc[i]);
    return count;
}

static void *run_poller(void *argument)
{
    struct poller *poller = argument;
    while (!atomic_load(poller->stop))
        take_all(poller);
    return NULL;
}

/* As in event loops, only an event wakes the thread, so a lost event becomes visible. */
static void *run_sleeper(void *argument)
{
    struct poller *poller = argument;
    struct pollfd fds[] = {{.fd = poller->channel->fd, .events = POLLIN}, {.fd = poller->stopped, .events = POLLIN}};
    struct ibv_cq *cq;
    void *context;
    while (!atomic_load(poller->stop)) {
        if (take_all(poller) > 0)
            continue;
        poller->torn += ibv_req_notify_cq(poller->cq, 0) != 0;
        if (take_all(poller) > 0)
            continue;
        (void)poll(fds, 2, -1);
        while (ibv_get_cq_event(poller->channel, &cq, &context) == 0)
            ibv_ack_cq_events(cq, 1);
    }
    return NULL;
}

static void poller_init(struct poller *poller, struct world *world, struct ibv_comp_channel *channel,
                        _Atomic bool *stop)
{
    memset(poller, 0, sizeof *poller);
    poller->world = world;
    poller->stop = stop;
    poller->channel = channel;
    poller->stopped = -1;
    poller->cq = ibv_create_cq(world->context, RECEIVES, NULL, channel, 0);
    CHECK(poller->cq != NULL);
}

static void poller_receive(struct poller *poller, uint8_t protocol, uint16_t port)
{
    struct world *world = poller->world;
    struct ibv_qp_init_attr attr = {
        .send_cq = poller->cq, .recv_cq = poller->cq, .qp_type = IBV_QPT_RAW_PACKET,
        .cap = {.max_send_wr = 1, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1},
    };
    struct side side = {.world = world, .cq = poller->cq, .qp = ibv_create_qp(world->pd, &attr)};
    struct rule rule;
    CHECK(side.qp != NULL);
    poller->qp = side.qp;
    to_ready(side.qp);
    poller->memory = aligned_alloc(4096, RECEIVES * SLOT_BYTES);
    poller->numbers = wanted_numbers();
    poller->seen = calloc(1, poller->numbers);
    poller->mr = ibv_reg_mr(world->pd, poller->memory, RECEIVES * SLOT_BYTES, IBV_ACCESS_LOCAL_WRITE);
    CHECK(poller->mr != NULL && poller->seen != NULL);
    for (uint64_t i = 0; i < RECEIVES; i++)
        post(poller, i);
    rule_init(&rule, 0);
    rule_ports(&rule, protocol == 6 ? IBV_FLOW_SPEC_TCP : IBV_FLOW_SPEC_UDP, 0, port);
    poller->flow = must_create(&side, &rule);
}

static void poller_close(struct poller *poller)
{
    if (poller->qp != NULL) {
        CHECK_EQ(0, ibv_destroy_flow(poller->flow));
        CHECK_EQ(0, ibv_destroy_qp(poller->qp));
        CHECK_EQ(0, ibv_dereg_mr(poller->mr));
    }
    CHECK_EQ(0, ibv_destroy_cq(poller->cq));
    free(poller->memory);
    free(poller->seen);
}

/* The number is also the sequence number, so no SYN looks like a repetition. */
static uint32_t build_numbered(uint8_t *frame, uint8_t protocol, uint16_t port, uint32_t number)
{
    struct frame_spec spec = default_frame();
    spec.protocol = protocol;
    spec.dst_port = port;
    spec.payload = (uint16_t)(4 * (MIN_WORDS + number % WORDS) + (protocol == 6 ? 0 : 12));
    uint32_t length = build_frame(&spec, frame);
    if (protocol == 6) {
        memcpy(frame + 38, &number, 4);
        frame[TCP_FLAGS] = SYN;
    }
    for (uint32_t at = PAYLOAD; at + 4 <= length; at += 4)
        memcpy(frame + at, &number, 4);
    return length;
}

static bool is_over(struct timespec since)
{
    struct timespec at = now();
    return getenv("SOFTVERBS_TEST_FRAMES") == NULL &&
           (at.tv_sec - since.tv_sec) * 1000 + (at.tv_nsec - since.tv_nsec) / 1000000 > MILLIS;
}

static void wait_for(const struct poller *poller, uint32_t received)
{
    struct timespec start = now();
    while ((int32_t)(atomic_load(&poller->received) - received) < 0 && !overdue(start))
        sched_yield();
}

/* Sends the numbers from `first` on in one call. */
static void send_burst(struct side *from, uint8_t protocol, uint16_t port, uint32_t first)
{
    struct ibv_sge sge[BURST];
    struct ibv_send_wr wr[BURST];
    struct ibv_send_wr *bad;
    for (unsigned i = 0; i < BURST; i++) {
        uint8_t *frame = slot_at(from, SLOTS / 2 + i);
        sge[i] = (struct ibv_sge){(uintptr_t)frame, build_numbered(frame, protocol, port, first + i), from->mr->lkey};
        wr[i] = (struct ibv_send_wr){.next = i + 1 < BURST ? &wr[i + 1] : NULL, .sg_list = &sge[i], .num_sge = 1,
                                     .opcode = IBV_WR_SEND, .send_flags = i + 1 < BURST ? 0 : IBV_SEND_SIGNALED};
    }
    CHECK_EQ(0, ibv_post_send(from->qp, wr, &bad));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(from->cq).status);
}

/* A thread that sends one kind of frames, on a separate processor if there are several. */
struct numbered {
    pthread_t thread;
    struct side side;
    struct poller *receiver;
    uint8_t protocol;
    unsigned processor;
    uint32_t sent;
};

/* The receiving side of a veth runs on the processor that sends. */
static void stay_on(unsigned number)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &allowed) && number-- == 0)
            CPU_SET(i, &one);
    if (CPU_COUNT(&one) > 0)
        (void)sched_setaffinity(0, sizeof one, &one);
}

/*
 * Keeps at most a window in flight, so that nothing is lost for lack of room and SYNs are not limited. Slow machines
 * send fewer.
 */
static void *run_numbered(void *argument)
{
    struct numbered *from = argument;
    struct softverbs_counters counters;
    struct timespec start = now();
    stay_on(from->processor);
    for (; from->sent < from->receiver->numbers && !is_over(start); from->sent += BURST) {
        (void)softverbs_query_counters(from->receiver->world->context, &counters);
        wait_for(from->receiver, from->sent + BURST - WINDOW);
        send_burst(&from->side, from->protocol, PORT, from->sent);
    }
    wait_for(from->receiver, from->sent);
    return NULL;
}

static void check_seen_once(const struct poller *poller, uint32_t sent)
{
    uint32_t lost = 0;
    for (uint32_t number = 0; number < poller->numbers; number++)
        lost += number < sent && poller->seen[number] == 0;
    if (lost + poller->twice + poller->torn + poller->misplaced > 0 || atomic_load(&poller->received) != sent)
        test_failed(__FILE__, __LINE__, "%u sent, %u received, %u lost, %u twice, %u torn, %u misplaced", sent,
                    atomic_load(&poller->received), lost, poller->twice, poller->torn, poller->misplaced);
}

static void each_frame_comes_once_and_whole(const char *kind)
{
    static const uint8_t protocols[KINDS] = {6, 17};
    struct wire wire;
    struct poller pollers[THREADS];
    struct numbered senders[KINDS];
    _Atomic bool stop = false;
    struct softverbs_counters counters;
    wire_open(&wire, kind, 1500, 1);
    for (int i = 0; i < THREADS; i++)
        poller_init(&pollers[i], &wire.world[1], NULL, &stop);
    for (unsigned i = 0; i < KINDS; i++) {
        poller_receive(&pollers[i], protocols[i], PORT);
        senders[i] = (struct numbered){.receiver = &pollers[i], .protocol = protocols[i], .processor = i};
        side_open(&wire.world[0], &senders[i].side);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(0, pthread_create(&pollers[i].thread, NULL, run_poller, &pollers[i]));
    for (int i = 0; i < KINDS; i++)
        CHECK_EQ(0, pthread_create(&senders[i].thread, NULL, run_numbered, &senders[i]));
    for (int i = 0; i < KINDS; i++)
        CHECK_EQ(0, pthread_join(senders[i].thread, NULL));
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(0, pthread_join(pollers[i].thread, NULL));
    for (int i = 0; i < KINDS; i++)
        check_seen_once(&pollers[i], senders[i].sent);
    CHECK_EQ(0, softverbs_query_counters(wire.world[1].context, &counters));
    CHECK_EQ(0, counters.received.syn_ring_full + counters.received.ring_full + counters.received.no_receive);
    CHECK_EQ(senders[0].sent + senders[1].sent, counters.received.copied);
    if (getenv("SOFTVERBS_TEST_FRAMES") != NULL)
        printf("mode %s: %u SYNs and %u datagrams, none torn, twice or lost\n",
               getenv("SOFTVERBS_XDP_MODE") != NULL ? getenv("SOFTVERBS_XDP_MODE") : "generic", senders[0].sent,
               senders[1].sent);
    for (int i = 0; i < KINDS; i++)
        side_close(&senders[i].side);
    for (int i = 0; i < THREADS; i++)
        poller_close(&pollers[i]);
    wire_close(&wire);
}

/* ---- several senders ---- */

struct sender {
    pthread_t thread;
    struct side side;
    struct poller receiver;
    uint16_t port;
    uint32_t sent;
};

static void *run_sender(void *argument)
{
    struct sender *sender = argument;
    struct timespec start = now();
    for (; sender->sent < sender->receiver.numbers && !is_over(start); sender->sent += BURST) {
        wait_for(&sender->receiver, sender->sent + BURST - WINDOW);
        send_burst(&sender->side, 17, sender->port, sender->sent);
    }
    wait_for(&sender->receiver, sender->sent);
    return NULL;
}

static void sender_open(struct sender *sender, struct wire *wire, int number, _Atomic bool *stop)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(wire->world[1].context);
    CHECK(channel != NULL);
    CHECK_EQ(0, fcntl(channel->fd, F_SETFL, O_NONBLOCK));
    sender->sent = 0;
    sender->port = (uint16_t)(PORT + number);
    side_open(&wire->world[0], &sender->side);
    poller_init(&sender->receiver, &wire->world[1], channel, stop);
    sender->receiver.stopped = eventfd(0, EFD_CLOEXEC);
    CHECK(sender->receiver.stopped >= 0);
    poller_receive(&sender->receiver, 17, sender->port);
    CHECK_EQ(0, pthread_create(&sender->receiver.thread, NULL, run_sleeper, &sender->receiver));
}

static void sender_close(struct sender *sender)
{
    struct ibv_comp_channel *channel = sender->receiver.channel;
    CHECK_EQ(0, eventfd_write(sender->receiver.stopped, 1));
    CHECK_EQ(0, pthread_join(sender->receiver.thread, NULL));
    check_seen_once(&sender->receiver, sender->sent);
    poller_close(&sender->receiver);
    close(sender->receiver.stopped);
    CHECK_EQ(0, ibv_destroy_comp_channel(channel));
    side_close(&sender->side);
}

static void frames_of_several_senders_all_leave(const char *kind)
{
    struct wire wire;
    struct sender senders[SENDERS];
    _Atomic bool stop = false;
    struct softverbs_counters counters;
    uint32_t sent = 0;
    wire_open(&wire, kind, 1500, 1);
    for (int i = 0; i < SENDERS; i++)
        sender_open(&senders[i], &wire, i, &stop);
    for (int i = 0; i < SENDERS; i++)
        CHECK_EQ(0, pthread_create(&senders[i].thread, NULL, run_sender, &senders[i]));
    for (int i = 0; i < SENDERS; i++)
        CHECK_EQ(0, pthread_join(senders[i].thread, NULL));
    atomic_store(&stop, true);
    CHECK_EQ(0, softverbs_query_counters(wire.world[0].context, &counters));
    for (int i = 0; i < SENDERS; i++) {
        sent += senders[i].sent;
        sender_close(&senders[i]);
    }
    CHECK_EQ(0, counters.sent.ring_full);
    CHECK_EQ(sent, counters.sent.frames);
    wire_close(&wire);
}

IN_BOTH_MODES(frames_of_several_senders_all_leave)

static void test_each_frame_comes_once_and_whole(void)
{
    if (!have_namespace())
        return;
    each_frame_comes_once_and_whole("xdp");
    with_xdp_mode("tap", each_frame_comes_once_and_whole);
}

const struct test xdp_threads_tests[] = {
    {"xdp: each frame comes once and whole to threads that poll", test_each_frame_comes_once_and_whole},
    {"xdp: frames of several threads through one ring all arrive and wake sleepers",
     test_frames_of_several_senders_all_leave},
    {NULL, NULL},
};
