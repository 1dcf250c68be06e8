/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of packetdrill's scripts: a library for --so_filename. Each call becomes a request to PacketdrillHost over
 * a Unix socket, one for each thread, since a thread may block in a call. The library is preloaded too, because
 * packetdrill reads TCP_INFO by getsockopt() of the C library.
 *
 * Environment: PACKETDRILL_HOST is the path of the socket, PACKETDRILL_SYSCTL the directory that stands for /proc/sys.
 */
#define _GNU_SOURCE
#include "packetdrill.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum operation {
    HELLO, SOCKET, BIND, LISTEN, ACCEPT, CONNECT, READ, WRITE, FCNTL, CLOSE, SHUTDOWN, GETSOCKOPT, SETSOCKOPT, POLL, INJECT,
    RECEIVE, USLEEP, NOW, EPOLL_CREATE, EPOLL_CTL, EPOLL_WAIT, IOCTL,
};

enum { ARGUMENTS = 6, FIRST_FD = 1000, MAX_PAYLOAD = 70000 };

struct request {
    int32_t operation;
    int32_t bytes;
    int64_t argument[ARGUMENTS];
};

struct response {
    int64_t result;
    int32_t error;
    int32_t bytes;
};

static __thread int host = -1;

static void fail(const char *what)
{
    fprintf(stderr, "packetdrill host: %s: %s\n", what, strerror(errno));
    _exit(3);
}

static void transfer(ssize_t (*move)(int, void *, size_t), void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t moved = move(host, (uint8_t *)data + done, bytes - done);
        if (moved <= 0)
            fail("the connection ended");
        done += (size_t)moved;
    }
}

static ssize_t write_any(int fd, void *data, size_t bytes)
{
    return write(fd, data, bytes);
}

static int64_t call(struct request request, const void *payload, void *answer, size_t *answer_bytes);

static void connect_host(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("PACKETDRILL_HOST");
    const char *sysctl = getenv("PACKETDRILL_SYSCTL");
    if (path == NULL || sysctl == NULL)
        fail("PACKETDRILL_HOST or PACKETDRILL_SYSCTL is not set");
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    host = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (host < 0 || connect(host, (struct sockaddr *)&address, sizeof address) != 0)
        fail(path);
    call((struct request){HELLO, (int32_t)strlen(sysctl), {getpid()}}, sysctl, NULL, NULL);
}

/* Returns the result, or -1 and errno. */
static int64_t call(struct request request, const void *payload, void *answer, size_t *answer_bytes)
{
    struct response response;
    static __thread uint8_t received[MAX_PAYLOAD];
    if (host < 0)
        connect_host();
    transfer(write_any, &request, sizeof request);
    transfer(write_any, (void *)(uintptr_t)payload, (size_t)request.bytes);
    transfer(read, &response, sizeof response);
    if (response.bytes < 0 || response.bytes > MAX_PAYLOAD)
        fail("an answer is too long");
    transfer(read, received, (size_t)response.bytes);
    if (answer != NULL) {
        size_t bytes = (size_t)response.bytes < *answer_bytes ? (size_t)response.bytes : *answer_bytes;
        memcpy(answer, received, bytes);
        *answer_bytes = bytes;
    }
    errno = response.error;
    return response.result;
}

#define CALL(operation, ...) ((int)call((struct request){operation, 0, {__VA_ARGS__}}, NULL, NULL, NULL))

/* An address is a port and 16 bytes in network order, of IPv4 mapped into IPv6. */
struct address {
    uint8_t bytes[16];
    int64_t port;
};

static struct address address_of(const struct sockaddr *from)
{
    struct address address = {{0}, 0};
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)from;
        address.bytes[10] = address.bytes[11] = 0xff;
        memcpy(address.bytes + 12, &in->sin_addr, 4);
        address.port = ntohs(in->sin_port);
    } else {
        const struct sockaddr_in6 *in = (const void *)from;
        memcpy(address.bytes, &in->sin6_addr, 16);
        address.port = ntohs(in->sin6_port);
    }
    return address;
}

static int with_address(enum operation operation, int fd, const struct sockaddr *to, int64_t more, int64_t flags)
{
    struct address address = address_of(to);
    return (int)call((struct request){(int32_t)operation, 16, {fd, address.port, more, flags}}, address.bytes, NULL, NULL);
}

