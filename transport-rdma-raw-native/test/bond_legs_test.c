/* SPDX-License-Identifier: Apache-2.0 */
/* How a port follows the legs of a bond if the kernel fails or is slow. The bond is described: described_bond.h. */
#include "wire_fixture.h"

#include "bond.h"
#include "described_bond.h"

#include <net/if.h>

#include <linux/if_bonding.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LEGS = 3, FLOWS = 32, FRAME_BYTES = 2048 };

/* `peer` is a packet socket at the other end of each leg. */
struct scene {
    struct wire bond, leg[LEGS];
    int peer[LEGS];
    struct world world;
    struct side side;
};

static _Atomic int name_error;
/* Offset of CLOCK_MONOTONIC_COARSE in seconds. It is reset when no device is open, because clocks do not go back. */
static _Atomic long skipped_seconds;
static bool is_device_open;

static void stop_simulating(void)
{
    name_error = 0;
    if (!is_device_open)
        skipped_seconds = 0;
    error_of_xdp_bind = NULL;
    nothing_described();
}

/* Replaces the C library's function. */
char *if_indextoname(unsigned ifindex, char name[IFNAMSIZ])
{
    struct ifreq request = {.ifr_ifindex = (int)ifindex};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int error = ioctl(fd, SIOCGIFNAME, &request) == 0 ? name_error : errno == ENODEV ? ENXIO : errno;
    close(fd);
    if (error == 0)
        return memcpy(name, request.ifr_name, IFNAMSIZ);
    errno = error;
    return NULL;
}

/* Replaces the C library's function. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_MONOTONIC_COARSE)
        time->tv_sec += skipped_seconds;
    return result;
}

static int open_packet_socket(const char *interface)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = (int)if_nametoindex(interface)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    return fd;
}

static void open_device(struct scene *scene)
{
    struct world *world = &scene->world;
    snprintf(world->device_name, sizeof world->device_name, "xdp:%s", scene->bond.name[0]);
    CHECK_EQ(0, softverbs_add_device(world->device_name));
    struct ibv_device *device = find_device(world->device_name);
    world->context = ibv_open_device(device);
    if (world->context == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", world->device_name, softverbs_open_error(device));
    is_device_open = true;
    world->pd = ibv_alloc_pd(world->context);
    side_open(world, &scene->side);
}

/* Opens a bond with legs 0 and 1, of which a bit says whether each is active. Leg 2 has not joined yet. */
static void open_scene(struct scene *scene, uint8_t mode, unsigned active)
{
    memset(scene, 0, sizeof *scene);
    link_open(&scene->bond, 1500, 1);
    describe(scene->bond.name[0], mode);
    after_failure = stop_simulating;
    for (unsigned leg = 0; leg < LEGS; leg++) {
        link_open(&scene->leg[leg], 1500, 1);
        scene->peer[leg] = open_packet_socket(scene->leg[leg].name[1]);
        if (leg < 2)
            describe_leg(scene->leg[leg].name[0], active >> leg & 1);
    }
    open_device(scene);
}

static void close_scene(struct scene *scene)
{
    side_close(&scene->side);
    world_close(&scene->world);
    is_device_open = false;
    skipped_seconds = 0;
    nothing_described();
    for (unsigned leg = 0; leg < LEGS; leg++) {
        close(scene->peer[leg]);
        link_close(&scene->leg[leg]);
    }
    link_close(&scene->bond);
}

/* Makes the kernel send a message about the bond, as it does when a leg changes. */
static void notify(const struct scene *scene)
{
    static unsigned number;
    run("ip link set %s alias a%u", scene->bond.name[0], ++number);
}

