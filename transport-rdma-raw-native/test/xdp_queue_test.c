/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xdp_queue.c on rings in which the test is the kernel, so that what takes rare timing, a driver of a certain kind, or
 * a kernel that errs can be had at will. The source is included, with what it calls replaced.
 */
#include "harness.h"

#include "xdp_queue.h"

#include <sched.h>
#include <sys/socket.h>

static bool fake_try(struct sv_receiver *receiver);
static void fake_dispatch(struct sv_receiver *receiver, struct sv_device *device, struct sv_frame *frames,
                          unsigned count);
static enum sv_whole_result fake_deliver_whole(struct sv_receiver *receiver, struct sv_device *device,
                                               const struct sv_whole *whole);
static bool fake_is_unsolicited(const struct sv_connections *connections, const struct sv_frame *frame);
static void fake_limit(struct sv_steering *steering);
static const struct sv_connections *fake_connections(const struct sv_steering *steering);
static ssize_t fake_sendto(void);
static ssize_t fake_recvfrom(void);
static void fake_lock(struct sv_spin *lock);
static void fake_unlock(struct sv_spin *lock);
static void fake_yield(void);

#define sv_xdp_queue_drain tested_drain
#define sv_xdp_queue_send tested_send
#define sv_xdp_queue_busy_poll tested_busy_poll
#define sv_receiver_try fake_try
#define sv_receiver_dispatch fake_dispatch
#define sv_receiver_deliver_whole fake_deliver_whole
#define sv_connections_is_unsolicited fake_is_unsolicited
#define sv_steering_limit_syns fake_limit
#define sv_steering_limit_unsolicited fake_limit
#define sv_steering_connections fake_connections
#define sv_spin_lock fake_lock
#define sv_spin_unlock fake_unlock
#define sendto(...) fake_sendto()
#define recvfrom(...) fake_recvfrom()
#define sched_yield fake_yield

unsigned tested_drain(struct sv_xdp_queue *queue, struct sv_device *device, uint32_t limit);
unsigned tested_send(struct sv_xdp_queue *queue, const struct sv_frame *frames, unsigned count, int *error);
void tested_busy_poll(const struct sv_xdp_queue *queue);

#include "../softverbs/xdp_queue.c"

enum { ENTRIES = 64, CHUNKS = 4 * ENTRIES, CHUNK = 4096, MTU = 1500, FRAME = 60, SEEN = 4096 };

/* What the kernel has of a ring. */
struct kernel_ring {
    uint32_t producer;
    uint32_t consumer;
    uint32_t flags;
    union {
        struct xdp_desc descriptors[ENTRIES];
        uint64_t addresses[CHUNKS];
    };
};

static struct kernel {
    struct sv_xdp_queue queue;
    struct sv_wire wire;
    struct sv_device device;
    struct kernel_ring main, syns, fill, tx, completion;
    uint32_t filled;            /* entries of the fill ring that were looked at */
    bool given[CHUNKS];         /* chunks that are the library's: a frame is in them */
    uint32_t next_chunk;
    uint32_t next_number;
    unsigned seen[SEEN];        /* how often the frame of a number was dispatched */
    unsigned dispatched;
    unsigned limited;
    bool all_are_unsolicited;
    unsigned cut;               /* frames with a rest elsewhere, in order */
    uint32_t cut_bytes;
    unsigned takes_whole;       /* so many frames from now on are taken whole */
    unsigned whole;
    void (*meanwhile)(void);    /* what another thread does just before the lock is ours */
    unsigned wakes;
    unsigned sends;
    int send_error;
    void (*on_send)(void);
    unsigned yields;
    void (*on_yield)(void);
} k;

static uint64_t free_chunks[ENTRIES];
static uint8_t umem[CHUNKS * CHUNK];
static uint8_t scratch[SV_XDP_SCRATCH_BYTES];
static struct sv_super_slot slots[SV_BURST];

enum { SUPER_PAYLOAD = 20000, PART = 1792, SUPER_PARTS = 12, HEADERS = 54 };

/* The payload is numbered by byte, so that what is missing or wrong shows. */
static uint8_t payload_at(uint32_t offset)
{
    return (uint8_t)(offset * 31 >> 3);
}

static void see_cut(const struct sv_frame *frame)
{
    static uint8_t payload[MTU];
    uint32_t head = frame->rest->head_bytes;
    sv_frame_copy(payload, frame, head, frame->length - head);
    for (uint32_t i = 0; i < frame->length - head; i++)
        CHECK_EQ(payload_at(k.cut_bytes % SUPER_PAYLOAD + i), payload[i]);
    CHECK(frame->length <= MTU + 18);
    k.cut++;
    k.cut_bytes += frame->length - head;
}

