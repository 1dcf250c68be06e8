/* SPDX-License-Identifier: Apache-2.0 */
/* What devices on AF_XDP do when more comes than they look at: SYNs, and segments of no connection. */
#define _GNU_SOURCE                         /* sched_setaffinity */
#include "steering_maps.h"
#include "wire_fixture.h"

#include <sched.h>

/* ---- SYNs ---- */

enum { SYNS = 4096, SYN_RING = 1024, SYN_PORT = 2000, TCP_FLAGS = 47, TCP_SEQUENCE = 38, SYN_FLAG = 2 };

static struct softverbs_queue_counters received_by(const struct wire *wire)
{
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(wire->world[1].context, &counters));
    return counters.received;
}

static void send_segment(struct side *from, uint8_t flags, uint32_t sequence)
{
    uint8_t frame[2048];
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    spec.dst_port = SYN_PORT;
    uint32_t length = build_frame(&spec, frame);
    frame[TCP_FLAGS] = flags;
    memcpy(frame + TCP_SEQUENCE, &sequence, sizeof sequence);
    CHECK_EQ(0, send_frame(from, frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(from->cq).status);
}

static void flood_open(struct wire *wire, const char *kind, struct ibv_flow **flow)
{
    struct rule rule;
    wire_open(wire, kind, 1500, 1);
    rule_init(&rule, 0);
    rule_ipv4(&rule, NULL, "192.0.2.2");
    rule_ports(&rule, IBV_FLOW_SPEC_TCP, 0, SYN_PORT);
    *flow = must_create(&wire->side[1], &rule);
    CHECK_EQ(0, post_recv_slot(&wire->side[1], 0, SLOT_BYTES));
    for (uint32_t i = 0; i < SYNS; i++)
        send_segment(&wire->side[0], 0x02, i);
}

/* Nobody has polled until now: what comes out first, though it was sent last. */
static void check_first(struct wire *wire, struct ibv_flow *flow, uint8_t flags, uint32_t sequence)
{
    const uint8_t *frame = wire->side[1].memory;
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire->side[1].cq).status);
    CHECK_EQ(flags, frame[TCP_FLAGS]);
    CHECK_EQ(0, memcmp(frame + TCP_SEQUENCE, &sequence, sizeof sequence));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(wire);
}

static void syns_leave_room_for_segments(const char *kind)
{
    static const uint8_t others[] = {0x10, 0x12, 0x14, 0x18, 0x04, 0x06};
    for (unsigned i = 0; i < sizeof others; i++) {
        struct wire wire;
        struct ibv_flow *flow;
        if (!have_namespace())
            return;
        flood_open(&wire, kind, &flow);
        send_segment(&wire.side[0], others[i], 77);
        CHECK_EQ(SYNS - SYN_RING, received_by(&wire).syns_full);
        CHECK_EQ(0, received_by(&wire).wire_full);
        check_first(&wire, flow, others[i], 77);
    }
}

static void wait_until(struct timespec start, double seconds)
{
    struct timespec at;
    do {
        sched_yield();
        at = now();
    } while ((double)(at.tv_sec - start.tv_sec) + (double)(at.tv_nsec - start.tv_nsec) / 1e9 < seconds);
}

/* As who has had no answer does; at once it would be no sign of that. */
static void a_syn_that_comes_again_is_not_kept_out(const char *kind)
{
    struct wire wire;
    struct ibv_flow *flow;
    if (!have_namespace())
        return;
    flood_open(&wire, kind, &flow);
    uint64_t lost = received_by(&wire).syns_full;
    send_segment(&wire.side[0], 0x02, 77 << 16);
    send_segment(&wire.side[0], 0x02, 77 << 16);
    CHECK_EQ(lost + 2, received_by(&wire).syns_full);
    wait_until(now(), 1);
    send_segment(&wire.side[0], 0x02, 77 << 16);
    CHECK_EQ(lost + 2, received_by(&wire).syns_full);
    check_first(&wire, flow, 0x02, 77 << 16);
}

/* The limits are per core, and a frame is received on the core that has sent it. Returns where it could run before. */
static cpu_set_t stay_on_core(void)
{
    cpu_set_t all, one;
    CHECK_EQ(0, sched_getaffinity(0, sizeof all, &all));
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    CHECK_EQ(0, sched_setaffinity(0, sizeof one, &one));
    return all;
}

/* How many SYNs may have been admitted since, by windows that had begun then or have begun by now. */
static uint32_t admitted_since(struct timespec since)
{
    struct timespec at = now();
    int64_t nanos = (at.tv_sec - since.tv_sec) * 1000000000 + (at.tv_nsec - since.tv_nsec);
    return (uint32_t)(((nanos >> SV_STEER_SYN_WINDOW_SHIFT) + 2) * SV_STEER_SYNS_PER_WINDOW);
}

