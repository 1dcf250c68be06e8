/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of `rdma-raw bench http` at equal load: asks an HTTP/1.1 server at a rate that does not depend on how fast
 * it answers, by ordinary sockets of the kernel.
 *
 *   http-bench --address A --port P --path /plaintext --connections N --rate R --seconds S [--settle S]
 *
 * When each request is due is known before the first is sent: the gaps are those of many users who know nothing of one
 * another (exponential), and the same for every server. A request takes a connection that has none under way; while
 * there is none it waits. Its latency counts from when it was due, so that a server that stands still for a millisecond
 * is charged with all that it held up. The client polls, for a client that sleeps would add how long it takes to wake
 * up; it also tells how late it was itself.
 *
 * Prints one JSON object: counts of what was due after --settle seconds, and two histograms as [nanoseconds, count].
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 10000, MAX_REQUEST = 512, MAX_ANSWER = 4096, EVENTS = 256 };
static const uint64_t NANOS_PER_SECOND = 1000000000;
/* After the last request is due; what has not been answered by then is lost. */
static const uint64_t GRACE_NANOS = 500000000;

static void fail(const char *what)
{
    fprintf(stderr, "http-bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void refuse(const char *why)
{
    fprintf(stderr, "http-bench: %s\n", why);
    exit(2);
}

static uint64_t now_nanos(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NANOS_PER_SECOND + (uint64_t)time.tv_nsec;
}

/* ---- a histogram whose buckets are a thousandth wide ---- */

enum { SUB_BITS = 10, SUBS = 1 << SUB_BITS, BUCKETS = (65 - SUB_BITS) * SUBS };

static unsigned bucket_of(uint64_t value)
{
    if (value < 2 * SUBS)
        return (unsigned)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - SUB_BITS;
    return shift * SUBS + (unsigned)(value >> shift);
}

/* The least value that the bucket holds. */
static uint64_t value_of(unsigned bucket)
{
    if (bucket < 2 * SUBS)
        return bucket;
    unsigned shift = bucket / SUBS - 1;
    return (uint64_t)(bucket - shift * SUBS) << shift;
}

static void print_histogram(const char *name, const uint64_t *counts)
{
    const char *comma = "";
    printf(",\"%s\":[", name);
    for (unsigned i = 0; i < BUCKETS; i++) {
        if (counts[i] != 0) {
            printf("%s[%" PRIu64 ",%" PRIu64 "]", comma, value_of(i), counts[i]);
            comma = ",";
        }
    }
    printf("]");
}

/* ---- when requests are due ---- */

struct schedule {
    uint64_t random;
    double mean_gap;    /* nanoseconds */
    double due;         /* of the next request; a double holds nanoseconds since the start exactly for months */
    double end;
};

/* xorshift64*, by G. Marsaglia and S. Vigna; never 0 for the logarithm. */
static double random_share(struct schedule *schedule)
{
    schedule->random ^= schedule->random >> 12;
    schedule->random ^= schedule->random << 25;
    schedule->random ^= schedule->random >> 27;
    return ((double)((schedule->random * 0x2545f4914f6cdd1dULL) >> 11) + 1) / 9007199254740993.0;
}

static void next_due(struct schedule *schedule)
{
    schedule->due -= log(random_share(schedule)) * schedule->mean_gap;
}

/* ---- the client ---- */

struct connection {
    int fd;
    bool counts;            /* what is under way */
    uint64_t due;
    uint64_t idle_since;
    size_t filled;
    char answer[MAX_ANSWER + 1];
};

struct client {
    struct schedule schedule;
    uint64_t start;
    uint64_t settled;       /* requests that are due from then on count */
    int epoll;
    char request[MAX_REQUEST];
    size_t request_length;
    unsigned connection_count;
    struct connection *connections;
    struct connection **idle;   /* a ring: the one that has waited longest is next */
    unsigned idle_first;
    unsigned idle_count;
    uint64_t due;
    uint64_t answered;
    uint64_t answered_in_all;   /* with those that do not count */
    uint64_t wrong;
    uint64_t latency[BUCKETS];
    uint64_t late[BUCKETS];
};

static void now_idle(struct client *client, struct connection *connection, uint64_t now)
{
    connection->idle_since = now;
    client->idle[(client->idle_first + client->idle_count++) % client->connection_count] = connection;
}

static struct connection *take_idle(struct client *client)
{
    struct connection *connection = client->idle[client->idle_first];
    client->idle_first = (client->idle_first + 1) % client->connection_count;
    client->idle_count--;
    return connection;
}

static void ask(struct client *client, uint64_t due)
{
    struct connection *connection = take_idle(client);
    connection->due = due;
    connection->filled = 0;
    connection->counts = due >= client->settled;
    uint64_t could_go = due > connection->idle_since ? due : connection->idle_since;
    uint64_t now = now_nanos();
    if (send(connection->fd, client->request, client->request_length, MSG_NOSIGNAL) != (ssize_t)client->request_length)
        fail("send");
    if (connection->counts)
        client->late[bucket_of(now - could_go)]++;
}

/* Returns the length of the answer that the connection holds, 0 while it is not whole. */
static size_t whole_answer(struct connection *connection)
{
    static const char LENGTH[] = "\r\ncontent-length:";
    connection->answer[connection->filled] = '\0';
    char *end = strstr(connection->answer, "\r\n\r\n");
    char *length = end == NULL ? NULL : strcasestr(connection->answer, LENGTH);
    if (end != NULL && (length == NULL || length > end))
        refuse("an answer has no content-length");
    if (end == NULL)
        return 0;
    size_t whole = (size_t)(end + 4 - connection->answer) + strtoul(length + sizeof LENGTH - 1, NULL, 10);
    if (whole > MAX_ANSWER)
        refuse("an answer is longer than 4096 bytes");
    return connection->filled >= whole ? whole : 0;
}

static void receive(struct client *client, struct connection *connection)
{
    ssize_t n = recv(connection->fd, connection->answer + connection->filled, MAX_ANSWER - connection->filled,
                     MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n < 0)
        fail("recv");
    if (n == 0)
        refuse("the server closed a connection");
    connection->filled += (size_t)n;
    size_t whole = whole_answer(connection);
    if (whole == 0)
        return;
    if (whole != connection->filled)
        refuse("the server answered more than it was asked");
    uint64_t now = now_nanos();
    bool right = strncmp(connection->answer, "HTTP/1.1 200 ", 13) == 0;
    client->answered_in_all += right;
    if (connection->counts) {
        client->answered += right;
        client->wrong += !right;
        client->latency[bucket_of(now - connection->due)]++;
    }
    now_idle(client, connection, now);
}

static void receive_all(struct client *client)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(client->epoll, events, EVENTS, 0);
    if (n < 0 && errno != EINTR)
        fail("epoll_wait");
    for (int i = 0; i < n; i++)
        receive(client, events[i].data.ptr);
}

/* Counts the request that is due next, whether or not it can be sent, and goes on to the one after it. */
static uint64_t take_due(struct client *client)
{
    uint64_t due = client->start + (uint64_t)client->schedule.due;
    client->due += due >= client->settled;
    next_due(&client->schedule);
    return due;
}

static void run(struct client *client)
{
    struct schedule *schedule = &client->schedule;
    client->start = now_nanos();
    client->settled += client->start;
    uint64_t last = client->start + (uint64_t)schedule->end + GRACE_NANOS;
    for (next_due(schedule);;) {
        uint64_t now = now_nanos();
        double since = (double)(now - client->start);
        while (schedule->due < schedule->end && schedule->due <= since && client->idle_count > 0)
            ask(client, take_due(client));
        if ((schedule->due >= schedule->end && client->idle_count == client->connection_count) || now > last)
            break;
        receive_all(client);
    }
    while (schedule->due < schedule->end)
        take_due(client);
}

static void open_connections(struct client *client, const char *address, uint16_t port)
{
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, address, &server.sin_addr) != 1)
        refuse("--address must be an IPv4 address");
    client->epoll = epoll_create1(0);
    client->connections = calloc(client->connection_count, sizeof *client->connections);
    client->idle = calloc(client->connection_count, sizeof *client->idle);
    if (client->epoll < 0 || client->connections == NULL || client->idle == NULL)
        fail("no memory or descriptor");
    for (unsigned i = 0; i < client->connection_count; i++) {
        struct connection *connection = &client->connections[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        connection->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connection->fd < 0 || connect(connection->fd, (struct sockaddr *)&server, sizeof server) != 0)
            fail("connect");
        setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        if (epoll_ctl(client->epoll, EPOLL_CTL_ADD, connection->fd, &event) != 0)
            fail("epoll_ctl");
        now_idle(client, connection, now_nanos());
    }
}

