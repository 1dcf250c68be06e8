/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes send work requests in the program's queue. A request has one to sixteen 64-byte blocks: a control segment,
 * an Ethernet segment with the beginning of the frame if the device requires it, and data segments that point to memory
 * or contain bytes. All fields are checked before use.
 */
#include "engine.h"

#include "checksum.h"

#include <endian.h>
#include <string.h>

enum { INLINE_HEADER_AT = offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start) };

/* ---- completing ---- */

static void complete_request(struct cx_qp *qp, const struct cx_send_request *request, uint8_t syndrome)
{
    struct cx_completion completion = {
        .opcode = syndrome == 0 ? MLX5_CQE_REQ : MLX5_CQE_REQ_ERR,
        .syndrome = syndrome,
        .send_opcode = request->opcode,
        .solicited = request->solicited,
        .wqe_counter = request->index,
        .number = qp->number,
        .uidx = qp->uidx,
    };
    if (cx_cq_add(qp->sq.cq, &completion))
        qp->sq.unreported = 0;
}

/* ---- reading a request ---- */

/* Returns 0, or the syndrome of an invalid request, which then counts as one block. */
static uint8_t fetch(const struct cx_qp *qp, uint16_t available, struct cx_send_request *request)
{
    const struct cx_ring *ring = &qp->sq.ring;
    uint32_t mask = ring->unit_count - 1;
    uint32_t at = (ring->consumed & mask) * MLX5_SEND_WQE_BB;
    struct mlx5_wqe_ctrl_seg control;
    memcpy(&control, ring->memory + at, sizeof control);
    uint32_t word = be32toh(control.opmod_idx_opcode);
    uint32_t segments = be32toh(control.qpn_ds) & 0x3f;

    request->index = ring->consumed;
    request->opcode = (uint8_t)word;
    request->blocks = 1;
    request->signalled = (control.fm_ce_se & MLX5_WQE_CTRL_CQ_UPDATE) != 0;
    request->solicited = (control.fm_ce_se & MLX5_WQE_CTRL_SOLICITED) != 0;
    if ((word >> 8 & 0xffff) != ring->consumed || be32toh(control.qpn_ds) >> 8 != qp->number || segments == 0)
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    uint32_t blocks = (segments * CX_SEGMENT_BYTES + MLX5_SEND_WQE_BB - 1) / MLX5_SEND_WQE_BB;
    if (blocks > available)
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    request->blocks = (uint8_t)blocks;
    request->length = segments * CX_SEGMENT_BYTES;
    uint32_t to_end = ring->unit_count * MLX5_SEND_WQE_BB - at;
    request->bytes = ring->memory + at;
    if (request->length > to_end) {
        memcpy(request->copy, ring->memory + at, to_end);
        memcpy(request->copy + to_end, ring->memory, request->length - to_end);
        request->bytes = request->copy;
    }
    return 0;
}

/* ---- sending ---- */

static void fill_checksums(uint8_t *frame, uint32_t length, uint8_t flags)
{
    struct sv_headers headers;
    struct sv_layout layout = sv_parse_headers(frame, length, &headers);
    if (!(flags & MLX5_ETH_WQE_L4_CSUM))
        layout.l4 = 0;
    if (flags & (MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM))
        sv_checksum_fill(frame, length, layout);
}

uint8_t cx_send_frame(struct cx_qp *qp, struct cx_gathered *frame, uint8_t checksum_flags)
{
    struct cx_device *device = qp->object.context->device;
    if (frame->length < ETH_HLEN || !sv_frame_fits(device->mtu, frame->bytes, frame->length))
        return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    if (checksum_flags != 0)
        fill_checksums(frame->bytes, frame->length, checksum_flags);
    struct sv_frame one = {.data = frame->bytes, .length = frame->length};
    cx_wire_send(device, qp, &one, 1);
    return 0;
}

