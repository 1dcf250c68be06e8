/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client cannot delay others: neither with descriptors that take long to close, nor with sockets that it has locked.
 * The broker can be killed at any time.
 */
#define _GNU_SOURCE
#include "broker_scene.h"
#include "confinement.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83        /* Linux 6.16 */
#endif

static const char policy[] = "user=me interface=none0 modes=generic ports=any";

/* ---- processes ---- */

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return -1;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *rest = strrchr(text, ')');      /* after the name */
    int parent = -1;
    return rest != NULL && sscanf(rest, ") %*c %d", &parent) == 1 ? (pid_t)parent : -1;
}

static bool is_in_call(pid_t pid, long number)
{
    char path[64];
    long present = -1;
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    bool known = fscanf(file, "%ld", &present) == 1;
    fclose(file);
    return known && present == number;
}

/* A session is a child of a child of this process. */
static bool some_session_is_in_call(long number)
{
    bool found = false;
    DIR *directory = opendir("/proc");
    CHECK(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL && !found;) {
        pid_t pid = (pid_t)atol(entry->d_name);
        found = pid > 0 && parent_of(parent_of(pid)) == getpid() && is_in_call(pid, number);
    }
    closedir(directory);
    return found;
}

static void wait_for_session_in(long number, long or_in)
{
    struct timespec since = now();
    while (!some_session_is_in_call(number) && !some_session_is_in_call(or_in)) {
        CHECK(!overdue(since));
        sched_yield();
    }
}

/* ---- sockets in the way ---- */

/* Opens both ends of a TCP connection, of which the second end reads nothing. */
static void connect_tcp(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(0, bind(listener, (struct sockaddr *)&address, size));
    CHECK_EQ(0, listen(listener, 1));
    CHECK_EQ(0, getsockname(listener, (struct sockaddr *)&address, &size));
    CHECK_EQ(0, connect(ends[0], (struct sockaddr *)&address, size));
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(ends[1] >= 0);
    close(listener);
}