static double number(const char *text, double least, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (*end != '\0' || !(value >= least && value <= most))
        refuse("a number is out of its range; see the head of http.c");
    return value;
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {{"address", required_argument, NULL, 'a'},
        {"port", required_argument, NULL, 'p'}, {"path", required_argument, NULL, 'u'},
        {"connections", required_argument, NULL, 'c'}, {"rate", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'}, {"settle", required_argument, NULL, 'w'}, {NULL, 0, NULL, 0}};
    static struct client client;
    const char *address = NULL, *path = "/";
    double port = 0, rate = 0, seconds = 0, settle = 0;
    for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
        switch (option) {
        case 'a': address = optarg; break;
        case 'p': port = number(optarg, 1, 65535); break;
        case 'u': path = optarg; break;
        case 'c': client.connection_count = (unsigned)number(optarg, 1, MAX_CONNECTIONS); break;
        case 'r': rate = number(optarg, 1, 1e7); break;
        case 's': seconds = number(optarg, 0.001, 1e5); break;
        case 'w': settle = number(optarg, 0, 1e5); break;
        default: refuse("unknown option; see the head of http.c");
        }
    }
    if (address == NULL || port == 0 || rate == 0 || seconds == 0 || client.connection_count == 0)
        refuse("--address, --port, --connections, --rate and --seconds are needed");
    int length = snprintf(client.request, sizeof client.request, "GET %s HTTP/1.1\r\nHost: %s:%d\r\n\r\n", path,
                          address, (int)port);
    if (length >= (int)sizeof client.request)
        refuse("--path is too long");
    client.request_length = (size_t)length;
    client.schedule = (struct schedule){.random = 1, .mean_gap = (double)NANOS_PER_SECOND / rate,
                                        .end = (settle + seconds) * (double)NANOS_PER_SECOND};
    client.settled = (uint64_t)(settle * (double)NANOS_PER_SECOND);
    open_connections(&client, address, (uint16_t)port);
    run(&client);
    printf("{\"due\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"answeredInAll\":%" PRIu64 ",\"wrong\":%" PRIu64, client.due,
           client.answered, client.answered_in_all, client.wrong);
    print_histogram("latencyNanos", client.latency);
    print_histogram("lateNanos", client.late);
    printf("}\n");
    return 0;
}
