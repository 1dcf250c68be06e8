/* SPDX-License-Identifier: Apache-2.0 */
/* See gso_frame.h. The rules follow tcp_gso_segment() and __udp_gso_segment() of the kernel. */
#include "gso_frame.h"

#include "checksum.h"
#include "flow.h"
#include "frame.h"

#include <string.h>

_Static_assert((int)SV_GSO_MAX_HEADER_BYTES <= (int)SV_GSO_HEADER_BUFFER_BYTES &&
                   (int)SV_WINDOW_BYTES <= (int)SV_GSO_HEADER_BUFFER_BYTES,
               "steering reads a whole window");

static uint32_t get_be16(const uint8_t *from)
{
    return (uint32_t)from[0] << 8 | from[1];
}

/* ---- pieces ---- */

void sv_pieces_copy(uint8_t *to, const struct iovec *pieces, uint32_t offset, uint32_t length)
{
    for (; length > 0; pieces++) {
        if (offset >= pieces->iov_len) {
            offset -= (uint32_t)pieces->iov_len;
            continue;
        }
        uint32_t left = (uint32_t)pieces->iov_len - offset;
        uint32_t part = left < length ? left : length;
        sv_copy(to, (const uint8_t *)pieces->iov_base + offset, part);
        offset = 0;
        to += part;
        length -= part;
    }
}

/* The sum of a part at an odd offset has its bytes swapped (RFC 1071 section 2 (B)). */
static uint64_t swap_sum_bytes(uint64_t sum)
{
    return __builtin_bswap16(sv_checksum_sum_fold(sum));
}

/* Returns the sum of `length` bytes of the pieces. Also copies them if `to` is not NULL. */
static uint64_t sum_pieces(uint8_t *to, const struct iovec *pieces, uint32_t offset, uint32_t length, uint64_t sum)
{
    bool odd = false;
    for (; length > 0; pieces++) {
        if (offset >= pieces->iov_len) {
            offset -= (uint32_t)pieces->iov_len;
            continue;
        }
        uint32_t left = (uint32_t)pieces->iov_len - offset;
        uint32_t part = left < length ? left : length;
        const uint8_t *from = (const uint8_t *)pieces->iov_base + offset;
        uint64_t before = odd ? 0 : sum;
        uint64_t after = to == NULL ? sv_checksum_sum(from, part, before)
                                    : sv_checksum_sum_copy(to, from, part, before);
        sum = odd ? sum + swap_sum_bytes(after) : after;
        odd ^= part & 1;
        offset = 0;
        to = to == NULL ? NULL : to + part;
        length -= part;
    }
    return sum;
}

uint64_t sv_pieces_sum(const struct iovec *pieces, uint32_t offset, uint32_t length, uint64_t sum)
{
    return sum_pieces(NULL, pieces, offset, length, sum);
}

/* Copies a complete frame and computes its checksum. */
static void copy_and_sum(uint8_t *to, const struct sv_frame *frame)
{
    const struct sv_frame_rest *rest = frame->rest;
    memcpy(to, frame->data, rest->head_bytes);
    uint64_t sum = sum_pieces(to + rest->head_bytes, rest->pieces, rest->offset,
                              frame->length - rest->head_bytes, rest->headers_sum);
    uint16_t checksum = (uint16_t)~sv_checksum_sum_fold(sum);
    memcpy(to + rest->checksum_offset, &checksum, 2);
}

/* Computes the checksum in the frame's slot. */
static void make_checksum(const struct sv_frame *frame)
{
    struct sv_gso_slot *slot = (struct sv_gso_slot *)(uintptr_t)frame->rest;
    uint64_t sum = sv_pieces_sum(slot->rest.pieces, slot->rest.offset, frame->length - slot->rest.head_bytes,
                                 slot->rest.headers_sum);
    uint16_t checksum = (uint16_t)~sv_checksum_sum_fold(sum);
    memcpy(slot->header + slot->rest.checksum_offset, &checksum, 2);
    slot->rest.checksum_offset = 0;
}

void sv_frame_copy(uint8_t *to, const struct sv_frame *frame, uint32_t offset, uint32_t length)
{
    if (frame->rest != NULL && frame->rest->checksum_offset != 0) {
        if (offset == 0 && length == frame->length) {
            copy_and_sum(to, frame);
            return;
        }
        make_checksum(frame);
    }
    uint32_t head = frame->rest == NULL ? frame->length : frame->rest->head_bytes;
    uint32_t part = offset >= head ? 0 : length < head - offset ? length : head - offset;
    if (part > 0)
        sv_copy(to, frame->data + offset, part);
    if (part < length)
        sv_pieces_copy(to + part, frame->rest->pieces, frame->rest->offset + offset + part - head, length - part);
}

/* ---- validation ---- */

static uint64_t total_bytes(const struct iovec *pieces, uint32_t count)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += pieces[i].iov_len;
    return total;
}

