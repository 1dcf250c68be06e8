/* SPDX-License-Identifier: Apache-2.0 */
/* Devices on AF_XDP under a flood of segments that belong to no connection. */
#define _GNU_SOURCE                         /* sched_setaffinity */
#include "flood_fixture.h"

/* ---- segments of no connection ---- */

enum { UNSOLICITED = 4096, MAIN_RING = 2048, MANY = 400, FEW = 8, FIN = 0x01, SYN = 0x02, RST = 0x04, ACK = 0x10 };
enum { HANDSHAKE_SECONDS = 10 };      /* a peer that was sent a SYN counts as connecting for less than this */
enum { ADMITTED_SECONDS = 7 };        /* and for at least this (SV_BPF_OPENING_MAX_AGE) */

/* Forms of segments, each of which the XDP program reads in another way. */
enum form { PLAIN, OPTIONS, TAGGED, IPV6, FORMS };

/* Adds options without a meaning to the IPv4 header. */
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

/* A device under a flood of unsolicited segments, and the number of sent segments. */
struct flooded {
    struct wire wire;
    struct ibv_flow *flow;
    enum form form;
    uint64_t sent;
    uint32_t sequence;            /* sequence number of the next new segment */
    uint32_t floods;
    struct timespec limited;      /* time of the last flood, not before the limit began */
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

/* Polls until each sent frame has been received or counted as lost, and none twice. */
static struct softverbs_queue_counters settle(struct flooded *f)
{
    struct softverbs_queue_counters received;
    struct timespec start = now();
    uint64_t counted;
    do {
        check_empty(f->wire.side[1].cq);
        received = received_by(&f->wire);
        counted = received.copied + received.ring_full + received.syn_ring_full + received.unsolicited_drops;
        CHECK(!overdue(start));
    } while (counted < f->sent);
    CHECK_EQ(f->sent, counted);
    return received;
}

/* Fills the ring, which limits unsolicited segments for a second. Returns the number of frames received from it. */
static uint64_t flood(struct flooded *f)
{
    if (f->floods++ > 0)
        wait_until(now(), LIMITED_SECONDS);      /* earlier drops may have extended the limit */
    uint64_t before = settle(f).copied;
    uint64_t lost = received_by(&f->wire).ring_full;
    for (uint32_t i = 0; i < UNSOLICITED; i++)
        ask(f, (uint16_t)(10000 + i), ACK, i);
    /* Polls only after all frames have arrived. Otherwise the ring would have room for more of them. */
    struct timespec start = now();
    while (received_by(&f->wire).ring_full < lost + UNSOLICITED - MAIN_RING)
        CHECK(!overdue(start));
    f->limited = now();
    CHECK_EQ(lost + UNSOLICITED - MAIN_RING, settle(f).ring_full);
    return received_by(&f->wire).copied - before;
}

/*
 * Returns true if the limit has held since the flood. If not, as on a busy machine, the counts since then mean nothing,
 * and the test floods again.
 */
static bool still_limited(const struct flooded *f)
{
    CHECK(f->floods <= MAX_FLOODS);
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

/* Sends this number of segments. Returns how many were dropped. */
static uint64_t dropped_from(struct flooded *f, unsigned count, uint16_t client_port, uint32_t first_sequence)
{
    uint64_t before = received_by(&f->wire).unsolicited_drops;
    for (uint32_t i = 0; i < count; i++)
        ask(f, client_port, ACK, first_sequence + i);
    return settle(f).unsolicited_drops - before;
}

/* The same with new segments, because repeated ones are admitted. */
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

/* Sends an answer of many segments with one request, which the kernel cuts. */
static void answer_large(struct flooded *f, uint16_t client_port)
{
    enum { MSS = 1000, SEGMENTS = 8 };
    static uint8_t payload[SEGMENTS * MSS];
    struct side *side = &f->wire.side[1];
    uint8_t header[2048];
    enum { HEADER_BYTES = 14 + 20 + 20 };
    (void)build_segment(header, PLAIN, true, client_port, ACK, 0, 0);
    struct ibv_mr *mr = ibv_reg_mr(side->world->pd, payload, sizeof payload, 0);
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = side->cq, .recv_cq = side->cq, .qp_type = IBV_QPT_RAW_PACKET, .pd = side->world->pd,
        .max_tso_header = 128, .cap = {.max_send_wr = 8, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 1},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
    };
    struct ibv_qp *qp = ibv_create_qp_ex(side->world->context, &attr);
    CHECK(mr != NULL && qp != NULL);
    to_ready(qp);
    struct ibv_sge sge = {(uintptr_t)payload, sizeof payload, mr->lkey};
    struct ibv_send_wr *bad;
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_TSO, .send_flags = IBV_SEND_SIGNALED,
                             .tso = {.hdr = header, .hdr_sz = HEADER_BYTES, .mss = MSS}};
    CHECK_EQ(0, ibv_post_send(qp, &wr, &bad));
    CHECK_EQ(IBV_WC_SUCCESS, wait_one(side->cq).status);
    struct softverbs_counters counters;
    CHECK_EQ(0, softverbs_query_counters(side->world->context, &counters));
    CHECK_EQ(1, counters.sent.gso_frames);
    CHECK_EQ(0, ibv_destroy_qp(qp));
    CHECK_EQ(0, ibv_dereg_mr(mr));
}

/* A server may send only large answers after its SYN-ACK. */
static void connections_with_large_answers_pass_a_flood(const char *kind)
{
    struct flooded f;
    uint64_t of_connection, of_others;
    flooded_open(&f, kind, PLAIN);
    answer(&f, 5002, ACK);
    answer_large(&f, 5000);
    do {
        flood(&f);
        of_connection = dropped(&f, MANY, 5000);
        of_others = dropped(&f, MANY, 5001);
    } while (!still_limited(&f));
    CHECK_EQ(0, of_connection);
    CHECK(of_others > MANY / 2);
    flooded_close(&f);
}