/* Once a poll has seen that the ring is full, most are dropped before it, so it has room again; and each is counted. */
static void a_flood_of_syns_is_let_through_little_by_little(const char *kind)
{
    struct wire wire;
    struct ibv_flow *flow;
    struct softverbs_queue_counters received;
    uint32_t sent = SYNS;
    if (!have_namespace())
        return;
    flood_open(&wire, kind, &flow);
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(wire.side[1].cq).status);
    for (received = received_by(&wire); received.copied < SYN_RING; received = received_by(&wire))
        check_empty(wire.side[1].cq);
    uint64_t before = received.syns_full;
    CHECK_EQ(SYNS - SYN_RING, before);
    cpu_set_t cores = stay_on_core();
    struct timespec start = now();
    uint32_t admitted = 0;
    /* A machine that sends as few as are admitted sends for a while, and nothing is dropped. */
    while (admitted <= admitted_since(start) && admitted < SYN_RING / 2) {
        send_segment(&wire.side[0], 0x02, sent++);
        received = received_by(&wire);
        if (received.syns_full > before)
            break;
        admitted++;
    }
    CHECK(admitted <= admitted_since(start));
    CHECK_EQ(0, sched_setaffinity(0, sizeof cores, &cores));
    send_segment(&wire.side[0], 0x10, 0);
    while (received.copied + received.syns_full < sent + 1) {
        check_empty(wire.side[1].cq);
        received = received_by(&wire);
    }
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

enum { LARGE = 60000, SOME_SYNS = 600 };

/*
 * A peer on this host that leaves cutting to others can send a SYN that fills many entries of a ring. It takes no place
 * there, and those behind it come through though the ring is more than half full.
 */
static void a_large_syn_holds_up_no_others(const char *kind)
{
    static uint8_t frame[LARGE + 64];
    struct wire wire;
    struct softverbs_queue_counters received;
    struct frame_spec spec = default_frame();
    wire_open(&wire, kind, is_linux_6_6() ? 9000 : 1500, 1);
    struct ibv_flow *flow = steer_mac(&wire.side[1], mac_b);
    spec.protocol = 6;
    spec.dst_port = SYN_PORT;
    spec.payload = LARGE;
    uint32_t length = build_frame(&spec, frame);
    frame[TCP_FLAGS] = SYN_FLAG;
    send_uncut(wire.name[0], frame, length);
    for (uint32_t i = 0; i < SOME_SYNS; i++)
        send_segment(&wire.side[0], SYN_FLAG, i);
    struct timespec start = now();
    do {
        check_empty(wire.side[1].cq);
        received = received_by(&wire);
    } while (received.copied + received.length_errors < SOME_SYNS + 1 && !overdue(start));
    CHECK_EQ(SOME_SYNS, received.copied);
    CHECK_EQ(1, received.length_errors);
    CHECK_EQ(0, ibv_destroy_flow(flow));
    wire_close(&wire);
}

static void test_a_large_syn_holds_up_no_others(void)
{
    if (have_namespace())
        a_large_syn_holds_up_no_others("xdp");
}

/* ---- segments of no connection ---- */

enum { UNSOLICITED = 4096, MAIN_RING = 2048, MANY = 400, FEW = 8, FIN = 0x01, SYN = 0x02, RST = 0x04, ACK = 0x10 };
enum { HANDSHAKE_SECONDS = 10 };      /* for less who was sent a SYN is being connected */
enum { LIMITED_SECONDS = 1, MOST_FLOODS = 40 };
enum { REPEATED_SECONDS = 8 };        /* what comes later is no repetition (SV_STEER_SYN_LAST_AGE) */

/* How segments look: each is read in another way by the XDP program. */
enum form { PLAIN, OPTIONS, TAGGED, IPV6, FORMS };

/* Puts options that say nothing into the IPv4 header. */
static uint32_t add_options(uint8_t *frame, uint32_t length)
{
    memmove(frame + 38, frame + 34, length - 34);
    memset(frame + 34, 1, 4);
    frame[14] = 0x46;
    frame[17] = (uint8_t)(frame[17] + 4);
    return length + 4;
}