/* The kernel adds no trailing padding: the IP length must equal the number of bytes after the Ethernet header. */
static enum sv_gso_verdict check_ip(const struct sv_gso_segmenter *gso, uint64_t length)
{
    const uint8_t *ip = gso->header + gso->layout.l3_offset;
    uint64_t ip_bytes = length - gso->layout.l3_offset;
    if (gso->layout.l3 == 4) {
        if (ip_bytes > SV_GSO_MAX_IP_BYTES)
            return SV_GSO_TOO_LONG;
        if (get_be16(ip + SV_IPV4_TOTAL_LENGTH_AT) != ip_bytes || !sv_checksum_ipv4_header_ok(ip))
            return SV_GSO_MALFORMED;
        return SV_GSO_GOOD;
    }
    if (ip_bytes > SV_IPV6_HLEN + SV_GSO_MAX_IP_BYTES)
        return SV_GSO_TOO_LONG;
    return get_be16(ip + SV_IPV6_PAYLOAD_LENGTH_AT) == ip_bytes - SV_IPV6_HLEN ? SV_GSO_GOOD : SV_GSO_MALFORMED;
}

/* `available` is the number of frame bytes in gso->header. */
static enum sv_gso_verdict check_l4(struct sv_gso_segmenter *gso, uint32_t available, bool segment_size_known)
{
    const uint8_t *l4 = gso->header + gso->layout.l4_offset;
    if (gso->layout.l4 == IPPROTO_UDP) {
        gso->header_bytes = gso->layout.l4_offset + SV_UDP_HLEN;
        return segment_size_known ? SV_GSO_GOOD : SV_GSO_UNSUPPORTED;
    }
    uint32_t tcp_bytes = (l4[SV_TCP_DATA_OFFSET_AT] >> 4) * 4u;
    if (tcp_bytes < SV_TCP_HLEN || gso->layout.l4_offset + tcp_bytes > available)
        return SV_GSO_MALFORMED;
    if (l4[SV_TCP_FLAGS_AT] & (SV_TCP_SYN | SV_TCP_RST | SV_TCP_URG))
        return SV_GSO_BAD_FLAGS;
    gso->header_bytes = gso->layout.l4_offset + tcp_bytes;
    return SV_GSO_GOOD;
}

/* Returns the maximum payload of a frame with these headers. Only an 802.1Q tag adds room for itself. */
static uint32_t max_payload(const struct sv_gso_segmenter *gso, uint32_t mtu)
{
    bool tagged = get_be16(gso->header + SV_ETHERTYPE_AT) == ETH_P_8021Q;
    uint32_t room = mtu + (tagged ? SV_MAX_OVERHEAD : ETH_HLEN);
    return room > gso->header_bytes ? room - gso->header_bytes : 0;
}

static uint64_t pseudo_sum(const struct sv_gso_segmenter *gso, uint32_t l4_bytes)
{
    return sv_checksum_pseudo_sum(gso->header + gso->layout.l3_offset, gso->layout, l4_bytes);
}

static bool is_partial(const struct sv_gso_segmenter *gso, uint64_t pseudo)
{
    uint16_t field;
    memcpy(&field, gso->header + gso->layout.l4_offset + sv_checksum_offset(gso->layout), 2);
    return field == sv_checksum_sum_fold(pseudo);
}

bool sv_gso_has_partial_checksum(const struct sv_gso_segmenter *gso)
{
    return is_partial(gso, pseudo_sum(gso, gso->header_bytes - gso->layout.l4_offset + gso->payload_bytes));
}

static bool has_valid_checksum(const struct sv_gso_segmenter *gso, uint32_t l4_bytes, bool partial)
{
    uint64_t pseudo = pseudo_sum(gso, l4_bytes);
    if (partial && is_partial(gso, pseudo))
        return true;
    return sv_checksum_sum_fold(sv_pieces_sum(gso->pieces, gso->layout.l4_offset, l4_bytes, pseudo)) == 0xffff;
}

static bool has_valid_udp_length(const struct sv_gso_segmenter *gso, uint32_t l4_bytes)
{
    const uint8_t *l4 = gso->header + gso->layout.l4_offset;
    return gso->layout.l4 != IPPROTO_UDP || get_be16(l4 + SV_UDP_LENGTH_AT) == l4_bytes;
}

static void skip_headers(struct sv_gso_segmenter *gso)
{
    gso->offset = gso->header_bytes;
    while (gso->offset >= gso->pieces[gso->piece].iov_len)
        gso->offset -= (uint32_t)gso->pieces[gso->piece++].iov_len;
}

