/* SPDX-License-Identifier: Apache-2.0 */
/* See programs.h. */
#include "programs.h"

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

struct kept {
    struct programs_of of;
    struct sv_kernel_steering *steering; /* NULL: the entry is free */
    int program;
    uint64_t number;                /* the entry with the smallest one is the oldest */
};

static struct kept kept[PROGRAMS_MAX_KEPT];
static uint64_t last_number;

static bool is_same(const struct programs_of *one, const struct programs_of *other)
{
    return one->uid == other->uid && one->ifindex == other->ifindex && one->fragments == other->fragments;
}

static struct kept *find(const struct programs_of *of)
{
    for (unsigned i = 0; i < PROGRAMS_MAX_KEPT; i++)
        if (kept[i].steering != NULL && is_same(&kept[i].of, of))
            return &kept[i];
    return NULL;
}

static void discard(struct kept *entry)
{
    if (entry->steering == NULL)
        return;
    sv_kernel_steering_close(entry->steering);
    close(entry->program);
    entry->steering = NULL;
}

static struct kept *free_or_oldest(void)
{
    struct kept *oldest = &kept[0];
    for (unsigned i = 0; i < PROGRAMS_MAX_KEPT; i++) {
        if (kept[i].steering == NULL)
            return &kept[i];
        if (kept[i].number < oldest->number)
            oldest = &kept[i];
    }
    return oldest;
}

void programs_keep(const struct programs_of *of, struct sv_kernel_steering *steering, int program)
{
    struct kept *entry = find(of);
    if (entry == NULL)
        entry = free_or_oldest();
    discard(entry);
    *entry = (struct kept){.of = *of, .steering = steering, .program = program, .number = ++last_number};
}

struct sv_kernel_steering *programs_take(const struct programs_of *of, int *program)
{
    struct kept *entry = find(of);
    if (entry == NULL)
        return NULL;
    struct sv_kernel_steering *steering = entry->steering;
    *program = entry->program;
    entry->steering = NULL;
    return steering;
}

void programs_close_all(void)
{
    for (unsigned i = 0; i < PROGRAMS_MAX_KEPT; i++)
        discard(&kept[i]);
}
