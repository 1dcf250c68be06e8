/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bond in the modes that open the interfaces below it. Tests with a bond need the kernel's module, which the kernels
 * of ci/lab have, and are skipped without it. The refusals need none: a veth's description by netlink becomes a bond's.
 */
#include "wire_fixture.h"

#include "bond.h"
#include "described_bond.h"

#include <linux/if_bonding.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LEGS = 3, FLOWS = 64, MARKER_TYPE = 0x88b5, FRAME_BYTES = 2048 };

/* A bond with legs; `peer` is a packet socket at the other end of each. */
struct scene {
    char bond[16], leg[LEGS][16], wire[LEGS][16];
    int peer[LEGS];
    struct world world;
    struct side side;
    struct ibv_flow *flow;
};

/* ---- the bond ---- */

static bool have_bonding(void)
{
    if (!have_namespace())
        return false;
    if (system("ip link add svtbond type bond 2>/dev/null") != 0) {
        printf("skipped: the kernel has no bonding\n");
        return false;
    }
    run("ip link del svtbond");
    return true;
}

static int open_packet_socket(const char *interface)
{
    const struct timeval patience = {.tv_sec = patience_seconds()};
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = (int)if_nametoindex(interface)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience));
    return fd;
}

static void make_leg(struct scene *scene, unsigned leg)
{
    static unsigned number;
    snprintf(scene->leg[leg], sizeof scene->leg[leg], "svl%u", ++number);
    snprintf(scene->wire[leg], sizeof scene->wire[leg], "svw%u", number);
    run("ip link add %s numrxqueues %u numtxqueues 1 type veth peer name %s numrxqueues 1 numtxqueues 1",
        scene->leg[leg], leg + 1, scene->wire[leg]);
    run("sysctl -qw net.ipv6.conf.%s.disable_ipv6=1", scene->wire[leg]);
    run("ip link set %s up", scene->wire[leg]);
    scene->peer[leg] = open_packet_socket(scene->wire[leg]);
}

static void join(const struct scene *scene, unsigned leg)
{
    run("ip link set %s down && ip link set %s master %s && ip link set %s up", scene->leg[leg], scene->leg[leg],
        scene->bond, scene->leg[leg]);
}

static void await_up(const char *interface)
{
    run("timeout %u sh -c 'until ip link show dev %s | grep -q \"state UP\"; do :; done'", patience_seconds(),
        interface);
}

static void make_bond(struct scene *scene, const char *mode, unsigned legs)
{
    static unsigned number;
    memset(scene, 0, sizeof *scene);
    snprintf(scene->bond, sizeof scene->bond, "svb%u", ++number);
    run("ip link add %s type bond mode %s miimon 10", scene->bond, mode);
    run("sysctl -qw net.ipv6.conf.%s.disable_ipv6=1", scene->bond);
    for (unsigned leg = 0; leg < LEGS; leg++)
        make_leg(scene, leg);
    for (unsigned leg = 0; leg < legs; leg++)
        join(scene, leg);
    run("ip link set %s up", scene->bond);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
}

