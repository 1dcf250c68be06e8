/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet generator, sink and echoer on one raw packet queue pair. It uses libibverbs only, so it runs on any
 * provider; LD_LIBRARY_PATH and SOFTVERBS_DEVICES select softverbs.
 *   tx    sends UDP frames
 *   rx    receives and counts the UDP datagrams to a port
 *   echo  sends them back with the MAC addresses swapped
 *
 * It runs until it has passed --count frames, for --seconds, or until its input ends. Prints one JSON object.
 */
#define _GNU_SOURCE
#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURNS_PER_CLOCK_READ = 1024 };

struct options {
    const char *device;
    const char *mode;
    uint8_t from_mac[6];
    uint8_t to_mac[6];
    uint32_t from;
    uint32_t to;
    uint16_t port;
    unsigned length;
    unsigned long long count;
    double seconds;
    int core;
};

static void usage(void)
{
    fprintf(stderr, "usage: pktgen tx --device NAME --to-mac M --from-mac M --to IP --from IP --port P "
                    "[--length 60..1514]\n"
                    "       pktgen rx|echo --device NAME --port P [--to IP]\n"
                    "       each with [--count FRAMES] [--seconds S] [--core N]; without: until the input ends\n");
    exit(2);
}

/* ---- the rule ---- */

static struct ibv_flow_attr *udp_rule(const struct options *options)
{
    static struct {
        struct ibv_flow_attr attr;
        struct ibv_flow_spec_eth eth;
        struct ibv_flow_spec_ipv4 ipv4;
        struct ibv_flow_spec_tcp_udp udp;
    } rule;
    rule.attr = (struct ibv_flow_attr){.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof rule, .num_of_specs = 3, .port = 1};
    rule.eth.type = IBV_FLOW_SPEC_ETH;
    rule.eth.size = sizeof rule.eth;
    rule.eth.val.ether_type = htons(0x0800);
    rule.eth.mask.ether_type = 0xffff;
    rule.ipv4.type = IBV_FLOW_SPEC_IPV4;
    rule.ipv4.size = sizeof rule.ipv4;
    rule.ipv4.val.dst_ip = options->to;
    rule.ipv4.mask.dst_ip = options->to == 0 ? 0 : 0xffffffff;
    rule.udp.type = IBV_FLOW_SPEC_UDP;
    rule.udp.size = sizeof rule.udp;
    rule.udp.val.dst_port = htons(options->port);
    rule.udp.mask.dst_port = 0xffff;
    return &rule.attr;
}

/* ---- the modes: one turn, returns the frames passed ---- */

static unsigned transmit(struct endpoint *endpoint, unsigned limit)
{
    struct ibv_wc wc[MAX_BURST];
    static unsigned in_flight;
    int done = ibv_poll_cq(endpoint->cq, MAX_BURST, wc);
    for (int i = 0; i < done; i++) {
        check_status(&wc[i]);
        in_flight -= (unsigned)wc[i].wr_id;
    }
    unsigned burst = limit < MAX_BURST ? limit : MAX_BURST;
    if (burst == 0 || in_flight + burst > QUEUE_ENTRIES)
        return 0;
    endpoint->send[burst - 1].wr_id = burst;    /* number of sends that this completion covers */
    send_list(endpoint, burst);
    in_flight += burst;
    return burst;
}

static unsigned receive(struct endpoint *endpoint)
{
    struct ibv_wc wc[MAX_BURST];
    uint64_t slots[MAX_BURST];
    int count = ibv_poll_cq(endpoint->cq, MAX_BURST, wc);
    for (int i = 0; i < count; i++) {
        check_status(&wc[i]);
        slots[i] = wc[i].wr_id;
    }
    if (count > 0)
        post_receives(endpoint, slots, (unsigned)count);
    return count > 0 ? (unsigned)count : 0;
}

