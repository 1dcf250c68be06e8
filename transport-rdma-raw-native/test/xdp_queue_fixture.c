/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive_drain_xdp.c and xdp_send.c on rings on which the test acts as the kernel. So rare timing, drivers of all
 * kinds and kernels with errors can be produced at will. The sources are included, with the functions that they call
 * replaced.
 */
#define sv_monotonic_nanos fake_clock

#include "xdp_queue_fixture.h"

#include "checksum.h"

#include <sys/socket.h>

static bool fake_try(struct sv_receiver *receiver);
static enum sv_gso_delivery fake_deliver_gso(struct sv_receiver *receiver, struct sv_device *device,
                                             const struct sv_gso_frame *gso_frame);
static bool fake_is_unsolicited(const struct sv_connections *connections, const struct sv_frame *frame);
static void fake_limit(struct sv_kernel_steering *steering);
static const struct sv_connections *fake_connections(const struct sv_kernel_steering *steering);
static ssize_t fake_sendto(void);
static ssize_t fake_recvfrom(void);
static void fake_lock(struct sv_spin *lock);
static void fake_unlock(struct sv_spin *lock);

#define sv_xdp_queue_drain tested_drain
#define sv_xdp_queue_send tested_send
#define sv_xdp_queue_busy_poll tested_busy_poll
#define sv_xdp_queue_retry_sending tested_finish_sending
#define sv_xdp_queue_set_idle tested_set_idle
#define sv_receiver_trylock fake_try
#define sv_receiver_dispatch fake_dispatch
#define sv_receiver_deliver_gso fake_deliver_gso
#define sv_connections_is_unsolicited fake_is_unsolicited
#define sv_kernel_steering_limit_syns fake_limit
#define sv_kernel_steering_limit_unsolicited fake_limit
#define sv_kernel_steering_connections fake_connections
#define sv_spin_lock fake_lock
#define sv_spin_unlock fake_unlock
#define sendto(...) fake_sendto()
#define recvfrom(...) fake_recvfrom()

#include "../softverbs/receive_drain_xdp.c"
#include "../softverbs/xdp_send.c"

struct kernel k;

static uint64_t free_chunks[ENTRIES];
uint8_t umem[CHUNKS * CHUNK];
static uint8_t scratch[SV_XDP_SCRATCH_BYTES];
static struct sv_gso_slot slots[SV_BURST];

uint8_t payload_at(uint32_t offset)
{
    return (uint8_t)(offset * 31 >> 3);
}