static int so_socket(void *u, int domain, int type, int protocol) { return CALL(SOCKET, domain, type, protocol); }
static int so_bind(void *u, int fd, const struct sockaddr *to, socklen_t n) { return with_address(BIND, fd, to, 0, 0); }
static int so_listen(void *u, int fd, int backlog) { return CALL(LISTEN, fd, backlog); }
static int so_connect(void *u, int fd, const struct sockaddr *to, socklen_t n) { return with_address(CONNECT, fd, to, 0, 0); }

static int so_accept(void *u, int fd, struct sockaddr *from, socklen_t *length)
{
    uint8_t answer[18];
    size_t bytes = sizeof answer;
    int accepted = (int)call((struct request){ACCEPT, 0, {fd}}, NULL, answer, &bytes);
    if (accepted >= 0 && from != NULL && *length >= sizeof(struct sockaddr_in6)) {
        static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
        if (memcmp(answer, mapped, 12) == 0) {
            struct sockaddr_in in = {.sin_family = AF_INET};
            memcpy(&in.sin_addr, answer + 12, 4);
            memcpy(&in.sin_port, answer + 16, 2);
            memcpy(from, &in, sizeof in);
            *length = sizeof in;
        } else {
            struct sockaddr_in6 in = {.sin6_family = AF_INET6};
            memcpy(&in.sin6_addr, answer, 16);
            memcpy(&in.sin6_port, answer + 16, 2);
            memcpy(from, &in, sizeof in);
            *length = sizeof in;
        }
    }
    return accepted;
}

static size_t sum(const struct iovec *iov, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += iov[i].iov_len;
    return bytes;
}

/* Contents do not matter: scripts count bytes. */
static ssize_t so_read(void *u, int fd, void *to, size_t n) { return CALL(READ, fd, (int64_t)n); }
static ssize_t so_readv(void *u, int fd, const struct iovec *iov, int n) { return CALL(READ, fd, (int64_t)sum(iov, (size_t)n)); }
static ssize_t so_recv(void *u, int fd, void *to, size_t n, int flags) { return CALL(READ, fd, (int64_t)n, flags); }
static ssize_t so_recvfrom(void *u, int fd, void *to, size_t n, int flags, struct sockaddr *from, socklen_t *length)
{
    return CALL(READ, fd, (int64_t)n, flags);
}
static ssize_t so_recvmsg(void *u, int fd, struct msghdr *message, int flags)
{
    message->msg_controllen = 0;
    message->msg_flags = 0;
    return CALL(READ, fd, (int64_t)sum(message->msg_iov, message->msg_iovlen), flags);
}

static ssize_t so_write(void *u, int fd, const void *from, size_t n) { return CALL(WRITE, fd, 0, (int64_t)n); }
static ssize_t so_writev(void *u, int fd, const struct iovec *iov, int n) { return CALL(WRITE, fd, 0, (int64_t)sum(iov, (size_t)n)); }
static ssize_t so_send(void *u, int fd, const void *from, size_t n, int flags) { return CALL(WRITE, fd, 0, (int64_t)n, flags); }
static ssize_t so_sendto(void *u, int fd, const void *from, size_t n, int flags, const struct sockaddr *to, socklen_t length)
{
    return to == NULL ? CALL(WRITE, fd, 0, (int64_t)n, flags) : with_address(WRITE, fd, to, (int64_t)n, flags);
}
static ssize_t so_sendmsg(void *u, int fd, const struct msghdr *message, int flags)
{
    size_t bytes = sum(message->msg_iov, message->msg_iovlen);
    return message->msg_name == NULL ? CALL(WRITE, fd, 0, (int64_t)bytes, flags)
                                     : with_address(WRITE, fd, message->msg_name, (int64_t)bytes, flags);
}

static int so_fcntl(void *u, int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    int argument = command == F_SETFL ? va_arg(list, int) : 0;
    va_end(list);
    return CALL(FCNTL, fd, command, argument);
}

static int so_ioctl(void *u, int fd, unsigned long command, ...)
{
    va_list list;
    va_start(list, command);
    int *to = va_arg(list, int *);
    va_end(list);
    int64_t result = call((struct request){IOCTL, 0, {fd, (int64_t)command}}, NULL, NULL, NULL);
    if (result < 0)
        return -1;
    *to = (int)result;
    return 0;
}

static int so_close(void *u, int fd) { return CALL(CLOSE, fd); }
static int so_shutdown(void *u, int fd, int how) { return CALL(SHUTDOWN, fd, how); }

