/* SPDX-License-Identifier: Apache-2.0 */
/* The broker and a process that it serves: both are here, the broker in a thread of its own. */
#define _GNU_SOURCE
#include "broker.h"
#include "journal.h"
#include "server.h"
#include "wire_fixture.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/if_xdp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif

enum { GRANTED = 2000, NOT_GRANTED = 2001, IDLE_MILLIS = SERVER_IDLE_MILLIS + 1 };

/* In the place of the broker's own, which writes to standard error. */
void journal(const char *format, ...)
{
    (void)format;
}

/* ---- the broker ---- */

struct scene {
    struct policy policy;
    struct server *server;
    int listener;
    struct sockaddr_un address;
    pthread_t thread;
    _Atomic bool ends;
};

static _Atomic int64_t clock_millis;

static int64_t test_clock(void)
{
    return atomic_load(&clock_millis);
}

static void *serve(void *argument)
{
    struct scene *scene = argument;
    while (!atomic_load(&scene->ends))
        server_turn(scene->server);
    return NULL;
}

static int connect_to(const struct scene *scene)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const struct timeval limit = {.tv_sec = 20};
    CHECK(fd >= 0);
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    CHECK_EQ(0, connect(fd, (const struct sockaddr *)&scene->address, sizeof scene->address));
    return fd;
}

static bool any_user(bool is_group, const char *name, uint32_t *id)
{
    (void)is_group, (void)name;
    *id = geteuid();
    return true;
}

static void scene_open(struct scene *scene, const char *policy)
{
    static unsigned number;
    char why[256];
    memset(scene, 0, sizeof *scene);
    if (!policy_parse(&scene->policy, policy, strlen(policy), any_user, why, sizeof why))
        test_failed(__FILE__, __LINE__, "%s", why);
    scene->address.sun_family = AF_UNIX;
    snprintf(scene->address.sun_path, sizeof scene->address.sun_path, "/tmp/broker-test-%d-%u", (int)getpid(), ++number);
    scene->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(scene->listener >= 0);
    CHECK_EQ(0, bind(scene->listener, (struct sockaddr *)&scene->address, sizeof scene->address));
    CHECK_EQ(0, listen(scene->listener, SERVER_MAX_CLIENTS));
    atomic_store(&clock_millis, 1000);
    scene->server = server_create(scene->listener, &scene->policy);
    CHECK(scene->server != NULL);
    server_set_clock(scene->server, test_clock);
    CHECK_EQ(0, setenv("SOFTVERBS_BROKER", scene->address.sun_path, 1));
    CHECK_EQ(0, pthread_create(&scene->thread, NULL, serve, scene));
}

/* Ends the thread, so that the server can be looked at; a connection wakes it. */
static void stop(struct scene *scene)
{
    if (atomic_exchange(&scene->ends, true))
        return;
    close(connect_to(scene));
    CHECK_EQ(0, pthread_join(scene->thread, NULL));
}

/* As when the process ends: its descriptors are closed. */
static void end_broker(struct scene *scene)
{
    stop(scene);
    server_destroy(scene->server);
    scene->server = NULL;
    close(scene->listener);
    unlink(scene->address.sun_path);
}

static void scene_close(struct scene *scene)
{
    if (scene->server != NULL)
        end_broker(scene);
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
}

static void scene_open_for(struct scene *scene, const struct wire *wire, const char *rest)
{
    char policy[512];
    snprintf(policy, sizeof policy, "user=me interface=%s %s\nuser=me interface=%s %s\n", wire->name[0], rest,
             wire->name[1], rest);
    scene_open(scene, policy);
}

/* ---- plain messages ---- */

static struct sv_broker_request request_of(enum sv_broker_call call)
{
    struct sv_broker_request request;
    memset(&request, 0, sizeof request);
    request.version = SV_BROKER_VERSION;
    request.call = call;
    return request;
}