static void see_segment(const struct sv_frame *frame)
{
    static uint8_t payload[MTU];
    uint32_t head = frame->rest->head_bytes;
    sv_frame_copy(payload, frame, head, frame->length - head);
    for (uint32_t i = 0; i < frame->length - head; i++)
        CHECK_EQ(payload_at(k.segment_bytes_seen % GSO_PAYLOAD + i), payload[i]);
    CHECK(frame->length <= MTU + 18);
    k.segments++;
    k.segment_bytes_seen += frame->length - head;
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

void fake_dispatch(struct sv_receiver *receiver, struct sv_device *device, struct sv_frame *frames,
                          unsigned count)
{
    (void)receiver;
    (void)device;
    for (unsigned i = 0; i < count; i++) {
        uint32_t number;
        if (frames[i].rest != NULL) {
            see_segment(&frames[i]);
            continue;
        }
        memcpy(&number, frames[i].data, sizeof number);
        CHECK(number < SEEN);
        k.seen[number]++;
        k.dispatched++;
    }
}

static enum sv_gso_delivery fake_deliver_gso(struct sv_receiver *receiver, struct sv_device *device,
                                             const struct sv_gso_frame *gso_frame)
{
    static uint8_t bytes[HEADERS + GSO_PAYLOAD];
    (void)receiver;
    (void)device;
    if (k.gso_to_take == 0)
        return SV_GSO_REFUSED;
    k.gso_to_take--;
    k.delivered_gso++;
    CHECK_EQ(HEADERS + GSO_PAYLOAD, gso_frame->length);
    CHECK(gso_frame->copy(gso_frame, bytes));
    CHECK(memcmp(bytes, gso_frame->head, HEADERS) == 0);
    for (uint32_t i = 0; i < GSO_PAYLOAD; i++)
        CHECK_EQ(payload_at(i), bytes[HEADERS + i]);
    return SV_GSO_DELIVERED;
}

static bool fake_is_unsolicited(const struct sv_connections *connections, const struct sv_frame *frame)
{
    (void)connections;
    (void)frame;
    return k.all_are_unsolicited;
}

static void fake_limit(struct sv_kernel_steering *steering)
{
    (void)steering;
    k.limited++;
}

static const struct sv_connections *fake_connections(const struct sv_kernel_steering *steering)
{
    (void)steering;
    return NULL;
}

/* There is one thread, so waiting for a held lock would never end. */
static void fake_lock(struct sv_spin *lock)
{
    CHECK_EQ(0, atomic_load(&lock->held));
    atomic_store(&lock->held, 1);
}

static void fake_unlock(struct sv_spin *lock)
{
    atomic_store(&lock->held, 0);
}

/* Each reading of the clock advances it by a microsecond. */
uint64_t fake_clock(void)
{
    CHECK_EQ(0, atomic_load(&k.queue.send_lock.held));
    k.turns++;
    k.nanos += 1000;
    if (k.on_turn != NULL)
        k.on_turn();
    return k.nanos;
}

/* No lock may be held, because the caller may lose its core during the call and others would wait for the lock. */
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

void kernel_open(uint32_t start)
{
    memset(&k, 0, sizeof k);
    struct sv_xdp_queue *queue = &k.queue;
    queue->main.rx = library_side(&k.main, k.main.descriptors, ENTRIES, start);
    queue->syn.rx = library_side(&k.syn, k.syn.descriptors, ENTRIES, start);
    queue->fill = library_side(&k.fill, k.fill.addresses, CHUNKS, start);
    queue->tx = library_side(&k.tx, k.tx.descriptors, ENTRIES, start);
    queue->completion = library_side(&k.completion, k.completion.addresses, ENTRIES, start);
    queue->main.entries = queue->syn.entries = ENTRIES;
    queue->filtered_until_position = start;
    queue->chunk_bytes = queue->stride_bytes = CHUNK;
    queue->chunk_mask = ~(uint64_t)(CHUNK - 1);
    queue->umem = umem;
    queue->scratch = scratch;
    queue->multi_buffer = true;
    queue->gso_slots = slots;
    queue->free_chunks = free_chunks;
    queue->send_chunks = ENTRIES;
    for (uint32_t i = 0; i < ENTRIES; i++)
        free_chunks[queue->free_count++] = (uint64_t)i * CHUNK;
    k.filled = start;
    atomic_init(&queue->can_send, true);
    k.device.port = (void *)&k.netdev_port;
    atomic_store(&k.device.mtu, MTU);
    atomic_store(&k.device.opened_mtu, MTU);
}

void check_returned_chunks(void)
{
    for (; k.filled != k.fill.producer; k.filled++) {
        uint64_t chunk = k.fill.addresses[k.filled % CHUNKS] / CHUNK;
        CHECK(chunk < CHUNKS);
        CHECK(k.owned_by_library[chunk]);
        k.owned_by_library[chunk] = false;
    }
}

uint32_t arrive(struct kernel_ring *ring, unsigned chunks, uint32_t length)
{
    check_returned_chunks();
    CHECK(ring->producer - ring->consumer + chunks <= ENTRIES);
    for (unsigned i = 0; i < chunks; i++) {
        while (k.owned_by_library[k.next_chunk])
            k.next_chunk = (k.next_chunk + 1) % CHUNKS;
        k.owned_by_library[k.next_chunk] = true;
        memcpy(umem + k.next_chunk * CHUNK, &k.next_number, sizeof k.next_number);
        ring->descriptors[(ring->producer + i) % ENTRIES] = (struct xdp_desc){
            .addr = (uint64_t)k.next_chunk * CHUNK, .len = length, .options = i + 1 < chunks ? XDP_PKT_CONTD : 0};
    }
    __atomic_store_n(&ring->producer, ring->producer + chunks, __ATOMIC_RELEASE);
    return k.next_number++;
}

void arrive_many(struct kernel_ring *ring, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        arrive(ring, 1, FRAME);
}

unsigned drain(void)
{
    return tested_drain(&k.queue, &k.device, sv_xdp_queue_produced(&k.queue));
}

unsigned drain_at_most(unsigned most)
{
    return drain_burst(&k.queue, &k.queue.main, &k.device, k.main.producer, most);
}

unsigned syns_when_overloaded(void)
{
    return MAX_SYNS_UNDER_FLOOD;
}

void drain_all(void)
{
    for (unsigned i = 0; i < ENTRIES; i++)
        drain();
}

void check_ring_empty(const struct kernel_ring *ring)
{
    CHECK_EQ(ring->producer, ring->consumer);
}

void check_all_seen_once(void)
{
    check_returned_chunks();
    check_ring_empty(&k.main);
    check_ring_empty(&k.syn);
    for (uint32_t i = 0; i < k.next_number; i++)
        CHECK_EQ(1, k.seen[i]);
    CHECK_EQ(k.next_number, k.dispatched);
    for (unsigned i = 0; i < CHUNKS; i++)
        CHECK(!k.owned_by_library[i]);
}

/* First values of the indexes: zero, and near the wrap of the sign and of the index. */
static const uint32_t starts[] = {0, 0x7fffffe0u, 0xffffffe0u};

void for_each_start(void (*test)(void))
{
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        kernel_open(starts[i]);
        test();
    }
}

