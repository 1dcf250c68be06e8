/* SPDX-License-Identifier: Apache-2.0 */
/* Writes completion queue entries and raises completion events: struct mlx5_cqe64 in infiniband/mlx5dv.h. */
#include "engine.h"

#include "checksum.h"

#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

enum {
    INDEX_MASK = 0xffffff,
    L3_TYPE_SHIFT = 2,
    L4_TYPE_SHIFT = 4,
    L4_TYPE_TCP = 1,
    L4_TYPE_UDP = 2,
    ARM_SN_SHIFT = 28,
    OPCODE_SHIFT = 4,
    FORMAT_SHIFT = 2,
    STRIDES_SHIFT = 16,
};

static const uint32_t FILLER = 1u << 31;

static uint32_t consumer_index(const struct cx_cq *cq)
{
    return be32toh(atomic_load_explicit(&cq->record[0], memory_order_acquire)) & INDEX_MASK;
}

uint32_t cx_cq_unconsumed(const struct cx_cq *cq)
{
    return (cq->produced - consumer_index(cq)) & INDEX_MASK;
}

/* ---- the fields for a received frame's headers ---- */

static uint8_t header_types(const struct sv_frame *frame)
{
    uint8_t l3 = frame->layout.l3 == 4 ? MLX5_CQE_L3_HDR_TYPE_IPV4 : 0;
    if (frame->layout.l3 == 6)
        l3 = MLX5_CQE_L3_HDR_TYPE_IPV6;
    uint8_t l4 = 0;
    if (frame->layout.l4 != 0)
        l4 = frame->layout.l4 == IPPROTO_TCP ? L4_TYPE_TCP : L4_TYPE_UDP;
    return (uint8_t)(l3 << L3_TYPE_SHIFT | l4 << L4_TYPE_SHIFT);
}

static uint8_t header_checks(const struct sv_frame *frame)
{
    uint8_t ok = MLX5_CQE_L2_OK;
    if (cx_is_mutant(CX_MUTANT_CHECKSUM_ALWAYS_OK))
        return MLX5_CQE_L2_OK | MLX5_CQE_L3_OK | MLX5_CQE_L4_OK;
    if (frame->layout.l3 == 6 ||
        (frame->layout.l3 == 4 && sv_checksum_ipv4_header_ok(frame->data + frame->layout.l3_offset)))
        ok |= MLX5_CQE_L3_OK;
    if (frame->layout.l4 != 0 && sv_checksum_l4_ok(frame))
        ok |= MLX5_CQE_L4_OK;
    return ok;
}