static struct sv_broker_reply reply_of(int fd)
{
    struct sv_broker_reply reply;
    memset(&reply, 0, sizeof reply);
    CHECK_EQ(sizeof reply, recv(fd, &reply, sizeof reply, 0));
    CHECK_EQ(SV_BROKER_VERSION, reply.version);
    CHECK(reply.error == 0 || (reply.text[0] != '\0' && memchr(reply.text, '\0', sizeof reply.text) != NULL));
    return reply;
}

static int ask(int fd, const struct sv_broker_request *request)
{
    CHECK_EQ(sizeof *request, send(fd, request, sizeof *request, MSG_NOSIGNAL));
    return reply_of(fd).error;
}

/* Sends bytes with a socket, in the length that the message needs. */
static void send_with(int fd, const void *bytes, size_t length, int passed)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    memset(control, 0, sizeof control);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(rights), &passed, sizeof passed);
    CHECK_EQ(length, sendmsg(fd, &message, MSG_NOSIGNAL));
}

static void check_ended(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, 0);
    CHECK(got == 0 || (got < 0 && errno == ECONNRESET));
    close(fd);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    CHECK(directory != NULL);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void check_bad(struct scene *scene, const void *bytes, size_t length)
{
    int fd = connect_to(scene);
    send_with(fd, bytes, length, scene->listener);
    CHECK(reply_of(fd).error != 0);
    check_ended(fd);
}

/* Each is answered by a sentence, ends the connection and leaves no descriptor. */
static void test_bad_messages(void)
{
    static uint8_t long_one[SERVER_MAX_REQUEST_BYTES + 1];
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
    stop(&scene);
    CHECK(server_clients(scene.server) <= 1);       /* the one that woke the thread, if it was accepted */
    CHECK_EQ(before + server_clients(scene.server), open_descriptors());
    CHECK_EQ(4, server_counters(scene.server)->bad_messages);
    scene_close(&scene);
}

/* These are requests, so the connection stays. */
static void test_refused_requests(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    int fd = connect_to(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_CALLS);
    CHECK_EQ(EPROTO, ask(fd, &request));
    request = request_of(SV_BROKER_ADD_RULE);
    CHECK_EQ(ENOTCONN, ask(fd, &request));
    request = request_of(SV_BROKER_OPEN);
    CHECK_EQ(EINVAL, ask(fd, &request));                        /* no name */
    memset(request.open.netdev, 'x', sizeof request.open.netdev);
    request.open.queues = 1;
    CHECK_EQ(EINVAL, ask(fd, &request));                        /* no end of the name */
    strcpy(request.open.netdev, "a\nb");
    CHECK_EQ(EINVAL, ask(fd, &request));
    strcpy(request.open.netdev, "eth9");
    CHECK_EQ(EACCES, ask(fd, &request));
    strcpy(request.open.netdev, "none0");
    request.open.queues = SV_STEER_MAX_QUEUES + 1;
    CHECK_EQ(EINVAL, ask(fd, &request));
    request.open.queues = 1;
    request.open.mode = SV_BROKER_NATIVE;
    CHECK_EQ(EACCES, ask(fd, &request));
    request.open.mode = SV_BROKER_MODES;
    CHECK_EQ(EINVAL, ask(fd, &request));
    request = request_of(SV_BROKER_SOLICIT);
    request.solicit.family = AF_INET;
    request.solicit.ifindex = 1;
    CHECK_EQ(EACCES, ask(fd, &request));                        /* the policy does not have lo */
    request.solicit.family = AF_UNIX;
    CHECK_EQ(EAFNOSUPPORT, ask(fd, &request));
    close(fd);
    stop(&scene);
    CHECK_EQ(3, server_counters(scene.server)->denied);
    scene_close(&scene);
}

/* ---- clients in the way ---- */

