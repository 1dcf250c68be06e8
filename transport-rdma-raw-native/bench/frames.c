/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames through raw packet queue pairs of one device, as fast as the provider goes; written against libibverbs only, so
 * that it runs on any provider.
 *
 *   rx    a generator queue pair sends, a receiver queue pair receives
 *   echo  a generator sends, an echoer sends back what it received with the MAC addresses swapped
 *
 * The loops are those that an event loop runs: poll up to a burst of completions, handle each frame, post the receives as
 * one list, send a burst as one list of which the last is signalled. Prints a line for people and one JSON object.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Slots are not a power of two apart: at 2048 bytes the heads of all frames would share two sets of the L1 cache. */
enum { QUEUE = 1024, SLOT = 2112, MAX_BURST = 64, IN_FLIGHT = 512 };

struct options {
    const char *device;
    const char *mode;
    unsigned burst;
    double seconds;
    unsigned frame_length;
    unsigned threads;
};

/* One queue pair with its memory: QUEUE slots to receive into, MAX_BURST to send from. */
struct endpoint {
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    struct ibv_flow *flow;
    uint8_t *memory;
    struct ibv_recv_wr recv[MAX_BURST];
    struct ibv_sge recv_sge[MAX_BURST];
    struct ibv_send_wr send[MAX_BURST];
    struct ibv_sge send_sge[MAX_BURST];
    uint8_t mac[6];
};

struct run {
    const struct options *options;
    struct endpoint generator;
    struct endpoint receiver;
    _Atomic bool stop;
    /* Written by one thread, read by the other now and then: the window that keeps the generator from overrunning. */
    _Alignas(128) _Atomic uint64_t received;
    _Alignas(128) uint64_t sent;
    uint64_t received_seen;     /* looked up again only when the window seems full */
    uint64_t checksum;
};

static void die(const char *what, int error)
{
    fprintf(stderr, "frames-bench: %s: %s\n", what, strerror(error));
    exit(1);
}

static double now_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- setting up ---- */

static struct ibv_context *open_device(const char *name)
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
    fprintf(stderr, "frames-bench: no device %s; there are:", name);
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

static void steer(struct endpoint *endpoint)
{
    struct {
        struct ibv_flow_attr attr;
        struct ibv_flow_spec_eth eth;
    } rule;      /* both are aligned to 4 bytes: no hole between them */
    memset(&rule, 0, sizeof rule);
    rule.attr = (struct ibv_flow_attr){.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof rule, .num_of_specs = 1, .port = 1};
    rule.eth.type = IBV_FLOW_SPEC_ETH;
    rule.eth.size = sizeof rule.eth;
    memcpy(rule.eth.val.dst_mac, endpoint->mac, 6);
    memset(rule.eth.mask.dst_mac, 0xff, 6);
    endpoint->flow = ibv_create_flow(endpoint->qp, &rule.attr);
    if (endpoint->flow == NULL)
        die("ibv_create_flow", errno);
}

static void link_lists(struct endpoint *endpoint)
{
    for (unsigned i = 0; i < MAX_BURST; i++) {
        endpoint->recv_sge[i] = (struct ibv_sge){.length = SLOT, .lkey = endpoint->mr->lkey};
        endpoint->recv[i] = (struct ibv_recv_wr){.sg_list = &endpoint->recv_sge[i], .num_sge = 1};
        endpoint->send_sge[i] = (struct ibv_sge){.lkey = endpoint->mr->lkey};
        endpoint->send[i] = (struct ibv_send_wr){.sg_list = &endpoint->send_sge[i], .num_sge = 1,
                                                 .opcode = IBV_WR_SEND, .wr_id = UINT64_MAX};
    }
}

static void post_receives(struct endpoint *endpoint, const uint64_t *slots, unsigned count)
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

