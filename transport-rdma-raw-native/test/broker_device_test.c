/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that the broker opens for this process: the descriptors that it hands over. */
#define _GNU_SOURCE
#include "broker_scene.h"

#include "af_xdp.h"
#include "bpf.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x20        /* Linux 6.3 */
#endif

/* ---- descriptors ---- */

static int bind_error(int fd, const char *netdev, uint16_t flags)
{
    struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_flags = flags,
                                   .sxdp_ifindex = (uint32_t)if_nametoindex(netdev)};
    return bind(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
}

static int ring_error(int fd, int option, uint32_t entries)
{
    return setsockopt(fd, SOL_XDP, option, &entries, sizeof entries) == 0 ? 0 : errno;
}

static int memory_error(int fd)
{
    const struct xdp_umem_reg umem = {.addr = 0, .len = 1 << 20, .chunk_size = 4096};
    return setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem) == 0 ? 0 : errno;
}

/*
 * EBUSY means that the socket is bound. An unbound socket, or one without a receive ring, would accept zero copy or
 * rings of any size, or would be refused by the socket map of newer kernels.
 */
static void check_is_final(int fd, const char *netdev)
{
    static const int rings[] = {XDP_RX_RING, XDP_TX_RING, XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING};
    struct xdp_options options = {.flags = XDP_OPTIONS_ZEROCOPY};
    socklen_t size = sizeof options;
    for (unsigned i = 0; i < sizeof rings / sizeof rings[0]; i++)
        CHECK_EQ(EBUSY, ring_error(fd, rings[i], 1 << 20));
    CHECK_EQ(EBUSY, memory_error(fd));
    CHECK_EQ(EBUSY, bind_error(fd, netdev, XDP_ZEROCOPY));
    CHECK_EQ(EBUSY, bind_error(fd, netdev, XDP_COPY));
    CHECK_EQ(0, getsockopt(fd, SOL_XDP, XDP_OPTIONS, &options, &size));
    CHECK_EQ(0, options.flags);
}

/* All chunks may be pending, as with the library's own sockets. The kernel reports twice the number. */
static void check_send_buffer(int fd)
{
    int bytes = 0;
    socklen_t size = sizeof bytes;
    CHECK_EQ(0, getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &size));
    CHECK_EQ(2 * (8 << 20), bytes);
}

/* The size of the memory cannot be changed. */
static void check_is_sealed(int fd)
{
    CHECK_EQ(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, fcntl(fd, F_GET_SEALS) & ~F_SEAL_EXEC);
    CHECK_FAILS(EPERM, ftruncate(fd, 0) == 0 ? "" : NULL);
    CHECK_FAILS(EPERM, ftruncate(fd, 1L << 30) == 0 ? "" : NULL);
}

/* A map of rules would have keys of more than four bytes; see proc_pid_fdinfo(5). */
static void check_is_map(int fd, enum bpf_map_type type, bool frozen)
{
    char line[64];
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    snprintf(line, sizeof line, "map_type:\t%d\n", type);
    CHECK(strstr(text, line) != NULL);
    snprintf(line, sizeof line, "frozen:\t%d\n", frozen);
    CHECK(strstr(text, line) != NULL);
    CHECK(strstr(text, "key_size:\t4\n") != NULL);
}

