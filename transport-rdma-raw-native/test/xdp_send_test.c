/* SPDX-License-Identifier: Apache-2.0 */
/* Sending through the rings of AF_XDP sockets: see xdp_queue_fixture.h. */
#include "xdp_queue_fixture.h"

static void burst(struct sv_frame *frames, unsigned count)
{
    static const uint8_t data[FRAME];
    for (unsigned i = 0; i < count; i++)
        frames[i] = (struct sv_frame){.data = data, .length = FRAME};
}

/* The kernel takes the frames from the ring and returns no chunk yet. */
static void take_sends(void)
{
    k.tx.consumer = k.tx.producer;
}

/* The driver sends frames from the ring at any time. Nobody waits for it, and only a requested wakeup is sent. */
static void a_driver_is_woken_only_on_request(void)
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

/* The interrupts of a polled driver are off, so it always needs the wakeup. */
static void a_busily_polled_driver_is_always_woken(void)
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

/* If a driver keeps all chunks, a burst costs a bounded number of calls and is not sent. */
static void a_stuck_driver_does_not_block_a_sender(void)
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

/* The kernel returns a chunk more than once. */
static void surplus_completions_are_ignored(void)
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

/* Another thread adds frames while the kernel handles those of the first. One call sends both. */
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

/* All frames of a burst are sent in any number of calls, as long as each call makes progress. */
static void a_slow_kernel_receives_all_frames(void)
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

/*
 * An interface accepts nothing for a while. A send still ends soon: frames in the ring are sent with a later poll, and
 * the others have not been sent.
 */
static void a_stuck_kernel_does_not_block_a_sender(void)
{
    struct sv_frame frames[ENTRIES];
    int error;
    burst(frames, ENTRIES);
    kernel_open(0);
    k.send_error = EAGAIN;
    CHECK_EQ(4, tested_send(&k.queue, frames, 4, &error));
    CHECK_EQ(0, error);
    CHECK(k.nanos <= 2 * SV_SPIN_TIMEOUT_NANOS);
    k.nanos = 0;
    CHECK_EQ(ENTRIES - 4, tested_send(&k.queue, frames, ENTRIES, &error));
    CHECK_EQ(ENOBUFS, error);
    CHECK(k.nanos <= 2 * SV_SPIN_TIMEOUT_NANOS);
    k.sends = 0;
    drain();
    CHECK_EQ(1, k.sends);
    k.on_send = take_sends;
    drain();
    CHECK_EQ(2, k.sends);
    drain();
    CHECK_EQ(2, k.sends);
}

/* Frames that a downed interface refuses have not been sent. */
static void frames_refused_by_the_kernel_count_as_unsent(void)
{
    struct sv_frame frames[4];
    int error;
    burst(frames, 4);
    kernel_open(0);
    k.send_error = ENETDOWN;
    CHECK_EQ(0, tested_send(&k.queue, frames, 4, &error));
    CHECK_EQ(ENETDOWN, error);
    CHECK_EQ(1, k.sends);
}

static void take_two(void)
{
    k.tx.consumer += 2;
    k.on_send = NULL;
}

/* As with send queues that an interface no longer has: the call succeeds, and nothing happens. */
static void a_missing_send_queue_is_detected(void)
{
    struct sv_frame frames[8];
    int error;
    burst(frames, 8);
    kernel_open(0);
    k.on_send = take_two;
    CHECK_EQ(2, tested_send(&k.queue, frames, 8, &error));
    CHECK_EQ(ENOBUFS, error);
    CHECK(!k.queue.can_send);
    CHECK_EQ(0, tested_send(&k.queue, frames, 8, &error));
    CHECK_EQ(ENOBUFS, error);
    CHECK(k.sends <= 5);
    CHECK_EQ(0, k.turns);
}

/* The interface returns a chunk, and another thread takes it first, repeatedly. */
static void another_takes_the_chunk(void)
{
    struct sv_frame frame;
    int error;
    burst(&frame, 1);
    k.completion.addresses[k.completion.producer % ENTRIES] = k.tx.descriptors[k.completion.producer % ENTRIES].addr;
    k.completion.producer++;
    if (k.nanos > 10 * SV_SPIN_TIMEOUT_NANOS)
        return;
    CHECK_EQ(1, tested_send(&k.queue, &frame, 1, &error));
    CHECK_EQ(0, error);
}

/* While the interface makes progress, no frame is lost for lack of a chunk. */
static void an_interface_in_heavy_use_is_not_stuck(void)
{
    struct sv_frame frames[ENTRIES];
    int error;
    burst(frames, ENTRIES);
    kernel_open(0);
    k.on_send = take_sends;
    CHECK_EQ(ENTRIES, tested_send(&k.queue, frames, ENTRIES, &error));
    k.on_turn = another_takes_the_chunk;
    CHECK_EQ(2, tested_send(&k.queue, frames, 2, &error));
    CHECK_EQ(0, error);
    k.on_turn = NULL;
    k.nanos = 0;
    while (tested_send(&k.queue, frames, 1, &error) == 1)
        CHECK_EQ(0, error);
    CHECK_EQ(ENOBUFS, error);
    CHECK(k.nanos <= 2 * SV_SPIN_TIMEOUT_NANOS);
}