enum sv_gso_verdict sv_gso_begin(struct sv_gso_segmenter *gso, const struct iovec *pieces, uint32_t count,
                                     const struct sv_gso_info *info)
{
    uint64_t length = total_bytes(pieces, count);
    uint32_t available = length < SV_GSO_MAX_HEADER_BYTES ? (uint32_t)length : SV_GSO_MAX_HEADER_BYTES;
    struct sv_headers unused;

    memset(gso, 0, sizeof *gso);
    gso->pieces = pieces;
    sv_pieces_copy(gso->header, pieces, 0, available);
    gso->layout = sv_parse_headers(gso->header, available, &unused);
    if (gso->layout.l3 == 0 || gso->layout.l4 == 0)
        return SV_GSO_UNSUPPORTED;
    enum sv_gso_verdict verdict = check_l4(gso, available, info->segment_bytes > 0);
    if (verdict == SV_GSO_GOOD)
        verdict = check_ip(gso, length);
    if (verdict != SV_GSO_GOOD)
        return verdict;
    uint32_t max_segment_bytes = max_payload(gso, info->mtu);
    uint32_t l4_bytes = (uint32_t)length - gso->layout.l4_offset;
    bool datagrams = gso->layout.l4 == IPPROTO_UDP;
    gso->payload_bytes = (uint32_t)length - gso->header_bytes;
    gso->segment_bytes = info->segment_bytes > 0 &&
                         (datagrams || info->segment_bytes < max_segment_bytes) ? info->segment_bytes
                                                                                : max_segment_bytes;
    /* The sender has set the datagram size. Datagrams cannot be divided further. */
    if (gso->payload_bytes == 0 || gso->segment_bytes == 0 || gso->segment_bytes > max_segment_bytes ||
        !has_valid_udp_length(gso, l4_bytes) ||
        (!info->verified && !has_valid_checksum(gso, l4_bytes, info->partial_checksum)))
        return SV_GSO_MALFORMED;
    skip_headers(gso);
    return SV_GSO_GOOD;
}

/* ---- segmentation ---- */

static void advance(struct sv_gso_segmenter *gso, uint32_t bytes)
{
    gso->segmented_bytes += bytes;
    gso->number++;
    gso->offset += bytes;
    if (gso->segmented_bytes == gso->payload_bytes)
        return;
    while (gso->offset >= gso->pieces[gso->piece].iov_len)
        gso->offset -= (uint32_t)gso->pieces[gso->piece++].iov_len;
}

/* Writes the IPv4 header checksum. Returns the sum of the headers for TCP or UDP; the checksum field is 0 for now. */
static uint64_t write_checksums(uint8_t *header, const struct sv_gso_segmenter *gso, uint32_t part)
{
    struct sv_layout layout = gso->layout;
    uint8_t *ip = header + layout.l3_offset;
    uint8_t *l4 = header + layout.l4_offset;
    uint32_t l4_header = gso->header_bytes - layout.l4_offset;
    if (layout.l3 == 4)
        sv_checksum_fill_ipv4_header(ip);
    memset(l4 + sv_checksum_offset(layout), 0, 2);
    return sv_checksum_sum(l4, l4_header, sv_checksum_pseudo_sum(ip, layout, l4_header + part));
}

/*
 * Returns how many payload bytes follow the headers in the head. A datagram may contain the headers of a tunnel, which
 * steering reads.
 */
static uint32_t payload_in_head(const struct sv_gso_segmenter *gso, uint32_t part)
{
    uint32_t room = SV_GSO_HEADER_BUFFER_BYTES - gso->header_bytes;
    if (gso->layout.l4 != IPPROTO_UDP)
        return 0;
    return part < room ? part : room;
}

bool sv_gso_next(struct sv_gso_segmenter *gso, struct sv_gso_slot *slot, struct sv_frame *frame)
{
    uint32_t left = gso->payload_bytes - gso->segmented_bytes;
    if (left == 0)
        return false;
    uint32_t part = left < gso->segment_bytes ? left : gso->segment_bytes;
    const struct iovec *rest = gso->pieces + gso->piece;
    memcpy(slot->header, gso->header, sizeof slot->header);
    sv_segment_patch_header(slot->header, gso->layout, gso->header_bytes + part, gso->number, gso->segmented_bytes,
                            part == left);
    uint64_t sum = write_checksums(slot->header, gso, part);
    uint32_t head_payload = payload_in_head(gso, part);
    sv_pieces_copy(slot->header + gso->header_bytes, rest, gso->offset, head_payload);
    slot->rest = (struct sv_frame_rest){.head_bytes = gso->header_bytes + head_payload,
                                        .offset = gso->offset + head_payload, .pieces = rest, .headers_sum = sum};
    *frame = (struct sv_frame){.data = slot->header, .length = gso->header_bytes + part, .layout = gso->layout,
                               .rest = &slot->rest, .checksums_done = true};
    uint32_t checksum_offset = gso->layout.l4_offset + sv_checksum_offset(gso->layout);
    if (gso->layout.l4 == IPPROTO_TCP) {
        slot->rest.checksum_offset = checksum_offset;
    } else {
        /* The head of a datagram contains a part of the payload. */
        uint16_t checksum = sv_checksum_from_sum(sv_pieces_sum(rest, gso->offset, part, sum), gso->layout);
        memcpy(slot->header + checksum_offset, &checksum, 2);
    }
    advance(gso, part);
    return true;
}
