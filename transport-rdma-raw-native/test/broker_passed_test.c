/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors by which hostile clients try to resume a device: each wrong one is refused with a sentence. */
#define _GNU_SOURCE
#include "broker_scene.h"

#include "af_xdp.h"

#include <dirent.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST_PORT = 2000, SECOND_PORT = 3000 };

#define BOTH_PORTS "ports=udp:2000,udp:3000 devices=2"

/* Two devices that a broker has opened before it ended. */
struct leftover {
    struct wire wire;
    struct scene scene;
    int fds[2][SV_BROKER_MAX_FDS];
    unsigned count[2];
    int passed[SV_BROKER_RESUME_MAX_FDS];   /* the right ones for the first device */
    unsigned passed_count;
};

static void leftover_open(struct leftover *leftover, enum sv_broker_mode mode, const char *rest)
{
    struct sv_broker_reply reply;
    char policy[POLICY_TEXT_BYTES];
    int connection[2];
    memset(leftover, 0, sizeof *leftover);
    link_open(&leftover->wire, 1500, 1);
    scene_open_for(&leftover->scene, &leftover->wire, "modes=generic,native " BOTH_PORTS);
    for (int end = 0; end < 2; end++)
        connection[end] = open_plainly(&leftover->scene, leftover->wire.name[end], mode, &reply,
                                       leftover->fds[end], &leftover->count[end]);
    scene_end_broker(&leftover->scene);
    for (int end = 0; end < 2; end++)
        check_ended(connection[end]);
    leftover->passed_count = passed_to_resume(leftover->fds[0], leftover->count[0], leftover->passed);
    scene_restart_broker(&leftover->scene, policy_for(policy, &leftover->wire, rest));
}

static void leftover_close(struct leftover *leftover)
{
    for (int end = 0; end < 2; end++)
        close_fds(leftover->fds[end], leftover->count[end]);
    scene_close(&leftover->scene);
    link_close(&leftover->wire);
}

/* Sends these descriptors. Returns the connection and stores the reply. */
static int ask(const struct leftover *leftover, const struct sv_broker_request *request, const int *passed,
               unsigned count, struct sv_broker_reply *reply)
{
    int fd = scene_connect(&leftover->scene);
    CHECK_EQ(0, send_passing_all(fd, request, sizeof *request, passed, count));
    *reply = reply_of(fd);
    return fd;
}

static void check_denied(const struct leftover *leftover, const struct sv_broker_request *request, const int *passed,
                         unsigned count, int error, const char *text)
{
    struct sv_broker_reply reply;
    close(ask(leftover, request, passed, count, &reply));
    if (reply.error != error || strstr(reply.text, text) == NULL)
        test_failed(__FILE__, __LINE__, "%d: %s", reply.error, reply.text);
}

/* The same with one descriptor in the place of a right one. */
static void check_denied_with(const struct leftover *leftover, unsigned at, int passed_instead, int error,
                              const char *text)
{
    const struct sv_broker_request request = resume_request(leftover->wire.name[0], 1);
    int passed[SV_BROKER_RESUME_MAX_FDS];
    memcpy(passed, leftover->passed, sizeof passed);
    passed[at] = passed_instead;
    check_denied(leftover, &request, passed, leftover->passed_count, error, text);
}

static void *make_socket_elsewhere(void *argument)
{
    int *fd = argument;
    CHECK_EQ(0, unshare(CLONE_NEWNET));
    *fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    return NULL;
}

/* Returns an AF_XDP socket of another network namespace, as a client can create one in a user namespace of its own. */
static int socket_elsewhere(void)
{
    pthread_t thread;
    int fd = -1;
    CHECK_EQ(0, pthread_create(&thread, NULL, make_socket_elsewhere, &fd));
    CHECK_EQ(0, pthread_join(thread, NULL));
    CHECK(fd >= 0);
    return fd;
}

/* The right descriptors are accepted in the end, so nothing else was wrong. */
static void check_accepted(const struct leftover *leftover, enum sv_broker_mode mode)
{
    struct sv_broker_request request = resume_request(leftover->wire.name[0], 1);
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    request.resume.open.mode = mode;
    int fd = scene_connect(&leftover->scene);
    CHECK_EQ(0, send_passing_all(fd, &request, sizeof request, leftover->passed, leftover->passed_count));
    CHECK_EQ(1, receive_passed(fd, &reply, fds, 0));
    close_fds(fds, 1);
    struct sv_broker_request commit = request_of(SV_BROKER_COMMIT);
    CHECK_EQ(0, broker_transact(fd, &commit));
    CHECK_EQ(EINVAL, broker_transact(fd, &commit));
    close(fd);
}

