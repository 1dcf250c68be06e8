/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_FILES_H
#define CX_FILES_H

/* Which descriptors of the process are ours: opened devices and event files. */

#include <stdbool.h>
#include <stdint.h>

struct cx_context;
struct cx_events;

struct cx_file {
    struct cx_context *context;     /* either a device */
    struct cx_events *events;       /* or events */
    uint32_t references;
};

/* Quick and without a lock: whether a descriptor may be ours. */
bool cx_file_is_ours(int fd);
/* Returns 0 or an errno. The file owns what it names. */
int cx_file_add(int fd, struct cx_context *context, struct cx_events *events);
/* NULL when the descriptor is not ours. Each found file is put back. */
struct cx_file *cx_file_get(int fd);
void cx_file_put(struct cx_file *file);
/* Forgets the descriptor, before it is closed. The file goes when nobody holds it any more. */
void cx_file_remove(int fd);

#endif