static bool fake_try(struct sv_receiver *receiver)
{
    (void)receiver;
    void (*meanwhile)(void) = k.meanwhile;
    k.meanwhile = NULL;
    if (meanwhile != NULL)
        meanwhile();
    return true;
}

static void fake_dispatch(struct sv_receiver *receiver, struct sv_device *device, struct sv_frame *frames,
                          unsigned count)
{
    (void)receiver;
    (void)device;
    for (unsigned i = 0; i < count; i++) {
        uint32_t number;
        if (frames[i].rest != NULL && frames[i].rest->pieces != NULL) {
            see_cut(&frames[i]);
            continue;
        }
        memcpy(&number, frames[i].data, sizeof number);
        CHECK(number < SEEN);
        k.seen[number]++;
        k.dispatched++;
    }
}

static enum sv_whole_result fake_deliver_whole(struct sv_receiver *receiver, struct sv_device *device,
                                               const struct sv_whole *whole)
{
    static uint8_t bytes[HEADERS + SUPER_PAYLOAD];
    (void)receiver;
    (void)device;
    if (k.takes_whole == 0)
        return SV_WHOLE_REFUSED;
    k.takes_whole--;
    k.whole++;
    CHECK_EQ(HEADERS + SUPER_PAYLOAD, whole->length);
    CHECK(whole->copy(whole, bytes));
    CHECK(memcmp(bytes, whole->head, HEADERS) == 0);
    for (uint32_t i = 0; i < SUPER_PAYLOAD; i++)
        CHECK_EQ(payload_at(i), bytes[HEADERS + i]);
    return SV_WHOLE_DELIVERED;
}

static bool fake_is_unsolicited(const struct sv_connections *connections, const struct sv_frame *frame)
{
    (void)connections;
    (void)frame;
    return k.all_are_unsolicited;
}

static void fake_limit(struct sv_steering *steering)
{
    (void)steering;
    k.limited++;
}

static const struct sv_connections *fake_connections(const struct sv_steering *steering)
{
    (void)steering;
    return NULL;
}

/* There is one thread: a lock that is held already would be waited for without end. */
static void fake_lock(struct sv_spin *lock)
{
    CHECK_EQ(0, atomic_load(&lock->held));
    atomic_store(&lock->held, 1);
}

static void fake_unlock(struct sv_spin *lock)
{
    atomic_store(&lock->held, 0);
}

static void fake_yield(void)
{
    CHECK_EQ(0, atomic_load(&k.queue.send_lock.held));
    k.yields++;
    if (k.on_yield != NULL)
        k.on_yield();
}

/* The caller may lose its core during the call: what it holds then, others wait for. */
static ssize_t fake_sendto(void)
{
    CHECK_EQ(0, atomic_load(&k.queue.send_lock.held));
    k.sends++;
    if (k.on_send != NULL)
        k.on_send();
    errno = k.send_error;
    return k.send_error == 0 ? 0 : -1;
}

static ssize_t fake_recvfrom(void)
{
    k.wakes++;
    errno = EAGAIN;
    return -1;
}

static struct sv_xdp_ring library_side(struct kernel_ring *ring, void *entries, uint32_t count, uint32_t start)
{
    ring->producer = ring->consumer = start;
    return (struct sv_xdp_ring){.producer = &ring->producer, .consumer = &ring->consumer,
                                .flags = &ring->flags, .entries = entries, .mask = count - 1, .position = start};
}

/* `start`: where the indices of all rings are, which wrap. */
static void kernel_open(uint32_t start)
{
    memset(&k, 0, sizeof k);
    struct sv_xdp_queue *queue = &k.queue;
    queue->main.rx = library_side(&k.main, k.main.descriptors, ENTRIES, start);
    queue->syns.rx = library_side(&k.syns, k.syns.descriptors, ENTRIES, start);
    queue->fill = library_side(&k.fill, k.fill.addresses, CHUNKS, start);
    queue->tx = library_side(&k.tx, k.tx.descriptors, ENTRIES, start);
    queue->completion = library_side(&k.completion, k.completion.addresses, ENTRIES, start);
    queue->main.entries = queue->syns.entries = ENTRIES;
    queue->sorted_until = start;
    queue->chunk_bytes = queue->stride_bytes = CHUNK;
    queue->base_mask = ~(uint64_t)(CHUNK - 1);
    queue->umem = umem;
    queue->scratch = scratch;
    queue->multi_buffer = true;
    queue->slots = slots;
    queue->free_chunks = free_chunks;
    queue->send_chunks = ENTRIES;
    for (uint32_t i = 0; i < ENTRIES; i++)
        free_chunks[queue->free_count++] = (uint64_t)i * CHUNK;
    k.filled = start;
    k.device.port = (void *)&k.wire;
    atomic_store(&k.device.mtu, MTU);
    atomic_store(&k.device.opened_mtu, MTU);
}

