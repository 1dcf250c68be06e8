/* SPDX-License-Identifier: Apache-2.0 */
/* write(2) on a device: rdma/ib_user_verbs.h. */
#include "kernel.h"

#include <errno.h>

static uint8_t *to_pointer(uint64_t address)
{
    return (uint8_t *)(uintptr_t)address;
}

/* Old commands: header, request (beginning with the response's address when there is one), the driver's request. */
static int write_plain(struct cx_context *context, const struct ib_uverbs_cmd_hdr *header, const uint8_t *body,
                       size_t bytes)
{
    uint32_t in_bytes, out_bytes;
    uint32_t response_bytes = header->out_words * 4u;
    if (!cx_command_sizes(header->command, &in_bytes, &out_bytes))
        return EOPNOTSUPP;
    if (bytes + sizeof *header != header->in_words * 4u)
        return EINVAL;
    if (bytes < in_bytes || response_bytes < out_bytes)
        return ENOSPC;
    struct cx_command command = {
        .context = context,
        .core = {.in = body, .in_bytes = in_bytes, .out_bytes = out_bytes},
        .driver = {.in = body + in_bytes, .in_bytes = (uint32_t)bytes - in_bytes},
    };
    if (response_bytes > 0) {
        uint64_t address = 0;
        if (in_bytes < sizeof address)
            return EINVAL;
        memcpy(&address, body, sizeof address);
        if (!cx_is_mapped(address, response_bytes, true))
            return EFAULT;
        command.core.out = to_pointer(address);
        command.driver.out = to_pointer(address) + out_bytes;
        command.driver.out_bytes = response_bytes - out_bytes;
    }
    return cx_command_execute(header->command, &command);
}

/* Extended commands: two headers, request, the driver's request; lengths in 8-byte words. */
static int write_extended(struct cx_context *context, const struct ib_uverbs_cmd_hdr *header, const uint8_t *body,
                          size_t bytes)
{
    struct ib_uverbs_ex_cmd_hdr extended;
    if (bytes < sizeof extended)
        return EINVAL;
    memcpy(&extended, body, sizeof extended);
    body += sizeof extended;
    uint32_t in_bytes = header->in_words * 8u;
    uint32_t driver_in_bytes = extended.provider_in_words * 8u;
    if (bytes - sizeof extended != (size_t)in_bytes + driver_in_bytes || extended.cmd_hdr_reserved != 0)
        return EINVAL;
    struct cx_command command = {
        .context = context,
        .core = {.in = body, .in_bytes = in_bytes, .out_bytes = header->out_words * 8u},
        .driver = {.in = body + in_bytes, .in_bytes = driver_in_bytes,
                   .out_bytes = extended.provider_out_words * 8u},
    };
    uint32_t response_bytes = command.core.out_bytes + command.driver.out_bytes;
    if (response_bytes > 0) {
        if (!cx_is_mapped(extended.response, response_bytes, true))
            return EFAULT;
        command.core.out = to_pointer(extended.response);
        command.driver.out = to_pointer(extended.response) + command.core.out_bytes;
    }
    return cx_command_execute(header->command, &command);
}

int cx_uverbs_write(struct cx_context *context, const void *from, size_t bytes)
{
    struct ib_uverbs_cmd_hdr header;
    if (bytes < sizeof header || bytes > UINT16_MAX * 8u)
        return EINVAL;
    memcpy(&header, from, sizeof header);
    const uint8_t *body = (const uint8_t *)from + sizeof header;
    if (header.command & IB_USER_VERBS_CMD_FLAG_EXTENDED)
        return write_extended(context, &header, body, bytes - sizeof header);
    return write_plain(context, &header, body, bytes - sizeof header);
}
