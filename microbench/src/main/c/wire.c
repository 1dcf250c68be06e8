/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C programs of `rdma-raw bench wire`, for the two ends of a wire.
 *
 *   generate    keeps a window of UDP frames under way to an echoer, counts those that come back; with a window of one
 *               it also times each
 *   echo        sends UDP frames back with the MAC addresses swapped, by raw AF_XDP, until its input ends
 *   tcp-sink    reads one kernel TCP connection to its end
 *   tcp-source  writes to it for a while
 *
 * generate and tcp-sink print one JSON object.
 */
#define _GNU_SOURCE
#include "template.h"
#include "xsk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SAMPLES = 8 << 20, ITERATIONS_PER_CLOCK = 64, TCP_CHUNK = 1 << 17 };
static const uint64_t LOST_NANOS = 500000000;
static const uint64_t SLICE_NANOS = 5000000;

struct options {
    const char *interface;
    uint8_t from_mac[6];
    uint8_t to_mac[6];
    struct in_addr from;
    struct in_addr to;
    uint16_t port;
    unsigned window;
    unsigned length;
    double seconds;
    int cpu;
};

static void fail(const char *what)
{
    fprintf(stderr, "wire-bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_nanos(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* ---- generate ---- */

struct generator {
    struct xsk xsk;
    const struct options *options;
    uint64_t next_chunk;        /* of the chunks that send; all contain the same frame and are sent in turn */
    uint64_t under_way;
    uint64_t returned;
    uint64_t lost;
    uint64_t returned_seen;     /* when the clock was last read */
    uint64_t last_return;
    uint64_t slice_start;       /* on a busy machine the best slice is more reliable than the mean */
    uint64_t slice_returned;
    double best_slice;
    uint64_t sent_at;
    uint32_t *samples;
    size_t sample_count;
};

static void send_frames(struct generator *generator, unsigned count)
{
    struct xdp_desc frames[XSK_BURST];
    uint64_t chunks[XSK_BURST];
    while (xsk_completed(&generator->xsk, chunks) > 0)
        ;
    for (unsigned i = 0; i < count; i++)
        frames[i] = (struct xdp_desc){.addr = (XSK_RING + generator->next_chunk++ % XSK_RING) * XSK_CHUNK,
                                      .len = generator->options->length};
    if (generator->samples != NULL)
        generator->sent_at = now_nanos();
    xsk_send(&generator->xsk, frames, count);
    generator->under_way += count;
}

static void collect(struct generator *generator)
{
    struct xdp_desc frames[XSK_BURST];
    uint64_t chunks[XSK_BURST];
    unsigned count = xsk_receive(&generator->xsk, frames);
    if (count == 0)
        return;
    if (generator->samples != NULL && generator->sample_count < MAX_SAMPLES)
        generator->samples[generator->sample_count++] = (uint32_t)(now_nanos() - generator->sent_at);
    for (unsigned i = 0; i < count; i++)
        chunks[i] = frames[i].addr;
    xsk_refill(&generator->xsk, chunks, count);
    generator->returned += count;
    generator->under_way -= count < generator->under_way ? count : generator->under_way;
}

static void look_at_slice(struct generator *generator, uint64_t now)
{
    uint64_t nanos = now - generator->slice_start;
    if (nanos < SLICE_NANOS)
        return;
    double rate = (double)(generator->returned - generator->slice_returned) * 1e9 / (double)nanos;
    if (rate > generator->best_slice)
        generator->best_slice = rate;
    generator->slice_start = now;
    generator->slice_returned = generator->returned;
}

/* Frames that do not return within the limit count as lost, and the window is opened again. */
static void give_up_lost(struct generator *generator, uint64_t now)
{
    if (generator->returned != generator->returned_seen)
        generator->last_return = now;
    generator->returned_seen = generator->returned;
    if (generator->under_way == 0 || now - generator->last_return < LOST_NANOS)
        return;
    generator->lost += generator->under_way;
    generator->under_way = 0;
    generator->last_return = now;
}

static int compare_samples(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t percentile(const struct generator *generator, double share)
{
    if (generator->sample_count == 0)
        return 0;
    return generator->samples[(size_t)(share * (double)(generator->sample_count - 1))];
}

static void report(struct generator *generator, uint64_t nanos)
{
    double seconds = (double)nanos * 1e-9;
    if (generator->samples != NULL)
        qsort(generator->samples, generator->sample_count, sizeof generator->samples[0], compare_samples);
    printf("{\"roundTrips\": %llu, \"lost\": %llu, \"seconds\": %.6f, \"roundTripsPerSecond\": %.1f, "
           "\"bestSlicePerSecond\": %.1f, \"p50Nanos\": %u, \"p99Nanos\": %u}\n",
           (unsigned long long)generator->returned, (unsigned long long)generator->lost, seconds,
           (double)generator->returned / seconds, generator->best_slice, percentile(generator, 0.5),
           percentile(generator, 0.99));
}

static int generate(const struct options *options)
{
    static struct generator generator;
    generator.options = options;
    xsk_open(&generator.xsk, options->interface, options->port);
    for (uint32_t i = 0; i < XSK_RING; i++)
        fill_template(generator.xsk.umem + (size_t)(XSK_RING + i) * XSK_CHUNK, options->length, options->to_mac,
                      options->from_mac, options->to.s_addr, options->from.s_addr, options->port);
    if (options->window == 1)
        generator.samples = malloc(MAX_SAMPLES * sizeof generator.samples[0]);
    uint64_t start = now_nanos();
    uint64_t now = start;
    generator.last_return = generator.slice_start = start;
    for (uint64_t turn = 0; now - start < (uint64_t)(options->seconds * 1e9); turn++) {
        if (generator.under_way < options->window)
            send_frames(&generator, (unsigned)(options->window - generator.under_way));
        collect(&generator);
        if (turn % ITERATIONS_PER_CLOCK != 0)
            continue;
        now = now_nanos();
        give_up_lost(&generator, now);
        look_at_slice(&generator, now);
    }
    report(&generator, now - start);
    return generator.returned > 0 ? 0 : 1;
}

/* ---- echo ---- */

static void swap_macs(uint8_t *frame)
{
    uint8_t macs[12];
    memcpy(macs, frame, 12);
    memcpy(frame, macs + 6, 6);
    memcpy(frame + 6, macs, 6);
}

/* The parent process closes the input when it has finished. */
static bool input_ended(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

static int echo(const struct options *options)
{
    static struct xsk xsk;
    struct xdp_desc frames[XSK_BURST];
    uint64_t chunks[XSK_BURST];
    xsk_open(&xsk, options->interface, options->port);
    printf("ready\n");
    fflush(stdout);
    for (uint64_t idle = 1; idle % (1 << 20) != 0 || !input_ended();) {
        unsigned count = xsk_receive(&xsk, frames);
        for (unsigned i = 0; i < count; i++)
            swap_macs(xsk.umem + frames[i].addr);
        if (count > 0)
            xsk_send(&xsk, frames, count);
        unsigned done = xsk_completed(&xsk, chunks);
        if (done > 0)
            xsk_refill(&xsk, chunks, done);
        idle += count == 0;
    }
    return 0;
}

/* ---- kernel TCP ---- */

static struct sockaddr_in tcp_address(const struct options *options)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(options->port), .sin_addr = options->to};
}

static int tcp_sink(const struct options *options)
{
    static char chunk[TCP_CHUNK];
    struct sockaddr_in address = tcp_address(options);
    const int on = 1;
    uint64_t bytes = 0;
    ssize_t n;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, 1) != 0)
        fail("listen");
    printf("ready\n");
    fflush(stdout);
    int connection = accept(server, NULL, NULL);
    if (connection < 0)
        fail("accept");
    uint64_t start = now_nanos();
    while ((n = recv(connection, chunk, sizeof chunk, 0)) > 0)
        bytes += (uint64_t)n;
    double seconds = (double)(now_nanos() - start) * 1e-9;
    if (n < 0)
        fail("recv");
    printf("{\"bytes\": %llu, \"seconds\": %.6f, \"gbitPerSecond\": %.4f}\n", (unsigned long long)bytes, seconds,
           (double)bytes * 8e-9 / seconds);
    return 0;
}