/* Chunks that came back: each was given to us, and none twice. */
static void take_filled(void)
{
    for (; k.filled != k.fill.producer; k.filled++) {
        uint64_t chunk = k.fill.addresses[k.filled % CHUNKS] / CHUNK;
        CHECK(chunk < CHUNKS);
        CHECK(k.given[chunk]);
        k.given[chunk] = false;
    }
}

/* The kernel receives a frame of so many chunks, if the ring has room. Returns its number. */
static uint32_t arrive(struct kernel_ring *ring, unsigned chunks, uint32_t length)
{
    take_filled();
    CHECK(ring->producer - ring->consumer + chunks <= ENTRIES);
    for (unsigned i = 0; i < chunks; i++) {
        while (k.given[k.next_chunk])
            k.next_chunk = (k.next_chunk + 1) % CHUNKS;
        k.given[k.next_chunk] = true;
        memcpy(umem + k.next_chunk * CHUNK, &k.next_number, sizeof k.next_number);
        ring->descriptors[(ring->producer + i) % ENTRIES] = (struct xdp_desc){
            .addr = (uint64_t)k.next_chunk * CHUNK, .len = length, .options = i + 1 < chunks ? XDP_PKT_CONTD : 0};
    }
    __atomic_store_n(&ring->producer, ring->producer + chunks, __ATOMIC_RELEASE);
    return k.next_number++;
}

static void arrive_many(struct kernel_ring *ring, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        arrive(ring, 1, FRAME);
}

static unsigned drain(void)
{
    return tested_drain(&k.queue, &k.device, sv_xdp_queue_produced(&k.queue));
}

static void drain_all(void)
{
    for (unsigned i = 0; i < ENTRIES; i++)
        drain();
}

static void check_ring_empty(const struct kernel_ring *ring)
{
    CHECK_EQ(ring->producer, ring->consumer);
}

/* All that the kernel produced was dispatched once, and all chunks are the kernel's again. */
static void check_all_seen_once(void)
{
    take_filled();
    check_ring_empty(&k.main);
    check_ring_empty(&k.syns);
    for (uint32_t i = 0; i < k.next_number; i++)
        CHECK_EQ(1, k.seen[i]);
    CHECK_EQ(k.next_number, k.dispatched);
    for (unsigned i = 0; i < CHUNKS; i++)
        CHECK(!k.given[i]);
}

/* Where indices start: in the middle, around the wrap of their sign, and of themselves. */
static const uint32_t starts[] = {0, 0x7fffffe0u, 0xffffffe0u};

static void for_each_start(void (*test)(void))
{
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        kernel_open(starts[i]);
        test();
    }
}

/* ---- receiving ---- */

static void drain_and_receive_more(void)
{
    drain_all();
    arrive_many(&k.syns, 1);
    arrive_many(&k.main, 1);
    drain_all();
}

/* Another thread has emptied the rings between this one's look at them and its lock. */
static void race(void)
{
    for (unsigned round = 0; round < 40; round++) {
        arrive_many(&k.main, round % 5);
        arrive_many(&k.syns, 1 + round % 7);
        k.meanwhile = drain_and_receive_more;
        drain();
        drain_all();
        check_all_seen_once();
    }
    CHECK_EQ(0, k.limited);
}

static void nothing_is_taken_that_was_not_produced(void)
{
    for_each_start(race);
}

/* A limit from long ago, and one that never was: it comes from the caller, who holds no lock. */
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

static void a_limit_that_is_wrong_does_no_harm(void)
{
    for_each_start(wrong_limits);
}

