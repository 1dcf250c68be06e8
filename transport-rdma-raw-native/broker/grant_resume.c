/* SPDX-License-Identifier: Apache-2.0 */
/* Resumes a device of an ended broker: see grant.h. */
#include "grant.h"

#include "bpf.h"
#include "passed.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct passed_device passed_device_of(const struct grant *grant, uint64_t netns_cookie)
{
    return (struct passed_device){.netdev = grant->netdev, .ifindex = grant->ifindex,
                                  .native = grant->mode != SV_BROKER_MODE_GENERIC,
                                  .netns_cookie = netns_cookie};
}

/* Checks everything before the first object is created: a refused request must not cost the broker further work. */
static int check_passed(struct grant *grant, uint32_t queue_count, uint64_t netns_cookie)
{
    const struct passed_device device = passed_device_of(grant, netns_cookie);
    if (queue_count == 0 || queue_count > SV_BPF_MAX_QUEUES ||
        grant->passed_count != SV_BROKER_RESUME_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE * queue_count)
        return sv_explain(EINVAL, "%u descriptors are passed, which does not fit %u receive queues (at most %d)",
                          grant->passed_count, queue_count, SV_BPF_MAX_QUEUES);
    int error = passed_check_link(grant->passed[SV_BROKER_RESUME_LINK], &device, &grant->replaced_program_id);
    for (unsigned i = SV_BROKER_RESUME_SOCKETS; i < grant->passed_count && error == 0; i++)
        error = passed_check_socket(grant->passed[i], &device);
    return error;
}

int grant_resume(struct grant *grant, const struct sv_broker_resume *wanted, uid_t uid, uint64_t netns_cookie,
                 const int *fds, unsigned count)
{
    grant_init(grant, &wanted->open, uid);
    grant->is_resumed = true;
    memcpy(grant->passed, fds, count * sizeof fds[0]);
    grant->passed_count = count;
    grant->ifindex = (int)if_nametoindex(grant->netdev);
    int error = grant->ifindex != 0 ? 0 : sv_explain(ENODEV, "there is no network interface '%s' in the broker's "
                                                     "network namespace", grant->netdev);
    if (error == 0)
        error = check_passed(grant, wanted->queue_count, netns_cookie);
    if (error == 0)
        return EINPROGRESS;
    grant_close(grant, false);
    return error;
}

/* Takes a passed descriptor, which grant_close() then does not close. */
static int take(struct grant *grant, unsigned at)
{
    int fd = grant->passed[at];
    grant->passed[at] = -1;
    return fd;
}

/* The client has the sockets too. They keep the map until it is empty or they are closed. */
static int set_sockets(struct grant *grant)
{
    unsigned queue = 0;
    for (unsigned i = SV_BROKER_RESUME_SOCKETS; i < grant->passed_count; i += SV_BPF_SOCKETS_PER_QUEUE) {
        int main_socket = take(grant, i), syn_socket = take(grant, i + 1);
        int error = sv_kernel_steering_set_sockets(grant->steering, queue++, main_socket, syn_socket);
        close(main_socket);
        close(syn_socket);
        if (error != 0)
            return sv_explain(error, "a passed socket of '%s' can't be put into a map: %s", grant->netdev,
                              strerror(error));
    }
    return 0;
}

static int prepare(struct grant *grant)
{
    int maps[SV_TRAFFIC_MAP_COUNT];
    int error = grant_open_packet_socket(grant);
    if (error != 0)
        return error;
    sockets_init(&grant->sockets, &grant->wanted, grant->ifindex);
    for (unsigned i = 0; i < SV_TRAFFIC_MAP_COUNT; i++)
        maps[i] = take(grant, SV_BROKER_RESUME_MAPS + i);
    error = sv_kernel_steering_resume(&grant->steering, grant->mac, maps);
    if (error == 0)
        error = set_sockets(grant);
    grant->link_fd = take(grant, SV_BROKER_RESUME_LINK);
    return error;
}

/* The reply has the map of programs, which stays the grant's. */
static int finish(struct grant *grant)
{
    int maps[SV_CLIENT_MAP_COUNT];
    int error = sv_kernel_steering_seal(grant->steering);
    if (error != 0)
        return sv_explain(error, "the maps of '%s' can't be sealed: %s", grant->netdev, strerror(error));
    sv_kernel_steering_get_client_maps(grant->steering, maps);
    grant->is_opening = false;
    grant->fds[0] = maps[SV_CLIENT_MAP_PROGRAMS];
    grant->fd_count = 1;
    return 0;
}

int grant_resume_step(struct grant *grant)
{
    if (grant->steering == NULL) {
        int error = prepare(grant);
        return error == 0 ? EINPROGRESS : error;
    }
    return grant->program < 0 ? grant_load_program(grant) : finish(grant);
}

int grant_commit(struct grant *grant)
{
    if (grant->link_fd < 0)
        return sv_explain(EINVAL, "no program of '%s' is to be replaced", grant->netdev);
    if (passed_link_program(grant->link_fd) != grant->replaced_program_id)
        return sv_explain(ESTALE, "the XDP program of '%s' has been replaced in the meantime", grant->netdev);
    int error = sv_program_replace(grant->link_fd, grant->program);
    if (error != 0)
        return sv_explain(error, "the XDP program of '%s' can't be replaced: %s", grant->netdev, strerror(error));
    close(grant->link_fd);      /* the session has it too */
    grant->link_fd = -1;
    return 0;
}