static void open_device(struct scene *scene)
{
    struct world *world = &scene->world;
    snprintf(world->device_name, sizeof world->device_name, "xdp:%s", scene->bond);
    int added = softverbs_add_device(world->device_name);
    CHECK(added == 0 || added == EEXIST);
    struct ibv_device *device = find_device(world->device_name);
    world->context = ibv_open_device(device);
    if (world->context == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", world->device_name, softverbs_open_error(device));
    world->pd = ibv_alloc_pd(world->context);
    side_open(world, &scene->side);
    scene->flow = udp_rule(&scene->side, default_frame().dst_port);
}

static void open_scene(struct scene *scene, const char *mode, unsigned legs)
{
    make_bond(scene, mode, legs);
    await_up(scene->bond);
    for (unsigned leg = 0; leg < legs; leg++)
        await_up(scene->leg[leg]);
    open_device(scene);
}

static void remove_bond(struct scene *scene)
{
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    run("ip link del %s", scene->bond);
    for (unsigned leg = 0; leg < LEGS; leg++) {
        close(scene->peer[leg]);
        run("ip link del %s 2>/dev/null || true", scene->wire[leg]);
    }
}

static void close_scene(struct scene *scene)
{
    CHECK_EQ(0, ibv_destroy_flow(scene->flow));
    side_close(&scene->side);
    world_close(&scene->world);
    remove_bond(scene);
}

/* ---- frames ---- */

static uint32_t build_flow(uint16_t flow, uint8_t *frame)
{
    struct frame_spec spec = default_frame();
    spec.src_port = (uint16_t)(1000 + flow);
    return build_frame(&spec, frame);
}

static void send_by_peer(const struct scene *scene, unsigned leg, uint16_t flow)
{
    uint8_t frame[FRAME_BYTES];
    uint32_t length = build_flow(flow, frame);
    CHECK_EQ(length, send(scene->peer[leg], frame, length, 0));
}

/* No rule takes this frame, so the kernel receives it by the leg, behind the frames that were sent before. */
static void await_kernel(const struct scene *scene, unsigned leg)
{
    uint8_t frame[FRAME_BYTES], received[FRAME_BYTES];
    uint32_t length = build_flow(0, frame);
    int kernel = open_packet_socket(scene->leg[leg]);
    frame[12] = MARKER_TYPE >> 8;
    frame[13] = MARKER_TYPE & 0xff;
    CHECK_EQ(length, send(scene->peer[leg], frame, length, 0));
    do
        CHECK(recv(kernel, received, sizeof received, 0) > 0);
    while (memcmp(received, frame, length) != 0);
    close(kernel);
}

static void check_receives(struct scene *scene, unsigned leg)
{
    uint8_t frame[FRAME_BYTES];
    uint32_t length = build_flow(7, frame);
    CHECK_EQ(0, post_recv_slot(&scene->side, 0, SLOT_BYTES));
    send_by_peer(scene, leg, 7);
    struct ibv_wc wc = wait_one(scene->side.cq);
    CHECK_EQ(IBV_WC_SUCCESS, wc.status);
    CHECK_EQ(length, wc.byte_len);
    CHECK_EQ(0, memcmp(frame, slot_at(&scene->side, 0), length));
}

static struct softverbs_counters counters_of(const struct scene *scene)
{
    struct softverbs_counters counters;
    memset(&counters, 0, sizeof counters);
    CHECK_EQ(0, softverbs_query_counters(scene->world.context, &counters));
    return counters;
}

/* Neither the library nor the kernel gets the frame, and it is counted. */
static void check_drops(struct scene *scene, unsigned leg)
{
    uint8_t received[FRAME_BYTES];
    const struct softverbs_counters before = counters_of(scene);
    int kernel = open_packet_socket(scene->leg[leg]);
    send_by_peer(scene, leg, 7);
    await_kernel(scene, leg);
    check_empty(scene->side.cq);
    CHECK_EQ(before.received.port_down + 1, counters_of(scene).received.port_down);
    ssize_t length;
    while ((length = recv(kernel, received, sizeof received, MSG_DONTWAIT)) > 0)
        CHECK(received[12] != ETH_P_IP >> 8 || received[13] != (ETH_P_IP & 0xff));
    close(kernel);
}

/* Returns a bit for each leg by which a frame of this flow has arrived. */
static unsigned arrived_by(const struct scene *scene, uint16_t flow)
{
    uint8_t frame[FRAME_BYTES], received[FRAME_BYTES];
    uint32_t length = build_flow(flow, frame);
    unsigned legs = 0;
    for (unsigned leg = 0; leg < LEGS; leg++)
        while (recv(scene->peer[leg], received, sizeof received, MSG_DONTWAIT) > 0)
            legs |= (unsigned)(memcmp(received, frame, length) == 0) << leg;
    return legs;
}

/* Sends a frame of a flow. Returns a bit for each leg by which it has arrived. */
static unsigned legs_of(struct scene *scene, uint16_t flow)
{
    uint8_t frame[FRAME_BYTES];
    uint32_t length = build_flow(flow, frame);
    CHECK_EQ(0, send_frame(&scene->side, frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(scene->side.cq).status);
    return arrived_by(scene, flow);
}

/* Returns a bit for the leg by which the frame arrives. Some leg sends, but its frame may take a moment. */
static unsigned leg_of(struct scene *scene, uint16_t flow)
{
    struct timespec start = now();
    unsigned legs = legs_of(scene, flow);
    while (legs == 0 && !overdue(start))
        legs = arrived_by(scene, flow);
    return legs;
}

static unsigned legs_of_all(struct scene *scene)
{
    unsigned legs = 0;
    for (uint16_t flow = 0; flow < FLOWS; flow++)
        legs |= legs_of(scene, flow);
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

/* ---- active-backup ---- */

static void active_leg_sends_and_receives(void)
{
    struct scene scene;
    if (!have_bonding())
        return;
    open_scene(&scene, "active-backup", 2);
    CHECK(strstr(softverbs_mode(scene.world.context), "mode native on 'svl") != NULL);
    await_legs(&scene, 1);
    check_receives(&scene, 0);
    check_drops(&scene, 1);
    await_kernel(&scene, 0);
    close_scene(&scene);
}

static void another_leg_takes_over(void)
{
    struct scene scene;
    if (!have_bonding())
        return;
    open_scene(&scene, "active-backup", 2);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned leg = 0; leg < 2; leg++) {
            run("ip link set %s down", scene.wire[leg]);
            await_legs(&scene, 1u << !leg);
            check_receives(&scene, !leg);
            run("ip link set %s up", scene.wire[leg]);
            await_up(scene.leg[leg]);
            close(scene.peer[leg]);
            scene.peer[leg] = open_packet_socket(scene.wire[leg]);
            check_drops(&scene, leg);
        }
    close_scene(&scene);
}

static void legs_join_and_leave(void)
{
    struct scene scene;
    if (!have_bonding())
        return;
    open_scene(&scene, "active-backup", 1);
    for (unsigned round = 0; round < 3; round++) {
        join(&scene, 2);
        await_up(scene.leg[2]);
        run("ip link set %s nomaster", scene.leg[0]);
        await_legs(&scene, 1 << 2);
        check_receives(&scene, 2);
        join(&scene, 0);
        await_up(scene.leg[0]);
        run("ip link set %s nomaster", scene.leg[2]);
        await_legs(&scene, 1 << 0);
        check_receives(&scene, 0);
    }
    /* A removed interface never returns: an interface of the same name is another one. */
    run("ip link del %s", scene.wire[2]);
    close(scene.peer[2]);
    make_leg(&scene, 2);
    join(&scene, 2);
    await_up(scene.leg[2]);
    run("ip link del %s", scene.wire[0]);
    await_legs(&scene, 1 << 2);
    check_receives(&scene, 2);
    close_scene(&scene);
}

/* ---- several active legs ---- */

static void flows_keep_their_leg(void)
{
    struct scene scene;
    unsigned legs[FLOWS];
    if (!have_bonding())
        return;
    open_scene(&scene, "balance-xor xmit_hash_policy layer3+4", 2);
    await_legs(&scene, 3);
    for (uint16_t flow = 0; flow < FLOWS; flow++)
        legs[flow] = leg_of(&scene, flow);
    for (uint16_t flow = 0; flow < FLOWS; flow++) {
        CHECK(legs[flow] == 1 || legs[flow] == 2);
        CHECK_EQ(legs[flow], leg_of(&scene, flow));
    }
    check_receives(&scene, 0);
    check_receives(&scene, 1);
    run("ip link set %s down", scene.wire[0]);
    await_legs(&scene, 2);
    join(&scene, 2);
    await_legs(&scene, 6);
    check_receives(&scene, 2);
    close_scene(&scene);
}

/* All flows of the test are between two MAC addresses. */
static void flows_follow_the_policy(void)
{
    struct scene scene;
    if (!have_bonding())
        return;
    open_scene(&scene, "balance-xor", 2);
    await_one_leg(&scene);
    run("ip link set %s type bond xmit_hash_policy layer3+4", scene.bond);
    await_legs(&scene, 3);
    run("ip link set %s type bond xmit_hash_policy layer2+3", scene.bond);
    await_one_leg(&scene);
    close_scene(&scene);
}

/* The peer is a bond too, and the legs are used once both have agreed by LACP. */
static void legs_that_have_agreed_send(void)
{
    struct scene scene;
    if (!have_bonding())
        return;
    make_bond(&scene, "802.3ad lacp_rate fast xmit_hash_policy layer3+4", 2);
    run("ip link add svpeer type bond mode 802.3ad lacp_rate fast miimon 10");
    for (unsigned leg = 0; leg < 2; leg++)
        run("ip link set %s down && ip link set %s master svpeer && ip link set %s up", scene.wire[leg],
            scene.wire[leg], scene.wire[leg]);
    run("ip link set svpeer up");
    await_up(scene.bond);
    open_device(&scene);
    await_legs(&scene, 3);
    check_receives(&scene, 0);
    check_receives(&scene, 1);
    /* Without a partner, a leg is no part of the aggregate any more. */
    run("ip link set %s nomaster && ip link set %s up", scene.wire[0], scene.wire[0]);
    await_legs(&scene, 2);
    check_drops(&scene, 0);
    run("ip link del svpeer");
    close_scene(&scene);
}

/* ---- refusals ---- */

static void check_refused(const char *interface, int error, const char *why)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", interface);
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    struct ibv_device *refused = find_device(name);
    CHECK_FAILS(error, ibv_open_device(refused));
    if (strstr(softverbs_open_error(refused), why) == NULL)
        test_failed(__FILE__, __LINE__, "%s: %s", name, softverbs_open_error(refused));
}

static void other_modes_are_refused(void)
{
    static const struct { uint8_t mode; const char *name; } others[] = {
        {BOND_MODE_ROUNDROBIN, "balance-rr"}, {BOND_MODE_BROADCAST, "broadcast"}, {BOND_MODE_TLB, "balance-tlb"},
        {BOND_MODE_ALB, "balance-alb"}};
    struct wire wire;
    char why[160];
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    describe(wire.name[1], 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        described.mode = others[i].mode;
        snprintf(why, sizeof why, "is a bond in mode %s, where this mode of AF_XDP needs active-backup, balance-xor or "
                 "802.3ad: use SOFTVERBS_XDP_MODE=tap", others[i].name);
        check_refused(wire.name[1], EOPNOTSUPP, why);
    }
    described.mode = BOND_MODE_XOR;
    check_refused(wire.name[1], ENETDOWN, "has no interfaces: ip link set dev INTERFACE master");
    nothing_described();
    link_close(&wire);
}

static void legs_that_cannot_be_served_are_refused(void)
{
    struct scene scene;
    if (!have_bonding())
        return;
    make_bond(&scene, "active-backup", 2);
    await_up(scene.bond);
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_BUSY_POLL", "on", 1));
    check_refused(scene.bond, EOPNOTSUPP, "is a bond, which has no busy polling");
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_BUSY_POLL"));
    run("ip link add link %s name svbvlan type vlan id 5 && ip link set svbvlan up", scene.bond);
    check_refused("svbvlan", EOPNOTSUPP, "below VLAN 5, is itself stacked on another interface");
    run("ip link del svbvlan");
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "zerocopy", 1));
    check_refused(scene.bond, EOPNOTSUPP, "is a bond, which has no zero copy here");
    remove_bond(&scene);
}

