/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's answers to clients, and its treatment of clients that misbehave. */
#define _GNU_SOURCE
#include "broker_scene.h"
#include "neighbor.h"
#include "session.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void check_bad(struct scene *scene, const void *bytes, size_t length)
{
    int fd = scene_connect(scene);
    CHECK_EQ(0, send_passing(fd, bytes, length, scene->listener));
    CHECK(reply_of(fd).error != 0);
    check_ended(fd);
}

/* Each bad message is answered by a sentence, ends the connection and leaves no descriptor. */
static void test_bad_messages_are_answered_and_leave_no_descriptor(void)
{
    static uint8_t long_one[SESSION_MAX_MESSAGE_BYTES + 1];
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    unsigned before = open_descriptors();
    check_bad(&scene, &request, sizeof request - 1);
    check_bad(&scene, &request, 1);
    memcpy(long_one, &request, sizeof request);
    check_bad(&scene, long_one, sizeof long_one);
    request.version++;
    check_bad(&scene, &request, sizeof request);
    scene_settle(&scene);
    CHECK_EQ(before, open_descriptors());
    CHECK_EQ(4, server_counters(scene.server)->bad_messages);
    scene_close(&scene);
}

/* A library of another version can read the reply: it contains that version, and the text at the common place. */
static void check_version(const struct scene *scene, uint32_t version, size_t length)
{
    uint8_t bytes[sizeof(struct sv_broker_request) + 64] = {0};
    char sentence[96];
    memcpy(bytes, &version, sizeof version);
    int fd = scene_connect(scene);
    CHECK_EQ(length, send(fd, bytes, length, MSG_NOSIGNAL));
    struct sv_broker_reply reply = reply_of(fd);
    CHECK_EQ(version, reply.version);
    CHECK_EQ(EPROTO, reply.error);
    snprintf(sentence, sizeof sentence, "speaks version %d of its protocol, and the library of the process version %u",
             SV_BROKER_VERSION, version);
    if (strstr(reply.text, sentence) == NULL)
        test_failed(__FILE__, __LINE__, "%s", reply.text);
    check_ended(fd);
}

static void test_a_library_of_another_version_receives_a_readable_error(void)
{
    enum { OLD_REQUEST_BYTES = 312 };
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    check_version(&scene, 2, OLD_REQUEST_BYTES);
    check_version(&scene, SV_BROKER_VERSION + 1, sizeof(struct sv_broker_request) + 64);
    scene_close(&scene);
}

/* These are requests, so the connection stays. */
static void test_invalid_and_denied_requests_keep_the_connection(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    int fd = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_CALL_COUNT);
    CHECK_EQ(EPROTO, broker_transact(fd, &request));
    request = request_of(SV_BROKER_ADD_RULE);
    CHECK_EQ(ENOTCONN, broker_transact(fd, &request));
    request = request_of(SV_BROKER_OPEN);
    CHECK_EQ(EINVAL, broker_transact(fd, &request));                   /* no name */
    memset(request.open.netdev, 'x', sizeof request.open.netdev);
    CHECK_EQ(EINVAL, broker_transact(fd, &request));                   /* name without an end */
    strcpy(request.open.netdev, "a\nb");
    CHECK_EQ(EINVAL, broker_transact(fd, &request));
    strcpy(request.open.netdev, "eth9");
    CHECK_EQ(EACCES, broker_transact(fd, &request));
    strcpy(request.open.netdev, "none0");
    request.open.mode = SV_BROKER_MODE_NATIVE;
    CHECK_EQ(EACCES, broker_transact(fd, &request));
    request.open.mode = SV_BROKER_MODE_ZERO_COPY;
    CHECK_EQ(EACCES, broker_transact(fd, &request));
    request.open.mode = SV_BROKER_MODE_COUNT;
    CHECK_EQ(EINVAL, broker_transact(fd, &request));
    request = request_of(SV_BROKER_SOLICIT);
    request.solicit.family = AF_INET;
    request.solicit.ifindex = 1;
    CHECK_EQ(EACCES, broker_transact(fd, &request));                   /* the policy does not grant lo */
    request.solicit.family = AF_UNIX;
    CHECK_EQ(EAFNOSUPPORT, broker_transact(fd, &request));
    close(fd);
    scene_stop(&scene);
    CHECK_EQ(4, server_counters(scene.server)->denied);
    scene_close(&scene);
}

/* ---- clients in the way ---- */

static void test_a_client_without_a_request_is_disconnected(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    int silent = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    int busy = scene_connect(&scene);
    CHECK_EQ(ENOTCONN, broker_transact(busy, &request));               /* accepted after the other one */
    broker_clock_add(IDLE_MILLIS);
    close(scene_connect(&scene));
    check_ended(silent);
    scene_stop(&scene);
    CHECK_EQ(1, server_counters(scene.server)->timed_out);
    close(busy);
    scene_close(&scene);
}