/* Returns a bit for each leg by which frames of many flows arrive. A frame of a leg that does not send is lost. */
static unsigned legs_of_all(struct scene *scene)
{
    uint8_t frame[FRAME_BYTES], received[FRAME_BYTES];
    unsigned legs = 0;
    for (uint16_t flow = 0; flow < FLOWS; flow++) {
        struct frame_spec spec = default_frame();
        spec.src_port = (uint16_t)(1000 + flow);
        uint32_t length = build_frame(&spec, frame);
        CHECK_EQ(0, send_frame(&scene->side, frame, length, IBV_SEND_SIGNALED));
        CHECK_EQ(IBV_WC_SUCCESS, wait_one(scene->side.cq).status);
        for (unsigned leg = 0; leg < LEGS; leg++)
            while (recv(scene->peer[leg], received, sizeof received, MSG_DONTWAIT) > 0)
                legs |= (unsigned)(memcmp(received, frame, length) == 0) << leg;
    }
    return legs;
}

static void await_legs(struct scene *scene, unsigned wanted)
{
    struct timespec start = now();
    unsigned legs;
    do
        legs = legs_of_all(scene);
    while (legs != wanted && !overdue(start));
    CHECK_EQ(wanted, legs);
}

/* Frames of all flows leave by the same leg. One round does not show it, because frames may be lost or late. */
static void await_one_leg(struct scene *scene)
{
    enum { ROUNDS = 5 };
    struct timespec start = now();
    unsigned last = 0;
    for (unsigned rounds = 0; rounds < ROUNDS;) {
        unsigned legs = legs_of_all(scene);
        rounds = legs != 1 && legs != 2 ? 0 : legs == last ? rounds + 1 : 1;
        last = legs;
        CHECK(rounds == ROUNDS || !overdue(start));
    }
}

static void set_active(unsigned active)
{
    for (unsigned leg = 0; leg < described.leg_count; leg++)
        described.leg[leg].is_active = active >> leg & 1;
}

/* ---- tests ---- */

static void a_process_without_descriptors_keeps_its_legs(void)
{
    struct scene scene;
    if (!have_namespace())
        return;
    open_scene(&scene, BOND_MODE_ACTIVEBACKUP, 1);
    await_legs(&scene, 1);
    name_error = EMFILE;
    set_active(2);
    notify(&scene);
    await_legs(&scene, 2);
    name_error = 0;
    set_active(1);
    notify(&scene);
    await_legs(&scene, 1);
    close_scene(&scene);
}

/* The kernel names the same interface again, as after its return from another network namespace. */
static void a_removed_leg_gets_new_sockets(void)
{
    const int self = (int)getpid();
    struct scene scene;
    const char *leg;
    if (!have_namespace())
        return;
    open_scene(&scene, BOND_MODE_ACTIVEBACKUP, 1);
    leg = scene.leg[0].name[0];
    const unsigned ifindex = if_nametoindex(leg);
    /* It leaves the bond before it moves, and the port knows that. */
    described.leg_count = 0;
    describe_leg(scene.leg[1].name[0], true);
    notify(&scene);
    await_legs(&scene, 2);
    run("ip netns add svt%d && ip link set %s netns svt%d && ip -n svt%d link set %s netns %d && ip netns del svt%d",
        self, leg, self, self, leg, self, self);
    CHECK_EQ(ifindex, if_nametoindex(leg));
    run("ip link set %s up", leg);
    describe_leg(leg, true);
    set_active(2);
    notify(&scene);
    await_legs(&scene, 1);
    close_scene(&scene);
}

static void an_incomplete_list_is_read_again(void)
{
    struct scene scene;
    if (!have_namespace())
        return;
    open_scene(&scene, BOND_MODE_ACTIVEBACKUP, 1);
    set_active(2);
    described.broken = ENOBUFS;
    notify(&scene);
    await_legs(&scene, 2);
    CHECK_EQ(0, described.broken);
    close_scene(&scene);
}

static void another_mode_fails_the_device(void)
{
    struct scene scene;
    struct ibv_async_event event;
    if (!have_namespace())
        return;
    open_scene(&scene, BOND_MODE_ACTIVEBACKUP, 1);
    await_legs(&scene, 1);
    described.mode = BOND_MODE_XOR;
    notify(&scene);
    do {
        struct pollfd events = {.fd = scene.world.context->async_fd, .events = POLLIN};
        CHECK_EQ(1, poll(&events, 1, (int)patience_seconds() * 1000));
        CHECK_EQ(0, ibv_get_async_event(scene.world.context, &event));
        ibv_ack_async_event(&event);
    } while (event.event_type != IBV_EVENT_DEVICE_FATAL);
    close_scene(&scene);
}