static void test_wrong_descriptors_are_refused(void)
{
    static const char kinds[] = "its XDP link, its maps and AF_XDP sockets";
    struct leftover leftover;
    if (!have_namespace())
        return;
    leftover_open(&leftover, SV_BROKER_MODE_GENERIC, "modes=generic,native,zerocopy " BOTH_PORTS);
    unsigned before = open_descriptors();
    const int *other = leftover.fds[1];
    int elsewhere = socket_elsewhere();
    int unconfined = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    check_denied_with(&leftover, SV_BROKER_RESUME_LINK, other[SV_BROKER_FD_XDP_LINK], EINVAL, "does not hold the XDP");
    check_denied_with(&leftover, SV_BROKER_RESUME_LINK, other[SV_BROKER_FD_MAPS], EINVAL, kinds);
    check_denied_with(&leftover, SV_BROKER_RESUME_MAPS, other[SV_BROKER_FD_MAPS + 1], EINVAL, "not those of a device");
    check_denied_with(&leftover, SV_BROKER_RESUME_MAPS + 1, leftover.scene.listener, EINVAL, kinds);
    check_denied_with(&leftover, SV_BROKER_RESUME_SOCKETS, other[SV_BROKER_FD_SOCKETS], EINVAL, "no AF_XDP socket of");
    check_denied_with(&leftover, SV_BROKER_RESUME_SOCKETS + 1, unconfined, EINVAL, "no AF_XDP socket of");
    check_denied_with(&leftover, SV_BROKER_RESUME_SOCKETS, elsewhere, EINVAL, kinds);
    check_denied_with(&leftover, SV_BROKER_RESUME_SOCKETS, leftover.scene.listener, EINVAL, kinds);
    close(elsewhere);
    close(unconfined);
    check_accepted(&leftover, SV_BROKER_MODE_GENERIC);
    scene_settle(&leftover.scene);
    CHECK_EQ(before, open_descriptors());
    leftover_close(&leftover);
}

static void test_another_mode_than_that_of_the_descriptors_is_refused(void)
{
    struct leftover leftover;
    if (!have_namespace())
        return;
    leftover_open(&leftover, SV_BROKER_MODE_GENERIC, "modes=generic,native " BOTH_PORTS);
    struct sv_broker_request request = resume_request(leftover.wire.name[0], 1);
    request.resume.open.mode = SV_BROKER_MODE_NATIVE;
    check_denied(&leftover, &request, leftover.passed, leftover.passed_count, EACCES, "in another mode");
    request.resume.open.mode = SV_BROKER_MODE_ZERO_COPY;
    check_denied(&leftover, &request, leftover.passed, leftover.passed_count, EACCES, "in zerocopy mode");
    check_accepted(&leftover, SV_BROKER_MODE_GENERIC);
    leftover_close(&leftover);
}

/* Copying sockets are none for a driver that writes to the memory of a process. */
static void test_copying_sockets_are_refused_in_mode_zerocopy(void)
{
    struct leftover leftover;
    if (!have_namespace())
        return;
    leftover_open(&leftover, SV_BROKER_MODE_NATIVE, "modes=native,zerocopy " BOTH_PORTS);
    struct sv_broker_request request = resume_request(leftover.wire.name[0], 1);
    request.resume.open.mode = SV_BROKER_MODE_ZERO_COPY;
    check_denied(&leftover, &request, leftover.passed, leftover.passed_count, EACCES, "not in zerocopy mode");
    check_accepted(&leftover, SV_BROKER_MODE_NATIVE);
    leftover_close(&leftover);
}