static int so_getsockopt(void *u, int fd, int level, int name, void *value, socklen_t *length)
{
    size_t bytes = *length;
    int64_t result = call((struct request){GETSOCKOPT, 0, {fd, level, name}}, NULL, value, &bytes);
    if (result == 0)
        *length = (socklen_t)bytes;
    return (int)result;
}

static int so_setsockopt(void *u, int fd, int level, int name, const void *value, socklen_t length)
{
    return (int)call((struct request){SETSOCKOPT, (int32_t)length, {fd, level, name}}, value, NULL, NULL);
}

static int so_poll(void *u, struct pollfd *fds, nfds_t count, int timeout)
{
    size_t bytes = count * sizeof *fds;
    return (int)call((struct request){POLL, (int32_t)bytes, {timeout}}, fds, fds, &bytes);
}

static int so_inject(void *u, const void *packet, size_t bytes)
{
    return (int)call((struct request){INJECT, (int32_t)bytes, {0}}, packet, NULL, NULL);
}

static int so_receive(void *u, void *to, size_t *bytes, long long *time)
{
    int64_t at = call((struct request){RECEIVE, 0, {0}}, NULL, to, bytes);
    if (at < 0) {
        /* packetdrill would wait for ever. */
        fprintf(stderr, "packetdrill host: no packet is sent any more, and the script expects one\n");
        _exit(1);
    }
    *time = at;
    return 0;
}

static int so_usleep(void *u, useconds_t usecs) { return CALL(USLEEP, usecs); }

static int so_gettimeofday(void *u, struct timeval *time, struct timezone *zone)
{
    int64_t now = call((struct request){NOW, 0, {0}}, NULL, NULL, NULL);
    *time = (struct timeval){now / 1000000, now % 1000000};
    return 0;
}

static int so_epoll_create(void *u, int size) { return CALL(EPOLL_CREATE, size); }
static int so_epoll_ctl(void *u, int epoll, int operation, int fd, struct epoll_event *event)
{
    return CALL(EPOLL_CTL, epoll, operation, fd, event == NULL ? 0 : event->events, event == NULL ? 0 : (int64_t)event->data.u64);
}
static int so_epoll_wait(void *u, int epoll, struct epoll_event *events, int most, int timeout)
{
    size_t bytes = (size_t)most * sizeof *events;
    return (int)call((struct request){EPOLL_WAIT, 0, {epoll, most, timeout}}, NULL, events, &bytes);
}
static int so_pipe(void *u, int fds[2]) { errno = EOPNOTSUPP; return -1; }
static int so_splice(void *u, int in, loff_t *at_in, int out, loff_t *at_out, size_t n, unsigned flags)
{
    errno = EOPNOTSUPP;
    return -1;
}
static void so_free(void *u) {}

int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    if (fd >= FIRST_FD)
        return so_getsockopt(NULL, fd, level, name, value, length);
    int (*next)(int, int, int, void *, socklen_t *) = dlsym(RTLD_NEXT, "getsockopt");
    return next(fd, level, name, value, length);
}

/* packetdrill closes the sockets that a script leaves open. */
int close(int fd)
{
    if (fd >= FIRST_FD)
        return 0;
    int (*next)(int) = dlsym(RTLD_NEXT, "close");
    return next(fd);
}

void packetdrill_interface_init(const char *flags, struct packetdrill_interface *interface)
{
    *interface = (struct packetdrill_interface){
        .free = so_free, .socket = so_socket, .bind = so_bind, .listen = so_listen, .accept = so_accept,
        .connect = so_connect, .read = so_read, .readv = so_readv, .recv = so_recv, .recvfrom = so_recvfrom,
        .recvmsg = so_recvmsg, .write = so_write, .writev = so_writev, .send = so_send, .sendto = so_sendto,
        .sendmsg = so_sendmsg, .fcntl = so_fcntl, .ioctl = so_ioctl, .close = so_close, .shutdown = so_shutdown,
        .getsockopt = so_getsockopt, .setsockopt = so_setsockopt, .poll = so_poll, .netdev_send = so_inject,
        .netdev_receive = so_receive, .usleep = so_usleep, .gettimeofday = so_gettimeofday,
        .epoll_create = so_epoll_create, .epoll_ctl = so_epoll_ctl, .epoll_wait = so_epoll_wait, .pipe = so_pipe,
        .splice = so_splice,
    };
}