/* A client sends requests and reads no answer. The broker serves others. */
static void test_a_client_that_does_not_read_is_disconnected(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    int deaf = scene_connect(&scene);
    while (send(deaf, &request, sizeof request, MSG_NOSIGNAL) > 0)
        continue;
    CHECK(errno == EPIPE || errno == ECONNRESET);
    close(deaf);
    int other = scene_connect(&scene);
    CHECK_EQ(ENOTCONN, broker_transact(other, &request));
    close(other);
    scene_stop(&scene);
    CHECK_EQ(1, server_counters(scene.server)->timed_out);
    scene_close(&scene);
}

/* Returns a connection that is served. A place is free only when the previous client's process has ended. */
static int connect_when_free(const struct scene *scene)
{
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    struct sv_broker_reply reply;
    struct timespec since = now();
    for (;;) {
        int fd = scene_connect(scene);
        if (send(fd, &request, sizeof request, MSG_NOSIGNAL) == sizeof request &&
            recv(fd, &reply, sizeof reply, 0) == sizeof reply)
            return fd;
        close(fd);
        CHECK(!overdue(since));
    }
}

static void test_connections_per_user_are_limited(void)
{
    enum { SOME_REFUSALS = 300 };
    struct scene scene;
    int fds[SERVER_MAX_CLIENTS_OF_USER];
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    for (int i = 0; i < SERVER_MAX_CLIENTS_OF_USER; i++)
        fds[i] = scene_connect(&scene);
    unsigned lines = scene_journal_lines();
    /* A refusal is not a failure to accept, after which the broker would delay all connections. */
    for (int i = 0; i < SOME_REFUSALS; i++)
        check_ended(scene_connect(&scene));
    CHECK_EQ(SERVER_MAX_REFUSAL_LINES_PER_SECOND_OF_USER, scene_journal_lines() - lines);
    close(fds[0]);
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    CHECK_EQ(ENOTCONN, broker_transact(fds[1], &request));
    fds[0] = connect_when_free(&scene);
    for (int i = 0; i < SERVER_MAX_CLIENTS_OF_USER; i++)
        close(fds[i]);
    scene_close(&scene);
}

static struct rlimit usual_limits;

static void restore_limit(void)
{
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &usual_limits));
}

/* A broker that cannot take a client's descriptors goes on, leaves none of them open, and serves the next client. */
static void test_a_broker_without_free_descriptors_goes_on(void)
{
    enum { PAUSE_MILLIS = 1001 };       /* in which the broker accepts no other client */
    struct scene scene;
    struct sv_broker_reply reply;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    scene_settle(&scene);
    unsigned before = open_descriptors();
    int fd = scene_connect(&scene);
    CHECK_EQ(0, getrlimit(RLIMIT_NOFILE, &usual_limits));
    const struct rlimit limits = {.rlim_cur = (rlim_t)fd + 1, .rlim_max = usual_limits.rlim_max};
    after_failure = restore_limit;
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &limits));
    unsigned lines = scene_journal_lines();
    while (scene_journal_lines() == lines)
        CHECK(server_run_once(scene.server));
    restore_limit();
    after_failure = NULL;
    close(fd);
    broker_clock_add(PAUSE_MILLIS);
    fd = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    CHECK_EQ(sizeof request, send(fd, &request, sizeof request, 0));
    while (recv(fd, &reply, sizeof reply, MSG_DONTWAIT) < 0)
        CHECK(server_run_once(scene.server));
    CHECK_EQ(ENOTCONN, reply.error);
    close(fd);
    scene_settle(&scene);
    CHECK_EQ(before, open_descriptors());
    scene_close(&scene);
}

/* Changes the user of the calling thread only. */
static void become(uid_t uid)
{
    CHECK_EQ(0, syscall(SYS_setresuid, -1, uid, 0));
}

/* A user with many uids that the policy does not name cannot occupy the places of named users. */
static void test_all_users_outside_the_policy_share_one_limit(void)
{
    enum { FIRST = 100000 };
    struct scene scene;
    int fds[SERVER_MAX_CLIENTS_OF_USER];
    if (!have_namespace())
        return;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    for (int i = 0; i < SERVER_MAX_CLIENTS_OF_USER; i++) {
        become((uid_t)(FIRST + i));
        fds[i] = scene_connect(&scene);
        become(0);
    }
    become(FIRST);
    int refused = scene_connect(&scene);
    become(0);
    check_ended(refused);
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    int fd = scene_connect(&scene);
    CHECK_EQ(ENOTCONN, broker_transact(fd, &request));
    close(fd);
    for (int i = 0; i < SERVER_MAX_CLIENTS_OF_USER; i++)
        close(fds[i]);
    scene_close(&scene);
}

