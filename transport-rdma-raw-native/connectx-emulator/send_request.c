/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the bytes that the data segments of a send request point to or contain. */
#include "engine.h"

#include "frame.h"

#include <endian.h>
#include <string.h>

uint8_t cx_append_bytes(struct cx_gathered *to, const uint8_t *from, uint32_t length)
{
    if (length > to->limit - to->length)
        return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    sv_copy(to->bytes + to->length, from, length);
    to->length += length;
    return 0;
}

static uint8_t append_inline(const struct cx_send_request *request, uint32_t *at, uint32_t bytes,
                             struct cx_gathered *to)
{
    const uint32_t header = sizeof(uint32_t);
    if (bytes > request->length - *at - header)
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    uint8_t syndrome = cx_append_bytes(to, request->bytes + *at + header, bytes);
    *at += (header + bytes + CX_SEGMENT_BYTES - 1) & ~(uint32_t)(CX_SEGMENT_BYTES - 1);
    return syndrome;
}

uint8_t cx_gather_segment(const struct cx_qp *qp, const struct cx_send_request *request, uint32_t *at,
                          struct cx_gathered *to)
{
    struct cx_device *device = qp->object.context->device;
    struct mlx5_wqe_data_seg segment;
    memcpy(&segment, request->bytes + *at, sizeof segment);
    uint32_t count = be32toh(segment.byte_count);
    if (count & MLX5_INLINE_SEG)
        return append_inline(request, at, count & ~(uint32_t)MLX5_INLINE_SEG, to);
    if (count == 0 || count > to->limit)
        return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    const uint8_t *from = cx_translate(device, qp->pd, be32toh(segment.lkey), be64toh(segment.addr), count, 0);
    if (from == NULL)
        return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
    device->counters.frame_reads++;
    device->counters.frame_bytes += count;
    *at += CX_SEGMENT_BYTES;
    return cx_append_bytes(to, from, count);
}

uint8_t cx_gather_segments(const struct cx_qp *qp, const struct cx_send_request *request, uint32_t at,
                           struct cx_gathered *to)
{
    uint8_t syndrome = 0;
    while (syndrome == 0 && at < request->length)
        syndrome = cx_gather_segment(qp, request, &at, to);
    return syndrome;
}
