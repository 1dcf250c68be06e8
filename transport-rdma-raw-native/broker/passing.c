/* SPDX-License-Identifier: Apache-2.0 */
/* See session.h. */
#include "session.h"

#include "broker.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83        /* Linux 6.16 */
#endif

bool send_with_fds(int socket, const void *bytes, size_t length, const int *fds, unsigned count, int flags)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        memset(control, 0, sizeof control);
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &header, flags | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)length;
}

/* Takes the descriptors. The control buffer is rounded up, so one more than fits may arrive. */
static unsigned collect_descriptors(struct msghdr *header, int *fds, unsigned max_fds, bool *complete)
{
    unsigned count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL; part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= part->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
            if (count < max_fds) {
                fds[count++] = fd;
            } else {
                *complete = false;
                close(fd);
            }
        }
    }
    return count;
}

ssize_t receive_with_fds(int socket, void *bytes, size_t capacity, int *fds, unsigned max_fds, unsigned *count,
                         bool *complete, int flags)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct iovec part = {bytes, capacity};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = max_fds > 0 ? control : NULL,
                            .msg_controllen = max_fds > 0 ? CMSG_SPACE(max_fds * sizeof(int)) : 0};
    *count = 0;
    ssize_t length = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return -1;
    *complete = !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
    *count = collect_descriptors(&header, fds, max_fds, complete);
    return length;
}

void refuse_fds(int socket)
{
    const int off = 0;
    (void)setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
}
