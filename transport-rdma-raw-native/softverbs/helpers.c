/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for all files, including those that the broker shares with the library. */
#include "objects.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void *sv_fail(int error)
{
    errno = error;
    return NULL;
}

static _Thread_local char last_explanation[SV_EXPLANATION_BYTES];

int sv_explain(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_explanation, sizeof last_explanation, format, arguments);
    va_end(arguments);
    return error;
}

const char *sv_explanation(void)
{
    return last_explanation;
}

void *sv_alloc_zeroed(size_t size)
{
    size_t rounded = (size + 127) & ~(size_t)127;
    void *memory = aligned_alloc(128, rounded);
    return memory == NULL ? NULL : memset(memory, 0, rounded);
}

#ifdef SV_CHECK_LOCKS
_Thread_local unsigned sv_device_locks;

void sv_assert_may_block(void)
{
    if (sv_device_locks == 0)
        return;
    fputs("softverbs: a thread waits while it holds the mutex of a device\n", stderr);
    abort();
}
#endif

void sv_raise_send_buffer(int socket)
{
    const int bytes = 8 << 20;
    if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
        (void)!setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

uint32_t sv_round_up_pow2(uint32_t value)
{
    uint32_t result = 1;
    while (result < value)
        result <<= 1;
    return result;
}
