/* SPDX-License-Identifier: Apache-2.0 */
/* No input makes gso_frame.c access other memory than that of the frame. */
#include "gso_frame_fixture.h"

#include "checksum.h"

/* Each piece is allocated separately, so that the sanitizers detect an access beyond it. */
static uint32_t split(struct iovec *pieces, bool small)
{
    uint32_t count = 0;
    for (uint32_t done = 0; done < built_frame.length; count++) {
        uint32_t left = built_frame.length - done;
        uint32_t part = count == MAX_PIECES - 1 ? left : random_below(small ? 20 : 8000);
        if (part > left)
            part = left;
        pieces[count].iov_base = malloc(part > 0 ? part : 1);
        pieces[count].iov_len = part;
        memcpy(pieces[count].iov_base, built_frame.bytes + done, part);
        done += part;
    }
    return count;
}

/* Changes a length to less, more, nothing or the maximum. */
static void falsify_lengths(struct built_frame *m)
{
    const uint32_t lies[] = {0, 1, m->headers - 1, m->length - 1, m->length, m->length + 1, 0xffff,
                             random_below(0x10000)};
    uint32_t value = lies[random_below(sizeof lies / sizeof lies[0])];
    uint32_t at = random_below(2) == 0 && m->udp ? m->l4 + 4 : m->l3 + (m->v6 ? 4 : 2);
    put16(m->bytes + at, value);
    if (!m->v6 && random_below(2) == 0)
        sv_checksum_fill_ipv4_header(m->bytes + m->l3);
    if (!m->udp && random_below(4) == 0)
        m->bytes[m->l4 + 12] = (uint8_t)random_below(256);
}

/*
 * Returns true for the rounds of the suite, or, in `make fuzz-gso`, until its time is over. That has its own
 * seed.
 */
static bool goes_on(unsigned long round, struct timespec since)
{
    const char *seconds = getenv("SOFTVERBS_FUZZ_SECONDS");
    if (seconds == NULL)
        return round < FUZZ_ROUNDS / (getenv("SOFTVERBS_TEST_LONG") != NULL ? 1 : 10);
    return now().tv_sec - since.tv_sec < atol(seconds);
}

static void no_input_causes_an_invalid_access(void)
{
    struct iovec pieces[MAX_PIECES];
    const struct timespec since = now();
    unsigned long good = 0, round = 0;
    if (getenv("SOFTVERBS_FUZZ_SEED") != NULL)
        random_state = (uint32_t)atol(getenv("SOFTVERBS_FUZZ_SEED"));
    for (; goes_on(round, since); round++) {
        struct shape shape = {.v6 = random_below(2), .udp = random_below(4) == 0, .vlan = random_below(4) == 0 ? 5 : -1,
                              .tcp_options = random_below(11),
                              .payload = random_below(4) == 0 ? random_below(65000) : random_below(5000),
                              .flags = (uint8_t)(random_below(4) == 0 ? random_below(256) : TCP_ACK | TCP_PSH)};
        shape.ip_options = shape.v6 || random_below(4) > 0 ? 0 : random_below(11);
        build(&built_frame, &shape);
        if (random_below(4) == 0)
            sv_checksum_fill(built_frame.bytes, built_frame.length, layout_of(&built_frame));
        for (uint32_t changes = random_below(2) == 0 ? 0 : random_below(4); changes > 0; changes--)
            built_frame.bytes[random_below(built_frame.headers)] ^= (uint8_t)(1u << random_below(8));
        if (random_below(8) == 0)
            falsify_lengths(&built_frame);
        if (random_below(8) == 0)
            built_frame.length = random_below(built_frame.length + 1);
        struct sv_gso_info info = {.mtu = random_below(2) == 0 ? MTU : 68 + random_below(9000),
                                   .partial_checksum = random_below(4) > 0,
                                   .segment_bytes = random_below(2) == 0 ? 0
                                                                         : 1 + random_below(1 + random_below(2000))};
        if (info.segment_bytes > 0 && info.segment_bytes < 64)
            built_frame.length = built_frame.length < 3000 ? built_frame.length : 3000, put_lengths(&built_frame);
        uint32_t count = split(pieces, random_below(2) == 0);
        if (info.mtu > 300 || built_frame.length < 3000)
            segment_all(&result, pieces, count, &info);
        else
            result.count = 0;
        if (result.count > 0) {
            good++;
            check_segments(info.mtu);
        }
        free_segments(&result);
        for (uint32_t i = 0; i < count; i++)
            free(pieces[i].iov_base);
    }
    CHECK(good > round / 10);
    if (getenv("SOFTVERBS_FUZZ_SECONDS") != NULL)
        printf("%lu GSO frames, %lu of them cut\n", round, good);
}

const struct test gso_frame_fuzz_tests[] = {
    {"GSO frame: no input causes an invalid access", no_input_causes_an_invalid_access},
    {NULL, NULL},
};