static void create(struct endpoint *endpoint, struct ibv_context *context, struct ibv_pd *pd, const uint8_t mac[6])
{
    const size_t bytes = (size_t)(QUEUE + MAX_BURST) * SLOT;
    memcpy(endpoint->mac, mac, 6);
    endpoint->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (endpoint->memory == MAP_FAILED)
        die("mmap", errno);
    memset(endpoint->memory, 0, bytes);
    endpoint->mr = ibv_reg_mr(pd, endpoint->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
    if (endpoint->mr == NULL)
        die("ibv_reg_mr", errno);
    endpoint->cq = ibv_create_cq(context, 2 * QUEUE, NULL, NULL, 0);
    if (endpoint->cq == NULL)
        die("ibv_create_cq", errno);
    struct ibv_qp_init_attr attr = {
        .send_cq = endpoint->cq, .recv_cq = endpoint->cq, .qp_type = IBV_QPT_RAW_PACKET,
        .cap = {.max_send_wr = QUEUE, .max_recv_wr = QUEUE, .max_send_sge = 1, .max_recv_sge = 1},
    };
    endpoint->qp = ibv_create_qp(pd, &attr);
    if (endpoint->qp == NULL)
        die("ibv_create_qp", errno);
    to_ready(endpoint->qp);
    steer(endpoint);
    link_lists(endpoint);
    for (unsigned i = 0; i < QUEUE; i += MAX_BURST) {
        uint64_t slots[MAX_BURST];
        for (unsigned j = 0; j < MAX_BURST; j++)
            slots[j] = (uint64_t)(uintptr_t)(endpoint->memory + (size_t)(i + j) * SLOT);
        post_receives(endpoint, slots, MAX_BURST);
    }
}

static uint16_t ip_checksum(const uint8_t *header)
{
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2)
        sum += (uint32_t)header[i] << 8 | header[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~((sum & 0xffff) + (sum >> 16));
}

/* Ethernet, IPv4, UDP without a checksum. */
static void fill_template(uint8_t *frame, unsigned length, const uint8_t *to, const uint8_t *from)
{
    static const uint8_t ip[20] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2};
    uint8_t *header = frame + 14;
    memcpy(frame, to, 6);
    memcpy(frame + 6, from, 6);
    frame[12] = 8;
    frame[13] = 0;
    memcpy(header, ip, 20);
    header[2] = (uint8_t)((length - 14) >> 8);
    header[3] = (uint8_t)(length - 14);
    uint16_t sum = ip_checksum(header);
    header[10] = (uint8_t)(sum >> 8);
    header[11] = (uint8_t)sum;
    uint8_t *udp = header + 20;
    udp[0] = udp[2] = 0x20;
    udp[4] = (uint8_t)((length - 34) >> 8);
    udp[5] = (uint8_t)(length - 34);
}

/* ---- the loops ---- */

static void check_status(const struct ibv_wc *wc)
{
    if (wc->status != IBV_WC_SUCCESS) {
        fprintf(stderr, "frames-bench: completion: %s\n", ibv_wc_status_str(wc->status));
        exit(1);
    }
}

static void send_list(struct endpoint *endpoint, unsigned count)
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

/* Sends one burst of the template when the window has room. */
static unsigned generate(struct run *run)
{
    struct endpoint *generator = &run->generator;
    unsigned burst = run->options->burst;
    if (run->sent + burst - run->received_seen > IN_FLIGHT) {
        run->received_seen = atomic_load_explicit(&run->received, memory_order_acquire);
        if (run->sent + burst - run->received_seen > IN_FLIGHT)
            return 0;
    }
    for (unsigned i = 0; i < burst; i++) {
        generator->send_sge[i].addr = (uint64_t)(uintptr_t)(generator->memory + (size_t)(QUEUE + i) * SLOT);
        generator->send_sge[i].length = run->options->frame_length;
    }
    send_list(generator, burst);
    run->sent += burst;
    return burst;
}

