/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow rules. Translates the kernel's form of a rule (rdma/ib_user_verbs.h of Linux 6.1) to that of libibverbs, for
 * softverbs' flow table. softverbs' code decides which rules are valid.
 */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_SPEC_BYTES = 256, MAX_SPECS = 10, KERNEL_TAG_BYTES = 16, KERNEL_COUNT_BYTES = 16,
       MULTICAST_PRIORITY = 16 };

struct verbs_rule {
    struct ibv_flow_attr attr;
    uint8_t specs[MAX_SPECS * MAX_SPEC_BYTES];
};

_Static_assert(offsetof(struct verbs_rule, specs) == sizeof(struct ibv_flow_attr), "specs follow at once");

static void add_spec(struct verbs_rule *rule, uint32_t *used, const void *spec, uint16_t bytes)
{
    memcpy(rule->specs + *used, spec, bytes);
    *used += bytes;
    rule->attr.num_of_specs++;
    rule->attr.size = (uint16_t)(rule->attr.size + bytes);
}

/* Each spec begins with type, size and two reserved bytes, in both forms. */
struct spec_header {
    uint32_t type;
    uint16_t size;
    uint16_t reserved;
};

static int translate_tag(struct verbs_rule *rule, uint32_t *used, const uint8_t *kernel)
{
    struct ib_uverbs_flow_spec_action_tag from;
    if (cx_has_setup("no-tags"))
        return EINVAL;              /* parse_flow_attr() of mlx4_ib */
    memcpy(&from, kernel, sizeof from);
    const struct ibv_flow_spec_action_tag to = {
        .type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof to, .tag_id = from.tag_id,
    };
    add_spec(rule, used, &to, sizeof to);
    return 0;
}

static int translate_count(struct cx_context *context, struct verbs_rule *rule, uint32_t *used, const uint8_t *kernel,
                           struct cx_counters **counters)
{
    struct ib_uverbs_flow_spec_action_count from;
    memcpy(&from, kernel, sizeof from);
    *counters = cx_object_find(context, CX_COUNTERS, from.handle);
    if (*counters == NULL)
        return EINVAL;
    const struct ibv_flow_spec_counter_action to = {
        .type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof to, .counters = &(*counters)->matched.ibv,
    };
    add_spec(rule, used, &to, sizeof to);
    return 0;
}

/* The filters of a spec: value and mask, adjacent. */
struct form {
    uint32_t kernel_type;
    uint32_t type;
    uint16_t size;
    uint16_t filters_at;            /* 16-bit fields directly follow type and size in libibverbs' form */
    uint16_t filter_bytes;
};

#define FORM(kernel, user, name) \
    {kernel, user, sizeof(struct name), offsetof(struct name, val), sizeof(((struct name *)NULL)->val)}

static const struct form forms[] = {
    FORM(IBV_FLOW_SPEC_ETH, IBV_FLOW_SPEC_ETH, ibv_flow_spec_eth),
    /* The kernel has one form for IPv4, with the fields of libibverbs' extended one. */
    FORM(IBV_FLOW_SPEC_IPV4, IBV_FLOW_SPEC_IPV4_EXT, ibv_flow_spec_ipv4_ext),
    FORM(IBV_FLOW_SPEC_IPV6, IBV_FLOW_SPEC_IPV6, ibv_flow_spec_ipv6),
    FORM(IBV_FLOW_SPEC_TCP, IBV_FLOW_SPEC_TCP, ibv_flow_spec_tcp_udp),
    FORM(IBV_FLOW_SPEC_UDP, IBV_FLOW_SPEC_UDP, ibv_flow_spec_tcp_udp),
    FORM(IBV_FLOW_SPEC_VXLAN_TUNNEL, IBV_FLOW_SPEC_VXLAN_TUNNEL, ibv_flow_spec_tunnel),
};

static const struct form *find_form(uint32_t type)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (forms[i].kernel_type == type)
            return &forms[i];
    return NULL;
}

/* A program may pass shorter filters; the missing end is zero. The excess of a longer one must be zero. */
static int translate_filters(struct verbs_rule *rule, uint32_t *used, const uint8_t *kernel, uint16_t bytes)
{
    struct spec_header header;
    uint8_t spec[MAX_SPEC_BYTES] = {0};
    memcpy(&header, kernel, sizeof header);
    const struct form *form = find_form(header.type & ~(uint32_t)IBV_FLOW_SPEC_INNER);
    if (form == NULL)
        return EOPNOTSUPP;
    uint32_t given = (bytes - (uint32_t)sizeof header) / 2;
    uint32_t copied = given < form->filter_bytes ? given : form->filter_bytes;
    const uint8_t *value = kernel + sizeof header;
    for (uint32_t i = copied; i < given; i++)
        if (value[i] != 0 || value[given + i] != 0)
            return EOPNOTSUPP;
    header.type = (header.type & IBV_FLOW_SPEC_INNER) | form->type;
    header.size = form->size;
    memcpy(spec, &header, offsetof(struct spec_header, reserved));
    memcpy(spec + form->filters_at, value, copied);
    memcpy(spec + form->filters_at + form->filter_bytes, value + given, copied);
    add_spec(rule, used, spec, form->size);
    return 0;
}