/* Above half of the ring few SYNs are taken at a time; frames count, however many descriptors each has. */
static void large_syns(void)
{
    arrive(&k.syns, 17, CHUNK - SV_XDP_HEADROOM);
    arrive(&k.syns, 18, CHUNK - SV_XDP_HEADROOM);
    uint32_t small = arrive(&k.syns, 1, FRAME);
    for (unsigned i = 0; i < 4 && k.dispatched == 0; i++)
        drain();
    CHECK_EQ(1, k.dispatched);
    CHECK_EQ(1, k.seen[small]);
    CHECK_EQ(2, k.queue.syns.receiver.counters.length_errors);
    check_ring_empty(&k.syns);
    take_filled();
    for (unsigned i = 0; i < CHUNKS; i++)
        CHECK(!k.given[i]);
}

static void a_large_frame_does_not_stop_the_ring(void)
{
    for_each_start(large_syns);
}

/* Few at a time, and the program is told; then it is as before. */
static void flood_of_syns(void)
{
    arrive_many(&k.syns, ENTRIES);
    drain();
    CHECK_EQ(1, k.limited);
    CHECK_EQ(FEW_SYNS, k.dispatched);
    drain_all();
    check_all_seen_once();
    CHECK_EQ((ENTRIES / 2 + FEW_SYNS - 1) / FEW_SYNS, k.limited);
}

static void a_flood_of_syns_is_taken_little_by_little(void)
{
    for_each_start(flood_of_syns);
}

/* What waited when the ring was more than half full is sorted; what comes later is not, however much later. */
static void only_what_waited_is_sorted(void)
{
    kernel_open(0);
    k.all_are_unsolicited = true;
    arrive_many(&k.main, ENTRIES);
    drain_all();
    CHECK_EQ(ENTRIES, k.queue.main.receiver.counters.unsolicited_full);
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
    CHECK_EQ(ENTRIES, k.queue.main.receiver.counters.unsolicited_full);
}

/* The room behind the headroom in whole KiB, which is how igb, igc and ixgbe are told of it. */
static void a_card_without_copies_has_room_for_a_frame(void)
{
    uint32_t room = (sv_xdp_chunk_bytes(1500, true) - SV_XDP_HEADROOM) / 1024 * 1024;
    CHECK(room >= 1500 + SV_MAX_OVERHEAD);
    CHECK_EQ(SV_XDP_SMALL_CHUNK, sv_xdp_chunk_bytes(1500, false));
    CHECK_EQ(SV_XDP_LARGE_CHUNK, sv_xdp_chunk_bytes(3000, false));
}

/* ---- super-frames ---- */

/* TCP over IPv4, with the sum of the pseudo header for a checksum. */
static uint32_t build_super(uint8_t *frame, uint8_t flags, uint32_t payload)
{
    struct sv_layout layout = {4, 14, 6, 34};
    struct frame_spec spec = default_frame();
    spec.protocol = 6;
    spec.payload = 0;
    build_frame(&spec, frame);
    frame[47] = flags;
    frame[16] = (uint8_t)((HEADERS - 14 + payload) >> 8);
    frame[17] = (uint8_t)(HEADERS - 14 + payload);
    sv_checksum_fill_ipv4_header(frame + 14);
    uint16_t sum = sv_sum_fold(sv_checksum_pseudo_sum(frame + 14, layout, HEADERS - 34 + payload));
    memcpy(frame + 50, &sum, 2);
    for (uint32_t i = 0; i < payload; i++)
        frame[HEADERS + i] = payload_at(i);
    return HEADERS + payload;
}

/* Writes a chunk into the ring, which the kernel has not published yet. */
static void put_part(struct kernel_ring *ring, uint32_t ahead, const uint8_t *data, uint32_t length, bool more)
{
    while (k.given[k.next_chunk])
        k.next_chunk = (k.next_chunk + 1) % CHUNKS;
    k.given[k.next_chunk] = true;
    memcpy(umem + k.next_chunk * CHUNK, data, length);
    ring->descriptors[(ring->producer + ahead) % ENTRIES] = (struct xdp_desc){
        .addr = (uint64_t)k.next_chunk * CHUNK, .len = length, .options = more ? XDP_PKT_CONTD : 0};
}

static unsigned put_super(const uint8_t *frame, uint32_t length)
{
    unsigned parts = 0;
    take_filled();
    for (uint32_t done = 0; done < length; done += PART, parts++)
        put_part(&k.main, parts, frame + done, length - done < PART ? length - done : PART, length - done > PART);
    return parts;
}

static void publish(unsigned count)
{
    __atomic_store_n(&k.main.producer, k.main.producer + count, __ATOMIC_RELEASE);
}