/* Options and states of legs as sv_bond_find() and sv_bond_read_again() read them. */
static void legs_receive_as_the_kernel_does(void)
{
    enum { COLLECTS = 0x10, DISTRIBUTES = 0x20 };
    struct wire bond, leg;
    struct sv_bond found;
    if (!have_namespace())
        return;
    link_open(&bond, 1500, 1);
    link_open(&leg, 1500, 1);
    describe(bond.name[0], BOND_MODE_8023AD);
    describe_leg(leg.name[0], false);
    CHECK_EQ(0, sv_bond_find(bond.name[0], (int)if_nametoindex(bond.name[0]), &found));
    CHECK_EQ(1, found.leg_count);
    CHECK(!found.leg[0].receives && !found.leg[0].sends);
    described.leg[0].actor_state = COLLECTS;
    CHECK_EQ(0, sv_bond_read_again(&found));
    CHECK(found.leg[0].receives && !found.leg[0].sends);
    /* A leg of an aggregate that is not selected may still have both bits. */
    described.leg[0].actor_state = COLLECTS | DISTRIBUTES;
    CHECK_EQ(0, sv_bond_read_again(&found));
    CHECK(!found.leg[0].receives && !found.leg[0].sends);
    described.all_legs_receive = 1;
    CHECK_EQ(0, sv_bond_read_again(&found));
    CHECK(found.leg[0].receives && !found.leg[0].sends);
    described.leg[0].is_active = true;
    CHECK_EQ(0, sv_bond_read_again(&found));
    CHECK(found.leg[0].receives && found.leg[0].sends);
    described.broken = ENOBUFS;
    CHECK_EQ(ENOBUFS, sv_bond_read_again(&found));
    CHECK_EQ(1, found.leg_count);
    described.mode = BOND_MODE_ROUNDROBIN;
    CHECK_EQ(SV_BOND_OTHER_MODE, sv_bond_read_again(&found));
    CHECK_EQ(1, found.leg_count);
    nothing_described();
    link_close(&leg);
    link_close(&bond);
}

/* All flows of the test are between two MAC addresses. */
static void the_policy_of_the_bond_is_followed(void)
{
    struct scene scene;
    if (!have_namespace())
        return;
    open_scene(&scene, BOND_MODE_XOR, 3);
    await_legs(&scene, 3);
    described.hash_policy = BOND_XMIT_POLICY_LAYER2;
    notify(&scene);
    await_one_leg(&scene);
    described.hash_policy = BOND_XMIT_POLICY_LAYER34;
    notify(&scene);
    await_legs(&scene, 3);
    close_scene(&scene);
}

/* In one burst, a leg accepts its frames and another one does not. */
static void each_leg_counts_its_frames(void)
{
    enum { BURST = 8, SHORTEST = 100 };
    struct scene scene;
    struct ibv_send_wr wr[BURST], *bad;
    struct ibv_sge sge[BURST];
    struct softverbs_counters before, after;
    uint8_t received[FRAME_BYTES];
    uint64_t all_bytes = 0, frames = 0, bytes = 0;
    if (!have_namespace())
        return;
    open_scene(&scene, BOND_MODE_XOR, 3);
    await_legs(&scene, 3);
    while (recv(scene.peer[1], received, sizeof received, MSG_DONTWAIT) > 0)
        continue;
    run("ip link set %s down", scene.leg[0].name[0]);
    memset(&before, 0, sizeof before);
    CHECK_EQ(0, softverbs_query_counters(scene.world.context, &before));
    memset(wr, 0, sizeof wr);
    for (unsigned i = 0; i < BURST; i++) {
        struct frame_spec spec = default_frame();
        spec.src_port = (uint16_t)(1000 + i);
        spec.payload = (uint16_t)(SHORTEST + i);
        uint32_t length = build_frame(&spec, slot_at(&scene.side, SLOTS / 2 + i));
        sge[i] = (struct ibv_sge){.addr = (uintptr_t)slot_at(&scene.side, SLOTS / 2 + i), .length = length,
                                  .lkey = scene.side.mr->lkey};
        wr[i] = (struct ibv_send_wr){.next = i + 1 < BURST ? &wr[i + 1] : NULL, .sg_list = &sge[i], .num_sge = 1,
                                     .opcode = IBV_WR_SEND, .send_flags = i + 1 < BURST ? 0 : IBV_SEND_SIGNALED};
        all_bytes += length;
    }
    CHECK_EQ(0, ibv_post_send(scene.side.qp, wr, &bad));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(scene.side.cq).status);
    memset(&after, 0, sizeof after);
    CHECK_EQ(0, softverbs_query_counters(scene.world.context, &after));
    struct timespec start = now();
    while (frames < after.sent.frames - before.sent.frames && !overdue(start)) {
        ssize_t length = recv(scene.peer[1], received, sizeof received, MSG_DONTWAIT);
        if (length <= 0)
            continue;
        frames++;
        bytes += (uint64_t)length;
    }
    CHECK(frames > 0 && frames < BURST && bytes < all_bytes);
    CHECK_EQ(frames, after.sent.frames - before.sent.frames);
    CHECK_EQ(bytes, after.sent.bytes - before.sent.bytes);
    CHECK_EQ(BURST - frames, after.sent.port_down - before.sent.port_down);
    close_scene(&scene);
}