static int translate_spec(struct cx_context *context, struct verbs_rule *rule, uint32_t *used, const uint8_t *kernel,
                          struct cx_counters **counters)
{
    struct spec_header header;
    memcpy(&header, kernel, sizeof header);
    switch (header.type) {
    case IBV_FLOW_SPEC_ACTION_TAG:
        return header.size == KERNEL_TAG_BYTES ? translate_tag(rule, used, kernel) : EINVAL;
    case IBV_FLOW_SPEC_ACTION_COUNT:
        return header.size == KERNEL_COUNT_BYTES ? translate_count(context, rule, used, kernel, counters) : EINVAL;
    case IBV_FLOW_SPEC_ACTION_DROP:
        add_spec(rule, used, kernel, header.size);
        return 0;
    default:
        return translate_filters(rule, used, kernel, header.size);
    }
}

static int translate(const struct cx_command *command, const struct ib_uverbs_create_flow *request,
                     struct verbs_rule *rule, struct cx_counters **counters)
{
    const uint8_t *specs = command->core.in + sizeof *request;
    uint32_t bytes = command->core.in_bytes - (uint32_t)sizeof *request;
    uint32_t used = 0;
    memset(rule, 0, sizeof *rule);
    rule->attr = (struct ibv_flow_attr){
        .type = request->flow_attr.type,
        .size = sizeof rule->attr,
        .priority = request->flow_attr.priority,
        .port = request->flow_attr.port,
        .flags = request->flow_attr.flags,
    };
    if (request->flow_attr.num_of_specs > MAX_SPECS)
        return EINVAL;
    for (unsigned i = 0; i < request->flow_attr.num_of_specs; i++) {
        struct spec_header header;
        if (bytes < sizeof header)
            return EINVAL;
        memcpy(&header, specs, sizeof header);
        if (header.size < sizeof header || header.size > bytes || header.size > MAX_SPEC_BYTES)
            return EINVAL;
        int error = translate_spec(command->context, rule, &used, specs, counters);
        if (error != 0)
            return error;
        specs += header.size;
        bytes -= header.size;
    }
    return 0;
}

/*
 * Differences of mlx5_ib and mlx5_core (drivers/infiniband/hw/mlx5/fs.c, core/fs_core.c) from softverbs.
 *
 * parse_flow_attr() refuses fields after LAST_IPV4_FIELD and LAST_IPV6_FIELD. It matches on a VLAN only if the rule
 * names one, so other rules take tagged frames too. flow_is_multicast_only() puts a rule for a multicast address,
 * except for copies, into a table after those of all priorities (MLX5_IB_FLOW_MCAST_PRIO). create_leftovers_rule() and
 * create_sniffer_rule() build their own attributes, in which the tag is missing.
 */
static int apply_driver_rules(struct sv_rule_spec *spec)
{
    const struct sv_headers *masks[] = {&spec->mask.outer, &spec->mask.inner};
    for (unsigned i = 0; i < 2; i++)
        if (masks[i]->hop_limit != 0 || masks[i]->ip_flags != 0)
            return EOPNOTSUPP;
    spec->mask.outer.layers &= (uint16_t)~(SV_LAYER_VLAN & ~spec->value.outer.layers);
    spec->mask.inner.layers &= (uint16_t)~(SV_LAYER_VLAN & ~spec->value.inner.layers);
    if (spec->type != IBV_FLOW_ATTR_NORMAL)
        spec->tag = 0;
    else if (spec->multicast && !spec->dont_trap)
        spec->priority = MULTICAST_PRIORITY;
    return 0;
}

static bool same_match(const struct cx_flow *flow, const struct sv_rule_spec *spec)
{
    return flow->flow.type == IBV_FLOW_ATTR_NORMAL && flow->flow.priority == spec->priority &&
           memcmp(&flow->flow.mask, &spec->mask, sizeof spec->mask) == 0 &&
           memcmp(&flow->rule.key, &spec->value, sizeof spec->value) == 0;
}

/*
 * check_conflicting_ftes(): a rule with the same match as another must have its tag, or none. Both queues then receive
 * each frame, multicast or not.
 */