static bool input_ended(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

static unsigned long long run(struct endpoint *endpoint, const struct options *options, double *seconds)
{
    unsigned long long frames = 0;
    bool transmits = strcmp(options->mode, "tx") == 0;
    bool echoes = strcmp(options->mode, "echo") == 0;
    bool until_input_ends = options->count == 0 && options->seconds == 0;
    double start = now_seconds();
    for (unsigned long long turn = 1; options->count == 0 || frames < options->count; turn++) {
        unsigned long long left = options->count == 0 ? MAX_BURST : options->count - frames;
        frames += transmits ? transmit(endpoint, left < MAX_BURST ? (unsigned)left : MAX_BURST)
                : echoes ? echo_frames(endpoint, MAX_BURST) : receive(endpoint);
        if (turn % TURNS_PER_CLOCK_READ != 0)
            continue;
        if (options->seconds > 0 && now_seconds() - start > options->seconds)
            break;
        if (until_input_ends && turn % (1 << 20) == 0 && input_ended())
            break;
    }
    *seconds = now_seconds() - start;
    return frames;
}

/* ---- options ---- */

static void parse_mac(const char *text, uint8_t mac[6])
{
    if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]) != 6)
        usage();
}

static void parse_ip(const char *text, uint32_t *address)
{
    if (inet_pton(AF_INET, text, address) != 1)
        usage();
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {
        {"device", required_argument, NULL, 'd'}, {"from-mac", required_argument, NULL, 'm'},
        {"to-mac", required_argument, NULL, 'M'}, {"from", required_argument, NULL, 'f'},
        {"to", required_argument, NULL, 't'}, {"port", required_argument, NULL, 'p'},
        {"length", required_argument, NULL, 'l'}, {"count", required_argument, NULL, 'n'},
        {"seconds", required_argument, NULL, 's'}, {"core", required_argument, NULL, 'c'}, {NULL, 0, NULL, 0},
    };
    struct options options = {.device = "loop", .length = 64, .core = -1};
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (c) {
        case 'd': options.device = optarg; break;
        case 'm': parse_mac(optarg, options.from_mac); break;
        case 'M': parse_mac(optarg, options.to_mac); break;
        case 'f': parse_ip(optarg, &options.from); break;
        case 't': parse_ip(optarg, &options.to); break;
        case 'p': options.port = (uint16_t)atoi(optarg); break;
        case 'l': options.length = (unsigned)atoi(optarg); break;
        case 'n': options.count = strtoull(optarg, NULL, 10); break;
        case 's': options.seconds = atof(optarg); break;
        case 'c': options.core = atoi(optarg); break;
        default: usage();
        }
    }
    options.mode = optind < argc ? argv[optind] : "";
    if ((strcmp(options.mode, "tx") != 0 && strcmp(options.mode, "rx") != 0 && strcmp(options.mode, "echo") != 0) ||
        options.port == 0 || options.length < 60 || options.length > 1514)
        usage();
    return options;
}

int main(int argc, char **argv)
{
    static struct endpoint endpoint;
    struct options options = parse(argc, argv);
    bool transmits = strcmp(options.mode, "tx") == 0;
    double seconds;
    if (options.core >= 0)
        pin_to((unsigned)options.core);
    struct ibv_context *context = open_device(options.device);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    if (pd == NULL)
        die("ibv_alloc_pd", errno);
    endpoint_create(&endpoint, context, pd, transmits ? NULL : udp_rule(&options));
    for (unsigned i = 0; transmits && i < MAX_BURST; i++) {
        fill_template(send_slot(&endpoint, i), options.length, options.to_mac, options.from_mac, options.to,
                      options.from, options.port);
        endpoint.send_sge[i].addr = (uint64_t)(uintptr_t)send_slot(&endpoint, i);
        endpoint.send_sge[i].length = options.length;
    }
    printf("ready\n");
    fflush(stdout);
    unsigned long long frames = run(&endpoint, &options, &seconds);
    endpoint_destroy(&endpoint);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    printf("{\"mode\": \"%s\", \"device\": \"%s\", \"frames\": %llu, \"seconds\": %.6f, \"mfps\": %.4f}\n",
           options.mode, options.device, frames, seconds, (double)frames / seconds / 1e6);
    return 0;
}