static void test_silent_client(void)
{
    struct scene scene;
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    int silent = connect_to(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_MAC);
    int busy = connect_to(&scene);
    CHECK_EQ(ENOTCONN, ask(busy, &request));                    /* accepted after the other */
    atomic_fetch_add(&clock_millis, IDLE_MILLIS);
    close(connect_to(&scene));
    check_ended(silent);
    stop(&scene);
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
    int deaf = connect_to(&scene);
    while (send(deaf, &request, sizeof request, MSG_NOSIGNAL) > 0)
        continue;
    CHECK(errno == EPIPE || errno == ECONNRESET);
    close(deaf);
    int other = connect_to(&scene);
    CHECK_EQ(ENOTCONN, ask(other, &request));
    close(other);
    stop(&scene);
    CHECK_EQ(1, server_counters(scene.server)->late);
    scene_close(&scene);
}

static void test_too_many_clients(void)
{
    struct scene scene;
    int fds[SERVER_MAX_CLIENTS_OF_USER];
    scene_open(&scene, "user=me interface=none0 modes=generic ports=any");
    for (int i = 0; i < SERVER_MAX_CLIENTS_OF_USER; i++)
        fds[i] = connect_to(&scene);
    check_ended(connect_to(&scene));
    close(fds[0]);
    struct sv_broker_request request = request_of(SV_BROKER_MAC);
    CHECK_EQ(ENOTCONN, ask(fds[1], &request));
    fds[0] = connect_to(&scene);
    CHECK_EQ(ENOTCONN, ask(fds[0], &request));
    for (int i = 0; i < SERVER_MAX_CLIENTS_OF_USER; i++)
        close(fds[i]);
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
    send_with(fd, &message, sizeof message, socket);
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
    int fd = connect_to(&scene);
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

/* ---- devices ---- */

static int open_error(const char *netdev)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", netdev);
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    errno = 0;
    struct ibv_context *context = ibv_open_device(find_device(name));
    int error = errno;
    if (context == NULL)
        return error;
    CHECK_EQ(0, ibv_close_device(context));
    return 0;
}

static void check_explained(const char *netdev, int error, const char *text)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", netdev);
    CHECK_EQ(error, open_error(netdev));
    const char *explanation = softverbs_open_error(find_device(name));
    if (strstr(explanation, text) == NULL)
        test_failed(__FILE__, __LINE__, "%s", explanation);
}

static void check_delivers(struct wire *wire, uint16_t port, uint16_t from)
{
    struct frame_spec spec = default_frame();
    uint8_t frame[256];
    spec.dst_port = port;
    spec.src_port = from;
    uint32_t length = build_frame(&spec, frame);
    CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&wire->side[0], frame, length, 0));
    struct ibv_wc wc = wait_one(wire->side[1].cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(0, memcmp(slot_at(&wire->side[1], 0), frame, length));
}

static void check_rule_fails(struct side *side, enum ibv_flow_spec_type type, uint16_t port, int error)
{
    struct rule rule;
    rule_init(&rule, 0);
    rule_ports(&rule, type, 0, port);
    CHECK_FAILS(error, ibv_create_flow(side->qp, &rule.attr));
}

static void frames_and_rules(const char *mode, unsigned queues)
{
    struct wire wire;
    struct scene scene;
    link_open(&wire, 1500, queues);
    scene_open_for(&scene, &wire, "modes=generic,native ports=udp:2000,tcp:80 devices=2");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", mode, 1));
    wire_open_on(&wire, "xdp");
    struct ibv_flow *flow = udp_rule(&wire.side[1], GRANTED);
    check_delivers(&wire, GRANTED, 1);
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_UDP, NOT_GRANTED, EACCES);
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_UDP, 80, EACCES);
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_TCP, GRANTED, EACCES);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    flow = udp_rule(&wire.side[1], GRANTED);        /* the broker has let go of the first one */
    check_delivers(&wire, GRANTED, 2);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    for (int end = 0; end < 2; end++) {
        side_close(&wire.side[end]);
        world_close(&wire.world[end]);
    }
    stop(&scene);
    CHECK_EQ(0, server_devices(scene.server));
    CHECK_EQ(3, server_counters(scene.server)->denied);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    scene_close(&scene);
    link_close(&wire);
}

