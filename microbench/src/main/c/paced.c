/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open-loop client: sends requests on a schedule that does not depend on how fast the server answers.
 *
 *   paced-bench --kind K --address A --port P --connections N --rate R --seconds S [--settle S] [--grace S]
 *
 * Kinds: http, http-short (every tenth request closes its connection), redis, websocket, dns.
 *
 * All send times are fixed before the first request. The gaps between them are exponential, as with many independent
 * users, and the same for every server. A request uses an idle connection and waits if there is none. Latency counts
 * from the scheduled time, so that a stall of the server is charged to every request it delays: there is no coordinated
 * omission. With --rate 0 a request is due as soon as a connection is idle, which measures the server's maximum.
 *
 * The client uses kernel sockets and polls, because waking up would add to the latency. It also measures how late it
 * sent each request although a connection was idle.
 *
 * Prints one JSON object: counters of the requests due after --settle seconds, and two histograms as
 * [nanoseconds, count].
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
/* In the kind http-short, the number of requests on a connection. */
enum { SHORT_REQUESTS = 10 };
static const uint64_t NANOS_PER_SECOND = 1000000000;
/* Requests that are unanswered this long after the last send time are lost, unless --grace names another time. */
static const double GRACE_SECONDS = 0.5;
/* A datagram that is unanswered for this long is lost, and its socket sends the next request. */
static const uint64_t DATAGRAM_LOST_NANOS = 400000000;
static const uint64_t LOST_CHECK_NANOS = 50000000;

