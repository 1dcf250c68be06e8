/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends UDP datagrams from several queue pairs of a softverbs device on a network interface. Each queue pair sends the
 * same number, and a datagram is sent after the completion of the previous one. Prints the interface's numbers of
 * queues while the device is open, and how many datagrams the device has counted as sent and has completed.
 */
#define _GNU_SOURCE
#include "endpoint.h"
#include "softverbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SENDERS = 64, FRAME_BYTES = 64, MAX_SECONDS = 600 };

struct options {
    const char *device;
    uint8_t from_mac[6];
    uint8_t to_mac[6];
    uint32_t from;
    uint32_t to;
    uint16_t port;
    unsigned senders;
    unsigned frames;
};

static void usage(void)
{
    fprintf(stderr, "usage: senders --device xdp:INTERFACE --from-mac M --to-mac M --from IP --to IP --port P "
                    "--senders N --frames N\n");
    exit(2);
}

/* ---- options ---- */

static void parse_mac(const char *text, uint8_t mac[6])
{
    if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]) != 6)
        usage();
}

static uint32_t parse_ip(const char *text)
{
    uint32_t address;
    if (inet_pton(AF_INET, text, &address) != 1)
        usage();
    return address;
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {
        {"device", required_argument, NULL, 'd'}, {"from-mac", required_argument, NULL, 'm'},
        {"to-mac", required_argument, NULL, 'M'}, {"from", required_argument, NULL, 'f'},
        {"to", required_argument, NULL, 't'}, {"port", required_argument, NULL, 'p'},
        {"senders", required_argument, NULL, 'n'}, {"frames", required_argument, NULL, 'c'}, {NULL, 0, NULL, 0},
    };
    struct options options = {.device = ""};
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (c) {
        case 'd': options.device = optarg; break;
        case 'm': parse_mac(optarg, options.from_mac); break;
        case 'M': parse_mac(optarg, options.to_mac); break;
        case 'f': options.from = parse_ip(optarg); break;
        case 't': options.to = parse_ip(optarg); break;
        case 'p': options.port = (uint16_t)atoi(optarg); break;
        case 'n': options.senders = (unsigned)atoi(optarg); break;
        case 'c': options.frames = (unsigned)atoi(optarg); break;
        default: usage();
        }
    }
    if (strncmp(options.device, "xdp:", 4) != 0 || options.port == 0 || options.senders == 0 ||
        options.senders > MAX_SENDERS || options.frames == 0)
        usage();
    return options;
}

/* ---- sending ---- */

static unsigned count_queues(const char *device, const char *kind)
{
    char pattern[128];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "/sys/class/net/%s/queues/%s-*", device + strlen("xdp:"), kind);
    unsigned count = glob(pattern, 0, NULL, &found) == 0 ? (unsigned)found.gl_pathc : 0;
    globfree(&found);
    return count;
}

static void prepare(struct endpoint *sender, const struct options *options)
{
    fill_template(send_slot(sender, 0), FRAME_BYTES, options->to_mac, options->from_mac, options->to, options->from,
                  options->port);
    sender->send[0].wr_id = 1;
    sender->send_sge[0].addr = (uint64_t)(uintptr_t)send_slot(sender, 0);
    sender->send_sge[0].length = FRAME_BYTES;
}

/* Waits for the completion. The senders receive nothing. */
static void send_one(struct endpoint *sender)
{
    struct ibv_wc wc;
    double since = now_seconds();
    send_list(sender, 1);
    while (ibv_poll_cq(sender->cq, 1, &wc) != 1)
        if (now_seconds() - since > MAX_SECONDS)
            die("a send without a completion", ETIMEDOUT);
    check_status(&wc);
}

int main(int argc, char **argv)
{
    static struct endpoint senders[MAX_SENDERS];
    struct options options = parse(argc, argv);
    struct softverbs_counters counters;
    struct ibv_context *context = open_device(options.device);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    if (pd == NULL)
        die("ibv_alloc_pd", errno);
    for (unsigned i = 0; i < options.senders; i++) {
        endpoint_create(&senders[i], context, pd, NULL);
        prepare(&senders[i], &options);
    }
    printf("queues: %u rx, %u tx\n", count_queues(options.device, "rx"), count_queues(options.device, "tx"));
    for (unsigned i = 0; i < options.senders * options.frames; i++)
        send_one(&senders[i % options.senders]);
    int error = softverbs_query_counters(context, &counters);
    if (error != 0)
        die("softverbs_query_counters", error);
    printf("sent: %llu counted, %u completed, %llu not\n", (unsigned long long)counters.sent.frames,
           options.senders * options.frames,
           (unsigned long long)(counters.sent.ring_full + counters.sent.unserved));
    for (unsigned i = 0; i < options.senders; i++)
        endpoint_destroy(&senders[i]);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    return 0;
}