static int busy_ifindex;

static int refuse_busy(int ifindex)
{
    return ifindex == busy_ifindex ? EBUSY : 0;
}

/* A leg that joins while another program uses it is served when that ends. Until then its frames are counted. */
static void a_leg_is_served_when_it_can_be(void)
{
    struct scene scene;
    struct timespec start = now();
    if (!have_bonding())
        return;
    open_scene(&scene, "balance-xor xmit_hash_policy layer3+4", 1);
    await_legs(&scene, 1);
    busy_ifindex = (int)if_nametoindex(scene.leg[2]);
    error_of_xdp_bind = refuse_busy;
    join(&scene, 2);
    await_up(scene.leg[2]);
    do
        send_by_peer(&scene, 2, 7);
    while (counters_of(&scene).received.unserved == 0 && !overdue(start));
    CHECK(counters_of(&scene).received.unserved > 0);
    error_of_xdp_bind = NULL;
    await_legs(&scene, 5);
    check_receives(&scene, 2);
    close_scene(&scene);
}

static void a_leg_of_another_program_is_refused(void)
{
    struct scene scene;
    char device[32];
    if (!have_bonding())
        return;
    make_bond(&scene, "active-backup", 2);
    await_up(scene.bond);
    run("ip link set %s nomaster && ip link set %s up", scene.leg[1], scene.leg[1]);
    await_up(scene.leg[1]);
    snprintf(device, sizeof device, "xdp:%s", scene.leg[1]);
    CHECK_EQ(0, softverbs_add_device(device));
    struct ibv_context *context = ibv_open_device(find_device(device));
    CHECK(context != NULL);
    join(&scene, 1);
    check_refused(scene.bond, EBUSY, "has the XDP program");
    CHECK_EQ(0, ibv_close_device(context));
    open_device(&scene);
    check_refused(scene.leg[1], EBUSY, "has an AF_XDP socket already");
    close_scene(&scene);
}

