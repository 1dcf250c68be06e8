/* SPDX-License-Identifier: Apache-2.0 */
/* A forbidden system call kills a process of the broker, and all its tasks work under the filters. */
#define _GNU_SOURCE
#include "bpf.h"
#include "broker_scene.h"
#include "confinement.h"
#include "objects.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DONE = 7, NO_FILTERS = 8, NOT_EXPLAINED = 9 };

/* The thread sanitizer's own calls would be killed. */
#ifdef __SANITIZE_THREAD__
enum { SANITIZER_MAKES_CALLS = 1 };
#else
enum { SANITIZER_MAKES_CALLS = 0 };
#endif

/* QEMU's user emulation has no seccomp: its own calls are not those of the program. */
static bool has_filters(void)
{
    if (prctl(PR_GET_SECCOMP) != -1 || errno != EINVAL)
        return true;
    printf("left out: a test of the broker's filters, as there is no seccomp here\n");
    return false;
}

/* Direct system calls, without wrappers of a sanitizer. */
static void execute(void)
{
    char *const none[] = {NULL};
    (void)syscall(SYS_execve, "/bin/true", none, none);
}

static void open_file(void)
{
    (void)syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}

static void make_socket(void)
{
    (void)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}

static void make_thread(void)
{
    (void)syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, NULL, NULL, NULL, 0);
}

static void make_namespace(void)
{
    (void)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
}

static void make_executable_memory(void)
{
    (void)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void become_root(void)
{
    (void)syscall(SYS_setuid, 0);
}

static void trace(void)
{
    (void)syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL);
}

static void use_bpf(void)
{
    (void)syscall(SYS_bpf, 0, NULL, 0);
}

static void query_bpf(void)
{
    (void)syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, NULL, 0);
}

static void read_the_clock(void)
{
    struct timespec time;
    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
}

/* Returns how a confined process ends that makes the call. */
static int end_of(bool (*confine)(void), void (*call)(void))
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (!confine())
            syscall(SYS_exit_group, NO_FILTERS);
        call();
        syscall(SYS_exit_group, DONE);
    }
    CHECK_EQ(pid, waitpid(pid, &status, 0));
    return status;
}

static void check_kills(bool (*confine)(void), void (*call)(void))
{
    int status = end_of(confine, call);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(SIGSYS, WTERMSIG(status));
}

static void check_goes_on(bool (*confine)(void), void (*call)(void))
{
    int status = end_of(confine, call);
    CHECK(WIFEXITED(status));
    CHECK_EQ(DONE, WEXITSTATUS(status));
}

static void test_a_forbidden_system_call_kills_its_process(void)
{
    static bool (*const all[])(void) = {confine_broker, confine_acceptor, confine_session};
    if (!has_filters())
        return;
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        check_goes_on(all[i], read_the_clock);
        check_kills(all[i], execute);
        check_kills(all[i], make_thread);
        check_kills(all[i], make_namespace);
        check_kills(all[i], make_executable_memory);
        check_kills(all[i], become_root);
        check_kills(all[i], trace);
    }
    check_goes_on(confine_broker, use_bpf);
    check_goes_on(confine_broker, make_socket);
    check_goes_on(confine_broker, open_file);       /* it fails, because explaining an error would open files */
    check_kills(confine_acceptor, use_bpf);
    check_kills(confine_acceptor, make_socket);
    check_kills(confine_acceptor, open_file);
    check_kills(confine_session, use_bpf);
    check_goes_on(confine_session, query_bpf);
    check_kills(confine_session, make_socket);
    check_kills(confine_session, open_file);
}

static int open_under_filter(void)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
    return fd < 0 ? errno : 0;
}

static void check_no_file(void)
{
    if (open_under_filter() != EACCES)
        syscall(SYS_exit_group, 1);
}

static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    CHECK_EQ(0, syscall(SYS_capset, &header, none));
}

static bool confine_without_capabilities(void)
{
    drop_capabilities();
    return confine_broker();
}

static void explain_the_verifier(void)
{
    bool explained = sv_explain_missing_perfmon(EACCES);
    if (!explained || strstr(sv_explanation(), "CAP_PERFMON") == NULL)
        syscall(SYS_exit_group, NOT_EXPLAINED);
}

static void test_it_explains_the_verifier_while_serving(void)
{
    if (has_filters())
        check_goes_on(confine_without_capabilities, explain_the_verifier);
}