static void check_super_seen(unsigned supers)
{
    const struct softverbs_queue_counters *counters = &k.queue.main.receiver.counters;
    CHECK_EQ(supers, counters->super_frames);
    CHECK_EQ(k.cut, counters->cut_frames);
    CHECK_EQ(SUPER_PAYLOAD, k.cut_bytes);
    CHECK_EQ((SUPER_PAYLOAD + MTU - 41) / (MTU - 40), k.cut);
    k.cut = k.cut_bytes = 0;
    check_ring_empty(&k.main);
    take_filled();
    for (unsigned i = 0; i < CHUNKS; i++)
        CHECK(!k.given[i]);
}

/* The ring ends within the chain, at each place in turn; the rest comes later. */
static void chain_in_two_parts(void)
{
    static uint8_t frame[32768];
    uint32_t length = build_super(frame, 0x18, SUPER_PAYLOAD);
    k.queue.super_frames = true;
    for (unsigned first = 0; first <= SUPER_PARTS; first++) {
        uint32_t before = arrive(&k.main, 1, FRAME);
        CHECK_EQ(SUPER_PARTS, put_super(frame, length));
        publish(first);
        drain_all();
        CHECK_EQ(1, k.seen[before]);
        CHECK_EQ(first == SUPER_PARTS ? (SUPER_PAYLOAD + MTU - 41) / (MTU - 40) : 0, k.cut);
        publish(SUPER_PARTS - first);
        drain_all();
            k.queue.main.receiver.counters.cut_frames = k.cut;
        check_super_seen(first + 1);
    }
    CHECK_EQ(0, k.queue.main.receiver.counters.length_errors);
}

static void a_chain_that_goes_on_later_is_waited_for(void)
{
    for_each_start(chain_in_two_parts);
}

/* More chunks than any frame has, in more than one turn of the ring: what comes after is received. */
static void endless_chain(void)
{
    static const uint8_t one[1];
    k.queue.super_frames = true;
    for (unsigned i = 0; i < 3 * ENTRIES; i++) {
        take_filled();
        put_part(&k.main, 0, one, 1, true);
        publish(1);
        drain();
    }
    put_part(&k.main, 0, one, 1, false);
    publish(1);
    uint32_t after = arrive(&k.main, 1, FRAME);
    drain_all();
    CHECK_EQ(1, k.seen[after]);
    CHECK_EQ(1, k.queue.main.receiver.counters.super_unsound);
    check_all_seen_once();
}

static void a_chain_without_end_is_skipped(void)
{
    for_each_start(endless_chain);
}

/* More than an IP packet can be, in chunks as the kernel makes them: BIG TCP. */
static void too_many_chunks(void)
{
    static const uint8_t part[PART];
    k.queue.super_frames = true;
    for (unsigned i = 0; i < ENTRIES + 2; i++) {
        take_filled();
        put_part(&k.main, 0, part, PART, i <= ENTRIES);
        publish(1);
        drain();
    }
    uint32_t after = arrive(&k.main, 1, FRAME);
    drain_all();
    CHECK_EQ(1, k.seen[after]);
    CHECK_EQ(1, k.queue.main.receiver.counters.super_too_long);
    CHECK_EQ(0, k.queue.main.receiver.counters.super_unsound);
    check_all_seen_once();
}

static void a_chain_beyond_an_ip_packet_is_too_long(void)
{
    for_each_start(too_many_chunks);
}

/* Few frames of many chunks are no overload, though they fill the ring; many frames are. */
static void few_long_frames(void)
{
    static uint8_t frame[32768];
    const unsigned supers = ENTRIES / SUPER_PARTS;
    k.queue.super_frames = true;
    for (unsigned i = 0; i < supers; i++)
        publish(put_super(frame, build_super(frame, 0x10, SUPER_PAYLOAD)));
    drain_all();
    CHECK_EQ(supers, k.queue.main.receiver.counters.super_frames);
    CHECK_EQ(supers, k.queue.main.receiver.counters.partial_checksums);
    CHECK_EQ(0, k.limited);
    arrive_many(&k.main, ENTRIES);
    drain_all();
    CHECK_EQ(1, k.limited);
    check_all_seen_once();
}

static void few_long_frames_are_no_overload(void)
{
    for_each_start(few_long_frames);
}

static void refuse(uint8_t flags, const uint64_t *counter, bool super_frames)
{
    static uint8_t frame[32768];
    uint64_t before = *counter;
    k.queue.super_frames = super_frames;
    publish(put_super(frame, build_super(frame, flags, SUPER_PAYLOAD)));
    drain_all();
    CHECK_EQ(before + 1, *counter);
    CHECK_EQ(0, k.cut);
    check_all_seen_once();
}

