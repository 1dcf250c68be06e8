/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interposes the functions of the C library through which libibverbs and libmlx5 reach the kernel. The dynamic linker
 * finds the preloaded functions first. They pass calls for other files on to the C library.
 */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const char uverbs_path[] = "/dev/infiniband/uverbs";

/* ---- opening ---- */

static struct cx_device *device_of_path(const char *path)
{
    if (path == NULL || strncmp(path, uverbs_path, sizeof uverbs_path - 1) != 0)
        return NULL;
    char *end;
    unsigned long index = strtoul(path + sizeof uverbs_path - 1, &end, 10);
    if (end == path + sizeof uverbs_path - 1 || *end != '\0')
        return NULL;
    return cx_device_by_index((unsigned)index);
}

static void close_device(struct cx_file *file)
{
    cx_context_close(file->context);
}

static int open_device(struct cx_device *device, int flags)
{
    int fd = cx_real()->open("/dev/null", flags & ~O_CREAT);
    if (fd < 0)
        return -1;
    struct cx_context *context = cx_context_open(device);
    const struct cx_file file = {.context = context, .close = close_device};
    int error = context == NULL ? errno : cx_file_add(fd, &file);
    if (error == 0)
        return fd;
    if (context != NULL)
        cx_context_close(context);
    cx_real()->close(fd);
    errno = error;
    return -1;
}

/*
 * Returns the device if the path names its counter of missing receive requests. mlx5_ib exposes it as
 * hw_counters/out_of_buffer (drivers/infiniband/hw/mlx5/counters.c, basic_q_cnts). It counts for all queues of the
 * port. In switchdev mode the device has the counter, and its ports have none (hw_switchdev_stats_ops).
 */
static struct cx_device *device_of_counter(const char *path)
{
    const char *sysfs = getenv("SYSFS_PATH");
    size_t prefix = sysfs == NULL ? 0 : strlen(sysfs);
    if (path == NULL || prefix == 0 || strncmp(path, sysfs, prefix) != 0)
        return NULL;
    unsigned index;
    int end = 0;
    int found = cx_is_switchdev()
        ? sscanf(path + prefix, "/class/infiniband/mlx5_%u/hw_counters/out_of_buffer%n", &index, &end)
        : sscanf(path + prefix, "/class/infiniband/mlx5_%u/ports/1/hw_counters/out_of_buffer%n", &index, &end);
    if (found != 1 || end == 0 || path[prefix + (size_t)end] != '\0')
        return NULL;
    return cx_device_by_index(index);
}

