/* SPDX-License-Identifier: Apache-2.0 */
/* ibv_create_flow and ibv_destroy_flow. */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char flow_error[SV_EXPLANATION_BYTES];

SV_EXPORT int softverbs_get_flow_error(char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", flow_error);
    return 0;
}

/* Later calls in this thread have other explanations. */
static struct ibv_flow *refuse_flow(int error)
{
    snprintf(flow_error, sizeof flow_error, "%s", sv_explanation());
    return sv_fail(error);
}

static struct sv_rule *new_rule(struct sv_qp *qp, const struct sv_rule_spec *spec)
{
    struct sv_rule *rule = sv_alloc_zeroed(sizeof *rule);
    if (rule == NULL)
        return NULL;
    rule->key = spec->value;
    rule->qp = qp;
    rule->counters = spec->counters;
    rule->tag = spec->tag;
    rule->drop = spec->drop;
    rule->accepts_gso = spec->accepts_gso;
    /* A sniffer only receives copies. */
    rule->dont_trap = spec->dont_trap || spec->type == IBV_FLOW_ATTR_SNIFFER;
    return rule;
}

static int add_rule(struct sv_device *device, struct sv_rule *rule, const struct sv_rule_spec *spec,
                    struct sv_flow *flow)
{
    int error = atomic_load(&device->failed) ? EIO : sv_flow_table_add(&device->flows, rule, spec);
    if (error != 0 || device->ops->on_rule_added == NULL)
        return error;
    error = device->ops->on_rule_added(device, spec, rule);
    if (error != 0)
        sv_flow_table_remove(&device->flows, flow);
    return error;
}

/* ---- the completion queues that a rule leads to ---- */

static uint32_t receive_queue_count(const struct sv_qp *qp)
{
    return qp->ind_table != NULL ? qp->ind_table->mask + 1 : 1;
}

static struct sv_cq *receive_cq(const struct sv_qp *qp, uint32_t entry)
{
    return qp->ind_table != NULL ? qp->ind_table->wqs[entry]->rq.cq : qp->rq.cq;
}

/* Called before the rule takes effect, so that the first frame wakes a sleeper. */
static void notify_rule_added(const struct sv_qp *qp)
{
    for (uint32_t i = 0; i < receive_queue_count(qp); i++)
        sv_channel_on_rule_added(receive_cq(qp, i));
}

/* Called while the queue pair exists: its destruction has to wait for its rules. */
static void notify_rule_removed(const struct sv_qp *qp)
{
    for (uint32_t i = 0; i < receive_queue_count(qp); i++)
        sv_channel_on_rule_removed(receive_cq(qp, i));
}

/* ---- rules ---- */

static void add_to_flow_count(struct sv_qp *qp, uint32_t rules)
{
    sv_device_lock(qp->device);
    qp->flow_count += rules;
    sv_device_unlock(qp->device);
}

struct ibv_flow *sv_create_flow(struct ibv_qp *ibqp, struct ibv_flow_attr *attr)
{
    struct sv_qp *qp = (struct sv_qp *)ibqp;
    struct sv_device *device = qp->device;
    struct sv_rule_spec spec;
    (void)sv_explain(0, "%s", "");
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_CREATE_FLOW);
    if (error == 0)
        error = sv_flow_parse(attr, &spec);
    if (error != 0)
        return refuse_flow(error);
    struct sv_flow *flow = sv_alloc_zeroed(sizeof *flow);
    struct sv_rule *rule = new_rule(qp, &spec);
    if (flow == NULL || rule == NULL) {
        free(flow);
        free(rule);
        return refuse_flow(ENOMEM);
    }
    flow->ibv.context = ibqp->context;
    flow->device = device;
    flow->rule = rule;
    flow->counters = spec.counters;
    flow->type = spec.type;
    flow->priority = spec.priority;
    flow->mask = spec.mask;

    notify_rule_added(qp);
    pthread_mutex_lock(&device->rules_mutex);
    error = add_rule(device, rule, &spec, flow);
    flow->ibv.handle = atomic_load(&device->flows.rule_count);
    pthread_mutex_unlock(&device->rules_mutex);
    if (error == 0)
        add_to_flow_count(qp, 1);
    if (error != 0) {
        notify_rule_removed(qp);
        free(flow);
        free(rule);
        return refuse_flow(error);
    }
    if (spec.counters != NULL)
        atomic_fetch_add(&spec.counters->users, 1);
    atomic_fetch_add(&sv_context_of(ibqp->context)->objects, 1);
    return &flow->ibv;
}

int sv_destroy_flow(struct ibv_flow *ibflow)
{
    struct sv_flow *flow = (struct sv_flow *)ibflow;
    struct sv_device *device = flow->device;
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_DESTROY_FLOW);
    if (error != 0)
        return error;
    pthread_mutex_lock(&device->rules_mutex);
    if (device->ops->on_rule_removed != NULL)
        device->ops->on_rule_removed(device, flow);
    sv_flow_table_remove(&device->flows, flow);
    notify_rule_removed(flow->rule->qp);
    pthread_mutex_unlock(&device->rules_mutex);
    add_to_flow_count(flow->rule->qp, (uint32_t)-1);
    if (flow->counters != NULL)
        atomic_fetch_sub(&flow->counters->users, 1);
    atomic_fetch_sub(&sv_context_of(ibflow->context)->objects, 1);
    free(flow->rule);
    free(flow);
    return 0;
}
