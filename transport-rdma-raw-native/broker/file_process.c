/* SPDX-License-Identifier: Apache-2.0 */
/* See file_process.h. */
#define _GNU_SOURCE
#include "file_process.h"

#include "confinement.h"
#include "journal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERROR_TEXT_BYTES = 512, END_MILLIS = 1000 };

/* Memory shared by both processes. There is one request at a time. */
struct file_process_answer {
    struct policy policy;
    char error_text[ERROR_TEXT_BYTES];
};

static const char read_policy = 'r', remove_socket = 'u', good = 'g', bad = 'b';

static void __attribute__((noreturn)) run(int socket, struct file_process_answer *answer, const char *policy_path,
                                          const char *socket_path)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE};
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
        (void)signal(signals[i], SIG_IGN);
    drop_all_privileges();
    die_with_parent();
    for (char request; recv(socket, &request, 1, 0) == 1;) {
        if (request == remove_socket) {
            if (socket_path != NULL)
                unlink(socket_path);
            break;
        }
        bool is_good = policy_read(&answer->policy, policy_path, answer->error_text, sizeof answer->error_text);
        (void)!send(socket, is_good ? &good : &bad, 1, MSG_NOSIGNAL);
    }
    _exit(EXIT_SUCCESS);
}

bool file_process_start(struct file_process *process, const char *policy_path, const char *socket_path)
{
    int pair[2];
    process->answer = mmap(NULL, sizeof *process->answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (process->answer == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    process->is_busy = false;
    process->pid = fork();
    if (process->pid == 0) {
        close(pair[0]);
        run(pair[1], process->answer, policy_path, socket_path);
    }
    close(pair[1]);
    process->socket = pair[0];
    return process->pid > 0;
}

bool file_process_read_policy(struct file_process *process)
{
    if (process->is_busy)
        return false;
    process->is_busy = send(process->socket, &read_policy, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
    return true;
}

bool file_process_take_policy(struct file_process *process, struct policy *policy)
{
    /* A copy, because the other process could still write to the shared memory. */
    static struct file_process_answer answer;
    char verdict;
    ssize_t got = recv(process->socket, &verdict, 1, MSG_DONTWAIT);
    if (got != 1)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    process->is_busy = false;
    memcpy(&answer, process->answer, sizeof answer);
    answer.error_text[ERROR_TEXT_BYTES - 1] = '\0';
    if (verdict != good || !policy_is_valid(&answer.policy)) {
        journal("the policy is refused: %s", answer.error_text);
        return true;
    }
    *policy = answer.policy;
    journal("the policy was read again: %u lines", policy->line_count);
    return true;
}

/* The process may hang in a service of the C library. */
void file_process_end(struct file_process *process)
{
    struct pollfd pollfd = {.fd = process->socket, .events = POLLIN};
    (void)!send(process->socket, &remove_socket, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    char byte;
    while (poll(&pollfd, 1, END_MILLIS) == 1 && recv(process->socket, &byte, 1, 0) == 1)
        continue;
    close(process->socket);
    munmap(process->answer, sizeof *process->answer);
}
