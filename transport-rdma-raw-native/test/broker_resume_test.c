/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of an ended broker at its successor: their frames and their rules. */
#define _GNU_SOURCE
#include "broker_scene.h"

#include "af_xdp.h"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_PORT = 2000, SECOND_PORT = 3000, THIRD_PORT = 4000, UNGRANTED_PORT = 5000, BOTH = 2, REASON_BYTES = 256 };

#define THREE_PORTS "ports=udp:2000,udp:3000,udp:4000 devices=2"

/* ---- traffic ---- */

static uint32_t frame_to(uint16_t port, uint16_t from, uint8_t *frame)
{
    struct frame_spec spec = default_frame();
    spec.dst_port = port;
    spec.src_port = from;
    return build_frame(&spec, frame);
}

static void send_and_await(struct wire *wire, const uint8_t *frame, uint32_t length)
{
    CHECK_EQ(0, send_frame(&wire->side[0], frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[0].cq).status);
}

/* The frame that arrives is the one that was sent, so none was lost before it. */
static void check_delivers(struct wire *wire, uint16_t port, uint16_t from)
{
    uint8_t frame[256];
    uint32_t length = frame_to(port, from, frame);
    CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
    send_and_await(wire, frame, length);
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[1].cq).status);
    CHECK_EQ(0, memcmp(slot_at(&wire->side[1], 0), frame, length));
}

/* Sends frames to two ports. Fails unless the program leaves the second to the kernel, and the first one not. */
static void check_leaves_only_second(struct wire *wire, uint16_t taken_port, uint16_t port)
{
    const struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
                                        .sll_ifindex = (int)if_nametoindex(wire->name[1])};
    const struct timeval limit = {.tv_sec = patience_seconds()};
    uint8_t frame[256], received[256];
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK_EQ(0, bind(fd, (const struct sockaddr *)&address, sizeof address));
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    if (taken_port != 0)
        send_and_await(wire, frame, frame_to(taken_port, 9, frame));
    uint32_t length = frame_to(port, 9, frame);
    send_and_await(wire, frame, length);
    CHECK_EQ(length, recv(fd, received, sizeof received, 0));
    CHECK_EQ(0, memcmp(received, frame, length));
    close(fd);
}

static void check_is_the_kernels(struct wire *wire, uint16_t port)
{
    check_leaves_only_second(wire, 0, port);
}

static void check_is_not_the_kernels(struct wire *wire, uint16_t port)
{
    check_leaves_only_second(wire, port, UNGRANTED_PORT);
}

/* A thread that sends and receives numbered datagrams, one after the other. */
struct stream {
    struct wire *wire;
    pthread_t thread;
    _Atomic bool ends;
    _Atomic unsigned count;
};

static void *run_stream(void *argument)
{
    struct stream *stream = argument;
    while (!atomic_load(&stream->ends))
        check_delivers(stream->wire, FIRST_PORT, (uint16_t)atomic_fetch_add(&stream->count, 1));
    return NULL;
}

static void stream_start(struct stream *stream, struct wire *wire)
{
    memset(stream, 0, sizeof *stream);
    stream->wire = wire;
    CHECK_EQ(0, pthread_create(&stream->thread, NULL, run_stream, stream));
}

static void stream_await_next(struct stream *stream)
{
    struct timespec since = now();
    unsigned count = atomic_load(&stream->count);
    while (atomic_load(&stream->count) < count + BOTH) {
        CHECK(!overdue(since));
        sched_yield();
    }
}

static void stream_end(struct stream *stream)
{
    atomic_store(&stream->ends, true);
    CHECK_EQ(0, pthread_join(stream->thread, NULL));
}

/* Failed attempts to resume are a second apart. */
static struct ibv_flow *rule_when_resumed(struct side *side, uint16_t port)
{
    struct rule rule;
    struct ibv_flow *flow;
    char reason[REASON_BYTES];
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, port);
    for (struct timespec since = now(); (flow = ibv_create_flow(side->qp, &rule.attr)) == NULL; sched_yield())
        if (overdue(since)) {
            int error = errno;
            CHECK_EQ(0, softverbs_get_flow_error(reason, sizeof reason));
            test_failed(__FILE__, __LINE__, "%s: %s", strerror(error), reason);
        }
    return flow;
}

