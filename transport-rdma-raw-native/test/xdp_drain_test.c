/* SPDX-License-Identifier: Apache-2.0 */
/* Draining the rings of AF_XDP sockets: see xdp_queue_fixture.h. */
#include "xdp_queue_fixture.h"

#include "checksum.h"

/* ---- receiving ---- */

static void drain_and_receive_more(void)
{
    drain_all();
    arrive_many(&k.syn, 1);
    arrive_many(&k.main, 1);
    drain_all();
}

/* Another thread empties the rings after this one has read their positions and before it has the lock. */
static void race(void)
{
    for (unsigned round = 0; round < 40; round++) {
        arrive_many(&k.main, round % 5);
        arrive_many(&k.syn, 1 + round % 7);
        k.meanwhile = drain_and_receive_more;
        drain();
        drain_all();
        check_all_seen_once();
    }
    CHECK_EQ(0, k.limited);
}

static void only_produced_entries_are_taken(void)
{
    for_each_start(race);
}

/* The limit comes from a caller without a lock: it may be old, or have never been a position. */
static void wrong_limits(void)
{
    arrive_many(&k.main, 10);
    drain_all();
    uint32_t position = k.main.producer;
    tested_drain(&k.queue, &k.device, position - 10);
    tested_drain(&k.queue, &k.device, position + 10);
    arrive_many(&k.main, 3);
    tested_drain(&k.queue, &k.device, position + 100);
    check_all_seen_once();
}

static void a_wrong_limit_is_harmless(void)
{
    for_each_start(wrong_limits);
}

/* Above half of the ring, few SYNs are taken at a time. Frames count, not descriptors. */
static void large_syns(void)
{
    arrive(&k.syn, 17, CHUNK - SV_XDP_HEADROOM);
    arrive(&k.syn, 18, CHUNK - SV_XDP_HEADROOM);
    uint32_t small = arrive(&k.syn, 1, FRAME);
    for (unsigned i = 0; i < 4 && k.dispatched == 0; i++)
        drain();
    CHECK_EQ(1, k.dispatched);
    CHECK_EQ(1, k.seen[small]);
    CHECK_EQ(2, k.queue.syn.receiver.counters.length_errors);
    check_ring_empty(&k.syn);
    check_returned_chunks();
    for (unsigned i = 0; i < CHUNKS; i++)
        CHECK(!k.owned_by_library[i]);
}

static void a_large_frame_does_not_stop_the_ring(void)
{
    for_each_start(large_syns);
}

/* Few SYNs are taken at a time and the program is notified. Afterwards all are taken again. */
static void flood_of_syns(void)
{
    const unsigned few = syns_when_overloaded();
    arrive_many(&k.syn, ENTRIES);
    drain();
    CHECK_EQ(1, k.limited);
    CHECK_EQ(few, k.dispatched);
    drain_all();
    check_all_seen_once();
    CHECK_EQ((ENTRIES / 2 + few - 1) / few, k.limited);
}

static void few_syns_of_a_flood_are_taken_at_a_time(void)
{
    for_each_start(flood_of_syns);
}

/* Frames that waited when the ring was more than half full are sorted. Later ones are not, however much later. */
static void only_waiting_frames_are_sorted(void)
{
    kernel_open(0);
    k.all_are_unsolicited = true;
    arrive_many(&k.main, ENTRIES);
    drain_all();
    CHECK_EQ(ENTRIES, k.queue.main.receiver.counters.unsolicited_drops);
    arrive_many(&k.main, 1);
    drain_all();
    /* Two thousand million frames later. */
    k.queue.main.rx.position = k.main.producer = k.main.consumer = k.main.producer + 0x60000000u;
    arrive_many(&k.main, 1);
    drain_all();
    k.queue.main.rx.position = k.main.producer = k.main.consumer = k.main.producer + 0x60000000u;
    arrive_many(&k.main, 1);
    drain_all();
    CHECK_EQ(3, k.dispatched);
    CHECK_EQ(ENTRIES, k.queue.main.receiver.counters.unsolicited_drops);
}