static int tcp_source(const struct options *options)
{
    static char chunk[TCP_CHUNK];
    struct sockaddr_in address = tcp_address(options);
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    uint64_t end = now_nanos() + (uint64_t)(options->seconds * 1e9);
    while (now_nanos() < end)
        if (send(connection, chunk, sizeof chunk, MSG_NOSIGNAL) < 0)
            fail("send");
    return 0;
}

/* ---- options ---- */

static void usage(void)
{
    fprintf(stderr, "usage: wire-bench generate --interface IF --from-mac M --to-mac M --from IP --to IP --port P "
                    "[--window 1..%d] [--length 60..1514] [--seconds S] [--cpu N]\n"
                    "       wire-bench echo --interface IF --port P [--cpu N]\n"
                    "       wire-bench tcp-sink|tcp-source --to IP --port P [--seconds S] [--cpu N]\n", XSK_BURST);
    exit(2);
}

static void parse_mac(const char *text, uint8_t mac[6])
{
    if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]) != 6)
        usage();
}

static void parse_ip(const char *text, struct in_addr *address)
{
    if (inet_pton(AF_INET, text, address) != 1)
        usage();
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {
        {"interface", required_argument, NULL, 'i'}, {"from-mac", required_argument, NULL, 'm'},
        {"to-mac", required_argument, NULL, 'M'}, {"from", required_argument, NULL, 'f'},
        {"to", required_argument, NULL, 't'}, {"port", required_argument, NULL, 'p'},
        {"window", required_argument, NULL, 'w'}, {"length", required_argument, NULL, 'l'},
        {"seconds", required_argument, NULL, 's'}, {"cpu", required_argument, NULL, 'c'}, {NULL, 0, NULL, 0},
    };
    struct options options = {.window = 64, .length = 64, .seconds = 1, .cpu = -1};
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (c) {
        case 'i': options.interface = optarg; break;
        case 'm': parse_mac(optarg, options.from_mac); break;
        case 'M': parse_mac(optarg, options.to_mac); break;
        case 'f': parse_ip(optarg, &options.from); break;
        case 't': parse_ip(optarg, &options.to); break;
        case 'p': options.port = (uint16_t)atoi(optarg); break;
        case 'w': options.window = (unsigned)atoi(optarg); break;
        case 'l': options.length = (unsigned)atoi(optarg); break;
        case 's': options.seconds = atof(optarg); break;
        case 'c': options.cpu = atoi(optarg); break;
        default: usage();
        }
    }
    if (options.window < 1 || options.window > XSK_BURST || options.length < 60 || options.length > 1514 ||
        options.port == 0 || options.seconds <= 0)
        usage();
    return options;
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    const char *mode = optind < argc ? argv[optind] : "";
    if (options.cpu >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(options.cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0)
            fail("sched_setaffinity");
    }
    if (strcmp(mode, "generate") == 0 && options.interface != NULL)
        return generate(&options);
    if (strcmp(mode, "echo") == 0 && options.interface != NULL)
        return echo(&options);
    if (strcmp(mode, "tcp-sink") == 0)
        return tcp_sink(&options);
    if (strcmp(mode, "tcp-source") == 0)
        return tcp_source(&options);
    usage();
}