/* Another call of this thread that fails with a reason. */
static void fail_otherwise(void)
{
    static const char name[] = "xdp:lo";
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    CHECK(ibv_open_device(find_device(name)) == NULL);
    CHECK(*softverbs_open_error(find_device(name)) != '\0');
}

static void check_refused(struct side *side, uint16_t port, int error, const char *why)
{
    struct rule rule;
    char reason[REASON_BYTES];
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, port);
    CHECK_FAILS(error, ibv_create_flow(side->qp, &rule.attr));
    fail_otherwise();
    CHECK_EQ(0, softverbs_get_flow_error(reason, sizeof reason));
    if (strstr(reason, why) == NULL)
        test_failed(__FILE__, __LINE__, "not '%s': %s", why, reason);
}

/* Fails unless the reason of an earlier failure is forgotten. */
static void check_unexplained(struct side *side)
{
    struct rule rule;
    char reason[REASON_BYTES];
    rule_init(&rule, 0);
    rule.attr.flags = UINT32_MAX & ~IBV_FLOW_ATTR_FLAGS_EGRESS;
    CHECK_FAILS(EINVAL, ibv_create_flow(side->qp, &rule.attr));
    CHECK_EQ(0, softverbs_get_flow_error(reason, sizeof reason));
    CHECK_EQ(0, strcmp("", reason));
}

static void close_both(struct wire *wire)
{
    for (int end = 0; end < 2; end++) {
        side_close(&wire->side[end]);
        world_close(&wire->world[end]);
    }
}

/* ---- servers ---- */

/* Both devices continue at the next broker. The first request after the restart succeeds. */
static void restart_with(const char *mode, unsigned queues)
{
    struct wire wire;
    struct scene scene;
    struct stream stream;
    char policy[POLICY_TEXT_BYTES];
    link_open(&wire, 1500, queues);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", mode, 1));
    scene_open_for(&scene, &wire, "modes=generic,native " THREE_PORTS);
    wire_open_on(&wire, "xdp");
    struct ibv_flow *first = udp_rule(&wire.side[1], FIRST_PORT);
    struct ibv_flow *removed = udp_rule(&wire.side[1], SECOND_PORT);
    stream_start(&stream, &wire);
    scene_end_broker(&scene);
    stream_await_next(&stream);
    scene_restart_broker(&scene, policy_for(policy, &wire, "modes=generic,native " THREE_PORTS));
    CHECK_EQ(0, ibv_destroy_flow(removed));
    struct ibv_flow *other = udp_rule(&wire.side[0], SECOND_PORT);
    struct ibv_flow *third = udp_rule(&wire.side[1], THIRD_PORT);
    stream_await_next(&stream);
    stream_end(&stream);
    check_is_the_kernels(&wire, SECOND_PORT);
    struct ibv_flow *second = udp_rule(&wire.side[1], SECOND_PORT);
    check_delivers(&wire, SECOND_PORT, 1);
    check_delivers(&wire, THIRD_PORT, 2);
    CHECK_EQ(BOTH, server_device_count(scene.server));
    CHECK_EQ(0, ibv_destroy_flow(first));
    check_is_the_kernels(&wire, FIRST_PORT);
    CHECK_EQ(0, ibv_destroy_flow(second));
    CHECK_EQ(0, ibv_destroy_flow(third));
    CHECK_EQ(0, ibv_destroy_flow(other));
    close_both(&wire);
    scene_settle(&scene);
    CHECK_EQ(0, server_device_count(scene.server));
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    scene_close(&scene);
    link_close(&wire);
}

static void test_devices_continue_at_the_next_broker(void)
{
    if (!have_namespace())
        return;
    unsigned before = open_descriptors();
    restart_with("generic", 1);
    restart_with("generic", 2);
    restart_with("native", 2);
    CHECK_EQ(before, open_descriptors());
}

/* Opens devices, and replaces their broker by one whose policy refuses the returned rule. */
static struct ibv_flow *open_with_refused_rule(struct wire *wire, struct scene *scene)
{
    char policy[POLICY_TEXT_BYTES];
    link_open(wire, 1500, 1);
    scene_open_for(scene, wire, "modes=generic " THREE_PORTS);
    wire_open_on(wire, "xdp");
    struct ibv_flow *refused = udp_rule(&wire->side[1], FIRST_PORT);
    scene_end_broker(scene);
    scene_restart_broker(scene, policy_for(policy, wire, "modes=generic ports=udp:3000 devices=2"));
    return refused;
}