/* CHECKSUM_COMPLETE of the kernel: the sum of all bytes after the Ethernet header. */
static uint16_t payload_checksum(const struct sv_frame *frame)
{
    uint32_t sum = 0;
    for (uint32_t i = ETH_HLEN; i < frame->length; i++)
        sum += (uint32_t)frame->data[i] << (i % 2 == 0 ? 8 : 0);
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* ---- entries ---- */

/* The stride count is above the length, which then has 16 bits. */
static uint32_t strides_and_filler(const struct cx_completion *completion)
{
    uint32_t strides = completion->strides;
    if (strides == 0)
        return 0;
    if (cx_is_mutant(CX_MUTANT_STRIDE_COUNT_OFF))
        strides++;
    bool filler = completion->filler && !cx_is_mutant(CX_MUTANT_FILLER_UNMARKED);
    return strides << STRIDES_SHIFT | (filler ? FILLER : 0);
}

static void build_good(struct mlx5_cqe64 *cqe, const struct cx_completion *completion)
{
    uint32_t bytes = completion->byte_count | strides_and_filler(completion);
    if (cx_is_mutant(CX_MUTANT_LENGTH_OFF) && completion->opcode == MLX5_CQE_RESP_SEND)
        bytes--;
    cqe->byte_cnt = cx_is_mutant(CX_MUTANT_BYTE_COUNT_SWAPPED) ? bytes : htobe32(bytes);
    cqe->sop_drop_qpn = htobe32((uint32_t)completion->send_opcode << 24 | completion->number);
    if (completion->frame == NULL)
        return;
    cqe->hds_ip_ext = header_checks(completion->frame);
    cqe->l4_hdr_type_etc = header_types(completion->frame);
    cqe->flags_rqpn = 0;
    /* rx_hash_res, in bytes for which the header has no name */
    uint32_t hash = htobe32(completion->rss_hash);
    memcpy((uint8_t *)cqe + 12, &hash, sizeof hash);
}

static void build_error(struct mlx5_cqe64 *cqe, const struct cx_completion *completion)
{
    struct mlx5_err_cqe *error = (struct mlx5_err_cqe *)cqe;
    error->syndrome = completion->syndrome;
    error->vendor_err_synd = completion->syndrome == MLX5_CQE_SYNDROME_WR_FLUSH_ERR ? 0xf9 : 0x68;
    error->s_wqe_opcode_qpn = htobe32((uint32_t)completion->send_opcode << 24 | completion->number);
    cqe->byte_cnt = htobe32(strides_and_filler(completion));
}

static bool is_error(const struct cx_completion *completion)
{
    return completion->opcode == MLX5_CQE_REQ_ERR || completion->opcode == MLX5_CQE_RESP_ERR;
}

static void build_cqe(struct mlx5_cqe64 *cqe, const struct cx_completion *completion)
{
    memset(cqe, 0, sizeof *cqe);
    if (is_error(completion))
        build_error(cqe, completion);
    else
        build_good(cqe, completion);
    /* With entries of version 1 this is the number that the driver has given the queue. */
    cqe->srqn_uidx = htobe32(completion->uidx & INDEX_MASK);
    cqe->wqe_counter = htobe16((uint16_t)(completion->wqe_counter + cx_is_mutant(CX_MUTANT_WRONG_COUNTER)));
    if (completion->strides > 0)
        cqe->wqe_id = htobe16(completion->wqe_id);
    if (completion->strides > 0 && cx_is_mutant(CX_MUTANT_STRIDE_INDEX_STALE))
        cqe->wqe_counter = 0;
}

/* PCIe guarantees no order within a write, so the words are written in a different order for each entry. */
static void write_words(uint8_t *slot, const struct mlx5_cqe64 *cqe, uint32_t first)
{
    enum { WORD = sizeof(uint64_t), WORDS = sizeof *cqe / WORD, STEP = 3 };
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t at = (first + i * STEP) % WORDS * WORD;
        /* All bytes except op_own, the last one. */
        bool is_last = at == offsetof(struct mlx5_cqe64, op_own) / WORD * WORD;
        memcpy(slot + at, (const uint8_t *)cqe + at, is_last ? WORD - 1 : WORD);
        atomic_signal_fence(memory_order_seq_cst);
    }
}

/* The program accepts an entry by op_own alone, so op_own is written last. */
static void publish_cqe(struct cx_cq *cq, const struct mlx5_cqe64 *cqe, uint8_t opcode_and_flags)
{
    uint8_t *slot = cq->ring + (size_t)(cq->produced & (cq->entries - 1)) * cq->entry_bytes;
    uint8_t owner = (cq->produced & cq->entries) != 0 && !cx_is_mutant(CX_MUTANT_OWNER_NEVER_FLIPS);
    uint8_t op_own = opcode_and_flags | owner;
    slot += cq->entry_bytes - CX_CQE_BYTES;
    _Atomic uint8_t *op_own_slot = (_Atomic uint8_t *)(slot + offsetof(struct mlx5_cqe64, op_own));
    if (cx_is_mutant(CX_MUTANT_STALE_CQE)) {
        /* The other bytes are from the previous lap. */
        atomic_store_explicit(op_own_slot, op_own, memory_order_release);
    } else {
        write_words(slot, cqe, cq->produced);
        atomic_store_explicit(op_own_slot, op_own, memory_order_release);
    }
    cq->produced++;
}

static uint8_t opcode_and_flags(uint8_t opcode, uint8_t format, bool solicited)
{
    return (uint8_t)(opcode << OPCODE_SHIFT | format << FORMAT_SHIFT | solicited << 1);
}

/* ---- events ---- */

static void raise_event(struct cx_cq *cq)
{
    uint32_t arming = be32toh(atomic_load_explicit(&cq->record[1], memory_order_acquire));
    cq->armed = CX_ARM_NONE;
    cq->last_event_sn = (int)(arming >> ARM_SN_SHIFT & 3);
    if (cq->channel == NULL)
        return;
    cq->object.context->device->counters.events++;
    cx_events_push(cq->channel, &cq->object.events, cq->object.user_handle, 0);
}

/* Compressed completions occupy one entry each, of which few are written. */
static void close_session(struct cx_cq *cq)
{
    struct mlx5_cqe64 title;
    uint32_t count;
    if (cq->session == NULL || cx_session_count(cq->session) == 0)
        return;
    uint8_t format = cx_session_close(cq->session, cq, &title, &count);
    publish_cqe(cq, &title, opcode_and_flags(MLX5_CQE_RESP_SEND, format, false));
    cq->produced += count - 1;
    if (cq->armed == CX_ARM_ANY)
        raise_event(cq);
}