/* ---- flows ---- */

static uint32_t hash_by(uint32_t policy, const struct frame_spec *spec)
{
    uint8_t frame[FRAME_BYTES];
    return sv_bond_hash_flow(policy, frame, build_frame(spec, frame));
}

static uint32_t hash_of(const struct frame_spec *spec)
{
    return hash_by(BOND_XMIT_POLICY_LAYER34, spec);
}

static void flows_have_a_hash(void)
{
    static const char *const addresses[][2] = {{"192.0.2.1", "192.0.2.2"}, {"2001:db8::1", "2001:db8::2"}};
    for (size_t i = 0; i < 2; i++) {
        struct frame_spec spec = default_frame();
        unsigned count[LEGS] = {0};
        spec.src_ip = addresses[i][0];
        spec.dst_ip = addresses[i][1];
        for (unsigned flow = 0; flow < 300; flow++) {
            spec.src_port = (uint16_t)flow;
            spec.payload = 32;
            uint32_t hash = hash_of(&spec);
            spec.payload = (uint16_t)(1 + random_number() % 1000);
            CHECK_EQ(hash, hash_of(&spec));
            count[sv_bond_choose_leg(7, hash)]++;
        }
        for (unsigned leg = 0; leg < LEGS; leg++)
            CHECK(count[leg] > 50);
    }
    /* Only the first fragment of a datagram has the ports. */
    struct frame_spec fragment = default_frame();
    fragment.fragment = 0x2000;
    uint32_t first = hash_of(&fragment);
    fragment.fragment = 100;
    fragment.src_port = 99;
    CHECK_EQ(first, hash_of(&fragment));
}

