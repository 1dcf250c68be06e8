/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames through raw packet queue pairs of one device, as fast as the provider goes; written against libibverbs only,
 * so that it runs on any provider.
 *   rx    a generator queue pair sends, a receiver queue pair receives
 *   echo  a generator sends, an echoer sends received frames back with the MAC addresses swapped
 *
 * The loops are those that an event loop runs: poll up to a burst of completions, handle each frame, post the receives
 * as one list, send a burst as one list of which the last is signalled. Prints a line for people and one JSON object.
 */
#define _GNU_SOURCE
#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT = 512 };

struct options {
    const char *device;
    const char *mode;
    unsigned burst;
    double seconds;
    unsigned frame_length;
    unsigned threads;
};

struct run {
    const struct options *options;
    struct endpoint generator;
    struct endpoint receiver;
    _Atomic bool stop;
    /* Written by one thread and sometimes read by the other: the window that keeps the generator from overrunning. */
    _Alignas(128) _Atomic uint64_t received;
    _Alignas(128) uint64_t sent;
    uint64_t received_seen;     /* read again only when the window seems full */
    uint64_t checksum;
};

/* ---- the loops ---- */

/* Sends one burst of the template if the window has room. */
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
        generator->send_sge[i].addr = (uint64_t)(uintptr_t)send_slot(generator, i);
        generator->send_sge[i].length = run->options->frame_length;
    }
    send_list(generator, burst);
    run->sent += burst;
    return burst;
}

/* Polls the receiver, reads each frame and returns the slots. */
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

/* Polls the generator's own completions: of its sends and, in echo mode, of the returned frames. */
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
                              atomic_load_explicit(&run->received, memory_order_relaxed) + frames,
                              memory_order_release);
    }
    return frames;
}

static void create(struct endpoint *endpoint, struct ibv_context *context, struct ibv_pd *pd, const uint8_t mac[6])
{
    struct {
        struct ibv_flow_attr attr;
        struct ibv_flow_spec_eth eth;
    } rule;      /* both are aligned to 4 bytes, without a hole between them */
    memset(&rule, 0, sizeof rule);
    rule.attr = (struct ibv_flow_attr){.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof rule, .num_of_specs = 1, .port = 1};
    rule.eth.type = IBV_FLOW_SPEC_ETH;
    rule.eth.size = sizeof rule.eth;
    memcpy(rule.eth.val.dst_mac, mac, 6);
    memset(rule.eth.mask.dst_mac, 0xff, 6);
    endpoint_create(endpoint, context, pd, &rule.attr);
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
        echoes ? echo_frames(&run->receiver, run->options->burst) : receive(run);
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
            echoes ? echo_frames(&run->receiver, run->options->burst) : receive(run);
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
    struct options options = {.device = "loop", .mode = "rx", .burst = 64, .seconds = 2, .frame_length = 64,
                              .threads = 2};
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
        fill_template(send_slot(&run.generator, i), options.frame_length, receiver_mac, generator_mac,
                      inet_addr("192.0.2.2"), inet_addr("192.0.2.1"), 8192);
    double seconds = measure(&run);
    uint64_t frames = atomic_load(&run.received);
    endpoint_destroy(&run.generator);
    endpoint_destroy(&run.receiver);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    printf("%s on %s: %.1f million frames/s, %.1f ns per frame (burst %u, %u bytes, %u threads)\n", options.mode,
           options.device, (double)frames / seconds / 1e6, seconds * 1e9 / (double)frames, options.burst,
           options.frame_length, options.threads);
    printf("{\"mode\": \"%s\", \"device\": \"%s\", \"burst\": %u, \"frameLength\": %u, \"threads\": %u, "
           "\"frames\": %llu, \"seconds\": %.6f, \"nsPerFrame\": %.3f, \"mfps\": %.3f}\n", options.mode, options.device,
           options.burst, options.frame_length, options.threads, (unsigned long long)frames, seconds,
           seconds * 1e9 / (double)frames, (double)frames / seconds / 1e6);
    return frames > 0 ? 0 : 1;
}
