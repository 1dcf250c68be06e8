/* SPDX-License-Identifier: Apache-2.0 */
/* No input makes gso_frame.c access other memory than that of the frame. */
#include "gso_frame_fixture.h"

#include "checksum.h"

/* Each piece is allocated separately, so that the sanitizers detect an access beyond it. */
static uint32_t split(struct iovec *pieces, bool small)
{
    uint32_t count = 0;
    for (uint32_t done = 0; done < made.length; count++) {
        uint32_t left = made.length - done;
        uint32_t part = count == MAX_PIECES - 1 ? left : below(small ? 20 : 8000);
        if (part > left)
            part = left;
        pieces[count].iov_base = malloc(part > 0 ? part : 1);
        pieces[count].iov_len = part;
        memcpy(pieces[count].iov_base, made.bytes + done, part);
        done += part;
    }
    return count;
}

/* Changes a length to less, more, nothing or the maximum. */
static void lie(struct made *m)
{
    const uint32_t lies[] = {0, 1, m->headers - 1, m->length - 1, m->length, m->length + 1, 0xffff, below(0x10000)};
    uint32_t value = lies[below(sizeof lies / sizeof lies[0])];
    uint32_t at = below(2) == 0 && m->udp ? m->l4 + 4 : m->l3 + (m->v6 ? 4 : 2);
    put16(m->bytes + at, value);
    if (!m->v6 && below(2) == 0)
        sv_checksum_fill_ipv4_header(m->bytes + m->l3);
    if (!m->udp && below(4) == 0)
        m->bytes[m->l4 + 12] = (uint8_t)below(256);
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
        struct shape shape = {.v6 = below(2), .udp = below(4) == 0, .vlan = below(4) == 0 ? 5 : -1,
                              .tcp_options = below(11), .payload = below(4) == 0 ? below(65000) : below(5000),
                              .flags = (uint8_t)(below(4) == 0 ? below(256) : TCP_ACK | TCP_PSH)};
        shape.ip_options = shape.v6 || below(4) > 0 ? 0 : below(11);
        make(&made, &shape);
        if (below(4) == 0)
            sv_checksum_fill(made.bytes, made.length, layout_of(&made));
        for (uint32_t changes = below(2) == 0 ? 0 : below(4); changes > 0; changes--)
            made.bytes[below(made.headers)] ^= (uint8_t)(1u << below(8));
        if (below(8) == 0)
            lie(&made);
        if (below(8) == 0)
            made.length = below(made.length + 1);
        struct sv_gso_info facts = {.mtu = below(2) == 0 ? MTU : 68 + below(9000), .partial = below(4) > 0,
                                       .segment_bytes = below(2) == 0 ? 0 : 1 + below(1 + below(2000))};
        if (facts.segment_bytes > 0 && facts.segment_bytes < 64)
            made.length = made.length < 3000 ? made.length : 3000, put_lengths(&made);
        uint32_t count = split(pieces, below(2) == 0);
        if (facts.mtu > 300 || made.length < 3000)
            cut(&result, pieces, count, &facts);
        else
            result.count = 0;
        if (result.count > 0) {
            good++;
            check_cut(facts.mtu);
        }
        forget(&result);
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
