/* SPDX-License-Identifier: Apache-2.0 */
/* What the broker answers to clients, and what it does about those in its way. */
#define _GNU_SOURCE
#include "broker_scene.h"
#include "session.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void check_bad(struct scene *scene, const void *bytes, size_t length)
{
    int fd = scene_connect(scene);
    CHECK_EQ(0, send_passing(fd, bytes, length, scene->listener));
    CHECK(reply_of(fd).error != 0);
    check_ended(fd);
}

/* Each is answered by a sentence, ends the connection and leaves no descriptor. */
static void test_bad_messages(void)
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

/* These are requests, so the connection stays. */
static void test_refused_requests(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    int fd = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_CALLS);
    CHECK_EQ(EPROTO, broker_ask(fd, &request));
    request = request_of(SV_BROKER_ADD_RULE);
    CHECK_EQ(ENOTCONN, broker_ask(fd, &request));
    request = request_of(SV_BROKER_OPEN);
    CHECK_EQ(EINVAL, broker_ask(fd, &request));                        /* no name */
    memset(request.open.netdev, 'x', sizeof request.open.netdev);
    request.open.queues = 1;
    CHECK_EQ(EINVAL, broker_ask(fd, &request));                        /* no end of the name */
    strcpy(request.open.netdev, "a\nb");
    CHECK_EQ(EINVAL, broker_ask(fd, &request));
    strcpy(request.open.netdev, "eth9");
    CHECK_EQ(EACCES, broker_ask(fd, &request));
    strcpy(request.open.netdev, "none0");
    request.open.queues = SV_STEER_MAX_QUEUES + 1;
    CHECK_EQ(EINVAL, broker_ask(fd, &request));
    request.open.queues = 1;
    request.open.mode = SV_BROKER_NATIVE;
    CHECK_EQ(EACCES, broker_ask(fd, &request));
    request.open.mode = SV_BROKER_MODES;
    CHECK_EQ(EINVAL, broker_ask(fd, &request));
    request = request_of(SV_BROKER_SOLICIT);
    request.solicit.family = AF_INET;
    request.solicit.ifindex = 1;
    CHECK_EQ(EACCES, broker_ask(fd, &request));                        /* the policy does not have lo */
    request.solicit.family = AF_UNIX;
    CHECK_EQ(EAFNOSUPPORT, broker_ask(fd, &request));
    close(fd);
    scene_stop(&scene);
    CHECK_EQ(3, server_counters(scene.server)->denied);
    scene_close(&scene);
}

/* ---- clients in the way ---- */

static void test_silent_client(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    int silent = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_MAC);
    int busy = scene_connect(&scene);
    CHECK_EQ(ENOTCONN, broker_ask(busy, &request));                    /* accepted after the other */
    broker_clock_add(IDLE_MILLIS);
    close(scene_connect(&scene));
    check_ended(silent);
    scene_stop(&scene);
    CHECK_EQ(1, server_counters(scene.server)->late);
    close(busy);
    scene_close(&scene);
}

/* It asks and asks, and reads no answer. The broker goes on with others. */
static void test_deaf_client(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    struct sv_broker_request request = request_of(SV_BROKER_MAC);
    int deaf = scene_connect(&scene);
    while (send(deaf, &request, sizeof request, MSG_NOSIGNAL) > 0)
        continue;
    CHECK(errno == EPIPE || errno == ECONNRESET);
    close(deaf);
    int other = scene_connect(&scene);
    CHECK_EQ(ENOTCONN, broker_ask(other, &request));
    close(other);
    scene_stop(&scene);
    CHECK_EQ(1, server_counters(scene.server)->late);
    scene_close(&scene);
}

/* Returns a connection that is served. A place is free only when the process of the client before has ended. */
static int connect_when_free(const struct scene *scene)
{
    struct sv_broker_request request = request_of(SV_BROKER_MAC);
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

static void test_too_many_clients(void)
{
    enum { SOME_REFUSALS = 300 };
    struct scene scene;
    int fds[SERVER_MAX_CLIENTS_OF_USER];
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    for (int i = 0; i < SERVER_MAX_CLIENTS_OF_USER; i++)
        fds[i] = scene_connect(&scene);
    /* A refusal is no failure to accept, after which the broker would leave all connections waiting for a while. */
    for (int i = 0; i < SOME_REFUSALS; i++)
        check_ended(scene_connect(&scene));
    close(fds[0]);
    struct sv_broker_request request = request_of(SV_BROKER_MAC);
    CHECK_EQ(ENOTCONN, broker_ask(fds[1], &request));
    fds[0] = connect_when_free(&scene);
    for (int i = 0; i < SERVER_MAX_CLIENTS_OF_USER; i++)
        close(fds[i]);
    scene_close(&scene);
}

/* What a user asks for by one connection counts for its others too, also when that one is closed. */
static void test_next_hops_of_a_user(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    struct sv_broker_request request = request_of(SV_BROKER_SOLICIT);
    request.solicit.family = AF_INET;
    request.solicit.ifindex = 1;
    int first = scene_connect(&scene);
    int second = scene_connect(&scene);
    for (int i = 0; i < SERVER_SOLICITATIONS; i++)
        CHECK_EQ(EACCES, broker_ask(first, &request));                 /* the policy does not have lo */
    CHECK_EQ(EAGAIN, broker_ask(second, &request));
    close(first);
    int third = scene_connect(&scene);
    CHECK_EQ(EAGAIN, broker_ask(third, &request));
    broker_clock_add(1000);
    CHECK_EQ(EACCES, broker_ask(third, &request));
    close(second);
    close(third);
    scene_close(&scene);
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
    } message = {.request = request_of(SV_BROKER_FILTER), .code = code};
    message.request.filter.instructions = said;
    CHECK_EQ(0, send_passing(fd, &message, sizeof message, socket));
    return reply_of(fd).error;
}

static void test_filters(void)
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
    {"broker: bad messages are answered, and leave nothing", test_bad_messages},
    {"broker: requests that the policy or sense refuses", test_refused_requests},
    {"broker: a client that asks for nothing is shut out", test_silent_client},
    {"broker: a client that reads nothing is shut out", test_deaf_client},
    {"broker: a user has so many connections", test_too_many_clients},
    {"broker: a user has so many next hops in a second, by whatever connections", test_next_hops_of_a_user},
    {"broker: filters for sockets of TCP", test_filters},
    {NULL, NULL},
};
