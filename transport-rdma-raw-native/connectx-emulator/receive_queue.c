/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills receive work requests. Each is a list of data segments that ends before one with the key 0x100. The program
 * announces requests in the doorbell record only. The record is read when a frame needs a request.
 */
#include "engine.h"

#include "frame.h"
#include "receive.h"

#include <endian.h>
#include <string.h>

enum { SEGMENT_BYTES = 16, NO_KEY = MLX5_INVALID_LKEY };

static void read_record(struct cx_rq *rq)
{
    uint32_t record = atomic_load_explicit(rq->ring.record, memory_order_acquire);
    uint16_t produced = (uint16_t)(cx_is_mutant(CX_MUTANT_RECEIVE_RECORD_SWAPPED) ? record : be32toh(record));
    bool reserved = be32toh(record) > UINT16_MAX && !cx_is_mutant(CX_MUTANT_RECEIVE_RECORD_SWAPPED);
    if (reserved || (uint16_t)(produced - rq->ring.consumed) > rq->ring.unit_count) {
        rq->device->counters.bad_doorbells++;
        return;
    }
    rq->ring.produced = produced;
}

bool cx_rq_has_request(struct cx_rq *rq)
{
    if (rq->ring.consumed == rq->ring.produced)
        read_record(rq);
    return rq->ring.consumed != rq->ring.produced;
}

const uint8_t *cx_rq_request(const struct cx_rq *rq)
{
    return rq->ring.memory + ((size_t)(rq->ring.consumed & (rq->ring.unit_count - 1)) << rq->ring.unit_shift);
}

/* Completes a request with an error. In a striding queue it uses all remaining strides of the request. */
static void complete_error(struct cx_rq *rq, uint8_t syndrome)
{
    struct cx_completion completion = {
        .opcode = MLX5_CQE_RESP_ERR, .syndrome = syndrome, .number = rq->number, .uidx = rq->uidx,
        .wqe_counter = rq->ring.consumed,
    };
    if (rq->strides.per_request > 0)
        cx_strides_consume_rest(rq, &completion);
    else
        rq->ring.consumed++;
    cx_cq_add(rq->cq, &completion);
}

uint8_t cx_rq_scatter(const struct cx_rq *rq, uint32_t first, uint32_t offset, const struct sv_frame *frame)
{
    const uint8_t *request = cx_rq_request(rq);
    uint32_t bytes = 1u << rq->ring.unit_shift;
    uint32_t done = 0;
    for (uint32_t at = first; at < bytes && done < frame->length; at += SEGMENT_BYTES) {
        struct mlx5_wqe_data_seg segment;
        memcpy(&segment, request + at, sizeof segment);
        uint32_t key = be32toh(segment.lkey);
        uint32_t part = be32toh(segment.byte_count);
        if (key == NO_KEY)
            break;
        uint32_t skipped = offset < part ? offset : part;
        offset -= skipped;
        part -= skipped;
        if (part > frame->length - done)
            part = frame->length - done;
        if (part == 0)
            continue;
        uint8_t *to = cx_translate(rq->device, rq->pd, key, be64toh(segment.addr) + skipped, part,
                                   IBV_ACCESS_LOCAL_WRITE);
        if (to == NULL)
            return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        sv_copy(to, frame->data + done, part);
        done += part;
    }
    return done == frame->length ? 0 : MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
}

/* Writes the frame to the next request and sets the fields of its completion. Returns 0 or a syndrome. */
static uint8_t fill(struct cx_rq *rq, const struct sv_frame *frame, struct cx_completion *completion)
{
    if (rq->strides.per_request > 0) {
        uint8_t syndrome = cx_strides_fill(rq, frame);
        if (syndrome == 0)
            cx_strides_consume(rq, completion);
        return syndrome;
    }
    uint8_t syndrome = cx_rq_scatter(rq, rq->signature ? SEGMENT_BYTES : 0, 0, frame);
    if (syndrome == 0) {
        completion->wqe_counter = rq->ring.consumed++;
        completion->uidx = rq->uidx;
    }
    return syndrome;
}