static void test_the_descriptors_that_it_sends_cannot_be_changed(void)
{
    enum { QUEUES = 2 };
    struct wire wire;
    struct scene scene;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, QUEUES);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000");
    int fd = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    CHECK_EQ(ENOTCONN, broker_transact(fd, &request));     /* the open request was accepted */
    request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, wire.name[0]);
    request.open.mtu = 1500;
    unsigned before = open_descriptors();
    CHECK_EQ(sizeof request, send(fd, &request, sizeof request, 0));
    CHECK_EQ(SV_BROKER_FD_SOCKETS + 2 * QUEUES, receive_passed(fd, &reply, fds, 0));
    CHECK_EQ(0, reply.error);
    CHECK_EQ(if_nametoindex(wire.name[0]), reply.ifindex);
    CHECK_EQ(QUEUES, reply.layout.queue_count);
    for (int i = SV_BROKER_FD_MAPS; i < SV_BROKER_FD_MEMORY; i++)
        check_is_map(fds[i], i < SV_BROKER_FD_MEMORY - 1 ? BPF_MAP_TYPE_ARRAY : BPF_MAP_TYPE_PROG_ARRAY,
                     i == SV_BROKER_FD_MEMORY - 1);
    check_is_sealed(fds[SV_BROKER_FD_MEMORY]);
    for (int i = SV_BROKER_FD_SOCKETS; i < SV_BROKER_FD_SOCKETS + 2 * QUEUES; i++) {
        check_is_final(fds[i], wire.name[0]);
        if ((i - SV_BROKER_FD_SOCKETS) % SV_BPF_SOCKETS_PER_QUEUE == 0)
            check_send_buffer(fds[i]);
        close(fds[i]);
    }
    CHECK_EQ(EISCONN, broker_transact(fd, &request));
    for (int i = 0; i < SV_BROKER_FD_SOCKETS; i++)
        close(fds[i]);
    /* The broker keeps the maps, the program, the memory and the packet socket. */
    CHECK_EQ(before + SV_MAP_COUNT + 3, open_descriptors());
    close(fd);
    scene_close(&scene);
    CHECK_EQ(before - 5, open_descriptors());       /* the connection, two of its session, the acceptor, the listener */
    link_close(&wire);
}

/* Peeking at a message does not read it: its descriptors stay in flight and count for the user of the broker. */
static void test_a_device_stays_counted_until_its_descriptors_are_read(void)
{
    struct wire wire;
    struct scene scene;
    struct sv_broker_reply reply;
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    int fds[SV_BROKER_MAX_FDS];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000 devices=1");
    int fd = scene_connect(&scene);
    strcpy(request.open.netdev, wire.name[0]);
    CHECK_EQ(sizeof request, send(fd, &request, sizeof request, 0));
    unsigned count = receive_passed(fd, &reply, fds, MSG_PEEK);
    CHECK_EQ(0, reply.error);
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
    CHECK_EQ(0, shutdown(fd, SHUT_WR));
    struct pollfd end = {.fd = fd, .events = POLLRDHUP};
    CHECK_EQ(1, poll(&end, 1, 60000));          /* the client is disconnected */
    int other = scene_connect(&scene);          /* only now: an idle connection is closed after SERVER_IDLE_MILLIS */
    strcpy(request.open.netdev, wire.name[1]);
    CHECK_EQ(EACCES, broker_transact(other, &request)); /* its device counts until it has read the message */
    count = receive_passed(fd, &reply, fds, 0);
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
    check_ended(fd);
    /* The session notices within milliseconds that the client has read the message. */
    int error;
    for (struct timespec since = now(); (error = broker_transact(other, &request)) == EACCES; sched_yield())
        CHECK(!overdue(since));
    CHECK_EQ(0, error);
    close(other);
    scene_close(&scene);
    link_close(&wire);
}

static int open_and_close(const struct scene *scene, const char *netdev)
{
    int fd = scene_connect(scene);
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    int error;
    strcpy(request.open.netdev, netdev);
    do
        error = broker_transact(fd, &request);
    while (error == EBUSY);
    CHECK_EQ(0, shutdown(fd, SHUT_WR));
    check_ended(fd);
    return error;
}

static void test_devices_opened_per_second_are_limited(void)
{
    struct wire wire;
    struct scene scene;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000");
    for (int i = 0; i < SERVER_MAX_OPENS_PER_SECOND_OF_USER; i++)
        CHECK_EQ(0, open_and_close(&scene, wire.name[0]));
    CHECK_EQ(EAGAIN, open_and_close(&scene, wire.name[0]));
    broker_clock_add(1000);
    CHECK_EQ(0, open_and_close(&scene, wire.name[0]));
    scene_close(&scene);
    link_close(&wire);
}

static bool has_program(const char *netdev)
{
    struct sv_attached_program program;
    return sv_attached_find_xdp((int)if_nametoindex(netdev), &program);
}