/* With the tag of a VLAN the frame needs one more chunk. */
static void a_tagged_frame_waits_for_room_for_its_tag(void)
{
    static const uint8_t data[CHUNK - 2];
    const struct sv_frame frame = {.data = data, .length = sizeof data};
    int error;
    kernel_open(0);
    k.queue.zero_copy = true;
    k.queue.chunk_bytes = CHUNK;
    k.queue.tag_bytes = SV_VLAN_HLEN;
    k.queue.free_count = 1;
    CHECK_EQ(0, tested_send(&k.queue, &frame, 1, &error));
    CHECK_EQ(ENOBUFS, error);
    CHECK_EQ(1, k.queue.free_count);
    k.queue.free_count = 2;
    CHECK_EQ(1, tested_send(&k.queue, &frame, 1, &error));
    CHECK_EQ(0, k.queue.free_count);
    CHECK_EQ(CHUNK, k.tx.descriptors[0].len);
    CHECK_EQ(XDP_PKT_CONTD, k.tx.descriptors[0].options);
    CHECK_EQ(2, k.tx.descriptors[1].len);
    CHECK_EQ(0, k.tx.descriptors[1].options);
}

/* Leaves a burst in the ring, because the interface is too busy. */
static void send_to_busy(unsigned count)
{
    struct sv_frame frames[ENTRIES];
    int error;
    burst(frames, count);
    kernel_open(0);
    k.send_error = EAGAIN;
    CHECK_EQ(count, tested_send(&k.queue, frames, count, &error));
    CHECK(atomic_load(&k.queue.tx_pending));
    k.sends = 0;
}

static void an_interface_that_is_gone_is_not_retried(void)
{
    static const int errors[] = {ENXIO, ENODEV};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        send_to_busy(4);
        for (unsigned poll = 0; poll < 3; poll++)
            (void)drain();
        CHECK_EQ(3, k.sends);
        k.send_error = errors[i];
        for (unsigned poll = 0; poll < 3; poll++)
            (void)drain();
        CHECK_EQ(4, k.sends);
    }
}

/* Otherwise the frames would wait for the next send when it is up again. */
static void an_interface_that_is_down_is_retried(void)
{
    send_to_busy(4);
    k.send_error = ENETDOWN;
    (void)drain();
    k.send_error = 0;
    k.on_send = take_sends;
    (void)drain();
    CHECK_EQ(2, k.sends);
    CHECK_EQ(k.tx.producer, k.tx.consumer);
    CHECK(!atomic_load(&k.queue.tx_pending));
}

static void drop_one(void)
{
    if (k.tx.consumer != k.tx.producer)
        k.tx.consumer++;
}

static void a_leg_that_sends_no_more_keeps_no_frames_that_the_kernel_takes(void)
{
    enum { FRAMES = 20 };
    send_to_busy(FRAMES);
    k.send_error = EBUSY;   /* the kernel drops one frame at a time without a carrier */
    k.on_send = drop_one;
    tested_set_idle(&k.queue, true);
    CHECK_EQ(k.tx.producer, k.tx.consumer);
    k.sends = 0;
    (void)drain();
    CHECK_EQ(0, k.sends);
}

/* Frames that the kernel does not take wait for the leg, and polls do not retry them. */
static void a_leg_that_sends_no_more_is_not_retried(void)
{
    send_to_busy(4);
    tested_set_idle(&k.queue, true);
    CHECK_EQ(1, k.sends);
    for (unsigned poll = 0; poll < 3; poll++)
        (void)drain();
    CHECK_EQ(1, k.sends);
    /* A sender that had begun before. */
    atomic_store(&k.queue.tx_pending, true);
    for (unsigned poll = 0; poll < 3; poll++)
        (void)drain();
    CHECK_EQ(2, k.sends);
    tested_set_idle(&k.queue, false);
    for (unsigned poll = 0; poll < 3; poll++)
        (void)drain();
    CHECK_EQ(5, k.sends);
}

const struct test xdp_send_tests[] = {
    {"xdp queue: a driver is woken only on request", a_driver_is_woken_only_on_request},
    {"xdp queue: a busily polled driver is always woken", a_busily_polled_driver_is_always_woken},
    {"xdp queue: a stuck driver does not block a sender", a_stuck_driver_does_not_block_a_sender},
    {"xdp queue: senders do not wait for each other", senders_do_not_wait_for_each_other},
    {"xdp queue: a slow kernel receives all frames", a_slow_kernel_receives_all_frames},
    {"xdp queue: a stuck kernel does not block a sender", a_stuck_kernel_does_not_block_a_sender},
    {"xdp queue: frames refused by the kernel count as unsent", frames_refused_by_the_kernel_count_as_unsent},
    {"xdp queue: a missing send queue is detected", a_missing_send_queue_is_detected},
    {"xdp queue: an interface in heavy use is not stuck", an_interface_in_heavy_use_is_not_stuck},
    {"xdp queue: surplus completions are ignored", surplus_completions_are_ignored},
    {"xdp queue: a tagged frame waits for room for its tag", a_tagged_frame_waits_for_room_for_its_tag},
    {"xdp send: an interface that is gone is not retried", an_interface_that_is_gone_is_not_retried},
    {"xdp queue: an interface that is down is retried", an_interface_that_is_down_is_retried},
    {"xdp send: a leg that sends no more keeps no frames that the kernel takes",
     a_leg_that_sends_no_more_keeps_no_frames_that_the_kernel_takes},
    {"xdp send: a leg that sends no more is not retried", a_leg_that_sends_no_more_is_not_retried},
    {NULL, NULL},
};
