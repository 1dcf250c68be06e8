/* SPDX-License-Identifier: Apache-2.0 */
/* A process with a device on AF_XDP that does not run for a while, or is killed. */
#include "wire_fixture.h"

#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a process that is stopped ---- */

enum { TO_STOPPED = 5000, PATH_BYTES = 256 };

static void write_line(const char *directory, const char *file, const char *format, int value)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    FILE *out = fopen(path, "w");
    CHECK(out != NULL);
    CHECK(fprintf(out, format, value) > 0);
    CHECK_EQ(0, fclose(out));
}

/* Creates a control group for the child. Returns false if that is not possible. */
static bool make_group(char group[PATH_BYTES], pid_t child)
{
    char line[1024], directory[PATH_BYTES / 2], type[32];
    FILE *mounts = fopen("/proc/self/mounts", "r");
    bool made = false;
    CHECK(mounts != NULL);
    while (!made && fgets(line, sizeof line, mounts) != NULL) {
        if (sscanf(line, "%*s %127s %31s", directory, type) != 2 || strcmp(type, "cgroup2") != 0)
            continue;
        snprintf(group, PATH_BYTES, "%s/softverbs-test-%d", directory, (int)getpid());
        made = mkdir(group, 0755) == 0;
    }
    fclose(mounts);
    if (made)
        write_line(group, "cgroup.procs", "%d", (int)child);
    return made;
}

static bool is_frozen(const char *group)
{
    char path[2 * PATH_BYTES], line[64];
    int frozen = 0;
    snprintf(path, sizeof path, "%s/cgroup.events", group);
    FILE *events = fopen(path, "r");
    CHECK(events != NULL);
    while (fgets(line, sizeof line, events) != NULL)
        (void)sscanf(line, "frozen %d", &frozen);
    fclose(events);
    return frozen == 1;
}

static void freeze(const char *group)
{
    struct timespec start = now();
    write_line(group, "cgroup.freeze", "%d", 1);
    while (!is_frozen(group) && !overdue(start))
        sched_yield();
    CHECK(is_frozen(group));
}

/* On newer kernels an ended process leaves its group a moment after its parent has learned of the end. */
static void remove_group(const char *group)
{
    struct timespec start = now();
    int error;
    do
        error = rmdir(group) == 0 ? 0 : errno;
    while (error == EBUSY && !overdue(start));
    CHECK_EQ(0, error);
}

static void end_child(void)
{
    _exit(1);
}

/* Opens the far end in a separate process. */
static struct ibv_flow *open_far_end(struct wire *wire, struct side *side)
{
    struct world *world = &wire->world[1];
    after_failure = end_child;
    snprintf(world->device_name, sizeof world->device_name, "xdp:%.15s", wire->name[1]);
    CHECK_EQ(0, softverbs_add_device(world->device_name));
    world->context = ibv_open_device(find_device(world->device_name));
    CHECK(world->context != NULL);
    world->pd = ibv_alloc_pd(world->context);
    side_open(world, side);
    return udp_rule(side, 2000);
}

/* Reports when its rule is in force, and counts the frames that it receives. */
static void be_stopped(struct wire *wire, int ready, int sent)
{
    struct side side;
    struct world *world = &wire->world[1];
    struct ibv_wc wc;
    uint64_t seen = 0;
    char byte = 1;
    struct ibv_flow *flow = open_far_end(wire, &side);
    CHECK_EQ(1, write(ready, &byte, 1));
    CHECK_EQ(1, read(sent, &byte, 1));
    struct timespec start = now();
    while (seen < TO_STOPPED && !overdue(start)) {
        struct softverbs_counters counters = {.flow_rules = 0};
        CHECK_EQ(0, post_recv_slot(&side, 0, SLOT_BYTES));
        (void)ibv_poll_cq(side.cq, 1, &wc);
        CHECK_EQ(0, softverbs_query_counters(world->context, &counters));
        seen = counters.received.copied + counters.received.ring_full;
    }
    CHECK_EQ(TO_STOPPED, seen);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&side);
    world_close(world);
    _exit(0);
}

/* The host answers ARP requests for its own address: see RFC 826. */
static void check_host_answers(int peer)
{
    static const uint8_t request[42] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9, 8, 6,
        0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 198, 51, 100, 9, 0, 0, 0, 0, 0, 0, 198, 51, 100, 1};
    struct timespec start = now();
    uint8_t frame[2048];
    bool answered = false;
    CHECK_EQ(sizeof request, send(peer, request, sizeof request, 0));
    while (!answered && !overdue(start))
        answered = recv(peer, frame, sizeof frame, MSG_DONTWAIT) >= 42 && frame[12] == 8 && frame[13] == 6 &&
                   frame[21] == 2 && memcmp(frame + 28, request + 38, 4) == 0;
    CHECK(answered);
}

static int open_peer(const struct wire *wire)
{
    const struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
                                        .sll_ifindex = (int)if_nametoindex(wire->name[0])};
    int peer = socket(AF_PACKET, SOCK_RAW, 0);
    CHECK(peer >= 0);
    CHECK_EQ(0, bind(peer, (const struct sockaddr *)&address, sizeof address));
    return peer;
}

/*
 * The rings of the paused process fill up, and frames for others still pass. When it continues, the missed frames are
 * counted. It is paused by a signal, or with its control group, as container engines do.
 */