/* The kernel numbers programs as they are loaded. Opens a device, which gets a rule, and closes it. */
static uint32_t program_of_device(const struct scene *scene, const char *netdev)
{
    struct sv_attached_program program;
    struct sv_broker_reply reply;
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    int fds[SV_BROKER_MAX_FDS];
    int fd = scene_connect(scene);
    strcpy(request.open.netdev, netdev);
    request.open.mtu = 1500;
    CHECK_EQ(sizeof request, send(fd, &request, sizeof request, 0));
    unsigned count = receive_passed(fd, &reply, fds, 0);
    CHECK_EQ(0, reply.error);
    CHECK(sv_attached_find_xdp((int)if_nametoindex(netdev), &program));
    request = request_of(SV_BROKER_REMOVE_RULE);
    request.rule.mask.outer.layers = SV_LAYER_TCP | SV_LAYER_UDP;
    request.rule.value.outer.layers = SV_LAYER_UDP;
    request.rule.mask.outer.dst_port = 0xffff;
    request.rule.value.outer.dst_port = htons(2000);
    CHECK_EQ(ENOENT, broker_transact(fd, &request));    /* a rule of the device before is gone */
    request.call = SV_BROKER_ADD_RULE;
    CHECK_EQ(0, broker_transact(fd, &request));
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
    CHECK_EQ(0, shutdown(fd, SHUT_WR));
    check_ended(fd);
    for (struct timespec since = now(); has_program(netdev); sched_yield())
        CHECK(!overdue(since));
    return program.id;
}

/* Otherwise each opening would have the verifier run, and others would wait for it. */
static void test_programs_are_loaded_once_for_a_user_and_an_interface(void)
{
    struct wire wire;
    struct scene scene;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 2);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000");
    uint32_t first = program_of_device(&scene, wire.name[0]);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(first, program_of_device(&scene, wire.name[0]));
    uint32_t other = program_of_device(&scene, wire.name[1]);
    CHECK(other > first);
    CHECK_EQ(first, program_of_device(&scene, wire.name[0]));
    CHECK_EQ(other, program_of_device(&scene, wire.name[1]));
    scene_close(&scene);
    link_close(&wire);
}

/* Opens both ends once more, when the broker knows that both devices are closed: see check_opens_again(). */
static void reopen(struct wire *wire)
{
    struct timespec since = now();
    for (int end = 0; end < 2; end++) {
        struct world *world = &wire->world[end];
        do
            world->context = ibv_open_device(find_device(world->device_name));
        while (world->context == NULL && errno == EACCES && !overdue(since));
        CHECK(world->context != NULL);
        world->pd = ibv_alloc_pd(world->context);
        side_open(world, &wire->side[end]);
    }
}

/* The program runs for a new device with the sockets and rules of that device. */
static void test_a_device_with_programs_of_a_closed_one_receives_its_frames(void)
{
    struct wire wire;
    struct scene scene;
    struct frame_spec spec = default_frame();
    uint8_t frame[2048];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 2);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000 devices=2");
    uint32_t length = build_frame(&spec, frame);
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            wire_open_on(&wire, "xdp");
        else
            reopen(&wire);
        struct ibv_flow *flow = udp_rule(&wire.side[1], 2000);
        CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
        CHECK_EQ(0, send_frame(&wire.side[0], frame, length, 0));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[1].cq).status);
        CHECK_EQ(0, ibv_destroy_flow(flow));
        for (int end = 0; end < 2; end++) {
            side_close(&wire.side[end]);
            world_close(&wire.world[end]);
        }
    }
    scene_close(&scene);
    link_close(&wire);
}

static blkcnt_t blocks_of(int fd)
{
    struct stat facts;
    CHECK_EQ(0, fstat(fd, &facts));
    return facts.st_blocks;
}

/* The broker frees memory of a closed device that a client keeps. */
static void test_memory_of_a_closed_device_is_freed_though_a_client_keeps_it(void)
{
    struct wire wire;
    struct scene scene;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    unsigned count;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000");
    int fd = open_plainly(&scene, wire.name[0], SV_BROKER_MODE_GENERIC, &reply, fds, &count);
    int memory = fds[SV_BROKER_FD_MEMORY];
    CHECK(blocks_of(memory) > 0);
    for (unsigned i = 0; i < count; i++)
        if (i != SV_BROKER_FD_MEMORY)
            close(fds[i]);
    close(fd);
    for (struct timespec since = now(); blocks_of(memory) > 0; sched_yield())
        CHECK(!overdue(since));
    close(memory);
    scene_close(&scene);
    link_close(&wire);
}