/* Polls the receiver, reads each frame, gives the slots back. */
static unsigned receive(struct run *run)
{
    struct ibv_wc wc[MAX_BURST];
    uint64_t slots[MAX_BURST];
    struct endpoint *receiver = &run->receiver;
    int count = ibv_poll_cq(receiver->cq, (int)run->options->burst, wc);
    if (count <= 0)
        return 0;
    for (int i = 0; i < count; i++) {
        check_status(&wc[i]);
        slots[i] = wc[i].wr_id;
        run->checksum += ((const uint8_t *)(uintptr_t)wc[i].wr_id)[12] + wc[i].byte_len;
    }
    post_receives(receiver, slots, (unsigned)count);
    atomic_store_explicit(&run->received, atomic_load_explicit(&run->received, memory_order_relaxed) + (unsigned)count,
                          memory_order_release);
    return (unsigned)count;
}

static void swap_macs(uint8_t *frame)
{
    uint8_t macs[12];
    memcpy(macs, frame, 12);
    memcpy(frame, macs + 6, 6);
    memcpy(frame + 6, macs, 6);
}

/* Sends each received frame back from its slot; the slots return to the receive queue with the send's completion. */
static unsigned echo(struct run *run)
{
    static _Thread_local uint64_t in_send[QUEUE];
    static _Thread_local unsigned head, tail;
    struct ibv_wc wc[MAX_BURST];
    uint64_t slots[MAX_BURST];
    struct endpoint *echoer = &run->receiver;
    unsigned frames = 0, done = 0;
    int count = ibv_poll_cq(echoer->cq, (int)run->options->burst, wc);
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
        in_send[head++ % QUEUE] = wc[i].wr_id;
    }
    while (done > 0) {
        unsigned n = 0;
        for (; n < MAX_BURST && done > 0; n++, done--)
            slots[n] = in_send[tail++ % QUEUE];
        post_receives(echoer, slots, n);
    }
    if (frames > 0) {
        echoer->send[frames - 1].wr_id = frames;    /* how many sends this completion stands for */
        send_list(echoer, frames);
    }
    return frames;
}

/* The generator's own completions: of its sends, and in echo mode the frames that came back. */
static unsigned collect(struct run *run)
{
    struct ibv_wc wc[MAX_BURST];
    uint64_t slots[MAX_BURST];
    unsigned frames = 0;
    int count = ibv_poll_cq(run->generator.cq, MAX_BURST, wc);
    for (int i = 0; i < count; i++) {
        check_status(&wc[i]);
        if (wc[i].opcode & IBV_WC_RECV) {
            run->checksum += ((const uint8_t *)(uintptr_t)wc[i].wr_id)[12];
            slots[frames++] = wc[i].wr_id;
        }
    }
    if (frames > 0) {
        post_receives(&run->generator, slots, frames);
        atomic_store_explicit(&run->received,
                              atomic_load_explicit(&run->received, memory_order_relaxed) + frames, memory_order_release);
    }
    return frames;
}

/* Each thread its own core, so that the figure is one of two cores and not of the scheduler. */
static void pin_to(unsigned n)
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

static bool is_echo(const struct run *run)
{
    return strcmp(run->options->mode, "echo") == 0;
}

static void *other_side(void *argument)
{
    struct run *run = argument;
    bool echoes = is_echo(run);
    pin_to(1);
    while (!atomic_load_explicit(&run->stop, memory_order_relaxed))
        echoes ? echo(run) : receive(run);
    return NULL;
}

static double measure(struct run *run)
{
    pthread_t thread;
    bool two = run->options->threads == 2;
    bool echoes = is_echo(run);
    if (two && pthread_create(&thread, NULL, other_side, run) != 0)
        die("pthread_create", errno);
    if (two)
        pin_to(0);
    double start = now_seconds();
    double elapsed = 0;
    for (unsigned turn = 0; elapsed < run->options->seconds; turn++) {
        generate(run);
        collect(run);
        if (!two)
            echoes ? echo(run) : receive(run);
        if ((turn & 1023) == 0)
            elapsed = now_seconds() - start;
    }
    atomic_store(&run->stop, true);
    if (two)
        pthread_join(thread, NULL);
    return elapsed;
}