static int merge(const struct cx_context *context, struct sv_rule_spec *spec)
{
    for (uint32_t i = 0; i < context->object_slots; i++) {
        const struct cx_flow *flow = (const struct cx_flow *)context->objects[i];
        if (flow == NULL || flow->object.kind != CX_FLOW || !flow->is_of_wire || !same_match(flow, spec))
            continue;
        if (spec->tag != 0 && spec->tag != flow->rule.tag)
            return EEXIST;
        spec->tag = flow->rule.tag;
        spec->multicast = true;
    }
    return 0;
}

static int find_conflicts(const struct cx_device *device, struct sv_rule_spec *spec)
{
    int error = 0;
    spec->multicast = false;
    if (spec->type != IBV_FLOW_ATTR_NORMAL)
        return 0;
    for (const struct cx_context *context = device->contexts; context != NULL && error == 0; context = context->next)
        error = merge(context, spec);
    return error;
}

static struct cx_flow *new_flow(struct cx_context *context, struct cx_qp *qp, const struct sv_rule_spec *spec)
{
    struct cx_flow *flow = cx_object_new(context, CX_FLOW, sizeof *flow, 0);
    if (flow == NULL)
        return NULL;
    flow->qp = qp;
    flow->rule.key = spec->value;
    flow->rule.qp = &qp->steering;
    flow->rule.counters = spec->counters;
    flow->rule.tag = spec->tag;
    flow->rule.drop = spec->drop;
    flow->rule.dont_trap = spec->dont_trap || spec->type == IBV_FLOW_ATTR_SNIFFER;
    flow->flow.rule = &flow->rule;
    flow->flow.type = spec->type;
    flow->flow.priority = spec->priority;
    flow->flow.mask = spec->mask;
    return flow;
}

int cx_ex_create_flow(struct cx_command *command)
{
    struct cx_context *context = command->context;
    struct ib_uverbs_create_flow request;
    struct verbs_rule rule;
    struct sv_rule_spec spec;
    struct cx_counters *counters = NULL;
    if (command->core.in_bytes < sizeof request)
        return EINVAL;
    memcpy(&request, command->core.in, sizeof request);
    struct cx_qp *qp = cx_object_find(context, CX_QP, request.qp_handle);
    if (qp == NULL || request.comp_mask != 0)
        return EINVAL;
    int error = translate(command, &request, &rule, &counters);
    /* create_flow() of fs.c for a port that the device does not have, and _create_flow_rule() without a representor */
    if (error == 0 && cx_port_interface(context->device, rule.attr.port) == NULL)
        error = EINVAL;
    /* mlx5_eswitch_set_rule_source_port(): the rule is for frames of its port. Only the wire's port has any here. */
    const bool is_of_wire = rule.attr.port == context->device->own_port;
    rule.attr.port = 1;     /* that of softverbs */
    if (error == 0)
        error = cx_counters_describe(command, counters);
    if (error == 0)
        error = sv_flow_parse(&rule.attr, &spec);
    if (error == 0)
        error = apply_driver_rules(&spec);
    if (error == 0 && is_of_wire)
        error = find_conflicts(context->device, &spec);
    if (error != 0)
        return error;
    struct cx_flow *flow = new_flow(context, qp, &spec);
    if (flow == NULL)
        return ENOMEM;
    flow->is_of_wire = is_of_wire;
    /* _mlx5_add_flow_rules() of fs_core.c, if the table has no room for another group (alloc_auto_flow_group()) */
    if (is_of_wire && context->device->flows.rule_count >= context->device->flows.capacity)
        error = ENOSPC;
    else if (is_of_wire)
        error = sv_flow_table_add(&context->device->flows, &flow->rule, &spec);
    if (error != 0) {
        cx_object_free(&flow->object);
        return error;
    }
    qp->object.users++;
    flow->counters = counters;
    if (counters != NULL)
        counters->object.users++;
    const struct ib_uverbs_create_flow_resp response = {.flow_handle = flow->object.handle};
    CX_CORE_RESPOND(command, &response);
    return 0;
}

void cx_flow_destroy(struct cx_object *object)
{
    struct cx_flow *flow = (struct cx_flow *)object;
    if (flow->is_of_wire)
        sv_flow_table_remove(&object->context->device->flows, &flow->flow);
    flow->qp->object.users--;
    if (flow->counters != NULL)
        flow->counters->object.users--;
    cx_object_free(object);
}

int cx_ex_destroy_flow(struct cx_command *command)
{
    struct ib_uverbs_destroy_flow request;
    int error = CX_READ_CORE_REQUEST(command, &request);
    if (error != 0)
        return error;
    if (request.comp_mask != 0)
        return EINVAL;
    return cx_object_destroy(command->context, CX_FLOW, request.flow_handle, cx_flow_destroy);
}