static void segments_of_connections_pass_a_flood(const char *kind)
{
    for (enum form form = PLAIN; form < FORMS; form++)
        connections_pass(kind, form);
}

/*
 * Peers that have received a SYN-ACK and may answer it. They have no connection yet, so only some are admitted at once.
 */
static void segments_of_handshakes_pass_a_flood(const char *kind)
{
    struct flooded f;
    flooded_open(&f, kind, PLAIN);
    uint64_t of_handshake, of_others;
    struct timespec answered;
    do {
        answered = now();
        answer(&f, 5000, SYN | ACK);
        flood(&f);
        of_handshake = dropped(&f, FEW, 5000);
        of_others = dropped(&f, FEW, 5001);
    } while (!still_limited(&f) || !is_within(answered, ADMITTED_SECONDS));
    CHECK_EQ(0, of_handshake);
    CHECK(of_others > 0);
    flooded_close(&f);
}

static uint64_t dropped_acknowledging(struct flooded *f, uint16_t client_port, uint32_t acknowledgement)
{
    uint64_t before = received_by(&f->wire).unsolicited_drops;
    for (uint32_t i = 0; i < MANY; i++, f->sent++)
        send_built(&f->wire.side[0], f->form, client_port, FIN | ACK, ++f->sequence, acknowledgement, false);
    return settle(f).unsolicited_drops - before;
}

/* A server may be silent until the client closes. It has then sent only a SYN, which is acknowledged. */
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

/* Returns the counters, or false if the handshake has become too old for them, as on a busy machine. */
static bool fill_ring(const char *kind, enum form form, struct softverbs_queue_counters *received)
{
    struct flooded f;
    flooded_open(&f, kind, form);
    struct timespec answered = now();
    answer(&f, 5000, ACK);
    answer(&f, 5001, SYN | ACK);
    for (uint32_t i = 0; i < FEW; i++) {
        ask(&f, 5000, ACK, i);
        ask(&f, 5001, ACK, i);
    }
    for (uint32_t i = 2 * FEW; i < MAIN_RING; i++)
        ask(&f, 5002, ACK, i);
    await_in_main_ring(&f.wire, MAIN_RING);
    *received = settle(&f);
    bool in_time = is_within(answered, ADMITTED_SECONDS);
    flooded_close(&f);
    return in_time;
}

/* Segments of connections and of handshakes are not dropped from a full ring. */
static void a_full_ring_keeps_segments_of_connections(const char *kind)
{
    for (enum form form = PLAIN; form < FORMS; form++) {
        struct softverbs_queue_counters received;
        for (unsigned floods = 1; !fill_ring(kind, form, &received); floods++)
            CHECK(floods < MAX_FLOODS);
        CHECK_EQ(2 * FEW, received.copied);
        CHECK_EQ(MAIN_RING - 2 * FEW, received.unsolicited_drops);
    }
}

/* A peer without an answer repeats its segment after a while. An earlier repetition is not such a sign. */
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

/*
 * The answers of such a port may leave through another interface, so the library cannot recognize unsolicited segments.
 */
static void a_port_that_sends_nothing_takes_all_segments(const char *kind)
{
    struct flooded f;
    flooded_open(&f, kind, PLAIN);
    CHECK_EQ(MAIN_RING, flood(&f));
    CHECK_EQ(0, dropped(&f, MANY, 5001));
    flooded_close(&f);
}

/* They leave room for segments like ordinary SYNs. */
static void syns_of_all_forms_go_to_the_ring_for_syns(const char *kind)
{
    for (enum form form = PLAIN; form < FORMS; form++) {
        struct flooded f;
        flooded_open(&f, kind, form);
        for (uint32_t i = 0; i < SYNS; i++)
            ask(&f, 5000, SYN, i);
        ask(&f, 5000, ACK, 0);
        await_in_main_ring(&f.wire, 1);
        await_lost_syns(&f.wire, SYNS - SYN_RING);
        CHECK_EQ(0, received_by(&f.wire).ring_full);
        flooded_close(&f);
    }
}

IN_BOTH_MODES(segments_of_connections_pass_a_flood)
IN_BOTH_MODES(connections_with_large_answers_pass_a_flood)
IN_BOTH_MODES(segments_of_handshakes_pass_a_flood)
IN_BOTH_MODES(a_full_ring_keeps_segments_of_connections)
IN_BOTH_MODES(a_repeated_unsolicited_segment_is_admitted)
IN_BOTH_MODES(a_port_that_sends_nothing_takes_all_segments)
IN_BOTH_MODES(syns_of_all_forms_go_to_the_ring_for_syns)

const struct test segment_flood_tests[] = {
    {"xdp: segments of connections pass a flood of others", test_segments_of_connections_pass_a_flood},
    {"xdp: connections with large answers pass a flood of others", test_connections_with_large_answers_pass_a_flood},
    {"xdp: segments of handshakes pass a flood of others", test_segments_of_handshakes_pass_a_flood},
    {"xdp: connections without an answer pass a flood of others", test_connections_without_an_answer_pass_a_flood},
    {"xdp: a full ring keeps segments of connections", test_a_full_ring_keeps_segments_of_connections},
    {"xdp: a repeated unsolicited segment is admitted", test_a_repeated_unsolicited_segment_is_admitted},
    {"xdp: a port that sends nothing takes all segments", test_a_port_that_sends_nothing_takes_all_segments},
    {"xdp: SYNs of all forms go to the ring for SYNs", test_syns_of_all_forms_go_to_the_ring_for_syns},
    {NULL, NULL},
};