/* A turn handles one slow request. All other requests are answered between two of them. */
static void test_a_slow_request_delays_others_only_once(void)
{
    enum { CLIENTS = 4, ROUNDS = 16 };
    struct wire wire[CLIENTS / 2];
    struct scene scene;
    char policy[512] = "";
    int fds[CLIENTS];
    if (!have_namespace())
        return;
    for (int i = 0; i < CLIENTS; i++) {
        if (i % 2 == 0)
            link_open(&wire[i / 2], 1500, 1);
        size_t length = strlen(policy);
        snprintf(policy + length, sizeof policy - length, "user=me interface=%s modes=generic ports=any devices=%d\n",
                 wire[i / 2].name[i % 2], CLIENTS);
    }
    scene_open(&scene, policy);
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = scene_connect(&scene);
        strcpy(request.open.netdev, wire[i / 2].name[i % 2]);
        CHECK_EQ(0, broker_transact(fds[i], &request));
    }
    scene_stop(&scene);
    request = request_of(SV_BROKER_MAC_CHANGED);
    for (unsigned long goal = server_counters(scene.server)->requests + CLIENTS, round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CLIENTS; i++)
            CHECK_EQ(sizeof request, send(fds[i], &request, sizeof request, MSG_NOSIGNAL));
        for (unsigned long before; (before = server_counters(scene.server)->requests) < goal;) {
            CHECK(server_run_once(scene.server));
            CHECK(server_counters(scene.server)->requests <= before + 1);
        }
        for (int i = 0; i < CLIENTS; i++)
            CHECK_EQ(0, reply_of(fds[i]).error);
        goal += CLIENTS;
    }
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    scene_close(&scene);
    for (int i = 0; i < CLIENTS / 2; i++)
        link_close(&wire[i]);
}

/* Requests on one connection count for the user's other connections too, even after it is closed. */
static void test_next_hops_per_second_are_limited_across_a_users_connections(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    struct sv_broker_request request = request_of(SV_BROKER_SOLICIT);
    request.solicit.family = AF_INET;
    request.solicit.ifindex = 1;
    int first = scene_connect(&scene);
    int second = scene_connect(&scene);
    for (int i = 0; i < SERVER_MAX_SOLICITATIONS_PER_SECOND_OF_USER; i++)
        CHECK_EQ(EACCES, broker_transact(first, &request));            /* the policy does not grant lo */
    CHECK_EQ(EAGAIN, broker_transact(second, &request));
    close(first);
    int third = scene_connect(&scene);
    CHECK_EQ(EAGAIN, broker_transact(third, &request));
    broker_clock_add(1000);
    CHECK_EQ(EACCES, broker_transact(third, &request));
    close(second);
    close(third);
    scene_close(&scene);
}

static int ask_for_hop(int fd, const struct wire *wire, const char *address)
{
    struct sv_broker_request request = request_of(SV_BROKER_SOLICIT);
    request.solicit.ifindex = if_nametoindex(wire->name[0]);
    request.solicit.family = AF_INET;
    CHECK_EQ(1, inet_pton(AF_INET, address, request.solicit.address));
    return broker_transact(fd, &request);
}

/* Unanswered next hops of a user cannot fill the kernel's table. Answered ones are not limited. */
static void test_unanswered_and_indirect_next_hops_are_refused(void)
{
    struct wire wire;
    struct scene scene;
    char address[32];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    run("ip addr add 198.18.1.1/24 dev %s", wire.name[0]);
    run("ip route add 198.18.2.0/24 via 198.18.1.2");
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000");
    int fd = scene_connect(&scene);
    CHECK_EQ(EHOSTUNREACH, ask_for_hop(fd, &wire, "198.18.2.1"));      /* reached through a gateway */
    CHECK_EQ(EHOSTUNREACH, ask_for_hop(fd, &wire, "198.18.3.1"));      /* without a route */
    for (int i = 0; i < NEIGHBOR_MAX_PENDING; i++) {
        snprintf(address, sizeof address, "198.18.1.%d", 10 + i);
        CHECK_EQ(0, ask_for_hop(fd, &wire, address));
    }
    CHECK_EQ(0, ask_for_hop(fd, &wire, "198.18.1.10"));
    CHECK_EQ(EAGAIN, ask_for_hop(fd, &wire, "198.18.1.200"));
    run("ip neigh replace 198.18.1.10 lladdr 02:00:00:00:00:01 dev %s nud reachable", wire.name[0]);
    CHECK_EQ(0, ask_for_hop(fd, &wire, "198.18.1.200"));
    CHECK_EQ(EAGAIN, ask_for_hop(fd, &wire, "198.18.1.201"));
    broker_clock_add(IDLE_MILLIS);
    CHECK_EQ(0, ask_for_hop(fd, &wire, "198.18.1.201"));
    close(fd);
    scene_close(&scene);
    link_close(&wire);
}

