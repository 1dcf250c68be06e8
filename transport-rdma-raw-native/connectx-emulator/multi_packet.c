/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enhanced multi-packet requests: a control and an Ethernet segment, then one data segment per frame, which points to
 * the frame or contains it. The Ethernet segment applies to all frames: their checksums are filled in the same way. It
 * holds the beginning of no frame, so a device that requires inline headers has no such requests. Modelled after DPDK's
 * mlx5_tx_burst_empw_simple() and mlx5_tx_burst_empw_inline().
 */
#include "engine.h"

#include <endian.h>
#include <string.h>

/* DPDK passes no shorter frame to the device: "some offloads may cause an error". */
enum { MIN_FRAME_BYTES = 19 };

uint8_t cx_multi_packet_send(struct cx_qp *qp, const struct cx_send_request *request)
{
    struct cx_device *device = qp->object.context->device;
    struct mlx5_wqe_eth_seg eth = {0};
    uint32_t at = sizeof(struct mlx5_wqe_ctrl_seg) + CX_SEGMENT_BYTES;
    if (device->min_inline_bytes > 0 || request->length <= at)
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    memcpy(&eth, request->bytes + sizeof(struct mlx5_wqe_ctrl_seg), CX_SEGMENT_BYTES);
    if (eth.inline_hdr_sz != 0 || eth.inline_hdr_start[0] != 0 || eth.inline_hdr_start[1] != 0 || eth.mss != 0)
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    while (at < request->length) {
        struct cx_gathered frame = {.bytes = device->scratch, .limit = CX_MAX_FRAME_BYTES};
        uint8_t syndrome = cx_gather_segment(qp, request, &at, &frame);
        if (syndrome == 0 && frame.length < MIN_FRAME_BYTES)
            syndrome = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
        if (syndrome == 0)
            syndrome = cx_send_frame(qp, &frame, eth.cs_flags);
        qp->sq.unreported += syndrome == 0;
        if (syndrome != 0 || cx_is_mutant(CX_MUTANT_FIRST_OF_SEVERAL_ALONE))
            return syndrome;
    }
    return 0;
}