/* ---- a leg that cannot be opened yet ---- */

static unsigned busy_ifindex;
static atomic_bool is_busy, others_send, others_sent_first;
static atomic_uint pauses;

static void count_pause(void)
{
    pauses++;
}

/* Called by the receive thread while it opens a leg. */
static int refuse_while_busy(int ifindex)
{
    struct timespec start = now();
    if ((unsigned)ifindex != busy_ifindex || !is_busy)
        return 0;
    instead_of_pauses = count_pause;
    while (!others_send && !overdue(start))
        sched_yield();
    others_sent_first = others_send;
    return EBUSY;
}

static void a_busy_leg_delays_no_other(void)
{
    struct scene scene;
    if (!have_namespace())
        return;
    open_scene(&scene, BOND_MODE_XOR, 1);
    await_legs(&scene, 1);
    busy_ifindex = if_nametoindex(scene.leg[2].name[0]);
    others_send = others_sent_first = false;
    is_busy = true;
    pauses = 0;
    error_of_xdp_bind = refuse_while_busy;
    describe_leg(scene.leg[2].name[0], true);
    set_active(6);
    notify(&scene);
    await_legs(&scene, 2);
    others_send = true;
    struct timespec start = now();
    while (!others_sent_first && !overdue(start))
        sched_yield();
    CHECK(others_sent_first);
    /* No further message arrives. */
    is_busy = false;
    await_legs(&scene, 6);
    CHECK_EQ(0, pauses);
    error_of_xdp_bind = NULL;
    close_scene(&scene);
}

static atomic_uint attempts;

static int refuse_and_count(int ifindex)
{
    if ((unsigned)ifindex != busy_ifindex || !is_busy)
        return 0;
    attempts++;
    return EBUSY;
}

/* Makes the kernel's messages arrive for so many seconds. Each is about another active leg, so its effect is seen. */
static void pass_seconds(struct scene *scene, unsigned seconds)
{
    for (unsigned second = 1; second <= seconds; second++) {
        skipped_seconds++;
        set_active(1u << second % 2 | 4);
        notify(scene);
        await_legs(scene, 1u << second % 2);
    }
}