/* A policy that no longer grants a rule leaves the device as it is, until another policy or the rule's end. */
static void test_a_device_stays_as_it_is_if_its_rule_is_refused(void)
{
    struct wire wire;
    struct scene scene;
    char policy[POLICY_TEXT_BYTES];
    if (!have_namespace())
        return;
    struct ibv_flow *first = open_with_refused_rule(&wire, &scene);
    const char *why = "the restarted rdma-raw-broker refuses this device: the policy does not grant user ";
    check_refused(&wire.side[1], SECOND_PORT, EACCES, why);
    check_delivers(&wire, FIRST_PORT, 1);
    check_unexplained(&wire.side[1]);
    check_refused(&wire.side[1], SECOND_PORT, EACCES, why);     /* the same answer, without another attempt */
    check_delivers(&wire, FIRST_PORT, 2);
    scene_end_broker(&scene);
    scene_restart_broker(&scene, policy_for(policy, &wire, "modes=generic " THREE_PORTS));
    struct ibv_flow *second = rule_when_resumed(&wire.side[1], SECOND_PORT);
    check_delivers(&wire, FIRST_PORT, 3);
    check_delivers(&wire, SECOND_PORT, 4);
    CHECK_EQ(0, ibv_destroy_flow(second));
    CHECK_EQ(0, ibv_destroy_flow(first));
    wire_close(&wire);
    scene_close(&scene);
}

/* The next addition resumes the device without the refused rule. */
static void test_a_device_is_resumed_after_its_refused_rule_is_removed(void)
{
    struct wire wire;
    struct scene scene;
    if (!have_namespace())
        return;
    struct ibv_flow *refused = open_with_refused_rule(&wire, &scene);
    CHECK_EQ(0, ibv_destroy_flow(refused));
    struct ibv_flow *second = udp_rule(&wire.side[1], SECOND_PORT);
    check_is_the_kernels(&wire, FIRST_PORT);
    check_delivers(&wire, SECOND_PORT, 1);
    CHECK_EQ(0, ibv_destroy_flow(second));
    wire_close(&wire);
    scene_close(&scene);
}

static uint64_t rules_in_force(const struct side *side)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(side->world->context, &counters));
    return counters.flow_rules;
}

/*
 * The removal does not begin to resume the device. The program still steers the rule's frames to the process, which
 * drops them.
 */
static void test_a_rule_removed_without_a_broker_counts_until_the_device_is_resumed(void)
{
    struct wire wire;
    struct scene scene;
    char policy[POLICY_TEXT_BYTES];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic " THREE_PORTS);
    wire_open_on(&wire, "xdp");
    struct ibv_flow *kept = udp_rule(&wire.side[1], FIRST_PORT);
    struct ibv_flow *removed = udp_rule(&wire.side[1], SECOND_PORT);
    struct ibv_flow *removed_later = udp_rule(&wire.side[1], THIRD_PORT);
    scene_end_broker(&scene);
    CHECK_EQ(0, ibv_destroy_flow(removed));
    scene_restart_broker(&scene, policy_for(policy, &wire, "modes=generic " THREE_PORTS));
    CHECK_EQ(0, ibv_destroy_flow(removed_later));
    CHECK_EQ(1 + BOTH, rules_in_force(&wire.side[1]));
    check_is_not_the_kernels(&wire, SECOND_PORT);
    check_is_not_the_kernels(&wire, THIRD_PORT);
    check_delivers(&wire, FIRST_PORT, 1);
    struct ibv_flow *added = udp_rule(&wire.side[1], SECOND_PORT);
    CHECK_EQ(BOTH, rules_in_force(&wire.side[1]));
    check_is_the_kernels(&wire, THIRD_PORT);
    check_delivers(&wire, SECOND_PORT, 2);
    CHECK_EQ(0, ibv_destroy_flow(added));
    CHECK_EQ(0, ibv_destroy_flow(kept));
    CHECK_EQ(0, rules_in_force(&wire.side[1]));
    wire_close(&wire);
    scene_close(&scene);
}