static uint32_t build_segment(uint8_t *frame, enum form form, bool to_client, uint16_t client_port, uint8_t flags,
                              uint32_t sequence, uint32_t acknowledgement)
{
    static const uint32_t tcp_offset[FORMS] = {34, 38, 38, 54};
    static const char *const address[2][2] = {{"192.0.2.1", "192.0.2.2"}, {"2001:db8::1", "2001:db8::2"}};
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    spec.vlan = form == TAGGED ? 7 : -1;
    spec.src_ip = address[form == IPV6][to_client];
    spec.dst_ip = address[form == IPV6][!to_client];
    spec.src_port = to_client ? SYN_PORT : client_port;
    spec.dst_port = to_client ? client_port : SYN_PORT;
    memcpy(spec.src, to_client ? mac_b : mac_a, 6);
    memcpy(spec.dst, to_client ? mac_a : mac_b, 6);
    uint32_t length = build_frame(&spec, frame);
    if (form == OPTIONS)
        length = add_options(frame, length);
    memcpy(frame + tcp_offset[form] + 4, &sequence, sizeof sequence);
    memcpy(frame + tcp_offset[form] + 8, &acknowledgement, sizeof acknowledgement);
    frame[tcp_offset[form] + 13] = flags;
    return length;
}

static void send_built(struct side *from, enum form form, uint16_t client_port, uint8_t flags, uint32_t sequence,
                       uint32_t acknowledgement, bool to_client)
{
    uint8_t frame[2048];
    uint32_t length = build_segment(frame, form, to_client, client_port, flags, sequence, acknowledgement);
    CHECK_EQ(0, send_frame(from, frame, length, IBV_SEND_SIGNALED));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(from->cq).status);
}

/* A device under segments of no connection, and how many it was sent. */
struct flooded {
    struct wire wire;
    struct ibv_flow *flow;
    enum form form;
    uint64_t sent;
    uint32_t sequence;            /* of the next segment that shall be like none before */
    uint32_t floods;
    struct timespec limited;      /* no later than when unsolicited segments were limited last */
};

static void ask(struct flooded *f, uint16_t client_port, uint8_t flags, uint32_t sequence)
{
    send_built(&f->wire.side[0], f->form, client_port, flags, sequence, 0, false);
    f->sent++;
}

static void answer(struct flooded *f, uint16_t client_port, uint8_t flags)
{
    send_built(&f->wire.side[1], f->form, client_port, flags, 0, 0, true);
}

/* Polls until each frame that was sent has come in or is counted as lost, and no frame twice. */
static struct softverbs_queue_counters settle(struct flooded *f)
{
    struct softverbs_queue_counters received;
    struct timespec start = now();
    uint64_t counted;
    do {
        check_empty(f->wire.side[1].cq);
        received = received_by(&f->wire);
        counted = received.copied + received.wire_full + received.syns_full + received.unsolicited_full;
        CHECK(!overdue(start));
    } while (counted < f->sent);
    CHECK_EQ(f->sent, counted);
    return received;
}

/* Fills the ring, which limits unsolicited segments for a second. Returns how many frames came out of it. */
static uint64_t flood(struct flooded *f)
{
    if (f->floods++ > 0)
        wait_until(now(), LIMITED_SECONDS);      /* what was dropped until now may have extended the limit */
    uint64_t before = settle(f).copied;
    uint64_t lost = received_by(&f->wire).wire_full;
    for (uint32_t i = 0; i < UNSOLICITED; i++)
        ask(f, (uint16_t)(10000 + i), ACK, i);
    /* Nothing is polled before all have come, or the ring would have room for more of them. */
    struct timespec start = now();
    while (received_by(&f->wire).wire_full < lost + UNSOLICITED - MAIN_RING)
        CHECK(!overdue(start));
    f->limited = now();
    CHECK_EQ(lost + UNSOLICITED - MAIN_RING, settle(f).wire_full);
    return received_by(&f->wire).copied - before;
}

static bool is_within(struct timespec since, int seconds)
{
    struct timespec at = now();
    return (double)(at.tv_sec - since.tv_sec) + (double)(at.tv_nsec - since.tv_nsec) / 1e9 < seconds;
}

/*
 * Whether the limit has held from the flood until now. If not, as on a machine that does much else, nothing that was
 * counted since tells anything, and the test has to flood again.
 */
static bool still_limited(const struct flooded *f)
{
    CHECK(f->floods <= MOST_FLOODS);
    return is_within(f->limited, LIMITED_SECONDS);
}

static void flooded_open(struct flooded *f, const char *kind, enum form form)
{
    memset(f, 0, sizeof *f);
    f->form = form;
    wire_open(&f->wire, kind, 1500, 1);
    f->flow = steer_mac(&f->wire.side[1], mac_b);
}

