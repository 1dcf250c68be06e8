/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include "checksum.h"
#include "flow.h"
#include "wire_defs.h"

#include <netinet/in.h>

static void put_be16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static uint32_t get_be16(const uint8_t *from)
{
    return (uint32_t)from[0] << 8 | from[1];
}

static uint32_t get_be32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static void put_be32(uint8_t *to, uint32_t value)
{
    put_be16(to, value >> 16);
    put_be16(to + 2, value);
}

void sv_segment_patch_header(uint8_t *segment, struct sv_layout layout, uint32_t length, uint32_t number,
                             uint32_t offset, bool last)
{
    uint8_t *ip = segment + layout.l3_offset;
    if (layout.l3 == 4) {
        put_be16(ip + SV_IPV4_TOTAL_LENGTH_AT, length - layout.l3_offset);
        put_be16(ip + SV_IPV4_ID_AT, get_be16(ip + SV_IPV4_ID_AT) + number);
    } else {
        put_be16(ip + SV_IPV6_PAYLOAD_LENGTH_AT, length - layout.l3_offset - SV_IPV6_HLEN);
    }
    uint8_t *tcp = segment + layout.l4_offset;
    if (layout.l4 == IPPROTO_UDP) {
        put_be16(tcp + SV_UDP_LENGTH_AT, length - layout.l4_offset);
        return;
    }
    put_be32(tcp + SV_TCP_SEQUENCE_AT, get_be32(tcp + SV_TCP_SEQUENCE_AT) + offset);
    if (!last)
        tcp[SV_TCP_FLAGS_AT] &= (uint8_t)~(SV_TCP_FIN | SV_TCP_PSH);
    if (number > 0)
        tcp[SV_TCP_FLAGS_AT] &= (uint8_t)~SV_TCP_CWR;       /* RFC 3168 6.1.2: in the first segment only */
}

void sv_segment_patch(uint8_t *segment, struct sv_layout layout, uint32_t length, uint32_t number, uint32_t offset,
                      bool last)
{
    sv_segment_patch_header(segment, layout, length, number, offset, last);
    sv_checksum_fill(segment, length, layout);
}

bool sv_segment_parse(const uint8_t *header, uint32_t length, struct sv_layout *layout)
{
    struct sv_headers headers;
    *layout = sv_parse_headers(header, length, &headers);
    if (layout->l4 != IPPROTO_TCP)
        return false;
    uint32_t tcp_header = (header[layout->l4_offset + SV_TCP_DATA_OFFSET_AT] >> 4) * 4u;
    return layout->l4_offset + tcp_header == length;
}
