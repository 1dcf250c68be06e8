/* SPDX-License-Identifier: Apache-2.0 */
/* The process's side of a broker, opening and closing of devices: see broker.h. */
#include "broker_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OPEN_RETRY_MILLIS = 1000 };

static int request_open(struct sv_broker *broker, const struct sv_broker_open *wanted, struct sv_broker_reply *reply,
                       int fds[SV_BROKER_MAX_FDS], unsigned *count)
{
    struct sv_broker_request request;
    memset(&request, 0, sizeof request);
    request.call = SV_BROKER_OPEN;
    request.open = *wanted;
    return sv_broker_transact_retrying(broker, &request, reply, fds, count, OPEN_RETRY_MILLIS);
}

/* If the descriptors were read too late, the broker has taken the device back and shut the connection down. */
static int check_is_open(struct sv_broker *broker)
{
    char byte;
    bool has_ended = recv(broker->socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
    return has_ended ? sv_broker_fail(broker, ECONNRESET) : 0;
}

/* Returns true if the layout is valid. The sizes are used as masks. */
static bool is_layout_valid(const struct sv_broker_layout *layout, unsigned fds)
{
    if (layout->queue_count == 0 || layout->queue_count > SV_BPF_MAX_QUEUES || layout->main_divisor == 0 ||
        layout->syn_divisor == 0 || fds != SV_BROKER_FD_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE * layout->queue_count)
        return false;
    for (uint32_t i = 0; i < layout->queue_count; i++) {
        uint32_t chunks = layout->receive_chunks[i];
        if (chunks < 2 * layout->main_divisor || chunks < 2 * layout->syn_divisor || (chunks & (chunks - 1)) != 0 ||
            (chunks + chunks / 2) * (uint64_t)layout->stride_bytes > layout->queue_bytes)
            return false;
    }
    return true;
}

void sv_broker_keep_queues(struct sv_broker *broker, uint32_t queue_count)
{
    broker->queue_count = queue_count;
    broker->held_count = SV_BROKER_RESUME_SOCKETS + SV_BPF_SOCKETS_PER_QUEUE * queue_count;
}

/* Records the parameters and the descriptors by which the device can be resumed. */
static void record_device(struct sv_broker *broker, const struct sv_broker_open *wanted, int ifindex, const int *fds,
                          const struct sv_broker_layout *layout)
{
    broker->wanted = *wanted;
    broker->ifindex = ifindex;
    sv_broker_keep_queues(broker, layout->queue_count);
    broker->held[SV_BROKER_RESUME_LINK] = fds[SV_BROKER_FD_XDP_LINK];
    memcpy(broker->held + SV_BROKER_RESUME_MAPS, fds + SV_BROKER_FD_MAPS, SV_TRAFFIC_MAP_COUNT * sizeof *fds);
    memcpy(broker->held + SV_BROKER_RESUME_SOCKETS, fds + SV_BROKER_FD_SOCKETS,
           SV_BPF_SOCKETS_PER_QUEUE * layout->queue_count * sizeof *fds);
    broker->programs_fd = fds[SV_BROKER_FD_MAPS + SV_CLIENT_MAP_PROGRAMS];
}

int sv_broker_open(struct sv_broker **out, const struct sv_broker_open *wanted, int ifindex,
                   int fds[SV_BROKER_MAX_FDS], struct sv_broker_layout *layout)
{
    struct sv_broker_reply reply;
    unsigned count = 0;
    struct sv_broker *broker = sv_alloc_zeroed(sizeof *broker);
    if (broker == NULL)
        return ENOMEM;
    int error = sv_broker_connect(broker);
    if (error == 0)
        error = request_open(broker, wanted, &reply, fds, &count);
    if (error == 0)
        error = check_is_open(broker);
    if (error == 0)
        error = sv_broker_check_namespace(broker, wanted, ifindex, &reply);
    if (error == 0 && !is_layout_valid(&reply.layout, count))
        error = sv_broker_fail(broker, EPROTO);
    if (error != 0) {
        sv_broker_close_fds(fds, count);
        sv_broker_close(broker);
        return error;
    }
    record_device(broker, wanted, ifindex, fds, &reply.layout);
    *layout = reply.layout;
    *out = broker;
    return 0;
}

void sv_broker_close(struct sv_broker *broker)
{
    if (broker == NULL)
        return;
    sv_broker_disconnect(broker);
    sv_broker_forget_waiting(broker);
    sv_broker_close_fds(broker->uncertain_fds, broker->uncertain_count);
    if (broker->pending == SV_BROKER_COMMIT_PENDING)
        close(broker->pending_programs_fd);
    free(broker);
}
