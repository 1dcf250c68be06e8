/* SPDX-License-Identifier: Apache-2.0 */
/* Extended completion queues: start_poll, next_poll, end_poll and readers of single fields. */
#include "device.h"
#include "rings.h"

#include <errno.h>

static const uint64_t supported_fields = IBV_CREATE_CQ_SUP_WC_FLAGS & ~(uint64_t)(
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_TM_INFO |
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);

/* Advances to the next completion. The lock is held from start_poll to end_poll. */
static int advance(struct sv_cq *cq)
{
    uint32_t consumed = atomic_load_explicit(&cq->consumed, memory_order_relaxed);
    if (cq->produced_seen == consumed) {
        cq->produced_seen = atomic_load_explicit(&cq->produced, memory_order_acquire);
        if (cq->produced_seen == consumed)
            return ENOENT;
    }
    cq->current = cq->ring[consumed & cq->mask];
    struct sv_wr_ring *wr_ring = sv_cqe_wr_ring(&cq->current);
    cq->ibv.wr_id = wr_ring->wr_ids[cq->current.wr_ring_and_index & wr_ring->mask];
    cq->ibv.status = sv_cqe_status(&cq->current);
    sv_wr_ring_retire(wr_ring, (uint16_t)cq->current.wr_ring_and_index);
    atomic_store_explicit(&cq->consumed, consumed + 1, memory_order_release);
    return 0;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
    struct sv_cq *cq = (struct sv_cq *)ibcq;
    if (attr != NULL && attr->comp_mask != 0)
        return EINVAL;
    if (cq->progress_device != NULL)
        cq->progress_device->ops->progress(cq->progress_device);
    if (!cq->single_threaded)
        sv_spin_lock(&cq->consume_lock);
    int error = advance(cq);
    if (error != 0 && !cq->single_threaded)
        sv_spin_unlock(&cq->consume_lock);
    return error;
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
    return advance((struct sv_cq *)ibcq);
}

static void end_poll(struct ibv_cq_ex *ibcq)
{
    struct sv_cq *cq = (struct sv_cq *)ibcq;
    if (!cq->single_threaded)
        sv_spin_unlock(&cq->consume_lock);
}

static const struct sv_cqe *current(struct ibv_cq_ex *cq)
{
    return &((struct sv_cq *)cq)->current;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
    switch ((enum sv_cqe_kind)(current(cq)->info >> SV_CQE_KIND_SHIFT & 3)) {
    case SV_CQE_SEND:
        return IBV_WC_SEND;
    case SV_CQE_TSO:
        return IBV_WC_TSO;
    default:
        return IBV_WC_RECV;
    }
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq)
{
    return current(cq)->info & SV_CQE_CHECKSUM_OK ? IBV_WC_IP_CSUM_OK : 0;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq) { return sv_cqe_status(current(cq)); }
static uint32_t read_byte_len(struct ibv_cq_ex *cq) { return current(cq)->byte_len; }
/* Reads the low 24 bits of `info`: the flow tag of a successful receive, or the number of the queue. */
static uint32_t read_info_number(struct ibv_cq_ex *cq) { return current(cq)->info & 0xffffff; }
static uint32_t read_zero32(struct ibv_cq_ex *cq) { (void)cq; return 0; }
static uint8_t read_zero8(struct ibv_cq_ex *cq) { (void)cq; return 0; }

struct ibv_cq_ex *sv_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
    const uint32_t known_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    bool has_flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS;
    if ((attr->comp_mask & ~(uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS) || (attr->wc_flags & ~supported_fields) ||
        (has_flags && (attr->flags & ~known_flags)))
        return sv_fail(EOPNOTSUPP);
    struct sv_cq *cq = sv_cq_create(context, attr->cqe, attr->channel, attr->cq_context, attr->comp_vector);
    if (cq == NULL)
        return NULL;
    cq->single_threaded = has_flags && (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
    cq->ignore_overrun = has_flags && (attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
    struct ibv_cq_ex *ex = &cq->ibv;
    ex->start_poll = start_poll;
    ex->next_poll = next_poll;
    ex->end_poll = end_poll;
    ex->read_opcode = read_opcode;
    ex->read_vendor_err = read_vendor_err;
    ex->read_wc_flags = read_wc_flags;
    ex->read_byte_len = attr->wc_flags & IBV_WC_EX_WITH_BYTE_LEN ? read_byte_len : NULL;
    ex->read_imm_data = attr->wc_flags & IBV_WC_EX_WITH_IMM ? read_zero32 : NULL;
    ex->read_qp_num = attr->wc_flags & IBV_WC_EX_WITH_QP_NUM ? read_info_number : NULL;
    ex->read_src_qp = attr->wc_flags & IBV_WC_EX_WITH_SRC_QP ? read_zero32 : NULL;
    ex->read_slid = attr->wc_flags & IBV_WC_EX_WITH_SLID ? read_zero32 : NULL;
    ex->read_sl = attr->wc_flags & IBV_WC_EX_WITH_SL ? read_zero8 : NULL;
    ex->read_dlid_path_bits = attr->wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS ? read_zero8 : NULL;
    ex->read_flow_tag = attr->wc_flags & IBV_WC_EX_WITH_FLOW_TAG ? read_info_number : NULL;
    return ex;
}