static void test_descriptors_beyond_the_queues_are_refused(void)
{
    struct leftover leftover;
    int passed[SV_BROKER_RESUME_MAX_FDS];
    if (!have_namespace())
        return;
    leftover_open(&leftover, SV_BROKER_MODE_GENERIC, "modes=generic " BOTH_PORTS);
    struct sv_broker_request request = resume_request(leftover.wire.name[0], 1);
    memcpy(passed, leftover.passed, sizeof passed);
    for (unsigned i = leftover.passed_count; i < SV_BROKER_RESUME_MAX_FDS; i++)
        passed[i] = leftover.passed[SV_BROKER_RESUME_SOCKETS];
    check_denied(&leftover, &request, passed, leftover.passed_count + 2, EINVAL, "does not fit 1 receive queues");
    check_denied(&leftover, &request, passed, leftover.passed_count - 1, EINVAL, "does not fit 1 receive queues");
    check_denied(&leftover, &request, passed, SV_BROKER_RESUME_SOCKETS, EINVAL, "does not fit 1 receive queues");
    check_denied(&leftover, &request, passed, SV_BROKER_RESUME_SOCKETS - 1, EINVAL, "its XDP link");
    request.resume.queue_count = UINT32_MAX;
    check_denied(&leftover, &request, passed, SV_BROKER_RESUME_MAX_FDS, EINVAL, "does not fit");
    check_accepted(&leftover, SV_BROKER_MODE_GENERIC);
    leftover_close(&leftover);
}

enum { MAX_MAPS = 256 };

/* Identifiers of maps. Other processes have maps too, so that the number of all maps says nothing. */
struct maps {
    uint32_t id[MAX_MAPS];
    unsigned count;
};

static bool has_map(const struct maps *maps, uint32_t id)
{
    bool found = false;
    for (unsigned i = 0; i < maps->count; i++)
        found |= maps->id[i] == id;
    return found;
}

/* Adds the maps of which this process, in which the broker runs, has descriptors: see proc_pid_fdinfo(5). */
static void add_open_maps(struct maps *maps, const struct maps *except)
{
    DIR *directory = opendir("/proc/self/fdinfo");
    CHECK(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[300], line[128];
        uint32_t id = 0;
        snprintf(path, sizeof path, "/proc/self/fdinfo/%s", entry->d_name);
        FILE *file = fopen(path, "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL)
            (void)sscanf(line, "map_id: %u", &id);
        if (file != NULL)
            fclose(file);
        if (id == 0 || has_map(maps, id) || (except != NULL && has_map(except, id)))
            continue;
        CHECK(maps->count < MAX_MAPS);
        maps->id[maps->count++] = id;
    }
    closedir(directory);
}

static bool map_exists(uint32_t id)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.start_id = id - 1;
    return syscall(SYS_bpf, BPF_MAP_GET_NEXT_ID, &attr, sizeof attr) == 0 && attr.next_id == id;
}

/* The kernel frees maps after a grace period. */
static void await_freed(const struct maps *maps)
{
    struct timespec since = now();
    CHECK(maps->count > 0);
    for (unsigned i = 0; i < maps->count; i++)
        while (map_exists(maps->id[i])) {
            CHECK(!overdue(since));
            poll(NULL, 0, 1);
        }
}

/* Resumes the first device, and closes the connection. Adds the device's new maps. */
static void resume_and_leave(const struct leftover *leftover, bool commits, const struct maps *before,
                             struct maps *made)
{
    const struct sv_broker_request request = resume_request(leftover->wire.name[0], 1);
    struct sv_broker_request commit = request_of(SV_BROKER_COMMIT);
    struct sv_broker_reply reply;
    int fds[SV_BROKER_MAX_FDS];
    int fd = scene_connect(&leftover->scene);
    CHECK_EQ(0, send_passing_all(fd, &request, sizeof request, leftover->passed, leftover->passed_count));
    CHECK_EQ(1, receive_passed(fd, &reply, fds, 0));
    close_fds(fds, 1);
    if (commits)
        CHECK_EQ(0, broker_transact(fd, &commit));
    add_open_maps(made, before);
    CHECK_EQ(0, shutdown(fd, SHUT_WR));
    check_ended(fd);
}

/* The client keeps its sockets, which must not keep the maps of a device that is resumed and closed. */
static void test_maps_of_closed_resumed_devices_are_freed(void)
{
    struct leftover leftover;
    if (!have_namespace())
        return;
    leftover_open(&leftover, SV_BROKER_MODE_GENERIC, "modes=generic " BOTH_PORTS);
    struct maps before = {.count = 0}, made = before, first = before, second = before;
    add_open_maps(&before, NULL);
    for (unsigned i = 0; i < 6; i++)
        resume_and_leave(&leftover, false, &before, &made);
    await_freed(&made);
    resume_and_leave(&leftover, true, &before, &first);
    resume_and_leave(&leftover, true, &before, &second);
    await_freed(&first);
    leftover_close(&leftover);
    await_freed(&second);
}