/* The room behind the headroom in whole KiB, which is the unit of igb, igc and ixgbe. */
static void chunks_in_zero_copy_have_room_for_a_frame(void)
{
    uint32_t room = (sv_xdp_chunk_bytes(1500, true) - SV_XDP_HEADROOM) / 1024 * 1024;
    CHECK(room >= 1500 + SV_MAX_OVERHEAD);
    CHECK_EQ(SV_XDP_SMALL_CHUNK, sv_xdp_chunk_bytes(1500, false));
    CHECK_EQ(SV_XDP_LARGE_CHUNK, sv_xdp_chunk_bytes(3000, false));
}

/* ---- GSO frames ---- */

/* The ring ends within the chain, at each position in turn. The rest arrives later. */
static void chain_in_two_parts(void)
{
    static uint8_t frame[32768];
    uint32_t length = build_gso_frame(frame, 0x18, GSO_PAYLOAD);
    k.queue.receives_gso = true;
    for (unsigned first = 0; first <= GSO_PARTS; first++) {
        uint32_t before = arrive(&k.main, 1, FRAME);
        CHECK_EQ(GSO_PARTS, put_gso_frame(frame, length));
        publish(first);
        drain_all();
        CHECK_EQ(1, k.seen[before]);
        CHECK_EQ(first == GSO_PARTS ? (GSO_PAYLOAD + MTU - 41) / (MTU - 40) : 0, k.segments);
        publish(GSO_PARTS - first);
        drain_all();
            k.queue.main.receiver.counters.gso_segments = k.segments;
        check_gso_frames_seen(first + 1);
    }
    CHECK_EQ(0, k.queue.main.receiver.counters.length_errors);
}

static void an_incomplete_chain_is_waited_for(void)
{
    for_each_start(chain_in_two_parts);
}

/* More chunks than any frame has, in several rounds of the ring. Later frames are received. */
static void endless_chain(void)
{
    static const uint8_t one[1];
    k.queue.receives_gso = true;
    for (unsigned i = 0; i < 3 * ENTRIES; i++) {
        check_returned_chunks();
        put_part(&k.main, 0, one, 1, true);
        publish(1);
        drain();
    }
    put_part(&k.main, 0, one, 1, false);
    publish(1);
    uint32_t after = arrive(&k.main, 1, FRAME);
    drain_all();
    CHECK_EQ(1, k.seen[after]);
    CHECK_EQ(1, k.queue.main.receiver.counters.gso_malformed);
    check_all_seen_once();
}

static void a_chain_without_end_is_skipped(void)
{
    for_each_start(endless_chain);
}

/* Longer than any IP packet, in chunks as the kernel makes them: BIG TCP. */
static void too_many_chunks(void)
{
    static const uint8_t part[PART];
    k.queue.receives_gso = true;
    for (unsigned i = 0; i < ENTRIES + 2; i++) {
        check_returned_chunks();
        put_part(&k.main, 0, part, PART, i <= ENTRIES);
        publish(1);
        drain();
    }
    uint32_t after = arrive(&k.main, 1, FRAME);
    drain_all();
    CHECK_EQ(1, k.seen[after]);
    CHECK_EQ(1, k.queue.main.receiver.counters.gso_too_long);
    CHECK_EQ(0, k.queue.main.receiver.counters.gso_malformed);
    check_all_seen_once();
}

static void a_chain_beyond_an_ip_packet_is_too_long(void)
{
    for_each_start(too_many_chunks);
}

/* Few frames of many chunks are not an overload although they fill the ring. Many frames are. */
static void few_long_frames(void)
{
    static uint8_t frame[32768];
    const unsigned gso_frames = ENTRIES / GSO_PARTS;
    k.queue.receives_gso = true;
    for (unsigned i = 0; i < gso_frames; i++)
        publish(put_gso_frame(frame, build_gso_frame(frame, 0x10, GSO_PAYLOAD)));
    drain_all();
    CHECK_EQ(gso_frames, k.queue.main.receiver.counters.gso_frames);
    CHECK_EQ(gso_frames, k.queue.main.receiver.counters.partial_checksums);
    CHECK_EQ(0, k.limited);
    arrive_many(&k.main, ENTRIES);
    drain_all();
    CHECK_EQ(1, k.limited);
    check_all_seen_once();
}