/* Returns a bit for each header that decides on the hash: 1 ports, 2 IP addresses, 4 and 8 the MACs. */
static unsigned headers_of(uint32_t policy, const char *from, const char *to, const char *other)
{
    struct frame_spec spec = default_frame(), changed;
    spec.src_ip = from;
    spec.dst_ip = to;
    const uint32_t hash = hash_by(policy, &spec);
    unsigned headers = 0;
    changed = spec;
    changed.src_port++;
    headers |= (hash_by(policy, &changed) != hash) << 0;
    changed = spec;
    changed.dst_ip = other;
    headers |= (hash_by(policy, &changed) != hash) << 1;
    changed = spec;
    changed.dst[5] ^= 1;
    headers |= (hash_by(policy, &changed) != hash) << 2;
    changed = spec;
    changed.src[5] ^= 1;
    headers |= (hash_by(policy, &changed) != hash) << 3;
    return headers;
}

static void a_policy_decides_what_a_flow_is(void)
{
    static const struct { uint32_t policy; unsigned headers; } cases[] = {
        {BOND_XMIT_POLICY_LAYER2, 12}, {BOND_XMIT_POLICY_LAYER23, 14}, {BOND_XMIT_POLICY_LAYER34, 3},
        {BOND_XMIT_POLICY_ENCAP23, 14}, {BOND_XMIT_POLICY_ENCAP34, 3}, {BOND_XMIT_POLICY_VLAN_SRCMAC, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_EQ(cases[i].headers, headers_of(cases[i].policy, "192.0.2.1", "192.0.2.2", "192.0.2.3"));
        CHECK_EQ(cases[i].headers, headers_of(cases[i].policy, "2001:db8::1", "2001:db8::2", "2001:db8::3"));
    }
}

/* Frames without IP have their Ethernet header, and a frame that is too short for its IP header too. */
static void other_frames_have_a_hash(void)
{
    uint8_t frame[FRAME_BYTES], other[FRAME_BYTES];
    struct frame_spec spec = default_frame();
    (void)build_frame(&spec, frame);
    memcpy(other, frame, sizeof other);
    other[20] ^= 1;
    for (uint32_t policy = BOND_XMIT_POLICY_LAYER2; policy <= BOND_XMIT_POLICY_ENCAP34; policy++) {
        CHECK_EQ(sv_bond_hash_flow(policy, frame, 33), sv_bond_hash_flow(policy, other, 33));
        other[12] ^= 1;
        CHECK(sv_bond_hash_flow(policy, frame, 33) != sv_bond_hash_flow(policy, other, 33));
        other[12] ^= 1;
    }
}

static void a_set_of_legs_is_chosen_from(void)
{
    for (uint32_t legs = 1; legs < 256; legs++)
        for (uint32_t hash = 0; hash < 32; hash++) {
            uint32_t leg = sv_bond_choose_leg(legs, hash);
            CHECK(legs >> leg & 1);
            CHECK_EQ(hash % (uint32_t)__builtin_popcount(legs),
                     (uint32_t)__builtin_popcount(legs & ((1u << leg) - 1)));
        }
}

const struct test bond_tests[] = {
    {"bond: the active leg sends and receives", active_leg_sends_and_receives},
    {"bond: another leg takes over", another_leg_takes_over},
    {"bond: legs join and leave", legs_join_and_leave},
    {"bond: flows keep their leg", flows_keep_their_leg},
    {"bond: flows follow the policy of the bond", flows_follow_the_policy},
    {"bond: legs that have agreed by LACP send", legs_that_have_agreed_send},
    {"bond: other modes are refused", other_modes_are_refused},
    {"bond: legs that cannot be served are refused", legs_that_cannot_be_served_are_refused},
    {"bond: a leg is served when it can be", a_leg_is_served_when_it_can_be},
    {"bond: a leg of another program is refused", a_leg_of_another_program_is_refused},
    {"bond: flows have a hash", flows_have_a_hash},
    {"bond: a policy decides what a flow is", a_policy_decides_what_a_flow_is},
    {"bond: frames without IP have a hash", other_frames_have_a_hash},
    {"bond: a set of legs is chosen from", a_set_of_legs_is_chosen_from},
    {NULL, NULL},
};
