/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_HOOKS_H
#define CX_HOOKS_H

/* The C library's functions, which this library interposes. */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

struct cx_real {
    int (*open)(const char *path, int flags, ...);
    int (*open64)(const char *path, int flags, ...);
    int (*stat)(const char *path, struct stat *to);
    int (*stat64)(const char *path, struct stat64 *to);
    int (*close)(int fd);
    ssize_t (*read)(int fd, void *to, size_t bytes);
    ssize_t (*write)(int fd, const void *from, size_t bytes);
    int (*ioctl)(int fd, unsigned long request, ...);
    void *(*mmap)(void *address, size_t length, int protection, int flags, int fd, off_t offset);
    int (*socket)(int domain, int type, int protocol);
    ssize_t (*sendto)(int fd, const void *from, size_t bytes, int flags, const struct sockaddr *to, socklen_t to_bytes);
    ssize_t (*sendmsg)(int fd, const struct msghdr *message, int flags);
};

const struct cx_real *cx_real(void);

#endif
