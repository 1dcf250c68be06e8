/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_FILES = 65536 };

static struct cx_file *_Atomic files[MAX_FILES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

bool cx_file_is_ours(int fd)
{
    return fd >= 0 && fd < MAX_FILES && atomic_load_explicit(&files[fd], memory_order_acquire) != NULL;
}

int cx_file_add(int fd, const struct cx_file *wanted)
{
    if (fd < 0 || fd >= MAX_FILES)
        return EMFILE;
    struct cx_file *file = malloc(sizeof *file);
    if (file == NULL)
        return ENOMEM;
    *file = *wanted;
    file->references = 1;
    pthread_mutex_lock(&mutex);
    atomic_store_explicit(&files[fd], file, memory_order_release);
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void close_events(struct cx_file *file)
{
    cx_events_put(file->events);
}

int cx_file_add_events(int fd, struct cx_events *events)
{
    const struct cx_file file = {.events = events, .close = close_events};
    return cx_file_add(fd, &file);
}

struct cx_file *cx_file_get(int fd)
{
    if (!cx_file_is_ours(fd))
        return NULL;
    pthread_mutex_lock(&mutex);
    struct cx_file *file = atomic_load_explicit(&files[fd], memory_order_relaxed);
    if (file != NULL)
        file->references++;
    pthread_mutex_unlock(&mutex);
    return file;
}

void cx_file_put(struct cx_file *file)
{
    pthread_mutex_lock(&mutex);
    uint32_t left = --file->references;
    pthread_mutex_unlock(&mutex);
    if (left > 0)
        return;
    file->close(file);
    free(file);
}

void cx_file_remove(int fd)
{
    if (!cx_file_is_ours(fd))
        return;
    pthread_mutex_lock(&mutex);
    struct cx_file *file = atomic_exchange(&files[fd], NULL);
    pthread_mutex_unlock(&mutex);
    if (file == NULL)
        return;
    if (file->events != NULL) {
        /* Objects may still refer to the file. Events that they queue from now on are never read. */
        pthread_mutex_lock(&file->events->mutex);
        file->events->fd = -1;
        pthread_mutex_unlock(&file->events->mutex);
    }
    cx_file_put(file);
}
