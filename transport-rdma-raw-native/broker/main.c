/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma-raw-broker: opens network interfaces for processes without capabilities (broker.h), as far as a policy grants
 * them (policy.h). docs/guide/broker.md describes its use, docs/reference/security.md its protection.
 *   rdma-raw-broker --policy FILE [--socket PATH]
 *   rdma-raw-broker --policy FILE --check
 *
 * Without --socket it uses the socket that systemd has opened for it (LISTEN_FDS of sd_listen_fds(3)).
 */
#define _GNU_SOURCE
#include "confinement.h"
#include "file_process.h"
#include "journal.h"
#include "policy.h"
#include "server.h"
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 64, FIRST_LISTEN_FD = 3, WRONG_USE = 2, STALE_RETRIES = 20, STALE_RETRY_MILLIS = 10 };

static volatile sig_atomic_t stop_requested;
static volatile sig_atomic_t reload_requested;

struct options {
    const char *policy;
    const char *socket;
    bool check;
};

static void on_signal(int number)
{
    if (number == SIGHUP)
        reload_requested = 1;
    else
        stop_requested = 1;
}

/* Without SA_RESTART, so that a signal ends poll() and the loop checks for it. */
static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- the socket ---- */

/*
 * Returns the socket that systemd has passed as descriptor 3, according to the environment. It must be a listening
 * socket of the right type.
 */
