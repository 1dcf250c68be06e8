/* SPDX-License-Identifier: Apache-2.0 */
#include "segment.h"

#include "checksum.h"
#include "flow.h"

#include <netinet/in.h>

enum { TCP_FIN = 0x01, TCP_PSH = 0x08, TCP_CWR = 0x80 };

static void put_be16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
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

void sv_segment_patch(uint8_t *segment, struct sv_layout layout, uint32_t length, uint32_t number, uint32_t offset,
                      bool last)
{
    uint8_t *ip = segment + layout.l3_offset;
    if (layout.l3 == 4) {
        put_be16(ip + 2, length - layout.l3_offset);
        put_be16(ip + 4, ((uint32_t)ip[4] << 8 | ip[5]) + number);
    } else {
        put_be16(ip + 4, length - layout.l3_offset - 40);
    }
    uint8_t *tcp = segment + layout.l4_offset;
    put_be32(tcp + 4, get_be32(tcp + 4) + offset);
    if (!last)
        tcp[13] &= (uint8_t)~(TCP_FIN | TCP_PSH);
    if (number > 0)
        tcp[13] &= (uint8_t)~TCP_CWR;       /* RFC 3168 6.1.2: once */
    sv_checksum_fill(segment, length, layout);
}

bool sv_segment_parse(const uint8_t *header, uint32_t length, struct sv_layout *layout)
{
    struct sv_headers headers;
    *layout = sv_parse_headers(header, length, &headers);
    if (layout->l4 != IPPROTO_TCP)
        return false;
    uint32_t tcp_header = (header[layout->l4_offset + 12] >> 4) * 4u;
    return layout->l4_offset + tcp_header == length;
}