/* ---- a device with fewer queues than the broker has opened ---- */

/* A queue has two sockets, and the device is opened without its second queue: so each third socket is of one. */
static int no_memory_for_second_queue(int fd, int level, int option)
{
    static _Thread_local int last_socket;
    static _Thread_local unsigned sockets;
    if (level != SOL_XDP || option != XDP_MMAP_OFFSETS)
        return 0;
    sockets += fd != last_socket;
    last_socket = fd;
    return sockets % (SV_BPF_SOCKETS_PER_QUEUE + 1) == 0 ? ENOMEM : 0;
}

/* The second queue only sends, so the device is opened without it. Its sockets are closed and must not be passed. */
static void test_a_device_is_resumed_without_a_queue_that_had_no_memory(void)
{
    struct wire wire;
    struct scene scene;
    char policy[POLICY_TEXT_BYTES];
    if (!have_namespace())
        return;
    link_open_with(&wire, 1500, 1, 2);
    scene_open_for(&scene, &wire, "modes=generic " THREE_PORTS);
    error_of_getsockopt = no_memory_for_second_queue;
    wire_open_on(&wire, "xdp");
    error_of_getsockopt = NULL;
    struct ibv_flow *first = udp_rule(&wire.side[1], FIRST_PORT);
    scene_end_broker(&scene);
    scene_restart_broker(&scene, policy_for(policy, &wire, "modes=generic " THREE_PORTS));
    struct ibv_flow *second = udp_rule(&wire.side[1], SECOND_PORT);
    check_delivers(&wire, FIRST_PORT, 1);
    check_delivers(&wire, SECOND_PORT, 2);
    CHECK_EQ(0, ibv_destroy_flow(second));
    CHECK_EQ(0, ibv_destroy_flow(first));
    wire_close(&wire);
    scene_close(&scene);
}

/* ---- a broker that ends again and again ---- */

enum { RESTARTS = 8 };

/* A thread that adds and removes a rule. */
struct changer {
    struct side *side;
    pthread_t thread;
    _Atomic unsigned changes;
    _Atomic bool ends;
};

static void *change_rules(void *argument)
{
    struct changer *changer = argument;
    struct rule rule;
    rule_init(&rule, 0);
    rule_ports(&rule, IBV_FLOW_SPEC_UDP, 0, SECOND_PORT);
    while (!atomic_load(&changer->ends)) {
        struct ibv_flow *flow = ibv_create_flow(changer->side->qp, &rule.attr);
        if (flow != NULL)
            CHECK_EQ(0, ibv_destroy_flow(flow));
        atomic_fetch_add(&changer->changes, flow != NULL);
    }
    return NULL;
}

static void await_change(struct changer *changer)
{
    unsigned changes = atomic_load(&changer->changes);
    for (struct timespec since = now(); atomic_load(&changer->changes) == changes; sched_yield())
        CHECK(!overdue(since));
}

/*
 * Each broker ends while the device's rules change at it. Frames of another rule arrive all the time. The brokers start
 * in this thread, because a broker's processes end with the thread that started them (PR_SET_PDEATHSIG).
 */
static void test_no_frame_is_lost_while_brokers_end(void)
{
    struct wire wire;
    struct scene scene;
    struct stream stream;
    char policy[POLICY_TEXT_BYTES];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic " THREE_PORTS);
    (void)policy_for(policy, &wire, "modes=generic " THREE_PORTS);
    wire_open_on(&wire, "xdp");
    struct changer changer = {.side = &wire.side[1]};
    struct ibv_flow *first = udp_rule(&wire.side[1], FIRST_PORT);
    stream_start(&stream, &wire);
    CHECK_EQ(0, pthread_create(&changer.thread, NULL, change_rules, &changer));
    for (int i = 0; i < RESTARTS; i++) {
        await_change(&changer);
        scene_end_broker(&scene);
        scene_restart_broker(&scene, policy);
    }
    await_change(&changer);
    atomic_store(&changer.ends, true);
    CHECK_EQ(0, pthread_join(changer.thread, NULL));
    stream_await_next(&stream);
    stream_end(&stream);
    CHECK_EQ(0, ibv_destroy_flow(first));
    wire_close(&wire);
    scene_close(&scene);
}

