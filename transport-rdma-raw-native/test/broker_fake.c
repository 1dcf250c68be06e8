/* SPDX-License-Identifier: Apache-2.0 */
/* See broker_fake.h. */
#define _GNU_SOURCE
#include "broker_fake.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

void fake_send_reply(int fd, const void *reply, size_t length, const int *fds, unsigned count)
{
    CHECK_EQ(0, send_passing_all(fd, reply, length, fds, count));
}

int fake_accept(const struct fake *fake)
{
    CHECK_EQ(0, fcntl(fake->scene.listener, F_SETFL, 0));
    int fd = accept4(fake->scene.listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

void check_explains(const char *text)
{
    if (strstr(sv_explanation(), text) == NULL)
        test_failed(__FILE__, __LINE__, "%s", sv_explanation());
}

void fake_answer(int fd, const struct sv_broker_request *request, int error)
{
    struct sv_broker_reply reply;
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.sequence = request->sequence;
    reply.error = error;
    fake_send_reply(fd, &reply, sizeof reply, NULL, 0);
}

void fake_next_request(int fd, struct sv_broker_request *request, enum sv_broker_call call)
{
    CHECK_EQ(sizeof *request, recv(fd, request, sizeof *request, 0));
    CHECK_EQ(call, request->call);
}

void fake_open(const struct fake *fake, int fd)
{
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fds[SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE];
    fake_next_request(fd, &request, SV_BROKER_OPEN);
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.sequence = request.sequence;
    reply.ifindex = 1;
    reply.layout = (struct sv_broker_layout){.queue_count = 1, .queue_bytes = 1 << 20, .chunk_bytes = 2048,
                                             .stride_bytes = 2048, .main_divisor = 1, .syn_divisor = 2,
                                             .receive_chunks = {64}};
    for (unsigned i = 0; i < SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE; i++)
        fds[i] = fake->scene.listener;
    fake_send_reply(fd, &reply, sizeof reply, fds, SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE);
}

void fake_device_open(struct fake_device *device, void *(*serve)(void *fake))
{
    const struct sv_broker_open wanted = {.netdev = "none0"};
    struct sv_broker_layout layout;
    memset(device, 0, sizeof *device);
    device->fake.version = SV_BROKER_VERSION;
    scene_listen(&device->fake.scene);
    CHECK_EQ(0, pthread_create(&device->fake.thread, NULL, serve, &device->fake));
    CHECK_EQ(0, sv_broker_open(&device->broker, &wanted, 1, device->fds, &layout));
}

void fake_device_close(struct fake_device *device)
{
    sv_broker_close(device->broker);
    CHECK_EQ(0, pthread_join(device->fake.thread, NULL));
    close_fds(device->fds, SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE);
    close(device->fake.scene.listener);
    unlink(device->fake.scene.address.sun_path);
    CHECK_EQ(0, unsetenv("SOFTVERBS_BROKER"));
}

int fake_resume(const struct fake *fake)
{
    struct sv_broker_request request;
    struct sv_broker_reply reply;
    int fd = fake_accept(fake);
    fake_next_request(fd, &request, SV_BROKER_RESUME);
    CHECK_EQ(1, request.resume.queue_count);
    CHECK_EQ(0, strcmp("none0", request.resume.open.netdev));
    memset(&reply, 0, sizeof reply);
    reply.version = SV_BROKER_VERSION;
    reply.sequence = request.sequence;
    reply.ifindex = 1;
    fake_send_reply(fd, &reply, sizeof reply, &fake->scene.listener, 1);
    fake_next_request(fd, &request, SV_BROKER_ADD_RULE);
    CHECK_EQ(AGAIN_PRIORITY, request.rule.priority);
    fake_answer(fd, &request, 0);
    return fd;
}

void fake_end_at(const struct fake *fake, enum sv_broker_call call)
{
    struct sv_broker_request request;
    int fd = fake_accept(fake);
    fake_next_request(fd, &request, call);
    close(fd);
}

int fake_add_rule_again(struct sv_broker *broker, void *context)
{
    const struct sv_rule_spec spec = {.priority = AGAIN_PRIORITY};
    ++*(unsigned *)context;
    return sv_broker_add_rule_again(broker, &spec);
}
