/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of flow rules. The first rule that uses them defines the position of each in the result. */
#include "commands.h"

#include <errno.h>
#include <rdma/mlx5-abi.h>

enum { MAX_DESCRIPTIONS = 16, NOT_ATTACHED = -1 };

int cx_counters_create(struct cx_context *context, uint32_t *handle)
{
    struct cx_counters *counters = cx_object_new(context, CX_COUNTERS, sizeof *counters, 0);
    if (counters == NULL)
        return ENOMEM;
    counters->matched.packets_index = NOT_ATTACHED;
    counters->matched.bytes_index = NOT_ATTACHED;
    *handle = counters->object.handle;
    return 0;
}

void cx_counters_destroy(struct cx_object *object)
{
    cx_object_free(object);
}

static int describe(struct cx_counters *counters, const struct mlx5_ib_flow_counters_desc *description)
{
    switch (description->description) {
    case IBV_COUNTER_PACKETS:
        counters->matched.packets_index = (int)description->index;
        return 0;
    case IBV_COUNTER_BYTES:
        counters->matched.bytes_index = (int)description->index;
        return 0;
    default:
        return EOPNOTSUPP;
    }
}

int cx_counters_describe(struct cx_command *command, struct cx_counters *counters)
{
    struct mlx5_ib_create_flow request;
    struct mlx5_ib_flow_counters_data data;
    if (command->driver.in_bytes < sizeof request)
        return 0;
    memcpy(&request, command->driver.in, sizeof request);
    if (request.ncounters_data == 0)
        return 0;
    if (counters == NULL || request.ncounters_data != 1 || command->driver.in_bytes < sizeof request + sizeof data)
        return EINVAL;
    memcpy(&data, command->driver.in + sizeof request, sizeof data);
    const uint64_t address = (uintptr_t)data.counters_data;
    if (data.ncounters > MAX_DESCRIPTIONS)
        return EINVAL;
    if (!cx_is_mapped(address, data.ncounters * sizeof(struct mlx5_ib_flow_counters_desc), false))
        return EFAULT;
    for (uint32_t i = 0; i < data.ncounters; i++) {
        struct mlx5_ib_flow_counters_desc description;
        memcpy(&description, (const uint8_t *)(uintptr_t)address + i * sizeof description, sizeof description);
        int error = describe(counters, &description);
        if (error != 0)
            return error;
    }
    return 0;
}

int cx_counters_read(struct cx_context *context, uint32_t handle, uint64_t *values, uint32_t count)
{
    struct cx_counters *counters = cx_object_find(context, CX_COUNTERS, handle);
    if (counters == NULL)
        return EINVAL;
    const struct sv_counters *matched = &counters->matched;
    if (matched->packets_index >= (int)count || matched->bytes_index >= (int)count)
        return EINVAL;
    if (matched->packets_index >= 0)
        values[matched->packets_index] = atomic_load(&matched->packets);
    if (matched->bytes_index >= 0)
        values[matched->bytes_index] = atomic_load(&matched->bytes);
    return 0;
}