/* ---- GSO frames ---- */

uint32_t build_gso_frame(uint8_t *frame, uint8_t flags, uint32_t payload)
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
    uint16_t sum = sv_checksum_sum_fold(sv_checksum_pseudo_sum(frame + 14, layout, HEADERS - 34 + payload));
    memcpy(frame + 50, &sum, 2);
    for (uint32_t i = 0; i < payload; i++)
        frame[HEADERS + i] = payload_at(i);
    return HEADERS + payload;
}

void put_part(struct kernel_ring *ring, uint32_t ahead, const uint8_t *data, uint32_t length, bool more)
{
    while (k.owned_by_library[k.next_chunk])
        k.next_chunk = (k.next_chunk + 1) % CHUNKS;
    k.owned_by_library[k.next_chunk] = true;
    memcpy(umem + k.next_chunk * CHUNK, data, length);
    ring->descriptors[(ring->producer + ahead) % ENTRIES] = (struct xdp_desc){
        .addr = (uint64_t)k.next_chunk * CHUNK, .len = length, .options = more ? XDP_PKT_CONTD : 0};
}

unsigned put_gso_frame(const uint8_t *frame, uint32_t length)
{
    unsigned parts = 0;
    check_returned_chunks();
    for (uint32_t done = 0; done < length; done += PART, parts++)
        put_part(&k.main, parts, frame + done, length - done < PART ? length - done : PART, length - done > PART);
    return parts;
}

void publish(unsigned count)
{
    __atomic_store_n(&k.main.producer, k.main.producer + count, __ATOMIC_RELEASE);
}

void check_gso_frames_seen(unsigned gso_frames)
{
    const struct softverbs_queue_counters *counters = &k.queue.main.receiver.counters;
    CHECK_EQ(gso_frames, counters->gso_frames);
    CHECK_EQ(k.segments, counters->gso_segments);
    CHECK_EQ(GSO_PAYLOAD, k.segment_bytes_seen);
    CHECK_EQ((GSO_PAYLOAD + MTU - 41) / (MTU - 40), k.segments);
    k.segments = k.segment_bytes_seen = 0;
    check_ring_empty(&k.main);
    check_returned_chunks();
    for (unsigned i = 0; i < CHUNKS; i++)
        CHECK(!k.owned_by_library[i]);
}