static uint8_t execute_send(struct cx_qp *qp, const struct cx_send_request *request)
{
    struct cx_device *device = qp->object.context->device;
    const uint32_t eth_at = sizeof(struct mlx5_wqe_ctrl_seg);
    struct mlx5_wqe_eth_seg eth = {0};
    if (request->length < eth_at + CX_SEGMENT_BYTES)
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    memcpy(&eth, request->bytes + eth_at, CX_SEGMENT_BYTES);
    uint32_t header = be16toh(eth.inline_hdr_sz);
    uint32_t header_at = eth_at + INLINE_HEADER_AT;
    if (header < device->min_inline_bytes || header > request->length - header_at)
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    uint32_t data_at = (header_at + header + CX_SEGMENT_BYTES - 1) & ~(uint32_t)(CX_SEGMENT_BYTES - 1);
    struct cx_gathered frame = {.bytes = device->scratch, .limit = CX_MAX_FRAME_BYTES};
    if (request->opcode == MLX5_OPCODE_TSO) {
        frame.limit = CX_MAX_TSO_BYTES;
        uint8_t syndrome = cx_gather_segments(qp, request, data_at, &frame);
        return syndrome != 0 ? syndrome : cx_tso_send(qp, request->bytes + header_at, header, frame.bytes,
                                                      frame.length, be16toh(eth.mss));
    }
    uint8_t syndrome = cx_append_bytes(&frame, request->bytes + header_at, header);
    if (syndrome == 0)
        syndrome = cx_gather_segments(qp, request, data_at, &frame);
    return syndrome != 0 ? syndrome : cx_send_frame(qp, &frame, eth.cs_flags);
}

/*
 * Compares the bytes written to the register, line by line, as they leave a processor. Sets *whole to true if the whole
 * request was there. Lines may arrive late or in another order, and then do not count.
 */
static bool differs_from_blueflame(const struct cx_sq *sq, const struct cx_send_request *request, bool *whole)
{
    static const uint8_t nothing[CX_LINE_BYTES];
    *whole = request->length <= sizeof sq->blueflame_bytes;
    for (uint32_t at = 0; at < request->length && at < sizeof sq->blueflame_bytes; at += CX_LINE_BYTES) {
        uint32_t bytes = request->length - at < CX_LINE_BYTES ? request->length - at : CX_LINE_BYTES;
        if (memcmp(sq->blueflame_bytes + at, request->bytes + at, bytes) == 0)
            continue;
        if (memcmp(sq->blueflame_bytes + at, nothing, sizeof nothing) != 0)
            return true;
        *whole = false;
    }
    return false;
}

/*
 * The device takes a request from the register if it was written there, and then does not read the ring. It reads other
 * requests over PCIe.
 */
static bool check_blueflame(struct cx_qp *qp, const struct cx_send_request *request)
{
    struct cx_sq *sq = &qp->sq;
    bool whole = false;
    bool differs = false;
    if (sq->blueflame && request->index == sq->last_rung) {
        sq->blueflame = false;
        differs = differs_from_blueflame(sq, request, &whole);
    }
    if (!whole)
        qp->object.context->device->counters.request_bytes += (uint32_t)request->blocks * MLX5_SEND_WQE_BB;
    return !differs;
}

static uint8_t execute(struct cx_qp *qp, const struct cx_send_request *request)
{
    if (!check_blueflame(qp, request))
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    if (qp->sq.injected_syndrome != 0) {
        uint8_t syndrome = qp->sq.injected_syndrome;
        qp->sq.injected_syndrome = 0;
        return syndrome;
    }
    switch (request->opcode) {
    case MLX5_OPCODE_NOP:
        return 0;
    case MLX5_OPCODE_SEND:
    case MLX5_OPCODE_TSO:
        return execute_send(qp, request);
    case CX_OPCODE_MULTI_PACKET:
        return cx_multi_packet_send(qp, request);
    default:
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    }
}

/* ---- the queue ---- */

/* Reads the program's index from the doorbell record. Returns false if it exceeds the queue. */
static bool read_record(struct cx_qp *qp)
{
    struct cx_ring *ring = &qp->sq.ring;
    uint32_t record = be32toh(atomic_load_explicit(ring->record, memory_order_acquire));
    uint16_t produced = (uint16_t)record;
    if (record > UINT16_MAX)
        return false;
    if (cx_is_mutant(CX_MUTANT_RECORD_IGNORED) && produced != ring->consumed)
        produced = (uint16_t)(ring->consumed + 1);
    if ((uint16_t)(produced - ring->consumed) > ring->unit_count)
        return false;
    ring->produced = produced;
    return true;
}