static void few_long_frames_are_not_an_overload(void)
{
    for_each_start(few_long_frames);
}

static void refuse(uint8_t flags, const uint64_t *counter, bool gso_frames)
{
    static uint8_t frame[32768];
    uint64_t before = *counter;
    k.queue.receives_gso = gso_frames;
    publish(put_gso_frame(frame, build_gso_frame(frame, flags, GSO_PAYLOAD)));
    drain_all();
    CHECK_EQ(before + 1, *counter);
    CHECK_EQ(0, k.segments);
    check_all_seen_once();
}

static void refused_gso_frames_are_counted(void)
{
    struct softverbs_queue_counters *counters = &k.queue.main.receiver.counters;
    kernel_open(0);
    refuse(0x12, &counters->gso_flags, true);
    refuse(0x14, &counters->gso_flags, true);
    refuse(0x30, &counters->gso_flags, true);
    refuse(0x10, &counters->length_errors, false);
    CHECK_EQ(0, counters->gso_frames);
}

/* A burst takes about SV_BURST frames in any form, since each needs a receive. */
static void a_gso_frame_counts_as_its_frames(void)
{
    static uint8_t frame[32768];
    kernel_open(0);
    k.queue.receives_gso = true;
    for (unsigned i = 0; i < ENTRIES / GSO_PARTS; i++)
        publish(put_gso_frame(frame, build_gso_frame(frame, 0x10, GSO_PAYLOAD)));
    const unsigned each = (GSO_PAYLOAD + MTU - 41) / (MTU - 40);
    CHECK_EQ(2 * GSO_PARTS, drain_at_most(each + 1));
    CHECK_EQ(2 * each, k.segments);
    drain_all();
    CHECK_EQ(ENTRIES / GSO_PARTS * each, k.segments);
    check_all_seen_once();
}

/* Frames that a receiver takes whole are not cut, and few of them make a burst. */
static void a_gso_frame_may_stay_whole(void)
{
    static uint8_t frame[32768];
    kernel_open(0);
    k.queue.receives_gso = true;
    k.gso_to_take = 1;
    for (unsigned i = 0; i < 2; i++)
        publish(put_gso_frame(frame, build_gso_frame(frame, 0x10, GSO_PAYLOAD)));
    uint32_t before = arrive(&k.main, 1, FRAME);
    drain_all();
    CHECK_EQ(1, k.delivered_gso);
    CHECK_EQ(1, k.queue.main.receiver.counters.gso_frames);
    CHECK_EQ(2, k.queue.main.receiver.counters.partial_checksums);
    CHECK_EQ(1, k.seen[before]);
    check_gso_frames_seen(1);
    k.gso_to_take = UINT32_MAX;
    for (unsigned i = 0; i < SV_BURST / SV_GSO_COST_FRAMES + 1; i++)
        publish(put_gso_frame(frame, build_gso_frame(frame, 0x10, GSO_PAYLOAD)));
    CHECK_EQ(SV_BURST / SV_GSO_COST_FRAMES * GSO_PARTS, drain_at_most(SV_BURST));
    drain_all();
    CHECK_EQ(SV_BURST / SV_GSO_COST_FRAMES + 2, k.delivered_gso);
    check_all_seen_once();
}

/* Partial checksums are completed only if senders on this host are possible. */
static void partial_checksums_are_completed_where_expected(void)
{
    uint8_t frame[FRAME + 2000];
    struct sv_frame received = {.length = build_gso_frame(frame, 0x10, 10), .layout = {4, 14, 6, 34}};
    kernel_open(0);
    for (int partial = 0; partial < 2; partial++) {
        k.queue.expects_partial_checksums = partial;
        memcpy(frame, &k.next_number, sizeof k.next_number);      /* read by fake_dispatch() */
        check_returned_chunks();
        put_part(&k.main, 0, frame, received.length, false);
        received.data = umem + k.main.descriptors[k.main.producer % ENTRIES].addr;
        publish(1);
        drain();
        CHECK_EQ(partial, sv_checksum_l4_ok(&received));
        CHECK_EQ(partial, k.queue.main.receiver.counters.partial_checksums);
    }
}