static int inherited_listener(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    int domain = 0, type = 0, listens = 0;
    socklen_t size = sizeof(int);
    if (pid == NULL || count == NULL || atol(pid) != (long)getpid() || strcmp(count, "1") != 0) {
        fprintf(stderr, "rdma-raw-broker: --socket is missing, and no socket comes from systemd (LISTEN_FDS=1)\n");
        return -1;
    }
    if (getsockopt(FIRST_LISTEN_FD, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
        getsockopt(FIRST_LISTEN_FD, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
        getsockopt(FIRST_LISTEN_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || domain != AF_UNIX ||
        type != SOCK_SEQPACKET || !listens) {
        fprintf(stderr, "rdma-raw-broker: the socket from systemd is none of ListenSequentialPacket=/PATH\n");
        return -1;
    }
    /* systemd passes blocking sockets. */
    int flags = fcntl(FIRST_LISTEN_FD, F_GETFL);
    if (flags < 0 || fcntl(FIRST_LISTEN_FD, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(FIRST_LISTEN_FD, F_SETFD, FD_CLOEXEC) != 0)
        return -1;
    return FIRST_LISTEN_FD;
}

static bool is_socket(const char *path)
{
    struct stat file_stat;
    return lstat(path, &file_stat) == 0 && S_ISSOCK(file_stat.st_mode);
}

static bool refuses_connections(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return refused;
}

/*
 * Returns true if a killed broker left the socket file: no process listens on it. Retries, because the killed broker's
 * acceptor may still be ending. A file of another kind refuses connections too, and must not be removed.
 */
static bool is_stale(const struct sockaddr_un *address)
{
    const struct timespec pause = {.tv_nsec = STALE_RETRY_MILLIS * 1000000L};
    for (int i = 0; i < STALE_RETRIES && is_socket(address->sun_path); i++) {
        if (refuses_connections(address))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static const char *advice(int error, const char *path)
{
    if (error == EADDRINUSE)
        return is_socket(path) ? ", by another broker" : ": another file has this name";
    return error == ENOENT ? ": make its directory first" : "";
}

/* Anyone may connect, because the policy limits the grants. */
static int bind_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        fprintf(stderr, "rdma-raw-broker: the path '%s' is longer than a socket's may be\n", path);
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (is_stale(&address))
        unlink(path);
    mode_t mask = umask(0111);
    bool bound = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    int error = errno;
    umask(mask);
    if (bound && listen(fd, BACKLOG) == 0)
        return fd;
    fprintf(stderr, "rdma-raw-broker: '%s' can't be listened on: %s%s\n", path, strerror(error),
            advice(error, path));
    close(fd);
    return -1;
}

/* ---- life ---- */

static bool read_policy(struct policy *policy, const char *path)
{
    char error_text[512];
    bool good = policy_read(policy, path, error_text, sizeof error_text);
    if (!good)
        journal("the policy is refused: %s", error_text);
    return good;
}

static void raise_limit(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(resource, &limit);
}

/* Raises limits and drops privileges. Returns false, and prints the reason, if a requirement is missing. */
static bool meets_requirements(void)
{
    raise_limit(RLIMIT_MEMLOCK);
    raise_limit(RLIMIT_NOFILE);
    const char *missing = drop_privileges();
    if (missing != NULL) {
        fprintf(stderr, "rdma-raw-broker: it has no %s: start it as root, or with AmbientCapabilities=CAP_NET_RAW "
                        "CAP_NET_ADMIN CAP_BPF\n", missing);
        return false;
    }
    if (!kernel_confines_sockets()) {
        fprintf(stderr, "rdma-raw-broker: this kernel does not confine AF_XDP sockets to an interface: it needs Linux "
                        "6.5 with CONFIG_XDP_SOCKETS\n");
        return false;
    }
    if (!grant_may_use_bpf()) {
        fprintf(stderr, "rdma-raw-broker: %s\n", sv_explanation());
        return false;
    }
    return true;
}

static bool serve(const struct options *options, struct policy *policy, struct server *server,
                  struct file_process *files)
{
    if (!confine_broker()) {
        fprintf(stderr, "rdma-raw-broker: the kernel refuses filters of system calls (%s): it must be built with "
                        "CONFIG_SECCOMP_FILTER\n", strerror(errno));
        return false;
    }
    journal("serves '%s', policy '%s': %u lines", options->socket != NULL ? options->socket : "systemd's socket",
            options->policy, policy->line_count);
    server_set_wake_fd(server, files->socket);
    while (!stop_requested) {
        bool accepts = server_run_once(server);
        if (reload_requested) {
            reload_requested = 0;   /* before reading, so that a later signal is not lost */
            if (!file_process_read_policy(files))
                reload_requested = 1;
        }
        if (!accepts || !file_process_take_policy(files, policy)) {
            journal("the process that %s has ended, so the broker ends", accepts ? "reads the policy"
                                                                                   : "accepts clients");
            return false;
        }
    }
    return true;
}

static int run(const struct options *options, struct policy *policy)
{
    struct file_process files;
    int listener = options->socket != NULL ? bind_to(options->socket) : inherited_listener();
    if (listener < 0 || !meets_requirements() || !file_process_start(&files, options->policy, options->socket))
        return EXIT_FAILURE;
    struct server *server = server_create(listener, policy, true);
    close(listener);        /* the server's acceptor has a copy */
    bool good = server != NULL && serve(options, policy, server, &files);
    if (server != NULL)
        server_destroy(server);
    file_process_end(&files);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool read_options(int count, char **arguments, struct options *options)
{
    static const struct option known[] = {
        {"policy", required_argument, NULL, 'p'}, {"socket", required_argument, NULL, 's'},
        {"check", no_argument, NULL, 'c'}, {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        if (option == 'p')
            options->policy = optarg;
        else if (option == 's')
            options->socket = optarg;
        else if (option == 'c')
            options->check = true;
        else
            return false;
    }
    return options->policy != NULL && optind == count;
}

int main(int count, char **arguments)
{
    static struct policy policy;
    struct options options = {NULL, NULL, false};
    if (!read_options(count, arguments, &options)) {
        fprintf(stderr, "usage: rdma-raw-broker --policy FILE [--socket PATH | --check]\n");
        return WRONG_USE;
    }
    catch_signals();
    if (!read_policy(&policy, options.policy))
        return EXIT_FAILURE;
    if (options.check) {
        printf("%s: %u lines\n", options.policy, policy.line_count);
        return EXIT_SUCCESS;
    }
    return run(&options, &policy);
}
