/* SPDX-License-Identifier: Apache-2.0 */
/* The client side, with a broker that is slow, has another version or is not trustworthy. */
#define _GNU_SOURCE
#include "broker_scene.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Answers a request with this reply and these descriptors. */
static void send_reply(int fd, const void *reply, size_t length, const int *fds, unsigned count)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))];
    struct iovec part = {(void *)(uintptr_t)reply, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        memset(control, 0, sizeof control);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    }
    CHECK_EQ((ssize_t)length, sendmsg(fd, &message, MSG_NOSIGNAL));
}

struct fake {
    struct scene scene;
    pthread_t thread;
    size_t reply_bytes;
    uint32_t version;
    unsigned descriptors;
    uid_t uid;
};

static int accept_one(const struct fake *fake)
{
    CHECK_EQ(0, fcntl(fake->scene.listener, F_SETFL, 0));
    int fd = accept4(fake->scene.listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static void *answer_one(void *argument)
{
    const struct fake *fake = argument;
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fds[253];
    int fd = accept_one(fake);
    CHECK_EQ(sizeof request, recv(fd, &request, sizeof request, 0));
    memset(&reply, 0, sizeof reply);
    reply.version = fake->version;
    reply.sequence = request.sequence;
    reply.ifindex = 1;
    for (unsigned i = 0; i < fake->descriptors; i++)
        fds[i] = fake->scene.listener;
    send_reply(fd, &reply, fake->reply_bytes, fds, fake->descriptors);
    while (recv(fd, &request, sizeof request, 0) > 0)
        continue;
    close(fd);
    return NULL;
}

/* Returns the error of opening a device when the broker gives this answer. */
static int error_with(struct fake *fake)
{
    struct sv_broker_open wanted = {.netdev = "none0"};
    struct sv_broker_layout layout;
    struct sv_broker *broker;
    int fds[SV_BROKER_MAX_FDS];
    scene_listen(&fake->scene);
    CHECK_EQ(0, pthread_create(&fake->thread, NULL, answer_one, fake));
    int error = sv_broker_open(&broker, &wanted, 1, fds, &layout);
    CHECK_EQ(0, pthread_join(fake->thread, NULL));
    close(fake->scene.listener);
    unlink(fake->scene.address.sun_path);
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
    return error;
}

static void check_explains(const char *text)
{
    if (strstr(sv_explanation(), text) == NULL)
        test_failed(__FILE__, __LINE__, "%s", sv_explanation());
}

static void test_a_broker_of_another_version_is_refused(void)
{
    struct fake fake = {.version = 2, .reply_bytes = SV_BROKER_COMMON_REPLY_BYTES};
    CHECK_EQ(EPROTO, error_with(&fake));
    check_explains("another version");
}

/* The kernel delivers as many descriptors as the control buffer holds, and each of them is closed. */
static void test_unexpected_descriptors_are_closed(void)
{
    for (unsigned count = SV_BROKER_MAX_FDS - 1; count < SV_BROKER_MAX_FDS + 3; count++) {
        struct fake fake = {.version = SV_BROKER_VERSION, .reply_bytes = sizeof(struct sv_broker_reply),
                            .descriptors = count};
        unsigned before = open_descriptors();
        CHECK_EQ(EPROTO, error_with(&fake));
        CHECK_EQ(before, open_descriptors());
    }
}

/* Another user could listen at a wrong or unused path. */
static void test_broker_of_another_user(void)
{
    enum { NOBODY = 65534 };
    struct scene scene;
    struct sv_broker_open wanted = {.netdev = "none0"};
    struct sv_broker_layout layout;
    struct sv_broker *broker;
    int fds[SV_BROKER_MAX_FDS], ready[2], status;
    if (!have_namespace())
        return;
    CHECK_EQ(0, pipe(ready));
    scene_listen(&scene);
    close(scene.listener);
    unlink(scene.address.sun_path);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        bool listens = setuid(NOBODY) == 0 && bind(fd, (struct sockaddr *)&scene.address, sizeof scene.address) == 0 &&
                       listen(fd, 1) == 0;
        (void)!write(ready[1], &listens, sizeof listens);
        pause();
        _exit(EXIT_SUCCESS);
    }
    bool listens = false;
    CHECK_EQ(sizeof listens, read(ready[0], &listens, sizeof listens));
    CHECK(listens);
    CHECK_EQ(EACCES, sv_broker_open(&broker, &wanted, 1, fds, &layout));
    check_explains("user 65534 listens");
    CHECK_EQ(0, kill(pid, SIGKILL));
    CHECK_EQ(pid, waitpid(pid, &status, 0));
    close(ready[0]), close(ready[1]);
    unlink(scene.address.sun_path);
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
}

/* ---- a broker that answers too late ---- */

static void answer(int fd, const struct sv_broker_request *request, int error)
{
    struct sv_broker_reply reply;
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.sequence = request->sequence;
    reply.error = error;
    send_reply(fd, &reply, sizeof reply, NULL, 0);
}

static void next_request(int fd, struct sv_broker_request *request, enum sv_broker_call call)
{
    CHECK_EQ(sizeof *request, recv(fd, request, sizeof *request, 0));
    CHECK_EQ(call, request->call);
}

static void open_for(const struct fake *fake, int fd)
{
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE];
    next_request(fd, &request, SV_BROKER_OPEN);
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.sequence = request.sequence;
    reply.ifindex = 1;
    reply.layout = (struct sv_broker_layout){.queue_count = 1, .queue_bytes = 1 << 20, .chunk_bytes = 2048,
                                             .stride_bytes = 2048, .main_divisor = 1, .syn_divisor = 2,
                                             .receive_chunks = {64}};
    for (unsigned i = 0; i < SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE; i++)
        fds[i] = fake->scene.listener;
    send_reply(fd, &reply, sizeof reply, fds, SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE);
}