void cx_cqs_close_sessions(struct cx_device *device)
{
    for (struct cx_cq *cq = device->cqs; cq != NULL; cq = cq->next)
        close_session(cq);
}

/* One event per arming: the driver increments the sequence number with each event. */
void cx_cq_arm(struct cx_cq *cq)
{
    uint32_t arming = be32toh(atomic_load_explicit(&cq->record[1], memory_order_acquire));
    int sn = (int)(arming >> ARM_SN_SHIFT & 3);
    if (sn == cq->last_event_sn) {
        cq->object.context->device->counters.stale_armings++;
        return;
    }
    cq->armed = arming & MLX5_CQ_DB_REQ_NOT_SOL ? CX_ARM_SOLICITED : CX_ARM_ANY;
    close_session(cq);
    if (cq->armed == CX_ARM_NONE)
        return;
    bool behind = ((cq->produced - arming) & INDEX_MASK) != 0;
    if (behind && cq->armed == CX_ARM_ANY && !cx_is_mutant(CX_MUTANT_LOST_EVENT))
        raise_event(cq);
}

bool cx_cq_is_arming(const struct cx_cq *cq, uint32_t word)
{
    return be32toh(atomic_load_explicit(&cq->record[1], memory_order_acquire)) == word;
}

/* Stops the queues that complete to this queue, because they cannot report anything any more. */
static void stop_queues(const struct cx_cq *cq)
{
    const struct cx_device *device = cq->object.context->device;
    for (struct cx_qp *qp = device->qps; qp != NULL; qp = qp->next) {
        if (qp->has_sq && qp->sq.cq == cq && qp->sq.state == CX_QUEUE_READY)
            cx_sq_enter_error(qp);
        if (qp->has_rq && qp->rq.cq == cq && qp->rq.state == CX_QUEUE_READY)
            cx_rq_enter_error(&qp->rq);
    }
    for (struct cx_wq *wq = device->wqs; wq != NULL; wq = wq->next)
        if (wq->rq.cq == cq && wq->rq.state == CX_QUEUE_READY)
            cx_rq_enter_error(&wq->rq);
}

void cx_cq_overrun(struct cx_cq *cq)
{
    if (cq->has_overrun)
        return;
    cq->has_overrun = true;
    if (!cx_is_mutant(CX_MUTANT_OVERRUN_STOPS_NOTHING))
        stop_queues(cq);
    cx_raise(&cq->object, IBV_EVENT_CQ_ERR);
}

static bool is_full(const struct cx_cq *cq)
{
    uint32_t unwritten = cq->session == NULL ? 0 : cx_session_count(cq->session);
    if (cq->has_overrun)
        return true;
    return cx_cq_unconsumed(cq) + unwritten >= cq->entries && !cq->ignores_overrun &&
           !cx_is_mutant(CX_MUTANT_CONSUMER_IGNORED);
}

/* Returns false if the completion must be written separately. */
static bool compress(struct cx_cq *cq, const struct cx_completion *completion, const struct mlx5_cqe64 *cqe)
{
    if (cq->session == NULL)
        return false;
    if (!cx_session_accepts(cq->session, completion) || cq->armed != CX_ARM_NONE) {
        close_session(cq);
        return false;
    }
    uint16_t checksum = completion->frame == NULL ? 0 : payload_checksum(completion->frame);
    if (!cx_session_add(cq->session, cqe, checksum)) {
        close_session(cq);
        cx_session_add(cq->session, cqe, checksum);
    }
    return true;
}

bool cx_cq_add(struct cx_cq *cq, const struct cx_completion *completion)
{
    struct mlx5_cqe64 cqe;
    if (is_full(cq)) {
        /* A flushed request held no frame. */
        if (completion->syndrome != MLX5_CQE_SYNDROME_WR_FLUSH_ERR)
            cq->object.context->device->counters.cq_overruns++;
        cx_cq_overrun(cq);
        return false;
    }
    build_cqe(&cqe, completion);
    if (compress(cq, completion, &cqe))
        return true;
    publish_cqe(cq, &cqe, opcode_and_flags(completion->opcode, 0, completion->solicited));
    if (cq->armed == CX_ARM_ANY ||
        (cq->armed == CX_ARM_SOLICITED && (completion->solicited || is_error(completion))))
        raise_event(cq);
    return true;
}