static void test_frames(void)
{
    if (!have_namespace())
        return;
    frames_and_rules("generic", 1);
    frames_and_rules("generic", 3);
    frames_and_rules("native", 2);
}

/* With ports of their own users may not have rules that take other ports, or make the interface promiscuous. */
static void test_rules_without_a_port(void)
{
    struct wire wire;
    struct scene scene;
    struct rule rule;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000 devices=2");
    wire_open_on(&wire, "xdp");
    rule_init(&rule, 0);
    rule_eth(&rule, mac_a, NULL, 0, -1);
    CHECK_FAILS(EACCES, ibv_create_flow(wire.side[1].qp, &rule.attr));
    rule_init(&rule, 0);
    rule_ipv4(&rule, NULL, "192.0.2.2");
    CHECK_FAILS(EACCES, ibv_create_flow(wire.side[1].qp, &rule.attr));
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_UDP, 0, EACCES);
    rule_init(&rule, 0);
    rule.attr.type = IBV_FLOW_ATTR_SNIFFER;
    CHECK_FAILS(EOPNOTSUPP, ibv_create_flow(wire.side[1].qp, &rule.attr));
    wire_close(&wire);
    scene_close(&scene);
}

static void test_refused_devices(void)
{
    struct wire wire;
    struct scene scene;
    char policy[128];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    snprintf(policy, sizeof policy, "user=me interface=%s modes=generic ports=any", wire.name[0]);
    scene_open(&scene, policy);
    check_explained(wire.name[1], EACCES, "the policy does not grant");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
    check_explained(wire.name[0], EACCES, "in native mode");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    CHECK_EQ(0, open_error(wire.name[0]));
    CHECK_EQ(0, open_error(wire.name[0]));
    end_broker(&scene);
    check_explained(wire.name[0], ENOENT, "there is no rdma-raw-broker at");
    scene_close(&scene);
    link_close(&wire);
}

/* As many as the policy says, and no other user's. */
static void test_number_of_devices(void)
{
    struct wire wire;
    struct scene scene;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=any");
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", wire.name[0]);
    CHECK_EQ(0, softverbs_add_device(name));
    struct ibv_context *context = ibv_open_device(find_device(name));
    CHECK(context != NULL);
    check_explained(wire.name[1], EACCES, "as many as the policy grants");
    CHECK_EQ(0, ibv_close_device(context));
    CHECK_EQ(0, open_error(wire.name[1]));
    scene_close(&scene);
    link_close(&wire);
}

/* What is open goes on, and new rules fail. */
static void test_end_of_the_broker(void)
{
    struct wire wire;
    struct scene scene;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000,udp:3000 devices=2");
    wire_open_on(&wire, "xdp");
    struct ibv_flow *flow = udp_rule(&wire.side[1], GRANTED);
    check_delivers(&wire, GRANTED, 1);
    end_broker(&scene);
    check_delivers(&wire, GRANTED, 2);
    check_rule_fails(&wire.side[1], IBV_FLOW_SPEC_UDP, 3000, ECONNRESET);
    check_delivers(&wire, GRANTED, 3);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
    scene_close(&scene);
}

/* ---- what is handed over ---- */

static unsigned take(int fd, struct sv_broker_reply *reply, int *fds)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct iovec part = {reply, sizeof *reply};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    CHECK_EQ(sizeof *reply, recvmsg(fd, &message, MSG_CMSG_CLOEXEC));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    CHECK(rights != NULL && rights->cmsg_type == SCM_RIGHTS);
    memcpy(fds, CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
    return (unsigned)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

static int bind_error(int fd, const char *netdev)
{
    const uint32_t entries = 64;
    struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY,
                                   .sxdp_ifindex = (uint32_t)if_nametoindex(netdev)};
    void *memory = aligned_alloc(4096, 64 * 4096);
    struct xdp_umem_reg umem;
    memset(&umem, 0, sizeof umem);
    umem.addr = (uint64_t)(uintptr_t)memory;
    umem.len = 64 * 4096;
    umem.chunk_size = 4096;
    CHECK(memory != NULL);
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem));
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &entries, sizeof entries));
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &entries, sizeof entries));
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof entries));
    int error = bind(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    close(fd);
    free(memory);
    return error;
}