/* Grants the first rule only after the client has timed out, and then receives a request to remove it. */
static void *answer_late(void *argument)
{
    struct fake *fake = argument;
    struct sv_broker_request first, request;
    int fd = accept_one(fake);
    open_for(fake, fd);
    next_request(fd, &first, SV_BROKER_ADD_RULE);
    next_request(fd, &request, SV_BROKER_REMOVE_RULE);
    CHECK_EQ(0, memcmp(&first.rule, &request.rule, sizeof first.rule));
    answer(fd, &first, 0);
    answer(fd, &request, 0);
    next_request(fd, &request, SV_BROKER_ADD_RULE);
    answer(fd, &request, ENOMEM);
    next_request(fd, &request, SV_BROKER_ADD_RULE);
    answer(fd, &request, 0);
    CHECK_EQ(0, recv(fd, &request, sizeof request, 0));
    close(fd);
    return NULL;
}

static void test_a_late_answer_is_undone_and_requests_go_on(void)
{
    struct fake fake = {.version = SV_BROKER_VERSION};
    struct sv_broker_open wanted = {.netdev = "none0"};
    struct sv_rule_spec spec = {.priority = 7};
    struct sv_broker_layout layout;
    struct sv_broker *broker;
    int fds[SV_BROKER_MAX_FDS];
    scene_listen(&fake.scene);
    CHECK_EQ(0, pthread_create(&fake.thread, NULL, answer_late, &fake));
    CHECK_EQ(0, sv_broker_open(&broker, &wanted, 1, fds, &layout));
    CHECK_EQ(ETIMEDOUT, sv_broker_add_rule(broker, &spec));
    CHECK_EQ(ENOMEM, sv_broker_add_rule(broker, &spec));        /* not the answer to an earlier request */
    CHECK_EQ(0, sv_broker_add_rule(broker, &spec));
    sv_broker_close(broker);
    CHECK_EQ(0, pthread_join(fake.thread, NULL));
    for (unsigned i = 0; i < SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE; i++)
        close(fds[i]);
    close(fake.scene.listener);
    unlink(fake.scene.address.sun_path);
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
}

/* ---- brokers that end ---- */

enum { AGAIN_PRIORITY = 1, NEW_PRIORITY = 2 };

/* Accepts a connection, answers the request to resume the device, and receives the device's rule. */
static int resume_for(const struct fake *fake)
{
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fd = accept_one(fake);
    next_request(fd, &request, SV_BROKER_RESUME);
    CHECK_EQ(1, request.resume.queue_count);
    CHECK_EQ(0, strcmp("none0", request.resume.open.netdev));
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.sequence = request.sequence;
    reply.ifindex = 1;
    send_reply(fd, &reply, sizeof reply, &fake->scene.listener, 1);
    next_request(fd, &request, SV_BROKER_ADD_RULE);
    CHECK_EQ(AGAIN_PRIORITY, request.rule.priority);
    answer(fd, &request, 0);
    return fd;
}

static void end_at(const struct fake *fake, enum sv_broker_call call)
{
    struct sv_broker_request request;
    int fd = accept_one(fake);
    next_request(fd, &request, call);
    close(fd);
}

/* Ends with each request once: the request for a rule, for the device, for the rule again, for the program. */
static void *end_often(void *argument)
{
    const struct fake *fake = argument;
    struct sv_broker_request request;
    int fd = accept_one(fake);
    open_for(fake, fd);
    next_request(fd, &request, SV_BROKER_ADD_RULE);
    close(fd);
    end_at(fake, SV_BROKER_RESUME);
    close(resume_for(fake));
    fd = resume_for(fake);
    next_request(fd, &request, SV_BROKER_COMMIT);
    close(fd);
    fd = resume_for(fake);
    next_request(fd, &request, SV_BROKER_COMMIT);
    answer(fd, &request, 0);
    next_request(fd, &request, SV_BROKER_ADD_RULE);
    CHECK_EQ(NEW_PRIORITY, request.rule.priority);
    answer(fd, &request, 0);
    CHECK_EQ(0, recv(fd, &request, sizeof request, 0));
    close(fd);
    return NULL;
}