static void fail(const char *what)
{
    fprintf(stderr, "paced-bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void refuse(const char *why)
{
    fprintf(stderr, "paced-bench: %s\n", why);
    exit(2);
}

static uint64_t now_nanos(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NANOS_PER_SECOND + (uint64_t)time.tv_nsec;
}

/* ---- a histogram with a relative bucket width of 1/1024 ---- */

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

/* ---- the schedule ---- */

struct schedule {
    uint64_t random;
    double mean_gap;    /* nanoseconds; 0 for full speed */
    double due;         /* send time of the next request; a double holds nanoseconds exactly for months */
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

/* ---- connections ---- */

enum state {
    CLOSED,         /* the next request opens the connection */
    CONNECTING,     /* the handshake of a request's connection is in progress */
    IDLE,
    WAITING,        /* for an answer */
    CLOSING         /* waits for the server's FIN */
};

struct connection {
    int fd;
    enum state state;
    bool counts;            /* the request in progress was due after --settle */
    unsigned requests;      /* sent on this connection */
    uint64_t due;
    uint64_t sent;
    uint64_t idle_since;
    size_t filled;
    char answer[MAX_ANSWER + 1];
};

struct client {
    const struct kind *kind;
    struct schedule schedule;
    struct sockaddr_in server;
    char host[64];          /* of the Host header */
    uint64_t start;
    uint64_t settled;       /* requests due before this time do not count */
    uint64_t grace;         /* time for answers after the last send time */
    uint64_t next_lost_check;
    int epoll;
    unsigned connection_count;
    struct connection *connections;
    struct connection **idle;   /* a ring in the order of idle_since */
    unsigned idle_first;
    unsigned idle_count;
    uint64_t due;
    uint64_t answered;
    uint64_t answered_in_all;   /* includes requests before --settle */
    uint64_t wrong;
    uint64_t latency[BUCKETS];
    uint64_t late[BUCKETS];
};

/* ---- what differs between the kinds ---- */

struct kind {
    const char *name;
    int socket_type;
    bool is_short;
    /* Sent and answered once on each connection before the measurement, or null. */
    size_t (*hello)(const struct client *client, char *request);
    size_t (*hello_length)(const char *answer, size_t filled);
    /* Writes a request and returns its length. */
    size_t (*request)(const struct client *client, const struct connection *connection, char *request);
    /* Returns the length of the answer, or 0 if it is incomplete. */
    size_t (*answer_length)(const char *answer, size_t filled);
    bool (*is_right)(const char *answer, const struct connection *connection);
};

static size_t http_request(const struct client *client, const struct connection *connection, char *request)
{
    bool is_last = client->kind->is_short && connection->requests == SHORT_REQUESTS - 1;
    return (size_t)snprintf(request, MAX_REQUEST, "GET /plaintext HTTP/1.1\r\nHost: %s\r\n%s\r\n", client->host,
                            is_last ? "Connection: close\r\n" : "");
}

static size_t head_length(const char *answer, size_t filled)
{
    const char *end = memmem(answer, filled, "\r\n\r\n", 4);
    return end == NULL ? 0 : (size_t)(end + 4 - answer);
}

static size_t http_length(const char *answer, size_t filled)
{
    static const char LENGTH[] = "\r\ncontent-length:";
    size_t head = head_length(answer, filled);
    if (head == 0)
        return 0;
    const char *length = strcasestr(answer, LENGTH);
    if (length == NULL || length > answer + head)
        refuse("an answer has no content-length");
    size_t whole = head + strtoul(length + sizeof LENGTH - 1, NULL, 10);
    if (whole > MAX_ANSWER)
        refuse("an answer is longer than 4096 bytes");
    return filled >= whole ? whole : 0;
}

static bool http_is_right(const char *answer, const struct connection *connection)
{
    (void)connection;
    return strncmp(answer, "HTTP/1.1 200 ", 13) == 0;
}

static const char REDIS_SET[] = "*3\r\n$3\r\nSET\r\n$16\r\nkey:__rand_int__\r\n$3\r\nxxx\r\n";
static const char REDIS_GET[] = "*2\r\n$3\r\nGET\r\n$16\r\nkey:__rand_int__\r\n";
static const char REDIS_VALUE[] = "$3\r\nxxx\r\n";

static size_t redis_hello(const struct client *client, char *request)
{
    (void)client;
    memcpy(request, REDIS_SET, sizeof REDIS_SET);
    return sizeof REDIS_SET - 1;
}

static size_t line_length(const char *answer, size_t filled)
{
    const char *end = memmem(answer, filled, "\r\n", 2);
    return end == NULL ? 0 : (size_t)(end + 2 - answer);
}

static size_t redis_request(const struct client *client, const struct connection *connection, char *request)
{
    (void)client;
    (void)connection;
    memcpy(request, REDIS_GET, sizeof REDIS_GET);
    return sizeof REDIS_GET - 1;
}

static size_t redis_length(const char *answer, size_t filled)
{
    return filled > 0 && answer[0] != '$' ? line_length(answer, filled)
                                          : filled >= sizeof REDIS_VALUE - 1 ? sizeof REDIS_VALUE - 1 : 0;
}

static bool redis_is_right(const char *answer, const struct connection *connection)
{
    (void)connection;
    return strncmp(answer, REDIS_VALUE, sizeof REDIS_VALUE - 1) == 0;
}

/* RFC 6455: a text frame with one fragment; the client masks its frames, here with a mask of zeros. */
enum { FINAL_TEXT = 0x81, MASKED = 0x80, MASK_BYTES = 4, TEXT_BYTES = 64 };

static size_t websocket_hello(const struct client *client, char *request)
{
    return (size_t)snprintf(request, MAX_REQUEST, "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
                            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                            "Sec-WebSocket-Version: 13\r\n\r\n", client->host);
}

static size_t websocket_request(const struct client *client, const struct connection *connection, char *request)
{
    (void)client;
    (void)connection;
    request[0] = (char)FINAL_TEXT;
    request[1] = (char)(MASKED | TEXT_BYTES);
    memset(request + 2, 0, MASK_BYTES);
    memset(request + 2 + MASK_BYTES, 'x', TEXT_BYTES);
    return 2 + MASK_BYTES + TEXT_BYTES;
}

static size_t websocket_length(const char *answer, size_t filled)
{
    (void)answer;
    return filled >= 2 + TEXT_BYTES ? 2 + TEXT_BYTES : 0;
}

static bool websocket_is_right(const char *answer, const struct connection *connection)
{
    (void)connection;
    return answer[0] == (char)FINAL_TEXT && answer[1] == TEXT_BYTES;
}

/* RFC 1035: one question, recursion desired, A record of www.example.test. The ID numbers the requests of a socket. */
static const char DNS_QUESTION[] = "\1\0\0\1\0\0\0\0\0\0\3www\7example\4test\0\0\1\0\1";

static size_t dns_request(const struct client *client, const struct connection *connection, char *request)
{
    (void)client;
    uint16_t id = htons((uint16_t)connection->requests);
    memcpy(request, &id, sizeof id);
    memcpy(request + sizeof id, DNS_QUESTION, sizeof DNS_QUESTION - 1);
    return sizeof id + sizeof DNS_QUESTION - 1;
}

static size_t dns_length(const char *answer, size_t filled)
{
    (void)answer;
    return filled;
}

/* QR is set, the code is NOERROR, and there is an answer. */
static bool dns_is_right(const char *answer, const struct connection *connection)
{
    return connection->filled >= 12 && (answer[2] & 0x80) != 0 && (answer[3] & 0x0f) == 0
        && (answer[6] != 0 || answer[7] != 0);
}

static const struct kind KINDS[] = {
    {"http", SOCK_STREAM, false, NULL, NULL, http_request, http_length, http_is_right},
    {"http-short", SOCK_STREAM, true, NULL, NULL, http_request, http_length, http_is_right},
    {"redis", SOCK_STREAM, false, redis_hello, line_length, redis_request, redis_length, redis_is_right},
    {"websocket", SOCK_STREAM, false, websocket_hello, head_length, websocket_request, websocket_length,
     websocket_is_right},
    {"dns", SOCK_DGRAM, false, NULL, NULL, dns_request, dns_length, dns_is_right},
};

static const struct kind *kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(KINDS[i].name, name) == 0)
            return &KINDS[i];
    refuse("--kind must be http, http-short, redis, websocket or dns");
    return NULL;
}

/* ---- the client ---- */

static bool is_datagram(const struct client *client)
{
    return client->kind->socket_type == SOCK_DGRAM;
}

static void now_idle(struct client *client, struct connection *connection, enum state state, uint64_t now)
{
    connection->state = state;
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

/* Opens the socket of a connection. Returns whether it is connected already. */
static bool open_socket(struct client *client, struct connection *connection, int flags)
{
    connection->requests = 0;
    connection->fd = socket(AF_INET, client->kind->socket_type | flags, 0);
    if (connection->fd < 0)
        fail("socket");
    if (!is_datagram(client))
        setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    bool connected = connect(connection->fd, (struct sockaddr *)&client->server, sizeof client->server) == 0;
    if (!connected && errno != EINPROGRESS)
        fail("connect");
    struct epoll_event event = {.events = connected ? EPOLLIN : EPOLLOUT, .data.ptr = connection};
    if (epoll_ctl(client->epoll, EPOLL_CTL_ADD, connection->fd, &event) != 0)
        fail("epoll_ctl");
    return connected;
}

static void send_all(const struct connection *connection, const char *request, size_t length)
{
    if (send(connection->fd, request, length, MSG_NOSIGNAL) != (ssize_t)length)
        fail("send");
}

static void send_request(struct client *client, struct connection *connection)
{
    char request[MAX_REQUEST];
    connection->filled = 0;
    connection->state = WAITING;
    connection->sent = now_nanos();
    send_all(connection, request, client->kind->request(client, connection, request));
    connection->requests++;
}

static void ask(struct client *client, uint64_t due)
{
    struct connection *connection = take_idle(client);
    connection->due = due;
    connection->counts = due >= client->settled;
    uint64_t could_go = due > connection->idle_since ? due : connection->idle_since;
    if (connection->counts)
        client->late[bucket_of(now_nanos() - could_go)]++;
    if (connection->state == CLOSED && !open_socket(client, connection, SOCK_NONBLOCK))
        connection->state = CONNECTING;
    else
        send_request(client, connection);
}

static void connected(struct client *client, struct connection *connection)
{
    int error = 0;
    getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error});
    if (error != 0) {
        errno = error;
        fail("connect");
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(client->epoll, EPOLL_CTL_MOD, connection->fd, &event) != 0)
        fail("epoll_ctl");
    send_request(client, connection);
}