static int open_counter(const struct cx_device *device)
{
    int fd = memfd_create("out_of_buffer", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    struct cxemu_counters counters = {0};
    cxemu_query_counters(device->name, &counters);
    if (dprintf(fd, "%llu\n", (unsigned long long)counters.no_receive) > 0 && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    cx_real()->close(fd);
    errno = EIO;
    return -1;
}

/* Opens a file of the emulator. Returns false for any other path. */
static bool open_own(const char *path, int flags, int *fd)
{
    struct cx_device *device = device_of_path(path);
    if (device != NULL) {
        *fd = open_device(device, flags);
        return true;
    }
    device = device_of_counter(path);
    if (device != NULL)
        *fd = open_counter(device);
    return device != NULL;
}

static mode_t mode_argument(int flags, va_list arguments)
{
    /* O_TMPFILE contains the bit of O_DIRECTORY. */
    bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return has_mode ? va_arg(arguments, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    int fd;
    return open_own(path, flags, &fd) ? fd : cx_real()->open(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    int fd;
    return open_own(path, flags, &fd) ? fd : cx_real()->open64(path, flags, mode);
}

/* One character device stands for all. Its number is that in the fake sysfs tree. */
EXPORT int stat(const char *path, struct stat *to)
{
    return cx_real()->stat(device_of_path(path) != NULL ? "/dev/null" : path, to);
}

EXPORT int stat64(const char *path, struct stat64 *to)
{
    return cx_real()->stat64(device_of_path(path) != NULL ? "/dev/null" : path, to);
}

/*
 * libibverbs first queries the kernel for RDMA devices through netlink, and after an error reads the sysfs tree. The
 * setup without netlink acts as a kernel built without it.
 */
EXPORT int socket(int domain, int type, int protocol)
{
    if (domain != AF_NETLINK || protocol != NETLINK_RDMA || cx_device_count() == 0)
        return cx_real()->socket(domain, type, protocol);
    if (cx_has_setup("no-netlink")) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    return cx_netlink_socket(type);
}

EXPORT ssize_t sendto(int fd, const void *from, size_t bytes, int flags, const struct sockaddr *to, socklen_t to_bytes)
{
    struct cx_file *file = cx_file_get(fd);
    if (file == NULL)
        return cx_real()->sendto(fd, from, bytes, flags, to, to_bytes);
    ssize_t result = file->netlink != NULL ? cx_netlink_send(file->netlink, fd, from, bytes)
                                           : cx_real()->sendto(fd, from, bytes, flags, to, to_bytes);
    int error = errno;
    cx_file_put(file);
    errno = error;
    return result;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct cx_file *file = cx_file_get(fd);
    if (file == NULL)
        return cx_real()->sendmsg(fd, message, flags);
    ssize_t result = file->netlink != NULL ? cx_netlink_sendmsg(file->netlink, fd, message)
                                           : cx_real()->sendmsg(fd, message, flags);
    int error = errno;
    cx_file_put(file);
    errno = error;
    return result;
}

/* The kernel has checked that the program may open a packet socket. */
EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
    int error;
    if (level != SOL_PACKET || name != PACKET_ADD_MEMBERSHIP || cx_device_count() == 0 ||
        !cx_membership_add(fd, value, bytes, &error))
        return cx_real()->setsockopt(fd, level, name, value, bytes);
    errno = error;
    return error == 0 ? 0 : -1;
}

/* ---- on descriptors ---- */

EXPORT int close(int fd)
{
    cx_file_remove(fd);
    return cx_real()->close(fd);
}

EXPORT ssize_t read(int fd, void *to, size_t bytes)
{
    struct cx_file *file = cx_file_get(fd);
    if (file == NULL)
        return cx_real()->read(fd, to, bytes);
    ssize_t result = file->events != NULL ? cx_events_read(file->events, to, bytes) : cx_real()->read(fd, to, bytes);
    int error = errno;
    cx_file_put(file);
    errno = error;
    return result;
}

/* Commands return errno values; functions of the C library return -1 and set errno. */
static ssize_t result_of(int error, ssize_t success)
{
    if (error == 0)
        return success;
    errno = error;
    return -1;
}

EXPORT ssize_t write(int fd, const void *from, size_t bytes)
{
    struct cx_file *file = cx_file_get(fd);
    if (file == NULL)
        return cx_real()->write(fd, from, bytes);
    int error = file->context != NULL ? cx_uverbs_write(file->context, from, bytes) : EINVAL;
    cx_file_put(file);
    return result_of(error, (ssize_t)bytes);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    struct cx_file *file = cx_file_get(fd);
    if (file == NULL)
        return cx_real()->ioctl(fd, request, argument);
    int error = ENOTTY;
    if (file->context != NULL && request == RDMA_VERBS_IOCTL && cx_uses_ioctl())
        error = cx_uverbs_ioctl(file->context, argument);
    cx_file_put(file);
    return (int)result_of(error, 0);
}

/* ---- doorbell pages ---- */

static void *map_doorbells(struct cx_context *context, size_t length, int protection, int flags, off_t offset)
{
    uint32_t page;
    int error = length == CX_PAGE_BYTES ? cx_context_map(context, (uint64_t)offset, &page) : EINVAL;
    if (error != 0) {
        errno = error;
        return MAP_FAILED;
    }
    return cx_real()->mmap(NULL, length, protection | PROT_READ, flags, context->doorbell_fd,
                           (off_t)page * CX_PAGE_BYTES);
}

EXPORT void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    struct cx_file *file = flags & MAP_ANONYMOUS ? NULL : cx_file_get(fd);
    if (file == NULL || file->context == NULL) {
        if (file != NULL)
            cx_file_put(file);
        return cx_real()->mmap(address, length, protection, flags, fd, offset);
    }
    void *mapped = map_doorbells(file->context, length, protection, flags, offset);
    int error = errno;
    cx_file_put(file);
    errno = error;
    return mapped;
}

EXPORT void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
    return mmap(address, length, protection, flags, fd, offset);
}