static void test_it_opens_no_file_while_serving(void)
{
    if (has_filters())
        check_goes_on(confine_broker, check_no_file);
}

/* Confined sessions serve all kinds of requests. */
static void test_confined_sessions_serve(void)
{
    struct scene scene;
    uint8_t too_short[8] = {0};
    struct sv_broker_request request = request_of(SV_BROKER_MAC_CHANGED);
    if (SANITIZER_MAKES_CALLS || !has_filters())
        return;
    scene_open_confined(&scene, "user=me interface=none0 modes=generic ports=any");
    int fd = scene_connect(&scene);
    CHECK_EQ(ENOTCONN, broker_transact(fd, &request));
    request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, "none0");
    CHECK(broker_transact(fd, &request) != 0);      /* the interface does not exist */
    struct {
        struct sv_broker_request request;
        struct sock_filter code;
    } filter = {.request = request_of(SV_BROKER_ATTACH_FILTER), .code = BPF_STMT(BPF_RET | BPF_K, 0)};
    filter.request.filter.instruction_count = 1;
    int unbound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(0, send_passing(fd, &filter, sizeof filter, unbound));
    CHECK_EQ(EINVAL, reply_of(fd).error);
    close(unbound);
    CHECK_EQ(sizeof too_short, send(fd, too_short, sizeof too_short, MSG_NOSIGNAL));
    CHECK_EQ(EPROTO, reply_of(fd).error);
    check_ended(fd);
    scene_settle(&scene);
    CHECK_EQ(0, server_client_count(scene.server));
    scene_close(&scene);
}

/* A confined session delivers the descriptors of a device. */
static void test_confined_sessions_open_devices(void)
{
    struct scene scene;
    struct wire wire;
    char policy[128];
    if (SANITIZER_MAKES_CALLS || !has_filters() || !have_namespace())
        return;
    link_open(&wire, 1500, 1);
    snprintf(policy, sizeof policy, "user=me interface=%s modes=generic ports=tcp:2000", wire.name[0]);
    scene_open_confined(&scene, policy);
    int fd = scene_connect(&scene);
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, wire.name[0]);
    CHECK_EQ(0, broker_transact(fd, &request));
    request = request_of(SV_BROKER_MAC_CHANGED);
    CHECK_EQ(0, broker_transact(fd, &request));
    close(fd);
    scene_settle(&scene);
    scene_close(&scene);
    link_close(&wire);
}

/* A confined session forwards the descriptors of a device after a restart of the broker. */
static void test_confined_sessions_resume_devices(void)
{
    struct scene scene;
    struct wire wire;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS], passed[SV_BROKER_RESUME_MAX_FDS], programs[SV_BROKER_MAX_FDS];
    unsigned count;
    char policy[128];
    if (SANITIZER_MAKES_CALLS || !has_filters() || !have_namespace())
        return;
    link_open(&wire, 1500, 1);
    snprintf(policy, sizeof policy, "user=me interface=%s modes=generic ports=udp:2000", wire.name[0]);
    scene_open_confined(&scene, policy);
    int fd = open_plainly(&scene, wire.name[0], SV_BROKER_MODE_GENERIC, &reply, fds, &count);
    scene_end_broker(&scene);
    check_ended(fd);
    scene_restart_broker(&scene, policy);
    struct sv_broker_request request = resume_request(wire.name[0], 1);
    unsigned passed_count = passed_to_resume(fds, count, passed);
    fd = scene_connect(&scene);
    CHECK_EQ(0, send_passing_all(fd, &request, sizeof request, passed, passed_count));
    CHECK_EQ(1, receive_passed(fd, &reply, programs, 0));
    request = request_of(SV_BROKER_COMMIT);
    CHECK_EQ(0, broker_transact(fd, &request));
    close_fds(programs, 1);
    close_fds(fds, count);
    close(fd);
    scene_close(&scene);
    link_close(&wire);
}

const struct test broker_confinement_tests[] = {
    {"broker: a forbidden system call kills its process", test_a_forbidden_system_call_kills_its_process},
    {"broker: it opens no file while serving", test_it_opens_no_file_while_serving},
    {"broker: it explains the verifier while serving", test_it_explains_the_verifier_while_serving},
    {"broker: confined sessions serve", test_confined_sessions_serve},
    {"broker: confined sessions open devices", test_confined_sessions_open_devices},
    {"broker: confined sessions resume devices", test_confined_sessions_resume_devices},
    {NULL, NULL},
};
