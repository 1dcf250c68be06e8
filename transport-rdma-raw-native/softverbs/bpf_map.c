/* SPDX-License-Identifier: Apache-2.0 */
/* The bpf(2) system call and its operations on maps. The functions are described in bpf.h. */
#define _GNU_SOURCE
#include "bpf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int sv_bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

uint64_t sv_ptr_to_u64(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

int sv_map_create(enum bpf_map_type type, uint32_t key_bytes, uint32_t value_bytes, uint32_t max_entries,
                  uint32_t flags)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_type = type;
    attr.key_size = key_bytes;
    attr.value_size = value_bytes;
    attr.max_entries = max_entries;
    attr.map_flags = flags;
    return sv_bpf(BPF_MAP_CREATE, &attr);
}

/* Returns the attributes of a call for one element. */
static union bpf_attr element(int map_fd, const void *key, const void *value)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)map_fd;
    attr.key = sv_ptr_to_u64(key);
    attr.value = sv_ptr_to_u64(value);
    return attr;
}

int sv_map_update(int map_fd, const void *key, const void *value)
{
    union bpf_attr attr = element(map_fd, key, value);
    return sv_bpf(BPF_MAP_UPDATE_ELEM, &attr) == 0 ? 0 : errno;
}

bool sv_map_lookup(int map_fd, const void *key, void *value)
{
    union bpf_attr attr = element(map_fd, key, value);
    return sv_bpf(BPF_MAP_LOOKUP_ELEM, &attr) == 0;
}

void sv_map_delete(int map_fd, const void *key)
{
    union bpf_attr attr = element(map_fd, key, NULL);
    (void)sv_bpf(BPF_MAP_DELETE_ELEM, &attr);
}

void sv_map_clear(int map_fd, void *key)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)map_fd;
    attr.next_key = sv_ptr_to_u64(key);
    while (sv_bpf(BPF_MAP_GET_NEXT_KEY, &attr) == 0)        /* without a key: the first one */
        sv_map_delete(map_fd, key);
}

int sv_map_freeze(int map_fd)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)map_fd;
    return sv_bpf(BPF_MAP_FREEZE, &attr) == 0 ? 0 : errno;
}

bool sv_object_read_info(int fd, void *info, uint32_t bytes)
{
    union bpf_attr attr;
    memset(info, 0, bytes);
    memset(&attr, 0, sizeof attr);
    attr.info.bpf_fd = (uint32_t)fd;
    attr.info.info_len = bytes;
    attr.info.info = sv_ptr_to_u64(info);
    return sv_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0;
}

bool sv_map_has_form(int map_fd, const struct sv_map_form *form)
{
    struct bpf_map_info info;
    return sv_object_read_info(map_fd, &info, sizeof info) && info.type == form->type &&
           info.key_size == form->key_bytes && info.value_size == form->value_bytes &&
           info.max_entries == form->max_entries && info.map_flags == form->flags;
}

void *sv_map_mmap(int map_fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}
