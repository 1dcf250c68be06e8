/* SPDX-License-Identifier: Apache-2.0 */
/* A device that can't be resumed: the explanation names the reason. */
#define _GNU_SOURCE
#include "broker_fake.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct rlimit usual_limits;

static void restore_limit(void)
{
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &usual_limits));
}

/* No descriptor can be added to those that are open. */
static void exhaust_descriptors(void)
{
    CHECK_EQ(0, getrlimit(RLIMIT_NOFILE, &usual_limits));
    after_failure = restore_limit;
    const struct rlimit limits = {.rlim_cur = STDERR_FILENO + 1, .rlim_max = usual_limits.rlim_max};
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &limits));
}

static void end_after_opening(const struct fake *fake)
{
    struct sv_broker_request request;
    int fd = fake_accept(fake);
    fake_open(fake, fd);
    fake_next_request(fd, &request, SV_BROKER_ADD_RULE);
    close(fd);
}

static void *end_once(void *fake)
{
    end_after_opening(fake);
    return NULL;
}

static void *close_next_connection(void *fake)
{
    end_after_opening(fake);
    fake_end_at(fake, SV_BROKER_RESUME);
    return NULL;
}

/* The client takes the descriptor of the reply only after this, and cannot. */
static void *send_descriptor_in_vain(void *argument)
{
    const struct fake *fake = argument;
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    end_after_opening(fake);
    int fd = fake_accept(fake);
    fake_next_request(fd, &request, SV_BROKER_RESUME);
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.sequence = request.sequence;
    reply.ifindex = 1;
    exhaust_descriptors();
    fake_send_reply(fd, &reply, sizeof reply, &fake->scene.listener, 1);
    while (recv(fd, &request, sizeof request, 0) > 0)
        continue;
    restore_limit();
    close(fd);
    return NULL;
}

static void *end_at_each_commit(void *argument)
{
    struct sv_broker_request request;
    end_after_opening(argument);
    for (unsigned i = 0; i < SV_BROKER_MAX_UNCERTAIN; i++) {
        int fd = fake_resume(argument);
        fake_next_request(fd, &request, SV_BROKER_COMMIT);
        close(fd);
    }
    return NULL;
}

static void check_not_resumed(void *(*serve)(void *fake), int error, const char *reason)
{
    const struct sv_rule_spec spec = {.priority = NEW_PRIORITY};
    struct fake_device device;
    fake_device_open(&device, serve);
    CHECK_EQ(error, sv_broker_add_rule(device.broker, &spec));
    check_explains(reason);
    fake_device_close(&device);
}

static void test_a_closed_connection_is_not_taken_for_a_missing_broker(void)
{
    check_not_resumed(close_next_connection, ECONNRESET, "too many connections");
}

static void test_missing_descriptors_are_not_taken_for_another_version(void)
{
    check_not_resumed(send_descriptor_in_vain, EMFILE, "can have no more descriptors");
}

/* The explanation of an earlier error is not that of this one. */
static void test_a_missing_socket_is_explained(void)
{
    const struct sv_rule_spec spec = {.priority = NEW_PRIORITY};
    struct fake_device device;
    fake_device_open(&device, end_once);
    exhaust_descriptors();
    CHECK_EQ(EMFILE, sv_broker_add_rule(device.broker, &spec));
    restore_limit();
    check_explains("can have no more descriptors");
    fake_device_close(&device);
}

static void test_a_full_queue_of_connections_is_not_taken_for_a_missing_broker(void)
{
    struct sv_broker broker = {.deadline_millis = 1};
    struct scene scene;
    scene_listen(&scene);
    CHECK_EQ(0, listen(scene.listener, 0));
    int other = scene_connect(&scene);
    CHECK_EQ(EAGAIN, sv_broker_connect(&broker));
    check_explains("accepts no connection");
    close(broker.socket);
    close(other);
    close(scene.listener);
    unlink(scene.address.sun_path);
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
}

/* Starting another broker does not help. */
static void test_a_device_with_unanswered_commits_is_to_be_opened_again(void)
{
    const struct sv_rule_spec spec = {.priority = NEW_PRIORITY};
    struct fake_device device;
    unsigned added_again = 0;
    fake_device_open(&device, end_at_each_commit);
    sv_broker_set_rules(device.broker, fake_add_rule_again, &added_again);
    for (unsigned i = 0; i < SV_BROKER_MAX_UNCERTAIN; i++) {
        CHECK_EQ(ECONNRESET, sv_broker_add_rule(device.broker, &spec));
        device.broker->next_resume_millis = 0;      /* as if the time had passed */
    }
    CHECK_EQ(SV_BROKER_MAX_UNCERTAIN, added_again);
    unlink(device.fake.scene.address.sun_path);
    CHECK_EQ(ECONNRESET, sv_broker_add_rule(device.broker, &spec));
    check_explains("open the device again");
    fake_device_close(&device);
}

const struct test broker_reasons_tests[] = {
    {"broker client: a closed connection is not taken for a missing broker",
     test_a_closed_connection_is_not_taken_for_a_missing_broker},
    {"broker client: missing descriptors are not taken for another version",
     test_missing_descriptors_are_not_taken_for_another_version},
    {"broker client: a missing socket is explained", test_a_missing_socket_is_explained},
    {"broker client: a full queue of connections is not taken for a missing broker",
     test_a_full_queue_of_connections_is_not_taken_for_a_missing_broker},
    {"broker client: a device with unanswered commits is to be opened again",
     test_a_device_with_unanswered_commits_is_to_be_opened_again},
    {NULL, NULL},
};