/* ---- options and result ---- */

static void usage(void)
{
    fprintf(stderr, "usage: frames-bench rx|echo [--device NAME] [--burst 1..%d] [--seconds S] [--frame-length 60..%d] "
                    "[--threads 1|2]\n", MAX_BURST, 1514);
    exit(2);
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {
        {"device", required_argument, NULL, 'd'}, {"burst", required_argument, NULL, 'b'},
        {"seconds", required_argument, NULL, 's'}, {"frame-length", required_argument, NULL, 'l'},
        {"threads", required_argument, NULL, 't'}, {NULL, 0, NULL, 0},
    };
    struct options options = {.device = "loop", .mode = "rx", .burst = 64, .seconds = 2, .frame_length = 64, .threads = 2};
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 'd')
            options.device = optarg;
        else if (c == 'b')
            options.burst = (unsigned)atoi(optarg);
        else if (c == 's')
            options.seconds = atof(optarg);
        else if (c == 'l')
            options.frame_length = (unsigned)atoi(optarg);
        else if (c == 't')
            options.threads = (unsigned)atoi(optarg);
        else
            usage();
    }
    if (optind < argc)
        options.mode = argv[optind];
    if ((strcmp(options.mode, "rx") != 0 && strcmp(options.mode, "echo") != 0) || options.burst < 1 ||
        options.burst > MAX_BURST || options.frame_length < 60 || options.frame_length > 1514 ||
        options.threads < 1 || options.threads > 2 || options.seconds <= 0)
        usage();
    return options;
}

static void destroy(struct endpoint *endpoint)
{
    ibv_destroy_flow(endpoint->flow);
    ibv_destroy_qp(endpoint->qp);
    ibv_destroy_cq(endpoint->cq);
    ibv_dereg_mr(endpoint->mr);
    munmap(endpoint->memory, (size_t)(QUEUE + MAX_BURST) * SLOT);
}

int main(int argc, char **argv)
{
    static struct run run;
    static const uint8_t generator_mac[6] = {2, 0, 0, 0, 0, 1};
    static const uint8_t receiver_mac[6] = {2, 0, 0, 0, 0, 2};
    struct options options = parse(argc, argv);
    struct ibv_context *context = open_device(options.device);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    if (pd == NULL)
        die("ibv_alloc_pd", errno);
    run.options = &options;
    create(&run.generator, context, pd, generator_mac);
    create(&run.receiver, context, pd, receiver_mac);
    for (unsigned i = 0; i < MAX_BURST; i++)
        fill_template(run.generator.memory + (size_t)(QUEUE + i) * SLOT, options.frame_length, receiver_mac,
                      generator_mac);
    double seconds = measure(&run);
    uint64_t frames = atomic_load(&run.received);
    destroy(&run.generator);
    destroy(&run.receiver);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    printf("%s on %s: %.1f million frames/s, %.1f ns per frame (burst %u, %u bytes, %u threads)\n", options.mode,
           options.device, (double)frames / seconds / 1e6, seconds * 1e9 / (double)frames, options.burst,
           options.frame_length, options.threads);
    printf("{\"mode\": \"%s\", \"device\": \"%s\", \"burst\": %u, \"frameLength\": %u, \"threads\": %u, \"frames\": %llu, "
           "\"seconds\": %.6f, \"nsPerFrame\": %.3f, \"mfps\": %.3f}\n", options.mode, options.device, options.burst,
           options.frame_length, options.threads, (unsigned long long)frames, seconds,
           seconds * 1e9 / (double)frames, (double)frames / seconds / 1e6);
    return frames > 0 ? 0 : 1;
}
