/* SPDX-License-Identifier: Apache-2.0 */
/* Large sends: IBV_WR_TSO cuts a TCP payload into segments, each behind a copy of the header that the caller gives. */
#include "send.h"

#include "checksum.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

enum { TCP_FIN = 0x01, TCP_PSH = 0x08, TCP_CWR = 0x80 };

int sv_tso_check(const struct sv_sq *sq, const struct ibv_send_wr *wr, uint32_t payload)
{
    if (sq->max_tso_header == 0 || wr->tso.hdr == NULL || wr->tso.hdr_sz < SV_MIN_FRAME || wr->tso.mss == 0)
        return EINVAL;
    if (wr->tso.hdr_sz > sq->max_tso_header || (wr->send_flags & IBV_SEND_INLINE))
        return EINVAL;
    return payload == 0 ? EINVAL : 0;
}

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

/* Adapts the header copy of segment `number`, whose payload starts at `offset`. */
static void patch_header(uint8_t *segment, struct sv_layout layout, uint32_t length, uint32_t number, uint32_t offset,
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

static bool parse_header(const struct ibv_send_wr *wr, struct sv_layout *layout)
{
    struct sv_headers headers;
    *layout = sv_parse_headers(wr->tso.hdr, wr->tso.hdr_sz, &headers);
    if (layout->l4 != IPPROTO_TCP)
        return false;
    uint32_t tcp_header = (((const uint8_t *)wr->tso.hdr)[layout->l4_offset + 12] >> 4) * 4u;
    return layout->l4_offset + tcp_header == wr->tso.hdr_sz;
}

enum ibv_wc_status sv_tso_send(struct sv_burst *burst, const struct ibv_send_wr *wr, uint32_t payload)
{
    uint8_t *gathered = burst->qp->sq.tso_payload;
    struct sv_layout layout;
    uint32_t mtu = atomic_load_explicit(&burst->qp->device->mtu, memory_order_relaxed);

    if (payload > SV_MAX_TSO_PAYLOAD || (uint32_t)wr->tso.hdr_sz + wr->tso.mss > mtu + 14u)
        return IBV_WC_LOC_LEN_ERR;
    if (!parse_header(wr, &layout))
        return IBV_WC_LOC_QP_OP_ERR;
    enum ibv_wc_status status = sv_gather(burst->qp, wr, gathered);
    if (status != IBV_WC_SUCCESS)
        return status;
    uint32_t number = 0;
    for (uint32_t offset = 0; offset < payload; offset += wr->tso.mss, number++) {
        uint32_t part = payload - offset < wr->tso.mss ? payload - offset : wr->tso.mss;
        uint32_t length = wr->tso.hdr_sz + part;
        uint8_t *segment = sv_burst_scratch(burst, length);
        memcpy(segment, wr->tso.hdr, wr->tso.hdr_sz);
        memcpy(segment + wr->tso.hdr_sz, gathered + offset, part);
        patch_header(segment, layout, length, number, offset, offset + part == payload);
        sv_burst_add_frame(burst, segment, length);
    }
    return IBV_WC_SUCCESS;
}
