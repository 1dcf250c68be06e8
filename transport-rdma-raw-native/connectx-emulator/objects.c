/* SPDX-License-Identifier: Apache-2.0 */
/* Objects by handle, their destruction, doorbell registers, and the device's lock. */
#include "objects.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Linux 5.14; older headers do not have them. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { FIRST_SLOTS = 64, MAX_SLOTS = 1 << 20 };

/* Handle 0 is never used, so a field that a program left zero names nothing. */
static int find_free_slot(struct cx_context *context, uint32_t *slot)
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
    if (find_free_slot(context, &slot) != 0)
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
        cx_events_withdraw(object->context->async, &object->events);
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

/* Asks the kernel to populate the pages. It fails if they cannot be read or written, without a signal. */
bool cx_is_mapped(uint64_t address, uint64_t length, bool writable)
{
    const uint64_t mask = CX_PAGE_BYTES - 1;
    if (length == 0 || address + length - 1 < address)
        return false;
    uint64_t first = address & ~mask;
    uint64_t end = (address + length - 1) | mask;
    return madvise((void *)(uintptr_t)first, end - first + 1, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0;
}

/* The allocator of softverbs' flow table. The alignment is that of two cache lines, which processors fetch in pairs. */
void *sv_alloc_zeroed(size_t size)
{
    size_t rounded = (size + 127) & ~(size_t)127;
    void *memory = aligned_alloc(128, rounded);
    if (memory != NULL)
        memset(memory, 0, rounded);
    return memory;
}

/* ---- doorbell registers ---- */

/*
 * The last registers belong to one queue pair each, because libmlx5 takes no lock there. The others are shared, the
 * least used first. Register 0 has neither a lock nor BlueFlame and is used when no other is left.
 */
uint32_t cx_bfreg_alloc(struct cx_context *context)
{
    uint32_t dedicated = context->static_bfregs - context->low_latency_bfregs;
    uint32_t chosen = 0;
    for (uint32_t i = dedicated; i < context->static_bfregs; i++) {
        if (context->bfreg_users[i] == 0) {
            context->bfreg_users[i]++;
            return i;
        }
    }
    for (uint32_t i = 1; i < dedicated; i++)
        if (chosen == 0 || context->bfreg_users[i] < context->bfreg_users[chosen])
            chosen = i;
    if (context->static_bfregs == 0)
        return UINT32_MAX;
    context->bfreg_users[chosen]++;
    return chosen;
}

void cx_bfreg_free(struct cx_context *context, uint32_t bfreg)
{
    if (bfreg < context->static_bfregs)
        context->bfreg_users[bfreg]--;
}

/* ---- the lock ---- */

/*
 * The engine and programs acquire the mutex repeatedly, and the last holder would nearly always acquire it again. A
 * thread that waits for the mutex holds the turnstile and so keeps later threads out.
 */
void cx_lock(struct cx_device *device)
{
    pthread_mutex_lock(&device->turnstile);
    pthread_mutex_lock(&device->mutex);
    pthread_mutex_unlock(&device->turnstile);
}

void cx_unlock(struct cx_device *device)
{
    pthread_mutex_unlock(&device->mutex);
}

const char *cx_port_interface(const struct cx_device *device, uint32_t port)
{
    if (port == device->own_port)
        return device->interface;
    bool loaded = port > 0 && port < device->own_port && device->representors[port - 1][0] != '\0';
    return loaded ? device->representors[port - 1] : NULL;
}