static void answered(struct client *client, struct connection *connection)
{
    uint64_t now = now_nanos();
    bool right = client->kind->is_right(connection->answer, connection);
    client->answered_in_all += right;
    if (connection->counts) {
        client->answered += right;
        client->wrong += !right;
        client->latency[bucket_of(now - connection->due)]++;
    }
    if (client->kind->is_short && connection->requests == SHORT_REQUESTS)
        connection->state = CLOSING;
    else
        now_idle(client, connection, IDLE, now);
}

/* Answers to lost requests, which arrive late, have another ID and are ignored. */
static bool is_expected(const struct client *client, const struct connection *connection)
{
    uint16_t id;
    if (!is_datagram(client))
        return true;
    memcpy(&id, connection->answer, sizeof id);
    return connection->state == WAITING && connection->filled >= sizeof id
        && ntohs(id) == (uint16_t)(connection->requests - 1);
}

static void receive(struct client *client, struct connection *connection)
{
    if (is_datagram(client))
        connection->filled = 0;
    ssize_t n = recv(connection->fd, connection->answer + connection->filled, MAX_ANSWER - connection->filled,
                     MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n == 0 && connection->state == CLOSING) {
        close(connection->fd);
        now_idle(client, connection, CLOSED, now_nanos());
        return;
    }
    if (n < 0)
        fail("recv");
    if (n == 0)
        refuse("the server closed a connection");
    connection->filled += (size_t)n;
    connection->answer[connection->filled] = '\0';
    if (!is_expected(client, connection))
        return;
    if (connection->state != WAITING)
        refuse("the server sent more than the answers");
    size_t whole = client->kind->answer_length(connection->answer, connection->filled);
    if (whole == 0)
        return;
    if (whole != connection->filled)
        refuse("the server sent more than the answers");
    answered(client, connection);
}

