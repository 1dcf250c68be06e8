/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doorbells. A program writes the first eight bytes of a work request, or the whole request, to the halves of a
 * BlueFlame register in turns. This code first exchanges the word for zero and then reads the doorbell record, so the
 * next round sees a bell that rings in between. Two rings of one register may look like one, so all queues of the page
 * are checked.
 */
#include "emulator.h"

#include <stdatomic.h>

static uint64_t take_doorbell(struct cx_device *device, struct cx_context *context, uint32_t page, uint32_t offset)
{
    _Atomic uint64_t *word = (_Atomic uint64_t *)(context->uars[page].page + offset);
    if (atomic_load_explicit(word, memory_order_relaxed) == 0)
        return 0;
    uint64_t value = atomic_exchange_explicit(word, 0, memory_order_acq_rel);
    device->trace[device->traced++ % CX_TRACE_ENTRIES] =
        (struct cxemu_doorbell){.page = page, .offset = offset, .value = value};
    device->counters.doorbells++;
    return value;
}

static void mark_send_queues(struct cx_device *device, const struct cx_context *context, uint32_t page)
{
    for (struct cx_qp *qp = device->qps; qp != NULL; qp = qp->next)
        if (qp->object.context == context && qp->has_sq && qp->sq.uar == page)
            qp->sq.rung = true;
}

static void look_at_armings(struct cx_device *device, const struct cx_context *context, uint32_t page)
{
    for (struct cx_cq *cq = device->cqs; cq != NULL; cq = cq->next)
        if (cq->object.context == context && cq->uar == page)
            cx_cq_arm(cq);
}

static unsigned scan_page(struct cx_device *device, struct cx_context *context, uint32_t page)
{
    unsigned rang = 0;
    for (uint32_t i = 0; i < CX_USED_BFREGS_PER_UAR * 2; i++) {
        if (cx_mutant(CX_MUTANT_BLUEFLAME_HALF_IGNORED) && i % 2 == 1)
            continue;
        rang += take_doorbell(device, context, page, CX_BF_OFFSET + i * (CX_BF_BYTES / 2)) != 0;
    }
    if (rang > 0)
        mark_send_queues(device, context, page);
    if (take_doorbell(device, context, page, CX_CQ_DOORBELL) != 0) {
        look_at_armings(device, context, page);
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
