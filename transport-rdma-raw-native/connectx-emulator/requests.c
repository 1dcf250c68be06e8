/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers of a command: copies requests from the program, and responses to it. */
#include "commands.h"

#include <errno.h>

int cx_read_request(const struct cx_buffer *buffer, void *to, size_t bytes)
{
    size_t there = buffer->in_bytes < bytes ? buffer->in_bytes : bytes;
    memset(to, 0, bytes);
    if (there > 0)
        memcpy(to, buffer->in, there);
    for (size_t i = bytes; i < buffer->in_bytes; i++)
        if (buffer->in[i] != 0)
            return EOPNOTSUPP;
    return 0;
}

void cx_respond(struct cx_buffer *buffer, const void *from, size_t bytes)
{
    size_t room = buffer->out_bytes < bytes ? buffer->out_bytes : bytes;
    if (room > 0)
        memcpy(buffer->out, from, room);
}