static void a_process_that_pauses_stops_no_other(bool by_group)
{
    struct wire wire;
    int ready[2], sent[2], status;
    char byte = 1;
    char group[PATH_BYTES];
    link_open(&wire, 1500, 1);
    run("ip addr add 198.51.100.1/24 dev %s", wire.name[1]);
    CHECK_EQ(0, pipe(ready));
    CHECK_EQ(0, pipe(sent));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        be_stopped(&wire, ready[1], sent[0]);
    close(ready[1]);        /* so that reading ends with the child */
    CHECK_EQ(1, read(ready[0], &byte, 1));
    bool grouped = by_group && make_group(group, child);
    if (by_group && !grouped)
        printf("left out: a frozen process, which needs a control group (cgroup2)\n");
    if (grouped)
        freeze(group);
    else
        CHECK_EQ(0, kill(child, SIGSTOP));
    int peer = open_peer(&wire);
    for (unsigned i = 0; i < TO_STOPPED; i++) {
        uint8_t frame[2048];
        struct frame_spec spec = default_frame();
        uint32_t length = build_frame(&spec, frame);
        CHECK_EQ(length, send(peer, frame, length, 0));
    }
    check_host_answers(peer);
    if (grouped)
        write_line(group, "cgroup.freeze", "%d", 0);
    else
        CHECK_EQ(0, kill(child, SIGCONT));
    CHECK_EQ(1, write(sent[1], &byte, 1));
    CHECK_EQ(child, waitpid(child, &status, 0));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (grouped)
        remove_group(group);
    close(peer);
    close(ready[0]);
    close(sent[0]);
    close(sent[1]);
    link_close(&wire);
}

static void pausing_stops_no_other(const char *kind)
{
    (void)kind;
    a_process_that_pauses_stops_no_other(false);
    a_process_that_pauses_stops_no_other(true);
}

static void test_a_paused_process_stops_no_other(void)
{
    if (!have_namespace())
        return;
    pausing_stops_no_other("xdp");
    with_xdp_mode("native", pausing_stops_no_other);
    with_xdp_mode("tap", pausing_stops_no_other);
}

/* ---- a process that is killed ---- */

static const size_t LARGE_BYTES = (size_t)4 << 30;

static bool has_memory(size_t bytes)
{
    char line[128];
    size_t kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    CHECK(file != NULL);
    while (kib == 0 && fgets(line, sizeof line, file) != NULL)
        (void)sscanf(line, "MemAvailable: %zu", &kib);
    fclose(file);
    return kib * 1024 > bytes;
}

/*
 * Other runs of the tests at the same time wait. Otherwise all of them would find the same memory free and use it.
 * Another user's file or a stopped run must not prevent the test, which then has no lock. Returns -1 without a file.
 */
static int lock_memory(void)
{
    int lock = open("/tmp/softverbs-test-memory", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct timespec start = now();
    while (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0 && !overdue(start))
        sched_yield();
    return lock;
}

/* Has small pages, each of which the kernel frees by itself. */
static void be_killed(struct wire *wire, int ready)
{
    struct side side;
    char byte = 1;
    (void)open_far_end(wire, &side);
    CHECK_EQ(0, prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
    CHECK(mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) !=
          MAP_FAILED);
    CHECK_EQ(1, write(ready, &byte, 1));
    for (;;)
        pause();
}

/* The kernel closes the descriptors after it has freed the memory. Meanwhile frames for others pass. */
static void a_killed_process_with_much_memory_leaves_the_interface(const char *kind)
{
    struct wire wire;
    int ready[2], status;
    char byte = 1;
    struct frame_spec spec = default_frame();
    uint8_t frame[2048];
    link_open(&wire, 1500, 1);
    run("ip addr add 198.51.100.1/24 dev %s", wire.name[1]);
    CHECK_EQ(0, pipe(ready));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        be_killed(&wire, ready[1]);
    close(ready[1]);
    CHECK_EQ(1, read(ready[0], &byte, 1));
    int peer = open_peer(&wire);
    CHECK_EQ(0, kill(child, SIGKILL));
    check_host_answers(peer);
    CHECK_EQ(child, waitpid(child, &status, 0));
    CHECK(WIFSIGNALED(status));
    close(peer);
    close(ready[0]);
    wire_open_on(&wire, kind);      /* the next process */
    struct ibv_flow *flow = udp_rule(&wire.side[1], 2000);
    CHECK_EQ(0, post_recv_slot(&wire.side[1], 0, SLOT_BYTES));
    CHECK_EQ(0, send_frame(&wire.side[0], frame, build_frame(&spec, frame), 0));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[1].cq).status);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

static void test_a_killed_process_with_much_memory_leaves_the_interface(void)
{
    if (!have_namespace())
        return;
    int lock = lock_memory();
    if (has_memory(LARGE_BYTES + LARGE_BYTES / 2))
        a_killed_process_with_much_memory_leaves_the_interface("xdp");
    else
        printf("left out: a killed process with 4 GiB, which needs 6 GiB of free memory\n");
    if (lock >= 0)
        close(lock);
}

const struct test xdp_pause_tests[] = {
    {"xdp: a paused process stops no other", test_a_paused_process_stops_no_other},
    {"xdp: a killed process with much memory leaves the interface",
     test_a_killed_process_with_much_memory_leaves_the_interface},
    {NULL, NULL},
};