/* Returns a socket that occupies the first receive queue of an interface. */
static int occupy_queue(const char *netdev, void *memory)
{
    int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    const struct xdp_umem_reg umem = {.addr = (uintptr_t)memory, .len = 64 * 4096, .chunk_size = 4096};
    CHECK_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem));
    CHECK_EQ(0, ring_error(fd, XDP_UMEM_FILL_RING, 64));
    CHECK_EQ(0, ring_error(fd, XDP_UMEM_COMPLETION_RING, 64));
    CHECK_EQ(0, ring_error(fd, XDP_RX_RING, 64));
    CHECK_EQ(0, bind_error(fd, netdev, XDP_COPY));
    return fd;
}

/* A process that has just ended may still have a queue. The broker waits for the queue and still serves others. */
static void test_it_waits_for_a_busy_queue_and_still_serves_others(void)
{
    struct wire wire;
    struct scene scene;
    struct sv_broker_reply reply;
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    int fds[SV_BROKER_MAX_FDS];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    scene_open_for(&scene, &wire, "modes=generic ports=udp:2000");
    void *memory = aligned_alloc(4096, 64 * 4096);
    int holder = occupy_queue(wire.name[0], memory);
    int other = scene_connect(&scene);
    int fd = scene_connect(&scene);
    strcpy(request.open.netdev, wire.name[0]);
    CHECK_EQ(sizeof request, send(fd, &request, sizeof request, 0));
    request = request_of(SV_BROKER_MAC_CHANGED);
    CHECK_EQ(ENOTCONN, broker_transact(other, &request));
    close(holder);
    unsigned count = receive_passed(fd, &reply, fds, 0);
    CHECK_EQ(0, reply.error);
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
    close(fd);
    close(other);
    free(memory);
    scene_close(&scene);
    link_close(&wire);
}

/* Only a policy that names zero copy grants it, and the broker reports an interface without it. */
static void test_only_a_policy_that_names_zero_copy_grants_it(void)
{
    struct wire wire;
    struct scene scene;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "zerocopy", 1));
    scene_open_for(&scene, &wire, "modes=generic,native ports=any");
    check_explained(wire.name[0], EACCES, "in zerocopy mode");
    scene_close(&scene);
    scene_open_for(&scene, &wire, "modes=zerocopy ports=any");
    check_explained(wire.name[0], EOPNOTSUPP, "no zero copy");      /* veth */
    scene_close(&scene);
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    link_close(&wire);
}

/* The client receives the reason and may retry on the same connection. */
static void test_a_busy_interface_is_refused_with_a_reason_and_can_be_retried(void)
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
    int fd = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, wire.name[0]);
    /* No device is created, so the number of attempts is not limited. */
    for (int i = 0; i < 2 * SERVER_MAX_OPENS_PER_SECOND_OF_USER; i++)
        CHECK_EQ(EBUSY, broker_transact(fd, &request));
    close(fd);
    CHECK_EQ(0, ibv_close_device(context));
    scene_close(&scene);
    link_close(&wire);
}

const struct test broker_device_tests[] = {
    {"broker: xdp a busy interface is refused with a reason and can be retried",
     test_a_busy_interface_is_refused_with_a_reason_and_can_be_retried},
    {"broker: xdp the descriptors that it sends cannot be changed",
     test_the_descriptors_that_it_sends_cannot_be_changed},
    {"broker: xdp devices opened per second are limited", test_devices_opened_per_second_are_limited},
    {"broker: xdp programs are loaded once for a user and an interface",
     test_programs_are_loaded_once_for_a_user_and_an_interface},
    {"broker: xdp a device with programs of a closed one receives its frames",
     test_a_device_with_programs_of_a_closed_one_receives_its_frames},
    {"broker: xdp a device stays counted until its descriptors are read",
     test_a_device_stays_counted_until_its_descriptors_are_read},
    {"broker: xdp memory of a closed device is freed though a client keeps it",
     test_memory_of_a_closed_device_is_freed_though_a_client_keeps_it},
    {"broker: xdp it waits for a busy queue and still serves others",
     test_it_waits_for_a_busy_queue_and_still_serves_others},
    {"broker: xdp only a policy that names zero copy grants it", test_only_a_policy_that_names_zero_copy_grants_it},
    {NULL, NULL},
};
