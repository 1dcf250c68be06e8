/* SPDX-License-Identifier: Apache-2.0 */
/* See broker_scene.h. */
#define _GNU_SOURCE
#include "broker_scene.h"

#include "journal.h"

#include <dirent.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic unsigned journal_lines;

/* Replaces the broker's journal, which writes to standard error. */
void journal(const char *format, ...)
{
    (void)format;
    atomic_fetch_add(&journal_lines, 1);
}

unsigned scene_journal_lines(void)
{
    return atomic_load(&journal_lines);
}

/* ---- the broker ---- */

static _Atomic int64_t clock_millis;

void broker_clock_add(int64_t millis)
{
    atomic_fetch_add(&clock_millis, millis);
}

static int64_t test_clock(void)
{
    return atomic_load(&clock_millis);
}

static void *serve(void *argument)
{
    struct scene *scene = argument;
    while (!atomic_load(&scene->ends))
        server_run_once(scene->server);
    return NULL;
}

int scene_connect(const struct scene *scene)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const struct timeval limit = {.tv_sec = patience_seconds()};
    CHECK(fd >= 0);
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    CHECK_EQ(0, connect(fd, (const struct sockaddr *)&scene->address, sizeof scene->address));
    return fd;
}

static bool any_user(bool is_group, const char *name, uint32_t *id)
{
    (void)is_group, (void)name;
    *id = geteuid();
    return true;
}

void scene_read_policy(struct scene *scene, const char *policy)
{
    char error_text[256];
    if (!policy_parse(&scene->policy, policy, strlen(policy), any_user, error_text, sizeof error_text))
        test_failed(__FILE__, __LINE__, "%s", error_text);
}

static void listen_at_its_path(struct scene *scene)
{
    scene->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(scene->listener >= 0);
    CHECK_EQ(0, bind(scene->listener, (struct sockaddr *)&scene->address, sizeof scene->address));
    CHECK_EQ(0, chmod(scene->address.sun_path, 0666));
    CHECK_EQ(0, listen(scene->listener, SERVER_MAX_CLIENTS));
}

void scene_listen(struct scene *scene)
{
    static unsigned number;
    scene->address.sun_family = AF_UNIX;
    snprintf(scene->address.sun_path, sizeof scene->address.sun_path, "/tmp/broker-test-%d-%u", (int)getpid(),
             ++number);
    listen_at_its_path(scene);
    CHECK_EQ(0, setenv("SOFTVERBS_BROKER", scene->address.sun_path, 1));
}

static void start(struct scene *scene)
{
    atomic_store(&scene->ends, false);
    scene->server = server_create(scene->listener, &scene->policy, scene->confined);
    CHECK(scene->server != NULL);
    server_set_clock(scene->server, test_clock);
    CHECK_EQ(0, pthread_create(&scene->thread, NULL, serve, scene));
}

static void open_as(struct scene *scene, const char *policy, bool confined)
{
    memset(scene, 0, sizeof *scene);
    scene->confined = confined;
    scene_read_policy(scene, policy);
    scene_listen(scene);
    atomic_store(&clock_millis, 1000);
    start(scene);
}

void scene_listen_again(struct scene *scene, const char *policy)
{
    scene_read_policy(scene, policy);
    listen_at_its_path(scene);
}

void scene_unlisten(struct scene *scene)
{
    close(scene->listener);
    unlink(scene->address.sun_path);
}

void scene_restart_broker(struct scene *scene, const char *policy)
{
    scene_listen_again(scene, policy);
    start(scene);
}

void scene_open(struct scene *scene, const char *policy)
{
    open_as(scene, policy, false);
}

void scene_open_confined(struct scene *scene, const char *policy)
{
    open_as(scene, policy, true);
}

/* A connection wakes the thread. */
void scene_stop(struct scene *scene)
{
    if (atomic_exchange(&scene->ends, true))
        return;
    close(scene_connect(scene));
    CHECK_EQ(0, pthread_join(scene->thread, NULL));
}

void scene_settle(struct scene *scene)
{
    scene_stop(scene);
    while (server_client_count(scene->server) > 0)
        server_run_once(scene->server);
}

void scene_end_broker(struct scene *scene)
{
    scene_stop(scene);
    server_destroy(scene->server);
    scene->server = NULL;
    scene_unlisten(scene);
}

void scene_close(struct scene *scene)
{
    if (scene->server != NULL)
        scene_end_broker(scene);
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
}

const char *policy_for(char text[POLICY_TEXT_BYTES], const struct wire *wire, const char *rest)
{
    snprintf(text, POLICY_TEXT_BYTES, "user=me interface=%s %s\nuser=me interface=%s %s\n", wire->name[0], rest,
             wire->name[1], rest);
    return text;
}

void scene_open_for(struct scene *scene, const struct wire *wire, const char *rest)
{
    char policy[POLICY_TEXT_BYTES];
    scene_open(scene, policy_for(policy, wire, rest));
}