/* ---- filters ---- */

static int bound_socket(int type, uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, bind(fd, (struct sockaddr *)&address, size));
    CHECK_EQ(0, getsockname(fd, (struct sockaddr *)&address, &size));
    *port = ntohs(address.sin_port);
    return fd;
}

static int ask_for_filter(int fd, int socket, struct sock_filter code, uint32_t said)
{
    struct {
        struct sv_broker_request request;
        struct sock_filter code;
    } message = {.request = request_of(SV_BROKER_ATTACH_FILTER), .code = code};
    message.request.filter.instruction_count = said;
    CHECK_EQ(0, send_passing(fd, &message, sizeof message, socket));
    return reply_of(fd).error;
}

static void test_filters_are_attached_to_tcp_sockets_of_granted_ports(void)
{
    static const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, 0);
    static const struct sock_filter cut = BPF_STMT(BPF_RET | BPF_K, 60);
    static const struct sock_filter computed = BPF_STMT(BPF_RET | BPF_A, 0);
    static const struct sock_filter endless = BPF_STMT(BPF_LD | BPF_IMM, 0);
    struct scene scene;
    char policy[128];
    uint16_t port, other_port;
    if (!have_namespace())
        return;
    int tcp = bound_socket(SOCK_STREAM, &port);
    int other = bound_socket(SOCK_STREAM, &other_port);
    int udp = bound_socket(SOCK_DGRAM, &other_port);
    int unbound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(policy, sizeof policy, "user=me interface=none0 modes=generic ports=tcp:%u,udp:1-65535", port);
    scene_open(&scene, policy);
    int fd = scene_connect(&scene);
    CHECK_EQ(EACCES, ask_for_filter(fd, other, refuse, 1));
    CHECK_EQ(EINVAL, ask_for_filter(fd, udp, refuse, 1));
    CHECK_EQ(EINVAL, ask_for_filter(fd, unbound, refuse, 1));
    CHECK_EQ(EINVAL, ask_for_filter(fd, scene.listener, refuse, 1));
    CHECK_EQ(EINVAL, ask_for_filter(fd, tcp, refuse, 2));
    CHECK_EQ(EINVAL, ask_for_filter(fd, tcp, refuse, UINT32_MAX));
    CHECK_EQ(EACCES, ask_for_filter(fd, tcp, cut, 1));
    CHECK_EQ(EACCES, ask_for_filter(fd, tcp, computed, 1));
    CHECK_EQ(EINVAL, ask_for_filter(fd, tcp, endless, 1));      /* the kernel's own check */
    socklen_t instructions = 0;
    CHECK_EQ(0, getsockopt(tcp, SOL_SOCKET, SO_ATTACH_FILTER, NULL, &instructions));
    CHECK_EQ(0, instructions);
    CHECK_EQ(0, ask_for_filter(fd, tcp, refuse, 1));
    CHECK_EQ(0, getsockopt(tcp, SOL_SOCKET, SO_ATTACH_FILTER, NULL, &instructions));
    CHECK_EQ(1, instructions);
    close(fd), close(tcp), close(other), close(udp), close(unbound);
    scene_close(&scene);
}

const struct test broker_tests[] = {
    {"broker: bad messages are answered and leave no descriptor",
     test_bad_messages_are_answered_and_leave_no_descriptor},
    {"broker: a library of another version receives a readable error",
     test_a_library_of_another_version_receives_a_readable_error},
    {"broker: invalid and denied requests keep the connection", test_invalid_and_denied_requests_keep_the_connection},
    {"broker: a client without a request is disconnected", test_a_client_without_a_request_is_disconnected},
    {"broker: a client that does not read is disconnected", test_a_client_that_does_not_read_is_disconnected},
    {"broker: connections per user are limited", test_connections_per_user_are_limited},
    {"broker: all users outside the policy share one limit", test_all_users_outside_the_policy_share_one_limit},
    {"broker: a slow request delays others only once", test_a_slow_request_delays_others_only_once},
    {"broker: next hops per second are limited across a user's connections",
     test_next_hops_per_second_are_limited_across_a_users_connections},
    {"broker: without free descriptors it goes on", test_a_broker_without_free_descriptors_goes_on},
    {"broker: unanswered and indirect next hops are refused", test_unanswered_and_indirect_next_hops_are_refused},
    {"broker: filters are attached to TCP sockets of granted ports",
     test_filters_are_attached_to_tcp_sockets_of_granted_ports},
    {NULL, NULL},
};
