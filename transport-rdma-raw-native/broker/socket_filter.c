/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches filters to TCP sockets of clients: see session.h. */
#include "session.h"

#include "broker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

/*
 * Returns false if the program may return a length other than 0 (drop) and UINT32_MAX (accept), which would truncate
 * packets.
 */
static bool never_truncates(const struct sock_filter *code, uint32_t instruction_count)
{
    for (uint32_t i = 0; i < instruction_count; i++)
        if (BPF_CLASS(code[i].code) == BPF_RET &&
            (code[i].code != (BPF_RET | BPF_K) || (code[i].k != 0 && code[i].k != UINT32_MAX)))
            return false;
    return true;
}

static int option_of(int socket, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

uint16_t socket_filter_port(int socket)
{
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } local;
    socklen_t size = sizeof local;
    int domain = option_of(socket, SO_DOMAIN);
    memset(&local, 0, sizeof local);
    if ((domain != AF_INET && domain != AF_INET6) || option_of(socket, SO_TYPE) != SOCK_STREAM ||
        option_of(socket, SO_PROTOCOL) != IPPROTO_TCP || getsockname(socket, &local.any, &size) != 0)
        return 0;
    return ntohs(domain == AF_INET ? local.ipv4.sin_port : local.ipv6.sin6_port);
}

int socket_filter_attach(int socket, uint16_t port, const struct sock_filter *code, uint32_t instruction_count)
{
    if (!never_truncates(code, instruction_count))
        return sv_explain(EACCES, "the filter for TCP port %u would truncate packets", port);
    struct sock_fprog program = {(unsigned short)instruction_count, (struct sock_filter *)(uintptr_t)code};
    if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
        return sv_explain(errno, "the filter for TCP port %u is refused by the kernel: %s", port, strerror(errno));
    return 0;
}