/*
 * DPDK's driver resets a receive queue only for these errors (mlx5_rx_err_handle()). Any other error concerns one
 * frame. The sending half of a queue pair continues in either case.
 */
static bool stops_queue(uint8_t syndrome)
{
    return syndrome == MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR || syndrome == MLX5_CQE_SYNDROME_LOCAL_PROT_ERR ||
           syndrome == MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
}

static void fail_receive(struct cx_rq *rq, uint8_t syndrome)
{
    complete_error(rq, syndrome);
    rq->device->counters.receive_errors++;
    if (stops_queue(syndrome))
        cx_rq_enter_error(rq);
}

static bool spreads_to(const struct cx_qp *qp, const struct cx_object *wq)
{
    for (uint32_t i = 0; qp->ind_table != NULL && i < qp->ind_table->entries; i++)
        if (&qp->ind_table->wqs[i]->object == wq)
            return true;
    return false;
}

/* A frame of the port itself is only for queue pairs with a TIR that accepts it: create_raw_packet_qp_tir(). */
static bool blocks_self_loopback(const struct cx_rq *rq, const struct sv_frame *frame)
{
    uint32_t kind = frame->data[0] & 1 ? CX_SELF_LB_MULTICAST : CX_SELF_LB_UNICAST;
    if (!rq->device->is_self_loopback)
        return false;
    if (rq->owner->kind == CX_QP)
        return !(((const struct cx_qp *)rq->owner)->self_loopback & kind);
    for (const struct cx_qp *qp = rq->device->qps; qp != NULL; qp = qp->next)
        if (qp->self_loopback & kind && spreads_to(qp, rq->owner))
            return false;
    return true;
}

static void receive(struct cx_rq *rq, const struct sv_frame *frame, uint32_t tag)
{
    struct cxemu_counters *counters = &rq->device->counters;
    struct cx_completion completion = {
        .opcode = MLX5_CQE_RESP_SEND, .number = tag, .byte_count = frame->length, .frame = frame,
    };
    if (blocks_self_loopback(rq, frame)) {
        counters->self_loopback_blocked++;
        return;
    }
    if (rq->state != CX_QUEUE_READY) {
        counters->not_ready++;
        return;
    }
    enum cx_placed placed = rq->strides.per_request > 0 ? cx_strides_place(rq, frame->length, &completion)
                                                        : cx_rq_has_request(rq) ? CX_PLACED : CX_NO_REQUEST;
    if (placed == CX_NO_REQUEST || (placed == CX_TOO_LONG && !cx_rq_has_request(rq))) {
        counters->no_receive++;
        return;
    }
    uint8_t syndrome = placed == CX_TOO_LONG ? MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR : rq->injected_syndrome;
    rq->injected_syndrome = 0;
    if (syndrome == 0)
        syndrome = fill(rq, frame, &completion);
    if (syndrome != 0) {
        fail_receive(rq, syndrome);
        return;
    }
    cx_cq_add(rq->cq, &completion);
    counters->received_frames++;
    counters->received_bytes += frame->length;
}

#define CONTAINER(member_pointer, type, member) ((type *)((uint8_t *)(member_pointer) - offsetof(type, member)))

static struct cx_rq *queue_of(struct sv_rq *steering)
{
    if (steering->qp != NULL)
        return &CONTAINER(steering->qp, struct cx_qp, steering)->rq;
    return &CONTAINER(steering->wq, struct cx_wq, steering)->rq;
}

/* softverbs' dispatch calls this for the frames of a burst for one queue. */
void sv_rq_deliver(struct sv_rq *steering, const struct sv_frame *frames, const uint8_t *indexes,
                   const uint32_t *tags, unsigned count)
{
    struct cx_rq *rq = queue_of(steering);
    for (unsigned i = 0; i < count; i++)
        receive(rq, &frames[indexes[i]], tags[i]);
}

void cx_rq_flush(struct cx_rq *rq)
{
    if (cx_is_mutant(CX_MUTANT_FLUSH_FORGOTTEN))
        return;
    read_record(rq);
    while (rq->ring.consumed != rq->ring.produced) {
        complete_error(rq, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
        rq->device->counters.flushed++;
    }
}
