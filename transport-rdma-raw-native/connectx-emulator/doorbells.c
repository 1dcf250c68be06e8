/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doorbells. A program writes the first eight bytes of its last request, or the whole request, alternately to the
 * halves of a BlueFlame register. This code first exchanges the word for zero and then reads the doorbell record. So
 * the next round sees a doorbell that rings in between.
 *
 * A word must name a queue of its page and a request that the queue's record has announced; otherwise it is ignored.
 * The engine is a thread, so two rings of one register may look like one: while it runs, it checks all queues of the
 * page. In step mode no ring is missed, and a ring applies to one queue, up to the request that it names.
 */
#include "engine.h"

#include <endian.h>
#include <stdatomic.h>
#include <string.h>

/* The bytes written to a register: at least the first eight, with BlueFlame all of the request. */
struct doorbell_write {
    uint64_t word;
    uint8_t bytes[CX_BF_BYTES / 2];
};

static bool read_doorbell(struct cx_device *device, struct cx_context *context, uint32_t page, uint32_t offset,
                          struct doorbell_write *bell)
{
    uint8_t *at = context->uars[page].page + offset;
    _Atomic uint64_t *word = (_Atomic uint64_t *)at;
    if (atomic_load_explicit(word, memory_order_relaxed) == 0) {
        /* Lines of a request that arrived without its first line, or after it, are lost. */
        if (device->stepping && offset >= CX_BF_OFFSET)
            memset(at + sizeof bell->word, 0, sizeof bell->bytes - sizeof bell->word);
        return false;
    }
    if (device->stepping && offset >= CX_BF_OFFSET) {
        memcpy(bell->bytes, at, sizeof bell->bytes);
        memset(at + sizeof bell->word, 0, sizeof bell->bytes - sizeof bell->word);
    }
    bell->word = atomic_exchange_explicit(word, 0, memory_order_acq_rel);
    device->trace[device->trace_count++ % CX_TRACE_ENTRIES] =
        (struct cxemu_doorbell){.page = page, .offset = offset, .value = bell->word};
    device->counters.doorbells++;
    return true;
}

/* Returns one of the two big-endian words of a doorbell. */
static uint32_t half_of(const struct doorbell_write *bell, unsigned half)
{
    uint32_t words[2];
    memcpy(words, &bell->word, sizeof words);
    return be32toh(words[half]);
}

/* The bytes after the word exist only if the program used BlueFlame. */
static void save_blueflame(struct cx_sq *sq, const struct doorbell_write *bell)
{
    static const uint8_t none[sizeof bell->bytes - sizeof bell->word];
    sq->blueflame = memcmp(bell->bytes + sizeof bell->word, none, sizeof none) != 0;
    if (sq->blueflame)
        memcpy(sq->blueflame_bytes, bell->bytes, sizeof sq->blueflame_bytes);
}

static void ring_send_queue(struct cx_device *device, const struct cx_context *context, uint32_t page,
                            const struct doorbell_write *bell)
{
    const uint32_t number = half_of(bell, 1) >> 8;
    const uint16_t index = (uint16_t)(half_of(bell, 0) >> 8);
    struct cx_qp *named = device->qps;
    while (named != NULL && !(named->object.context == context && named->has_sq && named->sq.uar_index == page &&
                              named->number == number))
        named = named->next;
    if (named == NULL || !cx_sq_is_announced(named, index)) {
        device->counters.bad_doorbells++;
        return;
    }
    if (device->stepping) {
        cx_sq_ring_doorbell(named, index);
        if (named->sq.last_rung == index)
            save_blueflame(&named->sq, bell);
        return;
    }
    for (struct cx_qp *qp = device->qps; qp != NULL; qp = qp->next)
        if (qp->object.context == context && qp->has_sq && qp->sq.uar_index == page)
            qp->sq.rung = true;
}

static void ring_completion_queue(struct cx_device *device, const struct cx_context *context, uint32_t page,
                                  const struct doorbell_write *bell)
{
    struct cx_cq *named = device->cqs;
    while (named != NULL && !(named->object.context == context && named->uar_index == page &&
                              named->cqn == half_of(bell, 1)))
        named = named->next;
    if (named == NULL || (device->stepping && !cx_cq_is_arming(named, half_of(bell, 0)))) {
        device->counters.bad_doorbells++;
        return;
    }
    for (struct cx_cq *cq = device->cqs; cq != NULL; cq = cq->next)
        if (cq == named || (!device->stepping && cq->object.context == context && cq->uar_index == page))
            cx_cq_arm(cq);
}

static unsigned scan_page(struct cx_device *device, struct cx_context *context, uint32_t page)
{
    unsigned rang = 0;
    struct doorbell_write bell;
    for (uint32_t i = 0; i < CX_USED_BFREGS_PER_UAR * 2; i++) {
        if (cx_is_mutant(CX_MUTANT_BLUEFLAME_HALF_IGNORED) && i % 2 == 1)
            continue;
        if (!read_doorbell(device, context, page, CX_BF_OFFSET + i * (CX_BF_BYTES / 2), &bell))
            continue;
        ring_send_queue(device, context, page, &bell);
        rang++;
    }
    if (read_doorbell(device, context, page, CX_CQ_DOORBELL, &bell)) {
        ring_completion_queue(device, context, page, &bell);
        rang++;
    }
    return rang;
}

unsigned cx_doorbells_scan(struct cx_device *device)
{
    unsigned rang = 0;
    for (struct cx_context *context = device->contexts; context != NULL; context = context->next)
        for (uint32_t page = 0; page < context->uar_pages; page++)
            if (context->uars[page].in_use)
                rang += scan_page(device, context, page);
    return rang;
}

void cx_blueflame_clear(struct cx_device *device)
{
    const size_t tail = CX_BF_BYTES / 2 - sizeof(uint64_t);
    for (struct cx_context *context = device->contexts; context != NULL; context = context->next)
        for (uint32_t page = 0; page < context->uar_pages; page++)
            for (uint32_t i = 0; context->uars[page].in_use && i < CX_USED_BFREGS_PER_UAR * 2; i++)
                memset(context->uars[page].page + CX_BF_OFFSET + i * (CX_BF_BYTES / 2) + sizeof(uint64_t), 0, tail);
}