static void flooded_close(struct flooded *f)
{
    CHECK_EQ(0, ibv_destroy_flow(f->flow));
    wire_close(&f->wire);
}

/* How many of so many segments are dropped. */
static uint64_t dropped_from(struct flooded *f, unsigned count, uint16_t client_port, uint32_t first_sequence)
{
    uint64_t before = received_by(&f->wire).unsolicited_full;
    for (uint32_t i = 0; i < count; i++)
        ask(f, client_port, ACK, first_sequence + i);
    return settle(f).unsolicited_full - before;
}

/* The same of segments that have not come before, as those that come again are admitted. */
static uint64_t dropped(struct flooded *f, unsigned count, uint16_t client_port)
{
    f->sequence += count;
    return dropped_from(f, count, client_port, f->sequence);
}

static void connections_pass(const char *kind, enum form form)
{
    struct flooded f;
    flooded_open(&f, kind, form);
    answer(&f, 5000, ACK);
    uint64_t of_connection, of_others, of_connection_that_was;
    do {
        CHECK_EQ(0, flood(&f));
        of_connection = dropped(&f, MANY, 5000);
        of_others = dropped(&f, MANY, 5001);
    } while (!still_limited(&f));
    CHECK_EQ(0, of_connection);
    CHECK(of_others > MANY / 2);
    answer(&f, 5000, RST);
    do {
        flood(&f);
        of_connection_that_was = dropped(&f, MANY, 5000);
    } while (!still_limited(&f));
    CHECK(of_connection_that_was > MANY / 2);
    flooded_close(&f);
}

static void segments_of_connections_pass_a_flood(const char *kind)
{
    for (enum form form = PLAIN; form < FORMS; form++)
        connections_pass(kind, form);
}

/* Who was answered a SYN, and may now answer in turn. It is no connection yet, so many at once are too many. */
static void segments_of_handshakes_pass_a_flood(const char *kind)
{
    struct flooded f;
    flooded_open(&f, kind, PLAIN);
    uint64_t of_handshake, of_others;
    do {
        answer(&f, 5000, SYN | ACK);
        flood(&f);
        of_handshake = dropped(&f, FEW, 5000);
        of_others = dropped(&f, FEW, 5001);
    } while (!still_limited(&f));
    CHECK_EQ(0, of_handshake);
    CHECK(of_others > 0);
    flooded_close(&f);
}

static uint64_t dropped_acknowledging(struct flooded *f, uint16_t client_port, uint32_t acknowledgement)
{
    uint64_t before = received_by(&f->wire).unsolicited_full;
    for (uint32_t i = 0; i < MANY; i++, f->sent++)
        send_built(&f->wire.side[0], f->form, client_port, FIN | ACK, ++f->sequence, acknowledgement, false);
    return settle(f).unsolicited_full - before;
}

/* A server may have nothing to say until the client closes: then all it ever sent is the SYN that is acknowledged. */
static void test_connections_without_an_answer_pass_a_flood(void)
{
    const uint32_t ours = 0xfffffffe;
    struct flooded f[2 * FORMS];
    if (!have_namespace())
        return;
    const int count = is_linux_6_6() ? 2 * FORMS : FORMS;
    for (int i = 0; i < count; i++) {
        CHECK_EQ(0, i < FORMS ? unsetenv("SOFTVERBS_XDP_MODE") : setenv("SOFTVERBS_XDP_MODE", "tap", 1));
        flooded_open(&f[i], "xdp", i % FORMS);
        send_built(&f[i].wire.side[1], i % FORMS, 5000, SYN | ACK, htonl(ours), htonl(77), true);
    }
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
    wait_until(now(), HANDSHAKE_SECONDS);
    for (int i = 0; i < count; i++) {
        uint64_t genuine, of_another_number, of_another_port;
        do {
            flood(&f[i]);
            genuine = dropped_acknowledging(&f[i], 5000, htonl(ours + 1));
            of_another_number = dropped_acknowledging(&f[i], 5000, htonl(ours));
            of_another_port = dropped_acknowledging(&f[i], 5001, htonl(ours + 1));
        } while (!still_limited(&f[i]));
        CHECK_EQ(0, genuine);
        CHECK(of_another_number > MANY / 2);
        CHECK(of_another_port > MANY / 2);
        flooded_close(&f[i]);
    }
}