static void super_frames_that_are_refused_are_counted(void)
{
    struct softverbs_queue_counters *counters = &k.queue.main.receiver.counters;
    kernel_open(0);
    refuse(0x12, &counters->super_flags, true);
    refuse(0x14, &counters->super_flags, true);
    refuse(0x30, &counters->super_flags, true);
    refuse(0x10, &counters->length_errors, false);
    CHECK_EQ(0, counters->super_frames);
}

/* A burst takes no more frames than about SV_BURST, in whatever form: each needs a receive. */
static void a_super_frame_counts_as_its_frames(void)
{
    static uint8_t frame[32768];
    kernel_open(0);
    k.queue.super_frames = true;
    for (unsigned i = 0; i < ENTRIES / SUPER_PARTS; i++)
        publish(put_super(frame, build_super(frame, 0x10, SUPER_PAYLOAD)));
    const unsigned each = (SUPER_PAYLOAD + MTU - 41) / (MTU - 40);
    CHECK_EQ(2 * SUPER_PARTS, drain_burst(&k.queue, &k.queue.main, &k.device, k.main.producer, each + 1));
    CHECK_EQ(2 * each, k.cut);
    drain_all();
    CHECK_EQ(ENTRIES / SUPER_PARTS * each, k.cut);
    check_all_seen_once();
}

/* Those that a receiver takes whole are not cut, and few of them are a burst. */
static void a_super_frame_may_stay_whole(void)
{
    static uint8_t frame[32768];
    kernel_open(0);
    k.queue.super_frames = true;
    k.takes_whole = 1;
    for (unsigned i = 0; i < 2; i++)
        publish(put_super(frame, build_super(frame, 0x10, SUPER_PAYLOAD)));
    uint32_t before = arrive(&k.main, 1, FRAME);
    drain_all();
    CHECK_EQ(1, k.whole);
    CHECK_EQ(1, k.queue.main.receiver.counters.super_frames);
    CHECK_EQ(2, k.queue.main.receiver.counters.partial_checksums);
    CHECK_EQ(1, k.seen[before]);
    check_super_seen(1);
    k.takes_whole = UINT32_MAX;
    for (unsigned i = 0; i < SV_BURST / SV_WHOLE_COST + 1; i++)
        publish(put_super(frame, build_super(frame, 0x10, SUPER_PAYLOAD)));
    CHECK_EQ(SV_BURST / SV_WHOLE_COST * SUPER_PARTS,
             drain_burst(&k.queue, &k.queue.main, &k.device, k.main.producer, SV_BURST));
    drain_all();
    CHECK_EQ(SV_BURST / SV_WHOLE_COST + 2, k.whole);
    check_all_seen_once();
}

/* Only where senders on this host can be is a partial checksum completed. */
static void partial_checksums_are_completed_where_expected(void)
{
    uint8_t frame[FRAME + 2000];
    struct sv_frame received = {.length = build_super(frame, 0x10, 10), .layout = {4, 14, 6, 34}};
    kernel_open(0);
    for (int partial = 0; partial < 2; partial++) {
        k.queue.partial = partial;
        memcpy(frame, &k.next_number, sizeof k.next_number);      /* what fake_dispatch() looks at */
        take_filled();
        put_part(&k.main, 0, frame, received.length, false);
        received.data = umem + k.main.descriptors[k.main.producer % ENTRIES].addr;
        publish(1);
        drain();
        CHECK_EQ(partial, sv_checksum_l4_ok(&received));
        CHECK_EQ(partial, k.queue.main.receiver.counters.partial_checksums);
    }
}

/* ---- drivers without copies ---- */

/* All chunks are in the rings when the driver stops; the rings are emptied, and it may stop a moment later even. */
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

/* Who has frames does not ask for more. */
static void an_empty_ring_is_polled_busily(void)
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

static void burst(struct sv_frame *frames, unsigned count)
{
    static const uint8_t data[FRAME];
    for (unsigned i = 0; i < count; i++)
        frames[i] = (struct sv_frame){.data = data, .length = FRAME};
}

/* It takes them from the ring, and gives nothing back yet. */
static void take_sends(void)
{
    k.tx.consumer = k.tx.producer;
}

