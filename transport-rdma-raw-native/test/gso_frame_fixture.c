/* SPDX-License-Identifier: Apache-2.0 */
/* See gso_frame_fixture.h. */
#include "gso_frame_fixture.h"

#include "checksum.h"
#include "flow.h"

struct built_frame built_frame;
struct segments result;
uint32_t random_state = 12345;

uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)random_state * limit >> 32);
}

void put16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static uint32_t get16(const uint8_t *from)
{
    return (uint32_t)from[0] << 8 | from[1];
}

struct sv_layout layout_of(const struct built_frame *m)
{
    return (struct sv_layout){m->v6 ? 6 : 4, (uint8_t)m->l3, m->udp ? 17 : 6, (uint8_t)m->l4};
}

static void put_partial(struct built_frame *m)
{
    uint64_t pseudo = sv_checksum_pseudo_sum(m->bytes + m->l3, layout_of(m), m->length - m->l4);
    uint16_t field = sv_checksum_sum_fold(pseudo);
    memcpy(m->bytes + m->l4 + (m->udp ? 6 : 16), &field, 2);
}

void put_lengths(struct built_frame *m)
{
    uint8_t *ip = m->bytes + m->l3;
    if (m->v6) {
        put16(ip + 4, m->length - m->l4);
    } else {
        put16(ip + 2, m->length - m->l3);
        sv_checksum_fill_ipv4_header(ip);
    }
    if (m->udp)
        put16(m->bytes + m->l4 + 4, m->length - m->l4);
    put_partial(m);
}

void build(struct built_frame *m, const struct shape *shape)
{
    struct frame_spec spec = default_frame();
    uint8_t frame[2048];
    spec.protocol = 6;
    spec.payload = 0;
    spec.vlan = shape->vlan;
    if (shape->v6) {
        spec.src_ip = "2001:db8::1";
        spec.dst_ip = "2001:db8::2";
    }
    build_frame(&spec, frame);
    m->v6 = shape->v6;
    m->udp = shape->udp;
    m->l3 = shape->vlan >= 0 ? 18 : 14;
    uint32_t ip_bytes = shape->v6 ? 40 : 20;
    m->l4 = m->l3 + ip_bytes + shape->ip_options * 4;
    m->headers = m->l4 + (shape->udp ? 8 : 20 + shape->tcp_options * 4);
    m->length = m->headers + shape->payload;
    memset(m->bytes, 1, m->headers);                    /* options: no operation */
    memcpy(m->bytes, frame, m->l3 + ip_bytes);
    uint8_t *l4 = m->bytes + m->l4;
    memcpy(l4, frame + m->l3 + ip_bytes, shape->udp ? 4 : 20);
    if (!shape->v6) {
        m->bytes[m->l3] = (uint8_t)(0x45 + shape->ip_options);
        put16(m->bytes + m->l3 + 4, 0xfffe);            /* the identification wraps */
        m->bytes[m->l3 + 9] = shape->udp ? 17 : 6;
    } else {
        m->bytes[m->l3 + 6] = shape->udp ? 17 : 6;
    }
    if (!shape->udp) {
        memset(l4 + 4, 0xff, 3);                        /* the sequence number wraps */
        l4[12] = (uint8_t)((5 + shape->tcp_options) << 4);
        l4[13] = shape->flags;
    }
    for (uint32_t i = 0; i < shape->payload; i++)
        m->bytes[m->headers + i] = (uint8_t)(i * 31 >> 2);
    put_lengths(m);
}

void segment_all(struct segments *segments, const struct iovec *pieces, uint32_t count, const struct sv_gso_info *info)
{
    struct sv_gso_segmenter gso;
    struct sv_gso_slot slot;
    struct sv_frame frame;
    segments->count = 0;
    segments->verdict = sv_gso_begin(&gso, pieces, count, info);
    while (segments->verdict == SV_GSO_GOOD && sv_gso_next(&gso, &slot, &frame)) {
        CHECK(segments->count < MAX_FRAMES);
        CHECK(frame.rest != NULL && frame.rest->head_bytes <= frame.length);
        CHECK(frame.length <= info->mtu + 18);
        uint8_t *bytes = malloc(frame.length);
        /* in one part, or in several */
        uint32_t first = random_below(2) == 0 ? frame.length : random_below(frame.length + 1);
        sv_frame_copy(bytes, &frame, 0, first);
        sv_frame_copy(bytes + first, &frame, first, frame.length - first);
        segments->frame[segments->count].bytes = bytes;
        segments->frame[segments->count++].length = frame.length;
    }
}

void free_segments(struct segments *segments)
{
    for (unsigned i = 0; i < segments->count; i++)
        free(segments->frame[i].bytes);
}

enum sv_gso_verdict verdict_with(bool partial)
{
    struct iovec whole = {built_frame.bytes, built_frame.length};
    struct sv_gso_info info = {.mtu = MTU, .partial_checksum = partial};
    segment_all(&result, &whole, 1, &info);
    free_segments(&result);
    return result.verdict;
}

void check_segments(uint32_t mtu)
{
    uint32_t done = 0;
    for (unsigned i = 0; i < result.count; i++) {
        struct sv_headers headers;
        uint32_t length = result.frame[i].length;
        struct sv_frame frame = {.data = result.frame[i].bytes, .length = length};
        frame.layout = sv_parse_headers(frame.data, length, &headers);
        CHECK(frame.layout.l4 != 0);
        CHECK(sv_checksum_l4_ok(&frame));
        CHECK(frame.layout.l3 != 4 || sv_checksum_ipv4_header_ok(frame.data + frame.layout.l3_offset));
        uint32_t l4 = frame.layout.l4_offset;
        uint32_t start = l4 + (frame.layout.l4 == 6 ? (frame.data[l4 + 12] >> 4) * 4u : 8);
        CHECK(length <= mtu + 18 && start < length);
        CHECK(memcmp(frame.data + start, built_frame.bytes + start + done, length - start) == 0);
        CHECK_EQ(get16(frame.data + l4), get16(built_frame.bytes + l4));
        if (frame.layout.l4 == 6)
            CHECK(i == result.count - 1 || !(frame.data[l4 + 13] & (TCP_FIN | TCP_PSH)));
        done += length - start;
        CHECK(i < result.count - 1 || start + done == built_frame.length);
    }
}