/* ---- plain messages ---- */

struct sv_broker_request request_of(enum sv_broker_call call)
{
    struct sv_broker_request request;
    memset(&request, 0, sizeof request);
    request.version = SV_BROKER_VERSION;
    request.call = call;
    return request;
}

struct sv_broker_reply reply_of(int fd)
{
    struct sv_broker_reply reply;
    memset(&reply, 0, sizeof reply);
    ssize_t length = recv(fd, &reply, sizeof reply, 0);
    CHECK_EQ(reply.version == SV_BROKER_VERSION ? sizeof reply : SV_BROKER_COMMON_REPLY_BYTES, length);
    CHECK(reply.error == 0 || (reply.text[0] != '\0' && memchr(reply.text, '\0', sizeof reply.text) != NULL));
    return reply;
}

int broker_transact(int fd, const struct sv_broker_request *request)
{
    CHECK_EQ(sizeof *request, send(fd, request, sizeof *request, MSG_NOSIGNAL));
    return reply_of(fd).error;
}

int send_passing_all(int fd, const void *bytes, size_t length, const int *passed, unsigned count)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))];
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        memset(control, 0, sizeof control);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), passed, count * sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)length ? 0 : errno;
}

int send_passing(int fd, const void *bytes, size_t length, int passed)
{
    return send_passing_all(fd, bytes, length, &passed, 1);
}

unsigned receive_passed(int fd, struct sv_broker_reply *reply, int fds[SV_BROKER_MAX_FDS], int flags)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SV_BROKER_MAX_FDS * sizeof(int))];
    struct iovec part = {reply, sizeof *reply};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    CHECK_EQ(sizeof *reply, recvmsg(fd, &message, MSG_CMSG_CLOEXEC | flags));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights == NULL)
        test_failed(__FILE__, __LINE__, "no descriptor: %s", reply->text);
    CHECK(rights->cmsg_type == SCM_RIGHTS);
    memcpy(fds, CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
    return (unsigned)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

int open_plainly(const struct scene *scene, const char *netdev, enum sv_broker_mode mode,
                 struct sv_broker_reply *reply, int *fds, unsigned *count)
{
    int fd = scene_connect(scene);
    struct sv_broker_request request = request_of(SV_BROKER_OPEN);
    strcpy(request.open.netdev, netdev);
    request.open.mode = mode;
    request.open.mtu = 1500;
    CHECK_EQ(sizeof request, send(fd, &request, sizeof request, 0));
    *count = receive_passed(fd, reply, fds, 0);
    CHECK_EQ(0, reply->error);
    return fd;
}

void close_fds(const int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
}

unsigned passed_to_resume(const int *fds, unsigned count, int passed[SV_BROKER_RESUME_MAX_FDS])
{
    const unsigned sockets = count - SV_BROKER_FD_SOCKETS;
    passed[SV_BROKER_RESUME_LINK] = fds[SV_BROKER_FD_XDP_LINK];
    memcpy(passed + SV_BROKER_RESUME_MAPS, fds + SV_BROKER_FD_MAPS, SV_TRAFFIC_MAP_COUNT * sizeof *fds);
    memcpy(passed + SV_BROKER_RESUME_SOCKETS, fds + SV_BROKER_FD_SOCKETS, sockets * sizeof *fds);
    return SV_BROKER_RESUME_SOCKETS + sockets;
}

struct sv_broker_request resume_request(const char *netdev, uint32_t queue_count)
{
    struct sv_broker_request request = request_of(SV_BROKER_RESUME);
    strcpy(request.resume.open.netdev, netdev);
    request.resume.open.mtu = 1500;
    request.resume.queue_count = queue_count;
    return request;
}

void check_ended(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, 0);
    if (got < 0)
        CHECK_EQ(ECONNRESET, errno);
    else
        CHECK_EQ(0, got);
    close(fd);
}

unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    CHECK(directory != NULL);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

int open_error(const char *netdev)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", netdev);
    int added = softverbs_add_device(name);
    CHECK(added == 0 || added == EEXIST);
    errno = 0;
    struct ibv_context *context = ibv_open_device(find_device(name));
    int error = errno;
    if (context == NULL)
        return error;
    CHECK_EQ(0, ibv_close_device(context));
    return 0;
}

void check_opens_again(const char *netdev)
{
    int error;
    for (struct timespec since = now(); (error = open_error(netdev)) == EACCES && !overdue(since);)
        sched_yield();
    CHECK_EQ(0, error);
}

void check_explained(const char *netdev, int error, const char *text)
{
    char name[32];
    snprintf(name, sizeof name, "xdp:%s", netdev);
    CHECK_EQ(error, open_error(netdev));
    const char *explanation = softverbs_open_error(find_device(name));
    if (strstr(explanation, text) == NULL)
        test_failed(__FILE__, __LINE__, "%s", explanation);
}