/* ---- a broker that is stopped ---- */

/* The broker in another process, which stops itself when it has answered these many requests. */
static pid_t fork_broker_that_stops(struct scene *scene, unsigned long requests)
{
    bool has_stopped = false;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct server *server = server_create(scene->listener, &scene->policy, false);
    while (server != NULL && server_run_once(server)) {
        if (!has_stopped && server_counters(server)->requests >= requests)
            (void)raise(SIGSTOP);
        has_stopped |= server_counters(server)->requests >= requests;
    }
    _exit(EXIT_FAILURE);
}

/*
 * The commit is executed after the client's deadline. The program that it puts on the interface keeps its sockets, and
 * the next addition continues with it.
 */
static void test_a_late_commit_keeps_the_device_in_service(void)
{
    enum { REQUESTS = 4 };      /* before the commit: to resume, and one per rule */
    struct wire wire;
    struct scene scene, next;
    char policy[POLICY_TEXT_BYTES];
    int status;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic " THREE_PORTS);
    wire_open_on(&wire, "xdp");
    struct ibv_flow *first = udp_rule(&wire.side[1], FIRST_PORT);
    struct ibv_flow *removed = udp_rule(&wire.side[1], SECOND_PORT);
    struct ibv_flow *removed_later = udp_rule(&wire.side[1], THIRD_PORT);
    scene_end_broker(&scene);
    next = scene;
    scene_listen_again(&next, policy_for(policy, &wire, "modes=generic " THREE_PORTS));
    pid_t pid = fork_broker_that_stops(&next, REQUESTS);
    const char *why = "has not resumed this device in time";
    check_refused(&wire.side[1], UNGRANTED_PORT, ETIMEDOUT, why);
    CHECK_EQ(pid, waitpid(pid, &status, WUNTRACED));
    CHECK(WIFSTOPPED(status));
    CHECK_EQ(0, ibv_destroy_flow(removed));
    check_refused(&wire.side[1], UNGRANTED_PORT, ETIMEDOUT, why);
    CHECK_EQ(1 + BOTH, rules_in_force(&wire.side[1]));
    CHECK_EQ(0, kill(pid, SIGCONT));
    struct ibv_flow *other = rule_when_resumed(&wire.side[0], FIRST_PORT);  /* the broker has executed the commit */
    check_delivers(&wire, FIRST_PORT, 1);
    struct ibv_flow *second = rule_when_resumed(&wire.side[1], SECOND_PORT);
    CHECK_EQ(0, ibv_destroy_flow(removed_later));
    CHECK_EQ(BOTH, rules_in_force(&wire.side[1]));
    check_delivers(&wire, SECOND_PORT, 2);
    check_is_the_kernels(&wire, THIRD_PORT);
    CHECK_EQ(0, ibv_destroy_flow(second));
    check_is_the_kernels(&wire, SECOND_PORT);
    CHECK_EQ(0, ibv_destroy_flow(first));
    CHECK_EQ(0, ibv_destroy_flow(other));
    close_both(&wire);
    CHECK_EQ(0, kill(pid, SIGKILL));
    CHECK_EQ(pid, waitpid(pid, &status, 0));
    scene_unlisten(&next);
    scene_close(&scene);
    link_close(&wire);
}

const struct test broker_resume_tests[] = {
    {"broker: xdp devices continue at the next broker", test_devices_continue_at_the_next_broker},
    {"broker: xdp a device stays as it is if its rule is refused", test_a_device_stays_as_it_is_if_its_rule_is_refused},
    {"broker: xdp a device is resumed after its refused rule is removed",
     test_a_device_is_resumed_after_its_refused_rule_is_removed},
    {"broker: xdp a rule removed without a broker counts until the device is resumed",
     test_a_rule_removed_without_a_broker_counts_until_the_device_is_resumed},
    {"broker: xdp a device is resumed without a queue that had no memory",
     test_a_device_is_resumed_without_a_queue_that_had_no_memory},
    {"broker: xdp a late commit keeps the device in service", test_a_late_commit_keeps_the_device_in_service},
    {"broker: xdp no frame is lost while brokers end", test_no_frame_is_lost_while_brokers_end},
    {NULL, NULL},
};