static void receive_all(struct client *client)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(client->epoll, events, EVENTS, 0);
    if (n < 0 && errno != EINTR)
        fail("epoll_wait");
    for (int i = 0; i < n; i++) {
        struct connection *connection = events[i].data.ptr;
        if (connection->state == CONNECTING)
            connected(client, connection);
        else
            receive(client, connection);
    }
}

static void release_lost(struct client *client, uint64_t now)
{
    if (!is_datagram(client) || now < client->next_lost_check)
        return;
    client->next_lost_check = now + LOST_CHECK_NANOS;
    for (unsigned i = 0; i < client->connection_count; i++) {
        struct connection *connection = &client->connections[i];
        if (connection->state == WAITING && now - connection->sent > DATAGRAM_LOST_NANOS)
            now_idle(client, connection, IDLE, now);
    }
}

/* Counts the next scheduled request, whether or not it can be sent, and advances the schedule. */
static uint64_t take_due(struct client *client)
{
    uint64_t due = client->start + (uint64_t)client->schedule.due;
    client->due += due >= client->settled;
    next_due(&client->schedule);
    return due;
}

static bool is_due(struct client *client, uint64_t now)
{
    struct schedule *schedule = &client->schedule;
    double since = (double)(now - client->start);
    if (schedule->mean_gap == 0)
        schedule->due = since;
    return schedule->due < schedule->end && schedule->due <= since;
}

static bool is_at_rest(const struct client *client)
{
    for (unsigned i = 0; i < client->connection_count; i++)
        if (client->connections[i].state == WAITING || client->connections[i].state == CONNECTING)
            return false;
    return true;
}

static void run(struct client *client)
{
    struct schedule *schedule = &client->schedule;
    client->start = now_nanos();
    client->settled += client->start;
    uint64_t last = client->start + (uint64_t)schedule->end + client->grace;
    next_due(schedule);
    for (uint64_t now = now_nanos(); now <= last; now = now_nanos()) {
        while (client->idle_count > 0 && is_due(client, now))
            ask(client, take_due(client));
        if (schedule->due >= schedule->end && is_at_rest(client))
            break;
        receive_all(client);
        release_lost(client, now);
    }
    while (schedule->mean_gap > 0 && schedule->due < schedule->end)
        take_due(client);
}