/* ---- drivers without copies ---- */

/* All chunks are in the rings when the driver stops. The rings are emptied, and it may also stop a moment later. */
static void a_driver_that_has_stopped_is_woken(void)
{
    kernel_open(0);
    k.queue.zero_copy = true;
    arrive_many(&k.main, ENTRIES / 2);
    drain_all();
    CHECK_EQ(0, k.wakes);
    arrive_many(&k.main, 1);
    k.fill.flags = XDP_RING_NEED_WAKEUP;
    drain();
    CHECK(k.wakes > 0);
    k.wakes = 0;
    drain();
    CHECK_EQ(1, k.wakes);
    k.fill.flags = 0;
    drain();
    CHECK_EQ(1, k.wakes);
    check_all_seen_once();
}

/* A queue with waiting frames does not poll the driver. */
static void busy_polling_runs_the_driver_for_an_empty_ring(void)
{
    kernel_open(0);
    tested_busy_poll(&k.queue);
    CHECK_EQ(0, k.wakes);
    k.queue.busy_poll = true;
    tested_busy_poll(&k.queue);
    CHECK_EQ(1, k.wakes);
    arrive_many(&k.main, 2);
    tested_busy_poll(&k.queue);
    CHECK_EQ(1, k.wakes);
    drain_all();
    tested_busy_poll(&k.queue);
    CHECK_EQ(2, k.wakes);
    check_all_seen_once();
}

/* Full rings of a paused process leave a zero-copy driver chunks for the frames of other programs. */
static void full_rings_leave_a_driver_chunks(void)
{
    for (uint32_t chunks = 512; chunks <= 4096; chunks *= 2) {
        CHECK_EQ(chunks / 4, chunks - chunks / sv_xdp_main_divisor(true) - chunks / sv_xdp_syn_divisor(true));
        CHECK_EQ(chunks, chunks / sv_xdp_main_divisor(false));
    }
}

const struct test xdp_drain_tests[] = {
    {"xdp queue: full rings leave a driver chunks", full_rings_leave_a_driver_chunks},
    {"xdp queue: chunks in zero copy have room for a frame", chunks_in_zero_copy_have_room_for_a_frame},
    {"xdp queue: only produced entries are taken", only_produced_entries_are_taken},
    {"xdp queue: a wrong limit is harmless", a_wrong_limit_is_harmless},
    {"xdp queue: a large frame does not stop the ring", a_large_frame_does_not_stop_the_ring},
    {"xdp queue: few SYNs of a flood are taken at a time", few_syns_of_a_flood_are_taken_at_a_time},
    {"xdp queue: an incomplete chain is waited for", an_incomplete_chain_is_waited_for},
    {"xdp queue: a chain without end is skipped", a_chain_without_end_is_skipped},
    {"xdp queue: a chain beyond an IP packet is too long", a_chain_beyond_an_ip_packet_is_too_long},
    {"xdp queue: few long frames are not an overload", few_long_frames_are_not_an_overload},
    {"xdp queue: refused GSO frames are counted", refused_gso_frames_are_counted},
    {"xdp queue: a GSO frame counts as its frames", a_gso_frame_counts_as_its_frames},
    {"xdp queue: a GSO frame may stay whole", a_gso_frame_may_stay_whole},
    {"xdp queue: partial checksums are completed where expected", partial_checksums_are_completed_where_expected},
    {"xdp queue: a driver that has stopped is woken", a_driver_that_has_stopped_is_woken},
    {"xdp queue: busy polling runs the driver for an empty ring", busy_polling_runs_the_driver_for_an_empty_ring},
    {"xdp queue: only waiting frames are sorted", only_waiting_frames_are_sorted},
    {NULL, NULL},
};
