/* SPDX-License-Identifier: Apache-2.0 */
/* TSO sends: IBV_WR_TSO segments a TCP payload. Each segment has a copy of the caller's headers. */
#include "send.h"

#include <errno.h>
#include <string.h>

/* The pieces of a payload, and the position up to which they have been copied. */
struct pieces {
    const uint8_t *start[SV_MAX_SGE];
    const struct ibv_sge *sge;
    int current;
    uint32_t offset;
};

int sv_tso_check(const struct sv_sq *sq, const struct ibv_send_wr *wr, uint32_t payload)
{
    if (sq->max_tso_header == 0 || wr->tso.hdr == NULL || wr->tso.hdr_sz < SV_MIN_SEND_BYTES || wr->tso.mss == 0)
        return EINVAL;
    if (wr->tso.hdr_sz > sq->max_tso_header || (wr->send_flags & IBV_SEND_INLINE))
        return EINVAL;
    return payload == 0 ? EINVAL : 0;
}

/* Translates the whole list before the first segment is sent. */
static bool translate(const struct sv_qp *qp, const struct ibv_send_wr *wr, struct pieces *pieces)
{
    pieces->sge = wr->sg_list;
    pieces->current = 0;
    pieces->offset = 0;
    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *sge = &wr->sg_list[i];
        if (sge->length == 0)
            continue;
        pieces->start[i] = sv_mr_translate(qp->device->mrs, (const struct sv_pd *)qp->ibv.pd, sge->lkey, sge->addr,
                                           sge->length, 0);
        if (pieces->start[i] == NULL)
            return false;
    }
    return true;
}

static void copy_next(struct pieces *pieces, uint8_t *to, uint32_t length)
{
    while (length > 0) {
        uint32_t left = pieces->sge[pieces->current].length - pieces->offset;
        if (left == 0) {
            pieces->current++;
            pieces->offset = 0;
            continue;
        }
        uint32_t part = left < length ? left : length;
        memcpy(to, pieces->start[pieces->current] + pieces->offset, part);
        pieces->offset += part;
        to += part;
        length -= part;
    }
}

/* Sends the payload as one packet if the port can segment it. */
static bool try_transmit_tso(struct sv_burst *burst, const struct ibv_send_wr *wr, struct sv_layout layout,
                             const struct pieces *pieces, uint32_t payload)
{
    struct sv_device *device = burst->qp->device;
    struct iovec parts[SV_MAX_SGE];
    struct sv_tso_request request = {.header = wr->tso.hdr, .header_bytes = wr->tso.hdr_sz, .layout = layout,
                                     .parts = parts, .payload_bytes = payload, .segment_bytes = wr->tso.mss};
    if (device->ops->transmit_tso == NULL || payload <= (SV_TSO_MIN_SEGMENTS - 1) * wr->tso.mss)
        return false;
    for (int i = 0; i < wr->num_sge; i++)
        if (wr->sg_list[i].length > 0)
            parts[request.part_count++] = (struct iovec){(void *)(uintptr_t)pieces->start[i], wr->sg_list[i].length};
    sv_burst_transmit(burst);       /* sends earlier frames first */
    return device->ops->transmit_tso(device, burst->qp, &request);
}

enum ibv_wc_status sv_tso_send(struct sv_burst *burst, const struct ibv_send_wr *wr, uint32_t payload)
{
    struct pieces pieces;
    struct sv_layout layout;
    uint32_t mtu = atomic_load_explicit(&burst->qp->device->mtu, memory_order_relaxed);

    if (payload > SV_MAX_TSO_PAYLOAD || !sv_frame_fits(mtu, wr->tso.hdr, (uint32_t)wr->tso.hdr_sz + wr->tso.mss))
        return IBV_WC_LOC_LEN_ERR;
    if (!sv_segment_parse(wr->tso.hdr, wr->tso.hdr_sz, &layout))
        return IBV_WC_LOC_QP_OP_ERR;
    if (!translate(burst->qp, wr, &pieces))
        return IBV_WC_LOC_PROT_ERR;
    if (try_transmit_tso(burst, wr, layout, &pieces, payload))
        return IBV_WC_SUCCESS;
    uint32_t number = 0;
    for (uint32_t offset = 0; offset < payload; offset += wr->tso.mss, number++) {
        uint32_t part = payload - offset < wr->tso.mss ? payload - offset : wr->tso.mss;
        uint32_t length = wr->tso.hdr_sz + part;
        uint8_t *segment = sv_burst_reserve_scratch(burst, length);
        memcpy(segment, wr->tso.hdr, wr->tso.hdr_sz);
        copy_next(&pieces, segment + wr->tso.hdr_sz, part);
        sv_segment_patch(segment, layout, length, number, offset, offset + part == payload);
        sv_burst_add_frame(burst, segment, length);
    }
    return IBV_WC_SUCCESS;
}