/* Makes closing the first end take a thousand seconds, unless the process is killed. */
static void make_lingering(int ends[2])
{
    static const uint8_t data[65536];
    const struct linger linger = {.l_onoff = 1, .l_linger = 1000};
    connect_tcp(ends);
    CHECK_EQ(0, setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    while (send(ends[0], data, sizeof data, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
}

static void check_others_are_served(const struct scene *scene)
{
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    for (int i = 0; i < 3; i++) {
        int other = scene_connect(scene);
        CHECK_EQ(ENOTCONN, broker_transact(other, &request));
        close(other);
    }
}

/* The client's time is over, so its session is killed although it is blocked. */
static void check_is_shut_out(struct scene *scene, int stalled)
{
    broker_clock_add(IDLE_MILLIS);
    close(scene_connect(scene));
    check_ended(stalled);
    scene_settle(scene);
}

static void test_a_descriptor_that_takes_long_to_close_delays_no_other_client(void)
{
    struct scene scene;
    int ends[2];
    if (!have_namespace())
        return;
    scene_open(&scene, policy);
    int fd = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    make_lingering(ends);
    CHECK_EQ(0, send_passing(fd, &request, sizeof request, ends[0]));
    close(ends[0]);
    CHECK_EQ(EPROTO, reply_of(fd).error);
    wait_for_session_in(SYS_close, SYS_close);
    check_others_are_served(&scene);
    check_is_shut_out(&scene, fd);
    close(ends[1]);
    scene_close(&scene);
}

/* Returns true if another connection is served within a while. */
static bool is_served(const struct scene *scene)
{
    enum { WAIT_MILLIS = 1000 };
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    struct sv_broker_reply reply;
    int fd = scene_connect(scene);
    struct pollfd told = {.fd = fd, .events = POLLIN};
    bool served = send(fd, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request &&
                  poll(&told, 1, WAIT_MILLIS) == 1 && recv(fd, &reply, sizeof reply, 0) == (ssize_t)sizeof reply;
    close(fd);
    if (served)
        CHECK_EQ(ENOTCONN, reply.error);
    return served;
}

/* The descriptor is in a message that nobody has read when the connection is closed. */
static void test_descriptor_that_lingers_unread(void)
{
    struct scene scene;
    int ends[2];
    if (!have_namespace())
        return;
    scene_open(&scene, policy);
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    make_lingering(ends);
    for (int i = 0; i < 2 * SERVER_MAX_CLIENTS_OF_USER; i++) {
        int fd = scene_connect(&scene);
        CHECK_EQ(0, send_passing(fd, &request, 1, ends[0]));
        (void)send_passing(fd, &request, sizeof request, ends[0]);
        close(fd);
    }
    close(ends[0]);
    /* The time of a session starts when the broker accepts its connection. */
    struct timespec start = now();
    do {
        CHECK(!overdue(start));
        broker_clock_add(IDLE_MILLIS);
    } while (!is_served(&scene));
    scene_settle(&scene);
    close(ends[1]);
    scene_close(&scene);
}

/* ---- a locked socket ---- */

struct fault {
    int fd;                 /* userfaultfd(2) */
    uint8_t *page;          /* reading this page blocks until the descriptor is closed */
};

static bool fault_open(struct fault *fault)
{
    struct uffdio_api api = {.api = UFFD_API};
    long page = sysconf(_SC_PAGESIZE);
    fault->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (fault->fd < 0)
        return false;
    fault->page = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(fault->page != MAP_FAILED);
    struct uffdio_register range = {.range = {(uintptr_t)fault->page, (uint64_t)page},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    CHECK_EQ(0, ioctl(fault->fd, UFFDIO_API, &api));
    CHECK_EQ(0, ioctl(fault->fd, UFFDIO_REGISTER, &range));
    return true;
}

struct locker {
    int socket;
    const uint8_t *page;
};

/* The kernel holds the socket's lock while it copies the data. */
static void *lock_socket(void *argument)
{
    const struct locker *locker = argument;
    (void)!syscall(SYS_sendto, locker->socket, locker->page, 1, MSG_NOSIGNAL, NULL, 0);
    return NULL;
}

static void test_a_locked_socket_delays_no_other_client(void)
{
    struct {
        struct sv_broker_request request;
        struct sock_filter code;
    } message = {.request = request_of(SV_BROKER_ATTACH_FILTER), .code = BPF_STMT(BPF_RET | BPF_K, 0)};
    struct scene scene;
    struct fault fault;
    struct uffd_msg event;
    pthread_t thread;
    int ends[2];
    if (!have_namespace() || !fault_open(&fault))
        return;
    scene_open(&scene, policy);
    connect_tcp(ends);
    struct locker locker = {ends[0], fault.page};
    CHECK_EQ(0, pthread_create(&thread, NULL, lock_socket, &locker));
    CHECK_EQ(sizeof event, read(fault.fd, &event, sizeof event));       /* the socket is locked now */
    int fd = scene_connect(&scene);
    message.request.filter.instruction_count = 1;
    CHECK_EQ(0, send_passing(fd, &message, sizeof message, ends[0]));
    wait_for_session_in(SYS_setsockopt, SYS_getsockname);     /* newer kernels lock it for the name too */
    check_others_are_served(&scene);
    close(fault.fd);
    CHECK_EQ(0, pthread_join(thread, NULL));
    CHECK_EQ(0, reply_of(fd).error);
    close(fd);
    close(ends[0]);
    close(ends[1]);
    scene_close(&scene);
}

/* ---- connections by which no descriptor is expected ---- */

static bool kernel_can_refuse_descriptors(void)
{
    const int off = 0;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool can = setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off) == 0;
    close(fd);
    return can;
}

static void test_descriptors_are_refused(void)
{
    struct scene scene;
    struct wire wire;
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    if (!have_namespace() || !kernel_can_refuse_descriptors())
        return;
    link_open(&wire, 1500, 1);
    scene_open(&scene, "user=64001 interface=none0 modes=generic ports=any");
    int fd = scene_connect(&scene);
    CHECK_EQ(ENOTCONN, broker_transact(fd, &request));
    /* A user without an interface has no device to resume, and no port. */
    CHECK_EQ(EPERM, send_passing(fd, &request, sizeof request, scene.listener));
    close(fd);
    scene_close(&scene);
    scene_open_for(&scene, &wire, "modes=generic ports=tcp:2000");
    fd = scene_connect(&scene);
    CHECK_EQ(0, send_passing(fd, &request, sizeof request, scene.listener));
    CHECK_EQ(EPROTO, reply_of(fd).error);
    request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, wire.name[0]);
    CHECK_EQ(0, broker_transact(fd, &request));
    /* The descriptor belongs to a device request. */
    CHECK_EQ(EPERM, send_passing(fd, &request, sizeof request, scene.listener));
    close(fd);
    scene_close(&scene);
    link_close(&wire);
}

/* ---- the broker is killed ---- */

/* Runs the broker in a separate process, as main.c does. */
static void __attribute__((noreturn)) run_broker(struct scene *scene, bool traced)
{
    die_with_parent();
    if (traced)
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    struct server *server = server_create(scene->listener, &scene->policy, false);
    close(scene->listener);
    if (server == NULL)
        _exit(EXIT_FAILURE);
    if (traced)
        raise(SIGSTOP);
    while (server_run_once(server))
        continue;
    _exit(EXIT_FAILURE);
}

enum { EACH_CALL_STOPS_TWICE = 2 };

/* Kills the broker at its nth system call, counted from the first turn. Ends after that. */
static void __attribute__((noreturn)) run_killer(struct scene *scene, unsigned number)
{
    int status;
    die_with_parent();
    pid_t broker = fork();
    if (broker == 0)
        run_broker(scene, true);
    close(scene->listener);
    if (waitpid(broker, &status, 0) != broker || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, broker, NULL, (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) != 0)
        _exit(EXIT_FAILURE);
    for (unsigned stops = 0; stops < number * EACH_CALL_STOPS_TWICE;) {
        (void)ptrace(PTRACE_SYSCALL, broker, NULL, NULL);
        if (waitpid(broker, &status, 0) != broker || !WIFSTOPPED(status))
            _exit(EXIT_FAILURE);
        stops += WSTOPSIG(status) == (SIGTRAP | 0x80);
    }
    kill(broker, SIGKILL);
    (void)waitpid(broker, &status, 0);
    _exit(EXIT_SUCCESS);
}

static pid_t fork_killer(struct scene *scene, unsigned number)
{
    scene_listen(scene);
    pid_t killer = fork();
    CHECK(killer >= 0);
    if (killer == 0)
        run_killer(scene, number);
    close(scene->listener);
    return killer;
}

/* Kills a process and its children. */
static void kill_process(pid_t pid)
{
    int status;
    CHECK_EQ(0, kill(pid, SIGKILL));
    CHECK_EQ(pid, waitpid(pid, &status, 0));
}

/* The interface is as before: the next broker opens it, and frames pass. */
static void check_next_broker(struct scene *scene, const char *netdev)
{
    scene_listen(scene);
    pid_t broker = fork();
    CHECK(broker >= 0);
    if (broker == 0)
        run_broker(scene, false);
    close(scene->listener);
    CHECK_EQ(0, open_error(netdev));
    kill_process(broker);
    unlink(scene->address.sun_path);
}

/*
 * Opening fails with a reason or succeeds. Returns the error. Reports whether the broker was killed at the call, before
 * it had answered.
 */
static int open_killed_at(struct scene *scene, const char *netdev, unsigned number, bool *was_killed)
{
    int status;
    pid_t killer = fork_killer(scene, number);
    int error = open_error(netdev);
    /* A traced broker may need longer for its answer than a client waits. */
    CHECK(error == 0 || error == ECONNRESET || error == ECONNREFUSED || error == EBUSY || error == ETIMEDOUT);
    bool killed = error != 0 && error != ETIMEDOUT;
    if (!killed)
        killed = waitpid(killer, &status, WNOHANG) == killer;
    else
        CHECK_EQ(killer, waitpid(killer, &status, 0));
    if (killed)
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    else
        kill_process(killer);
    unlink(scene->address.sun_path);
    check_next_broker(scene, netdev);
    *was_killed = killed;
    return error;
}

/*
 * A client learns at once that its broker was killed. It times out with a killed broker only if that was killed just
 * after the time limit, which does not happen again and again.
 */
static bool is_killed_at(struct scene *scene, const char *netdev, unsigned number)
{
    enum { MAX_TIMEOUTS = 3 };
    bool was_killed;
    int error;
    for (int timeouts = 0;
         (error = open_killed_at(scene, netdev, number, &was_killed)) == ETIMEDOUT && was_killed;)
        CHECK(++timeouts < MAX_TIMEOUTS);
    return was_killed || error != 0;
}

static void test_killed_at_any_system_call_it_leaves_nothing_behind(void)
{
    enum { STEP = 5, MIN_CALLS = 40, MAX_CALLS = 4000 };
    struct scene scene;
    struct wire wire;
    char rules[64];
    unsigned number = 1;
    if (!have_namespace())
        return;
    link_open(&wire, 1500, 1);
    memset(&scene, 0, sizeof scene);
    snprintf(rules, sizeof rules, "user=me interface=%s modes=generic ports=any", wire.name[0]);
    scene_read_policy(&scene, rules);
    while (is_killed_at(&scene, wire.name[0], number)) {
        number += getenv("SOFTVERBS_TEST_LONG") != NULL ? 1 : STEP;
        CHECK(number < MAX_CALLS);
    }
    CHECK(number > MIN_CALLS);
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
    link_close(&wire);
}

const struct test broker_session_tests[] = {
    {"broker: a descriptor that takes long to close delays no other client",
     test_a_descriptor_that_takes_long_to_close_delays_no_other_client},
    {"broker: an unread descriptor that takes long to close delays no other client",
     test_descriptor_that_lingers_unread},
    {"broker: a locked socket delays no other client", test_a_locked_socket_delays_no_other_client},
    {"broker: xdp descriptors are refused where none is expected", test_descriptors_are_refused},
    {"broker: xdp killed at any system call, it leaves nothing behind",
     test_killed_at_any_system_call_it_leaves_nothing_behind},
    {NULL, NULL},
};