bool cx_sq_is_announced(const struct cx_qp *qp, uint16_t index)
{
    const struct cx_ring *ring = &qp->sq.ring;
    uint16_t produced = (uint16_t)be32toh(atomic_load_explicit(ring->record, memory_order_acquire));
    uint16_t behind = (uint16_t)(produced - index);
    return behind != 0 && behind <= ring->unit_count;
}

void cx_sq_ring_doorbell(struct cx_qp *qp, uint16_t index)
{
    struct cx_sq *sq = &qp->sq;
    uint16_t consumed = sq->ring.consumed;
    if ((uint16_t)(index - consumed) >= sq->ring.unit_count)
        return;     /* executed before the doorbell was seen */
    /* Of two pending doorbells, the one for more requests applies. */
    if (!sq->rung || !sq->bounded || (uint16_t)(index - consumed) > (uint16_t)(sq->last_rung - consumed))
        sq->last_rung = index;
    sq->bounded = true;
    sq->rung = true;
}

void cx_sq_ring_all(struct cx_qp *qp)
{
    qp->sq.bounded = false;
    qp->sq.rung = true;
}

static void bad_record(struct cx_qp *qp)
{
    qp->object.context->device->counters.bad_doorbells++;
    qp->sq.ring.produced = qp->sq.ring.consumed;
    cx_sq_enter_error(qp);
    cx_raise(&qp->object, IBV_EVENT_QP_FATAL);
}

/* Executes the next request. Returns false if the queue has failed. */
static bool run_one(struct cx_qp *qp)
{
    struct cx_sq *sq = &qp->sq;
    struct cx_send_request request;
    uint8_t syndrome = fetch(qp, (uint16_t)(sq->ring.produced - sq->ring.consumed), &request);
    if (syndrome == 0)
        syndrome = execute(qp, &request);
    sq->ring.consumed = (uint16_t)(sq->ring.consumed + request.blocks);
    if (request.index == sq->last_rung && sq->bounded)
        sq->bounded = sq->rung = false;
    if (syndrome == 0 && request.opcode != MLX5_OPCODE_NOP && request.opcode != CX_OPCODE_MULTI_PACKET)
        sq->unreported++;
    if (syndrome != 0 || request.signalled)
        complete_request(qp, &request, syndrome);
    /* The completion may have caused an overrun. */
    if (syndrome == 0)
        return sq->state == CX_QUEUE_READY;
    qp->object.context->device->counters.send_errors++;
    cx_sq_enter_error(qp);
    return false;
}

unsigned cx_sq_run(struct cx_qp *qp, unsigned budget)
{
    struct cx_sq *sq = &qp->sq;
    unsigned done = 0;
    if (sq->state != CX_QUEUE_READY)
        return 0;
    if (!read_record(qp)) {
        bad_record(qp);
        return 1;
    }
    const struct cx_device *device = qp->object.context->device;
    const bool bounded = sq->bounded;
    bool ready = true;
    while (ready && done < budget && sq->ring.consumed != sq->ring.produced && sq->bounded == bounded &&
           cx_wire_has_room(device)) {
        ready = run_one(qp);
        done++;
    }
    if (!bounded || !ready)
        sq->rung = sq->ring.consumed != sq->ring.produced;
    return done;
}

void cx_sq_count_unreported(struct cx_qp *qp)
{
    qp->object.context->device->counters.unreported_sends += qp->sq.unreported;
    qp->sq.unreported = 0;
}

/* In the error state each request completes, signaled or not. */
void cx_sq_flush(struct cx_qp *qp)
{
    struct cx_sq *sq = &qp->sq;
    if (cx_is_mutant(CX_MUTANT_FLUSH_FORGOTTEN) || !read_record(qp))
        return;
    while (sq->ring.consumed != sq->ring.produced) {
        struct cx_send_request request;
        fetch(qp, (uint16_t)(sq->ring.produced - sq->ring.consumed), &request);
        sq->ring.consumed = (uint16_t)(sq->ring.consumed + request.blocks);
        complete_request(qp, &request, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
        qp->object.context->device->counters.flushed++;
    }
    sq->rung = false;
}
