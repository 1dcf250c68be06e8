/* SPDX-License-Identifier: Apache-2.0 */
/* See session.h. */
#define _GNU_SOURCE
#include "session.h"

#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in the process ---- */

/* A direct system call: glibc has close_range() from 2.34 on, musl does not. */
static void close_from_to(unsigned first, unsigned last)
{
    (void)syscall(SYS_close_range, first, last, 0);
}

/* Closes the broker's descriptors except these two and standard error. */
static void close_others(int a, int b)
{
    unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);
    if (low > STDERR_FILENO + 1)
        close_from_to(STDERR_FILENO + 1, low - 1);
    if (high > low + 1)
        close_from_to(low + 1, high - 1);
    close_from_to(high + 1, ~0u);
}

/* On these signals the broker ends in good order, and this process ends with it. */
static void ignore_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGCHLD};
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
        (void)signal(signals[i], SIG_IGN);
}

static void wait_until_allowed(int report_fd)
{
    char byte;
    if (recv(report_fd, &byte, sizeof byte, 0) != sizeof byte)
        _exit(EXIT_SUCCESS);
}

static void wait_for_client(int listener, int report_fd)
{
    for (;;) {
        struct pollfd pollfds[2] = {{.fd = listener, .events = POLLIN}, {.fd = report_fd, .events = POLLIN}};
        if (poll(pollfds, 2, -1) < 0)
            continue;
        if (pollfds[1].revents != 0)
            _exit(EXIT_SUCCESS);
        if (pollfds[0].revents != 0)
            return;
    }
}

static void report_failure(int report_fd, int error)
{
    static struct session_report none;
    none.error = error;
    (void)send_with_fds(report_fd, &none, sizeof none, NULL, 0, 0);
}

/* If a session ends before its report, the pipe closes without a byte. */
static void fork_session(int listener, int report_fd, bool confined)
{
    int done_pipe[2];
    char byte;
    if (pipe2(done_pipe, O_CLOEXEC) != 0) {
        report_failure(report_fd, errno);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(done_pipe[0]);
        session_run(listener, report_fd, done_pipe[1], confined);
    }
    int error = errno;
    close(done_pipe[1]);
    if (pid < 0)
        report_failure(report_fd, error);
    else if (read(done_pipe[0], &byte, sizeof byte) != sizeof byte)
        report_failure(report_fd, ECHILD);
    close(done_pipe[0]);
}

static void __attribute__((noreturn)) run(int listener, int report_fd, bool confined)
{
    close_others(listener, report_fd);
    ignore_signals();
    drop_all_but_net_admin();
    die_with_parent();
    if (confined && !confine_acceptor())
        _exit(EXIT_FAILURE);
    for (;;) {
        wait_until_allowed(report_fd);
        wait_for_client(listener, report_fd);
        fork_session(listener, report_fd, confined);
    }
}

/* ---- in the broker ---- */

bool acceptor_start(struct acceptor *acceptor, int listener, bool confined)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    acceptor->pid = fork();
    if (acceptor->pid == 0)
        run(listener, pair[1], confined);
    close(pair[1]);
    acceptor->report_fd = pair[0];
    if (acceptor->pid < 0)
        close(pair[0]);
    return acceptor->pid > 0;
}

bool acceptor_allow_one(const struct acceptor *acceptor)
{
    return send(acceptor->report_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

void acceptor_end(struct acceptor *acceptor)
{
    close(acceptor->report_fd);
    while (waitpid(acceptor->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
