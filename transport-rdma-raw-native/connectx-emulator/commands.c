/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and the common checks: sizes, injected errors, a removed device. */
#include "commands.h"

#include <errno.h>

#define EXTENDED(number) ((uint32_t)(number) | IB_USER_VERBS_CMD_FLAG_EXTENDED)

struct entry {
    uint32_t number;
    uint16_t in_bytes;              /* in the old ABI, where the driver's part follows directly */
    uint16_t out_bytes;
    int (*execute)(struct cx_command *command);
};

static const struct entry table[] = {
    {IB_USER_VERBS_CMD_GET_CONTEXT, sizeof(struct ib_uverbs_get_context), sizeof(struct ib_uverbs_get_context_resp),
     cx_get_context},
    {IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(struct ib_uverbs_query_device), sizeof(struct ib_uverbs_query_device_resp),
     cx_query_device},
    {IB_USER_VERBS_CMD_QUERY_PORT, sizeof(struct ib_uverbs_query_port), sizeof(struct ib_uverbs_query_port_resp),
     cx_query_port},
    {IB_USER_VERBS_CMD_ALLOC_PD, sizeof(struct ib_uverbs_alloc_pd), sizeof(struct ib_uverbs_alloc_pd_resp),
     cx_alloc_pd},
    {IB_USER_VERBS_CMD_DEALLOC_PD, sizeof(struct ib_uverbs_dealloc_pd), 0, cx_dealloc_pd},
    {IB_USER_VERBS_CMD_REG_MR, sizeof(struct ib_uverbs_reg_mr), sizeof(struct ib_uverbs_reg_mr_resp), cx_reg_mr},
    {IB_USER_VERBS_CMD_DEREG_MR, sizeof(struct ib_uverbs_dereg_mr), 0, cx_dereg_mr},
    {IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, sizeof(struct ib_uverbs_create_comp_channel),
     sizeof(struct ib_uverbs_create_comp_channel_resp), cx_create_comp_channel},
    {IB_USER_VERBS_CMD_CREATE_CQ, sizeof(struct ib_uverbs_create_cq), sizeof(struct ib_uverbs_create_cq_resp),
     cx_create_cq},
    {IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(struct ib_uverbs_resize_cq), sizeof(struct ib_uverbs_resize_cq_resp),
     cx_resize_cq},
    {IB_USER_VERBS_CMD_DESTROY_CQ, sizeof(struct ib_uverbs_destroy_cq), sizeof(struct ib_uverbs_destroy_cq_resp),
     cx_destroy_cq},
    {IB_USER_VERBS_CMD_CREATE_QP, sizeof(struct ib_uverbs_create_qp), sizeof(struct ib_uverbs_create_qp_resp),
     cx_create_qp},
    {IB_USER_VERBS_CMD_QUERY_QP, sizeof(struct ib_uverbs_query_qp), sizeof(struct ib_uverbs_query_qp_resp),
     cx_query_qp},
    {IB_USER_VERBS_CMD_MODIFY_QP, sizeof(struct ib_uverbs_modify_qp), 0, cx_modify_qp},
    {IB_USER_VERBS_CMD_DESTROY_QP, sizeof(struct ib_uverbs_destroy_qp), sizeof(struct ib_uverbs_destroy_qp_resp),
     cx_destroy_qp},
    {EXTENDED(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), 0, 0, cx_ex_query_device},
    {EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_CQ), 0, 0, cx_ex_create_cq},
    {EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_QP), 0, 0, cx_ex_create_qp},
    {EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_QP), 0, 0, cx_ex_modify_qp},
    {EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_FLOW), 0, 0, cx_ex_create_flow},
    {EXTENDED(IB_USER_VERBS_EX_CMD_DESTROY_FLOW), 0, 0, cx_ex_destroy_flow},
    {EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_WQ), 0, 0, cx_ex_create_wq},
    {EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_WQ), 0, 0, cx_ex_modify_wq},
    {EXTENDED(IB_USER_VERBS_EX_CMD_DESTROY_WQ), 0, 0, cx_ex_destroy_wq},
    {EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL), 0, 0, cx_ex_create_ind_table},
    {EXTENDED(IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL), 0, 0, cx_ex_destroy_ind_table},
};

static const struct entry *find_command(uint32_t number)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].number == number)
            return &table[i];
    return NULL;
}

bool cx_command_sizes(uint32_t number, uint32_t *in_bytes, uint32_t *out_bytes)
{
    const struct entry *entry = find_command(number);
    if (entry == NULL)
        return false;
    *in_bytes = entry->in_bytes;
    *out_bytes = entry->out_bytes;
    return true;
}

static int consume_injected_error(struct cx_device *device, uint32_t number)
{
    const uint32_t failing = device->faults.next_command.command;
    if (device->faults.next_command.count == 0 || (failing != number && failing != CXEMU_ANY_COMMAND))
        return 0;
    device->faults.next_command.count--;
    return device->faults.next_command.error;
}

/* Returns true for the commands that a removed device still accepts: those that destroy objects. */
static bool is_destroy_command(uint32_t number)
{
    switch (number) {
    case IB_USER_VERBS_CMD_DEALLOC_PD:
    case IB_USER_VERBS_CMD_DEREG_MR:
    case IB_USER_VERBS_CMD_DESTROY_CQ:
    case IB_USER_VERBS_CMD_DESTROY_QP:
    case EXTENDED(IB_USER_VERBS_EX_CMD_DESTROY_FLOW):
    case EXTENDED(IB_USER_VERBS_EX_CMD_DESTROY_WQ):
    case EXTENDED(IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL):
        return true;
    default:
        return false;
    }
}

int cx_command_execute(uint32_t number, struct cx_command *command)
{
    struct cx_device *device = command->context->device;
    const struct entry *entry = find_command(number);
    if (entry == NULL)
        return EOPNOTSUPP;
    if (command->core.in_bytes < entry->in_bytes || command->core.out_bytes < entry->out_bytes)
        return ENOSPC;
    if (!command->context->opened && number != IB_USER_VERBS_CMD_GET_CONTEXT)
        return EINVAL;
    cx_lock(device);
    int error = consume_injected_error(device, number);
    if (error == 0 && device->removed && !is_destroy_command(number))
        error = EIO;
    if (error == 0)
        error = entry->execute(command);
    cx_unlock(device);
    return error;
}