/* Frames that lie in the ring are sent, whenever that is: nobody waits for it, and calls only when asked to. */
static void a_driver_sends_when_it_likes(void)
{
    struct sv_frame frames[8];
    int error;
    burst(frames, 8);
    kernel_open(0);
    k.queue.zero_copy = true;
    CHECK_EQ(8, tested_send(&k.queue, frames, 8, &error));
    CHECK_EQ(0, error);
    CHECK_EQ(0, k.sends);
    k.tx.flags = XDP_RING_NEED_WAKEUP;
    k.send_error = EAGAIN;
    CHECK_EQ(8, tested_send(&k.queue, frames, 8, &error));
    CHECK_EQ(0, error);
    CHECK_EQ(1, k.sends);
    k.send_error = ENETDOWN;
    CHECK_EQ(8, tested_send(&k.queue, frames, 8, &error));
    CHECK_EQ(ENETDOWN, error);
}

/* Its interrupts are off, so nobody would tell it. */
static void a_driver_that_is_polled_busily_is_always_told(void)
{
    struct sv_frame frames[8];
    int error;
    burst(frames, 8);
    kernel_open(0);
    k.queue.zero_copy = k.queue.busy_poll = true;
    CHECK_EQ(8, tested_send(&k.queue, frames, 8, &error));
    CHECK_EQ(0, error);
    CHECK_EQ(1, k.sends);
}

/* With all chunks at a driver that gives none back, a burst costs a bounded number of calls, and is not sent. */
static void a_driver_that_is_stuck_does_not_hold_a_sender(void)
{
    struct sv_frame frames[16];
    int error;
    burst(frames, 16);
    kernel_open(0);
    k.queue.zero_copy = true;
    k.tx.flags = XDP_RING_NEED_WAKEUP;
    k.on_send = take_sends;
    for (unsigned i = 0; i < ENTRIES / 16; i++)
        CHECK_EQ(16, tested_send(&k.queue, frames, 16, &error));
    k.sends = 0;
    CHECK_EQ(0, tested_send(&k.queue, frames, 16, &error));
    CHECK_EQ(ENOBUFS, error);
    CHECK(k.sends <= 100);
}

/* It says more than once that a chunk is ours again. */
static void a_completion_too_many_is_not_kept(void)
{
    kernel_open(0);
    for (unsigned i = 0; i < 2 * ENTRIES; i++) {
        struct sv_frame frame;
        int error;
        burst(&frame, 1);
        k.on_send = take_sends;
        CHECK_EQ(1, tested_send(&k.queue, &frame, 1, &error));
        for (unsigned twice = 0; twice < 2; twice++)
            k.completion.addresses[k.completion.producer++ % ENTRIES] = 0;
        CHECK(k.queue.free_count <= ENTRIES);
    }
}

/* ---- sending in copy mode, where the kernel sends during the call ---- */

/* Another thread's frames pass while the kernel is at those of the first; its call sends both. */
static void another_sends(void)
{
    struct sv_frame frames[3];
    int error;
    burst(frames, 3);
    k.on_send = take_sends;
    CHECK_EQ(3, tested_send(&k.queue, frames, 3, &error));
    CHECK_EQ(0, error);
}

static void send_while_another_does(void)
{
    struct sv_frame frames[8];
    uint32_t start = k.tx.producer;
    int error;
    burst(frames, 8);
    k.on_send = another_sends;
    CHECK_EQ(8, tested_send(&k.queue, frames, 8, &error));
    CHECK_EQ(0, error);
    CHECK_EQ(start + 11, k.tx.producer);
    CHECK_EQ(k.tx.producer, k.tx.consumer);
    CHECK_EQ(2, k.sends);
}

static void senders_do_not_wait_for_each_other(void)
{
    for_each_start(send_while_another_does);
}

static void take_one(void)
{
    k.tx.consumer++;
}

/* However many calls the kernel wants for a burst, all of it goes, as long as each call gets on. */
static void a_slow_kernel_gets_all_frames(void)
{
    struct sv_frame frames[40];
    int error;
    burst(frames, 40);
    kernel_open(0);
    k.on_send = take_one;
    k.send_error = EAGAIN;
    CHECK_EQ(40, tested_send(&k.queue, frames, 40, &error));
    CHECK_EQ(0, error);
    CHECK_EQ(40, k.sends);
}