/* A map of rules would have keys of more than four bytes; see proc_pid_fdinfo(5). */
static void check_is_array(int fd)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    CHECK(strstr(text, "map_type:\t2\n") != NULL);
    CHECK(strstr(text, "key_size:\t4\n") != NULL);
}

static void test_descriptors(void)
{
    struct wire wire;
    struct scene scene;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 2);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000");
    int fd = connect_to(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_MAC);
    CHECK_EQ(ENOTCONN, ask(fd, &request));          /* so it was accepted */
    request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, wire.name[0]);
    request.open.queues = 2;
    unsigned before = open_descriptors();
    CHECK_EQ(sizeof request, send(fd, &request, sizeof request, 0));
    CHECK_EQ(SV_BROKER_SOCKETS + 4, take(fd, &reply, fds));
    CHECK_EQ(0, reply.error);
    CHECK_EQ(if_nametoindex(wire.name[0]), reply.ifindex);
    for (int i = SV_BROKER_MAPS; i < SV_BROKER_SOCKETS; i++)
        check_is_array(fds[i]);
    CHECK_EQ(EINVAL, bind_error(fds[SV_BROKER_SOCKETS], wire.name[1]));
    CHECK_EQ(EINVAL, bind_error(fds[SV_BROKER_SOCKETS + 1], "lo"));
    CHECK_EQ(0, bind_error(fds[SV_BROKER_SOCKETS + 2], wire.name[0]));
    close(fds[SV_BROKER_SOCKETS + 3]);
    request.open.queues = 1;
    CHECK_EQ(EISCONN, ask(fd, &request));
    for (int i = 0; i < SV_BROKER_SOCKETS; i++)
        close(fds[i]);
    /* Two maps of rules and the packet socket are the broker's. */
    CHECK_EQ(before + 3, open_descriptors());
    close(fd);
    scene_close(&scene);
    CHECK_EQ(before - 3, open_descriptors());       /* the connection's two ends and the listener too */
    link_close(&wire);
}

/* The client learns why, and may try again on the same connection. */
static void test_interface_in_use(void)
{
    struct wire wire;
    struct scene scene;
    char name[32];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=any devices=2");
    snprintf(name, sizeof name, "xdp:%s", wire.name[0]);
    CHECK_EQ(0, softverbs_add_device(name));
    struct ibv_context *context = ibv_open_device(find_device(name));
    CHECK(context != NULL);
    int fd = connect_to(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, wire.name[0]);
    request.open.queues = 1;
    CHECK_EQ(EBUSY, ask(fd, &request));
    CHECK_EQ(EBUSY, ask(fd, &request));
    close(fd);
    CHECK_EQ(0, ibv_close_device(context));
    scene_close(&scene);
    link_close(&wire);
}

const struct test broker_tests[] = {
    {"broker: bad messages are answered, and leave nothing", test_bad_messages},
    {"broker: requests that the policy or sense refuses", test_refused_requests},
    {"broker: a client that asks for nothing is shut out", test_silent_client},
    {"broker: a client that reads nothing is shut out", test_deaf_client},
    {"broker: a user has so many connections", test_too_many_clients},
    {"broker: filters for sockets of TCP", test_filters},
    {"broker: xdp frames and rules of a device that it opened", test_frames},
    {"broker: xdp rules that name no port of the policy", test_rules_without_a_port},
    {"broker: xdp devices that the policy refuses", test_refused_devices},
    {"broker: xdp as many devices as the policy grants", test_number_of_devices},
    {"broker: xdp an interface that is in use", test_interface_in_use},
    {"broker: xdp its end leaves what is open", test_end_of_the_broker},
    {"broker: xdp descriptors are confined", test_descriptors},
    {NULL, NULL},
};