/* Of two clients that resume one device, the later one must not bring back an older program. */
static void test_only_the_program_of_the_resumed_device_is_replaced(void)
{
    struct leftover leftover;
    struct sv_broker_reply reply;
    if (!have_namespace())
        return;
    leftover_open(&leftover, SV_BROKER_MODE_GENERIC, "modes=generic " BOTH_PORTS);
    struct sv_broker_request commit = request_of(SV_BROKER_COMMIT);
    const struct sv_broker_request request = resume_request(leftover.wire.name[0], 1);
    int first = ask(&leftover, &request, leftover.passed, leftover.passed_count, &reply);
    CHECK_EQ(0, reply.error);
    int second = ask(&leftover, &request, leftover.passed, leftover.passed_count, &reply);
    CHECK_EQ(0, reply.error);
    CHECK_EQ(0, broker_transact(second, &commit));
    CHECK_EQ(ESTALE, broker_transact(first, &commit));
    close(first);
    close(second);
    leftover_close(&leftover);
}

/* A device that is resumed counts as one that is opened, and the policy applies to it. */
static void test_the_policy_applies_to_resumed_devices(void)
{
    struct leftover leftover;
    struct sv_broker_reply reply;
    if (!have_namespace())
        return;
    leftover_open(&leftover, SV_BROKER_MODE_GENERIC, "modes=generic ports=udp:3000 devices=1");
    struct sv_broker_request request = resume_request("lo", 1);
    check_denied(&leftover, &request, leftover.passed, leftover.passed_count, EACCES, "does not grant");
    request = resume_request(leftover.wire.name[0], 1);
    int fd = ask(&leftover, &request, leftover.passed, leftover.passed_count, &reply);
    CHECK_EQ(0, reply.error);
    check_denied(&leftover, &request, leftover.passed, leftover.passed_count, EACCES, "as many as the policy grants");
    /* Kernels before Linux 6.16 let the message through. */
    int error = send_passing_all(fd, &request, sizeof request, leftover.passed, leftover.passed_count);
    CHECK(error == EPERM || (error == 0 && reply_of(fd).error == EISCONN));
    request = request_of(SV_BROKER_ADD_RULE);
    request.rule.mask.outer.layers = SV_LAYER_TCP | SV_LAYER_UDP;
    request.rule.value.outer.layers = SV_LAYER_UDP;
    request.rule.mask.outer.dst_port = 0xffff;
    request.rule.value.outer.dst_port = htons(FIRST_PORT);
    CHECK_EQ(EACCES, broker_transact(fd, &request));
    request.rule.value.outer.dst_port = htons(SECOND_PORT);
    CHECK_EQ(0, broker_transact(fd, &request));
    CHECK_EQ(0, shutdown(fd, SHUT_WR));
    check_ended(fd);
    request = request_of(SV_BROKER_COMMIT);
    fd = scene_connect(&leftover.scene);
    CHECK_EQ(ENOTCONN, broker_transact(fd, &request));
    close(fd);
    leftover_close(&leftover);
}

const struct test broker_passed_tests[] = {
    {"broker: xdp wrong descriptors are refused", test_wrong_descriptors_are_refused},
    {"broker: xdp another mode than that of the descriptors is refused",
     test_another_mode_than_that_of_the_descriptors_is_refused},
    {"broker: xdp copying sockets are refused in mode zerocopy", test_copying_sockets_are_refused_in_mode_zerocopy},
    {"broker: xdp descriptors beyond the queues are refused", test_descriptors_beyond_the_queues_are_refused},
    {"broker: xdp the policy applies to resumed devices", test_the_policy_applies_to_resumed_devices},
    {"broker: xdp maps of closed resumed devices are freed", test_maps_of_closed_resumed_devices_are_freed},
    {"broker: xdp only the program of the resumed device is replaced",
     test_only_the_program_of_the_resumed_device_is_replaced},
    {NULL, NULL},
};
