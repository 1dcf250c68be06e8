/* SPDX-License-Identifier: Apache-2.0 */
/* See journal.h. */
#include "journal.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Writes the line by one write(2). Output of stdio may need calls that kill a confined process (confinement.h). */
static void put_line(const char *text, unsigned long suppressed)
{
    char line[640];
    int length = suppressed > 0 ? snprintf(line, sizeof line,
                                           "rdma-raw-broker: %s (%lu lines before it were left out)\n",
                                           text, suppressed)
                              : snprintf(line, sizeof line, "rdma-raw-broker: %s\n", text);
    (void)!write(STDERR_FILENO, line, (size_t)length);
}

void journal(const char *format, ...)
{
    static time_t second;
    static unsigned lines;
    static unsigned long suppressed;
    char text[512];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec != second) {
        second = now.tv_sec;
        lines = 0;
    }
    /* A write to a full pipe would block the program. A writable pipe has room for PIPE_BUF bytes, so for the line. */
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (++lines > JOURNAL_MAX_LINES_PER_SECOND || poll(&output, 1, 0) != 1) {
        suppressed++;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_line(text, suppressed);
    suppressed = 0;
}