/* Of a kernel that takes nothing at all a sender learns, after a while. */
static void a_kernel_that_is_stuck_does_not_hold_a_sender(void)
{
    struct sv_frame frames[4];
    int error;
    burst(frames, 4);
    kernel_open(0);
    k.send_error = EAGAIN;
    CHECK_EQ(4, tested_send(&k.queue, frames, 4, &error));
    CHECK_EQ(ENOBUFS, error);
    CHECK_EQ(KICK_TRIES, k.sends);
    k.send_error = ENETDOWN;
    k.sends = 0;
    CHECK_EQ(4, tested_send(&k.queue, frames, 4, &error));
    CHECK_EQ(ENETDOWN, error);
    CHECK_EQ(1, k.sends);
}

/* The interface gives a chunk back, and for long another thread is there first. */
static void another_takes_the_chunk(void)
{
    struct sv_frame frame;
    int error;
    burst(&frame, 1);
    k.completion.addresses[k.completion.producer % ENTRIES] = k.tx.descriptors[k.completion.producer % ENTRIES].addr;
    k.completion.producer++;
    if (k.yields > 3 * KICK_TRIES)
        return;
    CHECK_EQ(1, tested_send(&k.queue, &frame, 1, &error));
    CHECK_EQ(0, error);
}

/* As long as the interface gets on, no frame is lost for want of a chunk. */
static void an_interface_that_all_use_is_not_stuck(void)
{
    struct sv_frame frames[ENTRIES];
    int error;
    burst(frames, ENTRIES);
    kernel_open(0);
    k.on_send = take_sends;
    CHECK_EQ(ENTRIES, tested_send(&k.queue, frames, ENTRIES, &error));
    k.on_yield = another_takes_the_chunk;
    CHECK_EQ(2, tested_send(&k.queue, frames, 2, &error));
    CHECK_EQ(0, error);
    k.on_yield = NULL;
    k.yields = 0;
    while (tested_send(&k.queue, frames, 1, &error) == 1)
        CHECK_EQ(0, error);
    CHECK_EQ(ENOBUFS, error);
    CHECK_EQ(KICK_TRIES + 1, k.yields);
}

const struct test xdp_queue_tests[] = {
    {"xdp queue: a card without copies has room for a frame", a_card_without_copies_has_room_for_a_frame},
    {"xdp queue: nothing is taken that was not produced", nothing_is_taken_that_was_not_produced},
    {"xdp queue: a limit that is wrong does no harm", a_limit_that_is_wrong_does_no_harm},
    {"xdp queue: a large frame does not stop the ring", a_large_frame_does_not_stop_the_ring},
    {"xdp queue: a flood of SYNs is taken little by little", a_flood_of_syns_is_taken_little_by_little},
    {"xdp queue: a chain that goes on later is waited for", a_chain_that_goes_on_later_is_waited_for},
    {"xdp queue: a chain without end is skipped", a_chain_without_end_is_skipped},
    {"xdp queue: a chain beyond an IP packet is too long", a_chain_beyond_an_ip_packet_is_too_long},
    {"xdp queue: few long frames are no overload", few_long_frames_are_no_overload},
    {"xdp queue: super-frames that are refused are counted", super_frames_that_are_refused_are_counted},
    {"xdp queue: a super-frame counts as its frames", a_super_frame_counts_as_its_frames},
    {"xdp queue: a super-frame may stay whole", a_super_frame_may_stay_whole},
    {"xdp queue: partial checksums are completed where expected", partial_checksums_are_completed_where_expected},
    {"xdp queue: a driver that has stopped is woken", a_driver_that_has_stopped_is_woken},
    {"xdp queue: a driver sends when it likes", a_driver_sends_when_it_likes},
    {"xdp queue: an empty ring is polled busily", an_empty_ring_is_polled_busily},
    {"xdp queue: a driver that is polled busily is always told", a_driver_that_is_polled_busily_is_always_told},
    {"xdp queue: a driver that is stuck does not hold a sender", a_driver_that_is_stuck_does_not_hold_a_sender},
    {"xdp queue: senders do not wait for each other", senders_do_not_wait_for_each_other},
    {"xdp queue: a slow kernel gets all frames", a_slow_kernel_gets_all_frames},
    {"xdp queue: a kernel that is stuck does not hold a sender", a_kernel_that_is_stuck_does_not_hold_a_sender},
    {"xdp queue: an interface that all use is not stuck", an_interface_that_all_use_is_not_stuck},
    {"xdp queue: a completion too many is not kept", a_completion_too_many_is_not_kept},
    {"xdp queue: only what waited is sorted", only_what_waited_is_sorted},
    {NULL, NULL},
};