/* Segments of connections and of handshakes are not among what is dropped out of a full ring. */
static void a_full_ring_keeps_what_belongs_to_connections(const char *kind)
{
    for (enum form form = PLAIN; form < FORMS; form++) {
        struct flooded f;
        flooded_open(&f, kind, form);
        answer(&f, 5000, ACK);
        answer(&f, 5001, SYN | ACK);
        for (uint32_t i = 0; i < FEW; i++) {
            ask(&f, 5000, ACK, i);
            ask(&f, 5001, ACK, i);
        }
        for (uint32_t i = 2 * FEW; i < MAIN_RING; i++)
            ask(&f, 5002, ACK, i);
        struct softverbs_queue_counters received = settle(&f);
        CHECK_EQ(2 * FEW, received.copied);
        CHECK_EQ(MAIN_RING - 2 * FEW, received.unsolicited_full);
        flooded_close(&f);
    }
}

/* Who gets no answer sends the same again after a while; sooner it is no sign of that. */
static void a_repeated_unsolicited_segment_is_admitted(const char *kind)
{
    struct flooded f;
    flooded_open(&f, kind, PLAIN);
    answer(&f, 5000, ACK);
    uint64_t first, at_once, after_a_while;
    struct timespec before;
    do {
        uint32_t sequence;
        do {
            flood(&f);
            sequence = f.sequence += FEW;
            before = now();
            first = dropped_from(&f, FEW, 5001, sequence);
            at_once = dropped_from(&f, FEW, 5001, sequence);
        } while (!still_limited(&f));
        wait_until(before, 1.2);
        flood(&f);
        after_a_while = dropped_from(&f, FEW, 5001, sequence);
    } while (!still_limited(&f) || !is_within(before, REPEATED_SECONDS));
    CHECK(first > 0);
    CHECK(at_once > 0);
    CHECK_EQ(0, after_a_while);
    flooded_close(&f);
}

/* Its answers may leave by another interface, so the library cannot tell which segments are unsolicited. */
static void a_port_that_sends_nothing_takes_all_segments(const char *kind)
{
    struct flooded f;
    flooded_open(&f, kind, PLAIN);
    CHECK_EQ(MAIN_RING, flood(&f));
    CHECK_EQ(0, dropped(&f, MANY, 5001));
    flooded_close(&f);
}

/* They leave room for segments as plain ones do. */
static void syns_of_all_forms_have_a_ring_of_their_own(const char *kind)
{
    for (enum form form = PLAIN; form < FORMS; form++) {
        struct flooded f;
        flooded_open(&f, kind, form);
        for (uint32_t i = 0; i < SYNS; i++)
            ask(&f, 5000, SYN, i);
        ask(&f, 5000, ACK, 0);
        CHECK_EQ(SYNS - SYN_RING, received_by(&f.wire).syns_full);
        CHECK_EQ(0, received_by(&f.wire).wire_full);
        flooded_close(&f);
    }
}

IN_BOTH_MODES(a_flood_of_syns_is_let_through_little_by_little)
IN_BOTH_MODES(syns_leave_room_for_segments)
IN_BOTH_MODES(a_syn_that_comes_again_is_not_kept_out)
IN_BOTH_MODES(segments_of_connections_pass_a_flood)
IN_BOTH_MODES(segments_of_handshakes_pass_a_flood)
IN_BOTH_MODES(a_full_ring_keeps_what_belongs_to_connections)
IN_BOTH_MODES(a_repeated_unsolicited_segment_is_admitted)
IN_BOTH_MODES(a_port_that_sends_nothing_takes_all_segments)
IN_BOTH_MODES(syns_of_all_forms_have_a_ring_of_their_own)

const struct test flood_tests[] = {
    {"xdp: a flood of SYNs is let through little by little", test_a_flood_of_syns_is_let_through_little_by_little},
    {"xdp: a large SYN holds up no others", test_a_large_syn_holds_up_no_others},
    {"xdp: SYNs leave room for other segments", test_syns_leave_room_for_segments},
    {"xdp: a SYN that comes again is not kept out", test_a_syn_that_comes_again_is_not_kept_out},
    {"xdp: segments of connections pass a flood of others", test_segments_of_connections_pass_a_flood},
    {"xdp: segments of handshakes pass a flood of others", test_segments_of_handshakes_pass_a_flood},
    {"xdp: connections without an answer pass a flood of others", test_connections_without_an_answer_pass_a_flood},
    {"xdp: a full ring keeps what belongs to connections", test_a_full_ring_keeps_what_belongs_to_connections},
    {"xdp: a repeated unsolicited segment is admitted", test_a_repeated_unsolicited_segment_is_admitted},
    {"xdp: a port that sends nothing takes all segments", test_a_port_that_sends_nothing_takes_all_segments},
    {"xdp: SYNs of all forms have a ring of their own", test_syns_of_all_forms_have_a_ring_of_their_own},
    {NULL, NULL},
};