static void say_hello(struct client *client, struct connection *connection)
{
    char request[MAX_REQUEST];
    send_all(connection, request, client->kind->hello(client, request));
    for (size_t whole = 0; whole == 0;) {
        ssize_t n = recv(connection->fd, connection->answer + connection->filled, MAX_ANSWER - connection->filled, 0);
        if (n <= 0)
            fail("no answer to the first message of a connection");
        connection->filled += (size_t)n;
        connection->answer[connection->filled] = '\0';
        whole = client->kind->hello_length(connection->answer, connection->filled);
    }
}

static void open_connections(struct client *client, const char *address, uint16_t port)
{
    client->server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, address, &client->server.sin_addr) != 1)
        refuse("--address must be an IPv4 address");
    snprintf(client->host, sizeof client->host, "%s:%u", address, port);
    client->epoll = epoll_create1(0);
    client->connections = calloc(client->connection_count, sizeof *client->connections);
    client->idle = calloc(client->connection_count, sizeof *client->idle);
    if (client->epoll < 0 || client->connections == NULL || client->idle == NULL)
        fail("no memory or descriptor");
    for (unsigned i = 0; i < client->connection_count; i++) {
        struct connection *connection = &client->connections[i];
        open_socket(client, connection, 0);
        if (client->kind->hello != NULL)
            say_hello(client, connection);
        now_idle(client, connection, IDLE, now_nanos());
    }
}

static double number(const char *text, double least, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (*end != '\0' || !(value >= least && value <= most))
        refuse("a number is out of its range; see the head of paced.c");
    return value;
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {{"kind", required_argument, NULL, 'k'},
        {"address", required_argument, NULL, 'a'}, {"port", required_argument, NULL, 'p'},
        {"connections", required_argument, NULL, 'c'}, {"rate", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'}, {"settle", required_argument, NULL, 'w'},
        {"grace", required_argument, NULL, 'g'}, {NULL, 0, NULL, 0}};
    static struct client client;
    const char *address = NULL;
    double port = 0, rate = -1, seconds = 0, settle = 0, grace = GRACE_SECONDS;
    for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
        switch (option) {
        case 'k': client.kind = kind_of(optarg); break;
        case 'a': address = optarg; break;
        case 'p': port = number(optarg, 1, 65535); break;
        case 'c': client.connection_count = (unsigned)number(optarg, 1, MAX_CONNECTIONS); break;
        case 'r': rate = number(optarg, 0, 1e7); break;
        case 's': seconds = number(optarg, 0.001, 1e5); break;
        case 'w': settle = number(optarg, 0, 1e5); break;
        case 'g': grace = number(optarg, 0, 1e5); break;
        default: refuse("unknown option; see the head of paced.c");
        }
    }
    if (client.kind == NULL || address == NULL || port == 0 || rate < 0 || seconds == 0 || client.connection_count == 0)
        refuse("--kind, --address, --port, --connections, --rate and --seconds are needed");
    client.schedule = (struct schedule){.random = 1, .mean_gap = rate > 0 ? (double)NANOS_PER_SECOND / rate : 0,
                                        .end = (settle + seconds) * (double)NANOS_PER_SECOND};
    client.settled = (uint64_t)(settle * (double)NANOS_PER_SECOND);
    client.grace = (uint64_t)(grace * (double)NANOS_PER_SECOND);
    open_connections(&client, address, (uint16_t)port);
    run(&client);
    printf("{\"due\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"answeredInAll\":%" PRIu64 ",\"wrong\":%" PRIu64, client.due,
           client.answered, client.answered_in_all, client.wrong);
    print_histogram("latencyNanos", client.latency);
    print_histogram("lateNanos", client.late);
    printf("}\n");
    return 0;
}
