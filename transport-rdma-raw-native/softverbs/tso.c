/* SPDX-License-Identifier: Apache-2.0 */
/* Large sends: IBV_WR_TSO cuts a TCP payload into segments, each behind a copy of the header that the caller gives. */
#include "segment.h"
#include "send.h"

#include <errno.h>
#include <string.h>

int sv_tso_check(const struct sv_sq *sq, const struct ibv_send_wr *wr, uint32_t payload)
{
    if (sq->max_tso_header == 0 || wr->tso.hdr == NULL || wr->tso.hdr_sz < SV_MIN_FRAME || wr->tso.mss == 0)
        return EINVAL;
    if (wr->tso.hdr_sz > sq->max_tso_header || (wr->send_flags & IBV_SEND_INLINE))
        return EINVAL;
    return payload == 0 ? EINVAL : 0;
}

enum ibv_wc_status sv_tso_send(struct sv_burst *burst, const struct ibv_send_wr *wr, uint32_t payload)
{
    uint8_t *gathered = burst->qp->sq.tso_payload;
    struct sv_layout layout;
    uint32_t mtu = atomic_load_explicit(&burst->qp->device->mtu, memory_order_relaxed);

    if (payload > SV_MAX_TSO_PAYLOAD || (uint32_t)wr->tso.hdr_sz + wr->tso.mss > mtu + 14u)
        return IBV_WC_LOC_LEN_ERR;
    if (!sv_segment_parse(wr->tso.hdr, wr->tso.hdr_sz, &layout))
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
        sv_segment_patch(segment, layout, length, number, offset, offset + part == payload);
        sv_burst_add_frame(burst, segment, length);
    }
    return IBV_WC_SUCCESS;
}