static int add_one_again(struct sv_broker *broker, void *context)
{
    const struct sv_rule_spec spec = {.priority = AGAIN_PRIORITY};
    ++*(unsigned *)context;
    return sv_broker_add_rule_again(broker, &spec);
}

/* The device is resumed when a broker lives long enough. Attempts that fail are a second apart. */
static void test_a_device_outlives_brokers_that_end_at_any_request(void)
{
    enum { ATTEMPTS = 3 };      /* after the rule has been added again */
    struct fake fake = {.version = SV_BROKER_VERSION};
    struct sv_broker_open wanted = {.netdev = "none0"};
    struct sv_rule_spec spec = {.priority = NEW_PRIORITY};
    struct sv_broker_layout layout;
    struct sv_broker *broker;
    unsigned added_again = 0;
    int fds[SV_BROKER_MAX_FDS], error;
    unsigned before = open_descriptors();
    scene_listen(&fake.scene);
    CHECK_EQ(0, pthread_create(&fake.thread, NULL, end_often, &fake));
    CHECK_EQ(0, sv_broker_open(&broker, &wanted, 1, fds, &layout));
    sv_broker_set_rules(broker, add_one_again, &added_again);
    struct timespec since = now();
    CHECK_EQ(ECONNRESET, sv_broker_add_rule(broker, &spec));
    check_explains("has ended");
    while ((error = sv_broker_add_rule(broker, &spec)) != 0) {
        CHECK_EQ(ECONNRESET, error);
        CHECK(!overdue(since));
    }
    CHECK(now().tv_sec - since.tv_sec >= ATTEMPTS - 1);
    CHECK_EQ(ATTEMPTS, added_again);
    sv_broker_close(broker);
    CHECK_EQ(0, pthread_join(fake.thread, NULL));
    for (unsigned i = 0; i < SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE; i++)
        close(fds[i]);
    close(fake.scene.listener);
    unlink(fake.scene.address.sun_path);
    CHECK_EQ(before, open_descriptors());
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
}

/* Ends, and leaves its place to a broker of another version. */
static void *change_version(void *argument)
{
    const struct fake *fake = argument;
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fd = accept_one(fake);
    open_for(fake, fd);
    next_request(fd, &request, SV_BROKER_ADD_RULE);
    close(fd);
    fd = accept_one(fake);
    next_request(fd, &request, SV_BROKER_RESUME);
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION + 1;
    reply.error = EPROTO;
    send_reply(fd, &reply, SV_BROKER_COMMON_REPLY_BYTES, NULL, 0);
    close(fd);
    return NULL;
}

static void test_a_device_is_not_resumed_at_a_broker_of_another_version(void)
{
    struct fake fake = {.version = SV_BROKER_VERSION};
    struct sv_broker_open wanted = {.netdev = "none0"};
    struct sv_rule_spec spec = {.priority = NEW_PRIORITY};
    struct sv_broker_layout layout;
    struct sv_broker *broker;
    int fds[SV_BROKER_MAX_FDS];
    scene_listen(&fake.scene);
    CHECK_EQ(0, pthread_create(&fake.thread, NULL, change_version, &fake));
    CHECK_EQ(0, sv_broker_open(&broker, &wanted, 1, fds, &layout));
    CHECK_EQ(EPROTO, sv_broker_add_rule(broker, &spec));
    check_explains("another version");
    CHECK_EQ(EPROTO, sv_broker_add_rule(broker, &spec));    /* at once: the next attempt is a second away */
    check_explains("another version");
    sv_broker_close(broker);
    CHECK_EQ(0, pthread_join(fake.thread, NULL));
    for (unsigned i = 0; i < SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE; i++)
        close(fds[i]);
    close(fake.scene.listener);
    unlink(fake.scene.address.sun_path);
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
}

const struct test broker_client_tests[] = {
    {"broker client: a device outlives brokers that end at any request",
     test_a_device_outlives_brokers_that_end_at_any_request},
    {"broker client: a device is not resumed at a broker of another version",
     test_a_device_is_not_resumed_at_a_broker_of_another_version},
    {"broker client: a late answer is undone and requests go on", test_a_late_answer_is_undone_and_requests_go_on},
    {"broker client: a broker of another version is refused", test_a_broker_of_another_version_is_refused},
    {"broker client: unexpected descriptors are closed", test_unexpected_descriptors_are_closed},
    {"broker client: a broker of another user is not trusted", test_broker_of_another_user},
    {NULL, NULL},
};
