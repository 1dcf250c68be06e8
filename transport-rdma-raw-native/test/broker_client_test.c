/* SPDX-License-Identifier: Apache-2.0 */
/* The client side, with a broker that is slow, has another version or is not trustworthy. */
#define _GNU_SOURCE
#include "broker_fake.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void *answer_one(void *argument)
{
    const struct fake *fake = argument;
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fds[253];
    int fd = fake_accept(fake);
    CHECK_EQ(sizeof request, recv(fd, &request, sizeof request, 0));
    memset(&reply, 0, sizeof reply);
    reply.version = fake->version;
    reply.sequence = request.sequence;
    reply.ifindex = 1;
    for (unsigned i = 0; i < fake->descriptors; i++)
        fds[i] = fake->scene.listener;
    fake_send_reply(fd, &reply, fake->reply_bytes, fds, fake->descriptors);
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

/* Grants the first rule only after the client has timed out, and then receives a request to remove it. */
static void *answer_late(void *argument)
{
    struct fake *fake = argument;
    struct sv_broker_request first, request;
    int fd = fake_accept(fake);
    fake_open(fake, fd);
    fake_next_request(fd, &first, SV_BROKER_ADD_RULE);
    fake_next_request(fd, &request, SV_BROKER_REMOVE_RULE);
    CHECK_EQ(0, memcmp(&first.rule, &request.rule, sizeof first.rule));
    fake_answer(fd, &first, 0);
    fake_answer(fd, &request, 0);
    fake_next_request(fd, &request, SV_BROKER_ADD_RULE);
    fake_answer(fd, &request, ENOMEM);
    fake_next_request(fd, &request, SV_BROKER_ADD_RULE);
    fake_answer(fd, &request, 0);
    CHECK_EQ(0, recv(fd, &request, sizeof request, 0));
    close(fd);
    return NULL;
}

static void await_reply(const struct sv_broker *broker)
{
    struct pollfd replied = {.fd = broker->socket, .events = POLLIN};
    CHECK_EQ(1, poll(&replied, 1, patience_seconds() * 1000));
}

static void test_a_late_answer_is_undone_and_requests_go_on(void)
{
    struct fake_device device;
    struct sv_rule_spec spec = {.priority = 7};
    fake_device_open(&device, answer_late);
    CHECK_EQ(ETIMEDOUT, sv_broker_add_rule(device.broker, &spec));
    await_reply(device.broker);
    CHECK_EQ(ENOMEM, sv_broker_add_rule(device.broker, &spec));        /* not the answer to an earlier request */
    CHECK_EQ(0, sv_broker_add_rule(device.broker, &spec));
    fake_device_close(&device);
}

/* ---- brokers that end ---- */

/* Ends with each request once: the request for a rule, for the device, for the rule again, for the program. */
static void *end_often(void *argument)
{
    const struct fake *fake = argument;
    struct sv_broker_request request;
    int fd = fake_accept(fake);
    fake_open(fake, fd);
    fake_next_request(fd, &request, SV_BROKER_ADD_RULE);
    close(fd);
    fake_end_at(fake, SV_BROKER_RESUME);
    close(fake_resume(fake));
    fd = fake_resume(fake);
    fake_next_request(fd, &request, SV_BROKER_COMMIT);
    close(fd);
    fd = fake_resume(fake);
    fake_next_request(fd, &request, SV_BROKER_COMMIT);
    fake_answer(fd, &request, 0);
    fake_next_request(fd, &request, SV_BROKER_ADD_RULE);
    CHECK_EQ(NEW_PRIORITY, request.rule.priority);
    fake_answer(fd, &request, 0);
    CHECK_EQ(0, recv(fd, &request, sizeof request, 0));
    close(fd);
    return NULL;
}

/* The device is resumed when a broker lives long enough. Attempts that fail are a second apart. */
static void test_a_device_outlives_brokers_that_end_at_any_request(void)
{
    enum { ATTEMPTS = 3 };      /* after the rule has been added again */
    struct fake_device device;
    struct sv_rule_spec spec = {.priority = NEW_PRIORITY};
    unsigned added_again = 0;
    int error;
    unsigned before = open_descriptors();
    fake_device_open(&device, end_often);
    sv_broker_set_rules(device.broker, fake_add_rule_again, &added_again);
    struct timespec since = now();
    CHECK_EQ(ECONNRESET, sv_broker_add_rule(device.broker, &spec));
    check_explains("has ended");
    while ((error = sv_broker_add_rule(device.broker, &spec)) != 0) {
        CHECK_EQ(ECONNRESET, error);
        CHECK(!overdue(since));
    }
    CHECK(now().tv_sec - since.tv_sec >= ATTEMPTS - 1);
    CHECK_EQ(ATTEMPTS, added_again);
    fake_device_close(&device);
    CHECK_EQ(before, open_descriptors());
}

/* ---- a successor that is late ---- */

static void *end_at_the_first_rule(void *argument)
{
    const struct fake *fake = argument;
    struct sv_broker_request request;
    int fd = fake_accept(fake);
    fake_open(fake, fd);
    fake_next_request(fd, &request, SV_BROKER_ADD_RULE);
    close(fd);
    return NULL;
}

/* Answers the only connection, step by step, until the new rule. */
static void *resume_late(void *argument)
{
    const struct fake *fake = argument;
    struct sv_broker_request request;
    int fd = fake_resume(fake);
    fake_next_request(fd, &request, SV_BROKER_COMMIT);
    fake_answer(fd, &request, 0);
    fake_next_request(fd, &request, SV_BROKER_ADD_RULE);
    CHECK_EQ(NEW_PRIORITY, request.rule.priority);
    fake_answer(fd, &request, 0);
    CHECK_EQ(0, recv(fd, &request, sizeof request, 0));
    close(fd);
    return NULL;
}

/* Its listener is there, as that of a systemd socket, and nothing accepts. An event loop must not wait each time. */
static void test_a_late_successor_is_waited_for_once(void)
{
    enum { ATTEMPTS = 10 };
    struct fake_device device;
    struct sv_rule_spec spec = {.priority = NEW_PRIORITY};
    unsigned added_again = 0;
    int error;
    unsigned before = open_descriptors();
    fake_device_open(&device, end_at_the_first_rule);
    sv_broker_set_rules(device.broker, fake_add_rule_again, &added_again);
    CHECK_EQ(ETIMEDOUT, sv_broker_add_rule(device.broker, &spec));
    CHECK_EQ(0, pthread_join(device.fake.thread, NULL));
    for (int i = 0; i < ATTEMPTS; i++) {
        CHECK_EQ(ETIMEDOUT, sv_broker_add_rule(device.broker, &spec));
        check_explains("has not resumed this device in time");
    }
    sv_broker_remove_rule(device.broker, &spec);
    CHECK_EQ(1, sv_broker_stale_rules(device.broker));
    CHECK_EQ(0, pthread_create(&device.fake.thread, NULL, resume_late, &device.fake));
    for (struct timespec since = now(); (error = sv_broker_add_rule(device.broker, &spec)) != 0;) {
        CHECK_EQ(ETIMEDOUT, error);
        CHECK(!overdue(since));
    }
    CHECK_EQ(0, sv_broker_stale_rules(device.broker));
    CHECK_EQ(1, added_again);
    fake_device_close(&device);
    CHECK_EQ(before, open_descriptors());
}

/* Ends, and leaves its place to a broker of another version, which answers until its listener is shut down. */
static void *change_version(void *argument)
{
    struct fake *fake = argument;
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fd = fake_accept(fake);
    fake_open(fake, fd);
    fake_next_request(fd, &request, SV_BROKER_ADD_RULE);
    close(fd);
    while ((fd = accept4(fake->scene.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        fake->attempts++;
        fake_next_request(fd, &request, SV_BROKER_RESUME);
        memset(&reply, 0, sizeof reply);
        reply.version = SV_BROKER_VERSION + 1;
        reply.error = EPROTO;
        fake_send_reply(fd, &reply, SV_BROKER_COMMON_REPLY_BYTES, NULL, 0);
        close(fd);
    }
    return NULL;
}

static void test_a_device_is_not_resumed_at_a_broker_of_another_version(void)
{
    struct fake_device device;
    struct sv_rule_spec spec = {.priority = NEW_PRIORITY};
    fake_device_open(&device, change_version);
    int64_t start_millis = sv_broker_now_millis();
    CHECK_EQ(EPROTO, sv_broker_add_rule(device.broker, &spec));
    check_explains("another version");
    CHECK_EQ(EPROTO, sv_broker_add_rule(device.broker, &spec));
    check_explains("another version");
    /* The second answer comes at once, because the next attempt is at least a second away. */
    CHECK(device.fake.attempts == 1 || sv_broker_now_millis() - start_millis >= 1000);
    CHECK_EQ(0, shutdown(device.fake.scene.listener, SHUT_RDWR));
    fake_device_close(&device);
}

const struct test broker_client_tests[] = {
    {"broker client: a device outlives brokers that end at any request",
     test_a_device_outlives_brokers_that_end_at_any_request},
    {"broker client: a late successor is waited for once", test_a_late_successor_is_waited_for_once},
    {"broker client: a device is not resumed at a broker of another version",
     test_a_device_is_not_resumed_at_a_broker_of_another_version},
    {"broker client: a late answer is undone and requests go on", test_a_late_answer_is_undone_and_requests_go_on},
    {"broker client: a broker of another version is refused", test_a_broker_of_another_version_is_refused},
    {"broker client: unexpected descriptors are closed", test_unexpected_descriptors_are_closed},
    {"broker client: a broker of another user is not trusted", test_broker_of_another_user},
    {NULL, NULL},
};