/* An attempt takes the receive thread's time. Other legs that join are opened at once nevertheless. */
static void a_leg_that_never_opens_is_tried_less_often(void)
{
    enum { SECONDS = 64, FEW_ATTEMPTS = 20 };
    struct scene scene;
    if (!have_namespace())
        return;
    open_scene(&scene, BOND_MODE_XOR, 1);
    await_legs(&scene, 1);
    busy_ifindex = if_nametoindex(scene.leg[2].name[0]);
    is_busy = true;
    attempts = 0;
    error_of_xdp_bind = refuse_and_count;
    describe_leg(scene.leg[2].name[0], true);
    pass_seconds(&scene, SECONDS);
    CHECK(attempts > 1 && attempts < FEW_ATTEMPTS);
    struct wire other;
    link_open(&other, 1500, 1);
    describe_leg(other.name[0], true);
    set_active(8);
    notify(&scene);
    int peer = scene.peer[0];
    scene.peer[0] = open_packet_socket(other.name[1]);
    await_legs(&scene, 1);
    close(scene.peer[0]);
    scene.peer[0] = peer;
    is_busy = false;
    skipped_seconds += SECONDS;
    set_active(4);
    notify(&scene);
    await_legs(&scene, 4);
    error_of_xdp_bind = NULL;
    close_scene(&scene);
    link_close(&other);
}

/* A leg that leaves and joins again is new. */
static void pauses_double_up_to_a_minute(void)
{
    struct sv_bond bond;
    struct wire wire, leg;
    uint64_t time = 5000;
    unsigned count = 0;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    link_open(&leg, 1500, 1);
    describe(wire.name[0], BOND_MODE_XOR);
    describe_leg(leg.name[0], true);
    CHECK_EQ(0, sv_bond_find(wire.name[0], (int)if_nametoindex(wire.name[0]), &bond));
    CHECK_EQ(0, bond.leg[0].open_at_millis);
    for (uint64_t pause = 1000; count < 20; count++, pause = pause < 32000 ? 2 * pause : 60000) {
        sv_bond_leg_has_failed(&bond.leg[0], time);
        CHECK_EQ(0, sv_bond_read_again(&bond));
        CHECK_EQ(time + pause, bond.leg[0].open_at_millis);
        time = bond.leg[0].open_at_millis;
    }
    described.leg_count = 0;
    CHECK_EQ(0, sv_bond_read_again(&bond));
    describe_leg(leg.name[0], true);
    CHECK_EQ(0, sv_bond_read_again(&bond));
    CHECK_EQ(0, bond.leg[0].open_at_millis);
    nothing_described();
    link_close(&leg);
    link_close(&wire);
}

static void an_active_leg_that_is_not_served_counts(void)
{
    struct scene scene;
    struct softverbs_counters counters;
    struct timespec start = now();
    if (!have_namespace())
        return;
    open_scene(&scene, BOND_MODE_ACTIVEBACKUP, 1);
    await_legs(&scene, 1);
    busy_ifindex = if_nametoindex(scene.leg[2].name[0]);
    others_send = is_busy = true;
    error_of_xdp_bind = refuse_while_busy;
    describe_leg(scene.leg[2].name[0], false);
    set_active(4);
    notify(&scene);
    do {
        (void)legs_of_all(&scene);
        memset(&counters, 0, sizeof counters);
        CHECK_EQ(0, softverbs_query_counters(scene.world.context, &counters));
    } while (counters.sent.unserved == 0 && !overdue(start));
    CHECK(counters.sent.unserved > 0);
    is_busy = false;
    await_legs(&scene, 4);
    error_of_xdp_bind = NULL;
    close_scene(&scene);
}

const struct test bond_legs_tests[] = {
    {"bond: a process without descriptors keeps its legs", a_process_without_descriptors_keeps_its_legs},
    {"bond: a removed leg gets new sockets", a_removed_leg_gets_new_sockets},
    {"bond: an incomplete list of legs is read again", an_incomplete_list_is_read_again},
    {"bond: the policy of the bond is followed", the_policy_of_the_bond_is_followed},
    {"bond: a leg that never opens is tried less often", a_leg_that_never_opens_is_tried_less_often},
    {"bond: pauses between attempts double up to a minute", pauses_double_up_to_a_minute},
    {"bond: each leg counts its frames", each_leg_counts_its_frames},
    {"bond: another mode fails the device", another_mode_fails_the_device},
    {"bond: legs receive as the kernel does", legs_receive_as_the_kernel_does},
    {"bond: an active leg that is not served counts its frames", an_active_leg_that_is_not_served_counts},
    {"bond: a busy leg delays no other", a_busy_leg_delays_no_other},
    {NULL, NULL},
};
