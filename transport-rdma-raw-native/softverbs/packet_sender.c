/* SPDX-License-Identifier: Apache-2.0 */
/* See packet.h and packet(7). */
#define _GNU_SOURCE
#include "packet.h"

#include "send.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int sv_packet_sender_open(struct sv_packet_sender *sender, int ifindex)
{
    int on = 1;
    /* Protocol 0: the socket receives nothing. */
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = ifindex};
    sender->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sender->fd < 0 || bind(sender->fd, (struct sockaddr *)&address, sizeof address) != 0)
        return errno;
    /* Loopback has no queueing discipline to bypass. */
    (void)!setsockopt(sender->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
    return 0;
}

void sv_packet_sender_close(struct sv_packet_sender *sender)
{
    if (sender->fd >= 0)
        close(sender->fd);
    sender->fd = -1;
}

/*
 * The interface's queue is short, and the driver empties it within microseconds. Without a retry some frames would not
 * be sent.
 */
static unsigned send_all(int fd, struct mmsghdr *messages, unsigned count, int *error)
{
    unsigned sent = 0;
    struct sv_spin_deadline deadline = {0};
    while (sent < count) {
        int result = sendmmsg(fd, messages + sent, count - sent, MSG_DONTWAIT);
        if (result > 0) {
            sent += (unsigned)result;
            deadline = (struct sv_spin_deadline){0};
            continue;
        }
        *error = errno;
        if ((errno != ENOBUFS && errno != EAGAIN && errno != EINTR) || !sv_spin_wait(&deadline))
            break;
    }
    return sent;
}

SV_HOT unsigned sv_packet_sender_send(const struct sv_packet_sender *sender, const struct sv_frame *frames,
                                      unsigned count, int *error)
{
    struct mmsghdr messages[SV_BURST];
    struct iovec vectors[SV_BURST];
    memset(messages, 0, count * sizeof messages[0]);
    for (unsigned i = 0; i < count; i++) {
        vectors[i] = (struct iovec){.iov_base = (void *)(uintptr_t)frames[i].data, .iov_len = frames[i].length};
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    return send_all(sender->fd, messages, count, error);
}
