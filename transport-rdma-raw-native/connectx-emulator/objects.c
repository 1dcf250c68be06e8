/* SPDX-License-Identifier: Apache-2.0 */
/* Objects by handle, and what they share: destroying, pages of memory. */
#include "uverbs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Linux 5.14; older headers do not have them. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { FIRST_SLOTS = 64, MAX_SLOTS = 1 << 20 };

/* Handle 0 is never given, so that a field that a program left zero names nothing. */
static int free_slot(struct cx_context *context, uint32_t *slot)
{
    for (uint32_t i = 1; i < context->object_slots; i++) {
        if (context->objects[i] == NULL) {
            *slot = i;
            return 0;
        }
    }
    uint32_t slots = context->object_slots == 0 ? FIRST_SLOTS : context->object_slots * 2;
    if (slots > MAX_SLOTS)
        return ENOMEM;
    struct cx_object **objects = realloc(context->objects, slots * sizeof *objects);
    if (objects == NULL)
        return ENOMEM;
    memset(objects + context->object_slots, 0, (slots - context->object_slots) * sizeof *objects);
    *slot = context->object_slots == 0 ? 1 : context->object_slots;
    context->objects = objects;
    context->object_slots = slots;
    return 0;
}

void *cx_object_new(struct cx_context *context, enum cx_kind kind, size_t bytes, uint64_t user_handle)
{
    uint32_t slot;
    if (free_slot(context, &slot) != 0)
        return NULL;
    struct cx_object *object = sv_alloc_zeroed(bytes);
    if (object == NULL)
        return NULL;
    object->kind = kind;
    object->handle = slot;
    object->user_handle = user_handle;
    object->context = context;
    context->objects[slot] = object;
    return object;
}

void cx_object_free(struct cx_object *object)
{
    if (object->context->async != NULL)
        cx_events_forget(object->context->async, &object->events);
    cx_object_unpin(object, object->pinned_pages);
    cx_record_unpin(object);
    object->context->objects[object->handle] = NULL;
    free(object);
}

void *cx_object_find(struct cx_context *context, enum cx_kind kind, uint32_t handle)
{
    if (handle >= context->object_slots || context->objects[handle] == NULL)
        return NULL;
    return context->objects[handle]->kind == kind ? context->objects[handle] : NULL;
}

int cx_object_destroy(struct cx_context *context, enum cx_kind kind, uint32_t handle,
                      void (*destroy)(struct cx_object *object))
{
    struct cx_object *object = cx_object_find(context, kind, handle);
    if (object == NULL)
        return EINVAL;
    if (object->users > 0)
        return EBUSY;
    destroy(object);
    return 0;
}

/* The kernel itself says whether memory can be read or written, by doing it for us: without a signal if not. */
bool cx_is_mapped(uint64_t address, uint64_t length, bool writable)
{
    const uint64_t mask = CX_PAGE_BYTES - 1;
    if (length == 0 || address + length - 1 < address)
        return false;
    uint64_t first = address & ~mask;
    uint64_t end = (address + length - 1) | mask;
    return madvise((void *)(uintptr_t)first, end - first + 1, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0;
}

/* What softverbs' flow table allocates with. */
void *sv_alloc_zeroed(size_t size)
{
    size_t rounded = (size + 127) & ~(size_t)127;
    void *memory = aligned_alloc(128, rounded);
    if (memory != NULL)
        memset(memory, 0, rounded);
    return memory;
}
