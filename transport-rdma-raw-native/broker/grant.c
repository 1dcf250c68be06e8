/* SPDX-License-Identifier: Apache-2.0 */
/* See grant.h. */
#include "grant.h"

#include "bpf.h"
#include "netdev_port.h"
#include "programs.h"
#include "sockets.h"
#include "xdp_queue.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* On a busy machine, sockets of an ended process are closed more than a second later. */
enum { BUSY_MILLIS = 3000 };

bool grant_may_use_bpf(void)
{
    static const uint8_t mac[6];
    struct sv_kernel_steering *steering;
    if (sv_kernel_steering_open(&steering, mac, true) != 0)
        return false;
    int result = sv_kernel_steering_load_classifier(steering, SV_XDP_ATTACH_GENERIC);
    if (result == 0)
        result = sv_kernel_steering_load_xdp(steering, SV_XDP_ATTACH_GENERIC);
    sv_kernel_steering_close(steering);
    if (result >= 0)
        close(result);
    else if (!sv_explain_missing_perfmon(-result))
        (void)sv_explain(-result, "the XDP program can't be loaded: %s", strerror(-result));
    return result >= 0;
}

/* ---- opening ---- */

static int64_t now_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_native(const struct grant *grant)
{
    return grant->mode != SV_BROKER_MODE_GENERIC;
}

static int explain_busy(const struct grant *grant, const struct sv_attached_program *program)
{
    char text[SV_ATTACHED_TEXT_BYTES];
    return sv_explain(EBUSY, "'%s' has the XDP program %s: another process uses it, or 'ip link set dev %s xdp off' "
                      "removes it", grant->netdev, sv_attached_format(program, text), grant->netdev);
}

/*
 * Finds the interface, and nothing more: an interface in use must not cost the broker further work. Closing a packet
 * socket waits for a grace period.
 */
static int find_interface(struct grant *grant)
{
    struct sv_attached_program program;
    grant->ifindex = (int)if_nametoindex(grant->netdev);
    if (grant->ifindex == 0)
        return sv_explain(ENODEV, "there is no network interface '%s' in the broker's network namespace",
                          grant->netdev);
    return sv_attached_find_xdp(grant->ifindex, &program) ? explain_busy(grant, &program) : 0;
}

int grant_open_packet_socket(struct grant *grant)
{
    /* Protocol 0: the socket receives nothing. */
    grant->mac_filter_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (grant->mac_filter_fd < 0)
        return sv_explain(errno, "the broker has no CAP_NET_RAW");
    int error = interface_mac(grant->mac_filter_fd, grant->netdev, grant->mac);
    return error == 0 ? 0 : sv_explain(error, "'%s' is not an Ethernet interface", grant->netdev);
}

static enum sv_xdp_attach_mode attach_mode(const struct grant *grant)
{
    if (!is_native(grant))
        return SV_XDP_ATTACH_GENERIC;
    return grant->sockets.jumbo ? SV_XDP_ATTACH_NATIVE_FRAGS : SV_XDP_ATTACH_NATIVE;
}

int grant_load_program(struct grant *grant)
{
    int result;
    if (!grant->has_classifier) {
        result = sv_kernel_steering_load_classifier(grant->steering, attach_mode(grant));
        grant->has_classifier = result == 0;
    } else {
        result = grant->program = sv_kernel_steering_load_xdp(grant->steering, attach_mode(grant));
    }
    if (result >= 0)
        return EINPROGRESS;
    return sv_explain_missing_perfmon(-result) ? -result : sv_explain(-result, "the XDP program can't be loaded");
}

static int attach(struct grant *grant)
{
    int link_fd = sv_program_link(grant->program, grant->ifindex, attach_mode(grant));
    grant->fds[SV_BROKER_FD_XDP_LINK] = link_fd;
    if (link_fd >= 0)
        return 0;
    if (link_fd == -EBUSY || link_fd == -EEXIST) {
        struct sv_attached_program program;
        (void)sv_attached_find_xdp(grant->ifindex, &program);
        return explain_busy(grant, &program);
    }
    return sv_explain(-link_fd, "the XDP program can't be attached to '%s' (%s mode)%s", grant->netdev,
                      is_native(grant) ? "native" : "generic",
                      is_native(grant) ? ": its driver may have no XDP; use generic mode" : "");
}

/*
 * Refuses zero copy on queues that disappear with the program: see check_zero_copy_safe() of port_xdp_open.c. So the
 * program is attached first, and no socket is bound to such an interface. `before` is the number of queues without it.
 */
static int check_zero_copy_safe(const struct grant *grant, uint32_t before)
{
    uint32_t now = interface_receive_queues(grant->mac_filter_fd, grant->netdev);
    if (!grant->sockets.zero_copy || before == 0 || now <= before)
        return 0;
    return sv_explain(EOPNOTSUPP, "zero copy is not safe on '%s': it has %u receive queues, and %u more with an XDP "
                      "program. Use ethtool -L %s combined with the maximum that ethtool -l shows, or mode native",
                      grant->netdev, before, now - before, grant->netdev);
}

static int explain_socket(const struct grant *grant, int error)
{
    const struct sockets *sockets = &grant->sockets;
    const char *netdev = grant->netdev;
    bool unsupported = error == EINVAL || error == EOPNOTSUPP || error == ENOENT;
    if (error == ENOBUFS)
        return sv_explain(ENOMEM, "the broker's limit of locked memory is too low for %u bytes of AF_XDP memory per "
                          "receive queue of '%s': raise LimitMEMLOCK= of its unit", sockets->layout.queue_bytes,
                          netdev);
    if (unsupported && sockets->zero_copy)
        return sv_explain(EOPNOTSUPP, "the driver of '%s' has no zero copy for AF_XDP, or not with this MTU", netdev);
    if (error == EINVAL && sockets->jumbo)
        return sv_explain(EOPNOTSUPP, "AF_XDP carries frames of this MTU from Linux 6.6 on: set the MTU of '%s' to %d "
                          "or less", netdev, SV_XDP_LARGE_CHUNK - SV_XDP_HEADROOM - SV_MAX_OVERHEAD);
    return sv_explain(error, "AF_XDP sockets for '%s' can't be made (%s): the kernel must be built with "
                      "CONFIG_XDP_SOCKETS", netdev, strerror(error));
}

/* Returns EINPROGRESS while a queue is busy, up to a limit. */
static int wait_for_queue(struct grant *grant)
{
    int64_t now = now_millis();
    if (grant->retry_until_millis == 0)
        grant->retry_until_millis = now + BUSY_MILLIS;
    if (now < grant->retry_until_millis)
        return EINPROGRESS;
    return sv_explain(EBUSY, "receive queue %u of '%s' has an AF_XDP socket already: another program uses it",
                      grant->sockets.layout.queue_count, grant->netdev);
}

/*
 * Binds sockets to the next queue, which also shows whether it exists: some drivers report fewer queues than there are.
 * Returns EINPROGRESS if there may be another queue.
 */
static int open_queue(struct grant *grant)
{
    uint32_t queue = grant->sockets.layout.queue_count;
    int *fds = &grant->fds[grant->fd_count];
    if (queue == SV_BPF_MAX_QUEUES)
        return 0;
    int error = sockets_add_queue(&grant->sockets, fds);
    if (error == EBUSY)
        return wait_for_queue(grant);
    if (error == EINVAL && queue > 0)
        return 0;
    if (error != 0)
        return explain_socket(grant, error);
    grant->fd_count += SV_BPF_SOCKETS_PER_QUEUE;
    error = sv_kernel_steering_set_sockets(grant->steering, queue, fds[0], fds[1]);
    return error == 0 ? EINPROGRESS : sv_explain(error, "AF_XDP sockets for '%s' can't be put into their map: %s",
                                                 grant->netdev, strerror(error));
}

static struct programs_of programs_of(const struct grant *grant)
{
    return (struct programs_of){.uid = grant->uid, .ifindex = grant->ifindex,
                                .fragments = is_native(grant) && grant->sockets.jumbo};
}

/* Takes over the programs of a closed device. Creates new maps if there are none or their preparation fails. */
static int open_steering(struct grant *grant)
{
    const struct programs_of of = programs_of(grant);
    grant->steering = programs_take(&of, &grant->program);
    grant->is_reused = grant->steering != NULL && sv_kernel_steering_reuse(grant->steering, grant->mac) == 0;
    grant->has_classifier = grant->is_reused;
    if (grant->is_reused)
        return 0;
    if (grant->steering != NULL) {
        sv_kernel_steering_close(grant->steering);
        close(grant->program);
        grant->steering = NULL;
        grant->program = -1;
    }
    return sv_kernel_steering_open(&grant->steering, grant->mac, true);
}

static int prepare_device(struct grant *grant)
{
    int error = grant_open_packet_socket(grant);
    if (error != 0)
        return error;
    sockets_init(&grant->sockets, &grant->wanted, grant->ifindex);
    error = open_steering(grant);
    if (error != 0)
        return error;
    grant->fds[SV_BROKER_FD_XDP_LINK] = grant->fds[SV_BROKER_FD_MEMORY] = -1;
    sv_kernel_steering_get_client_maps(grant->steering, grant->fds + SV_BROKER_FD_MAPS);
    grant->fd_count = SV_BROKER_FD_SOCKETS;
    return 0;
}

static int attach_program(struct grant *grant)
{
    uint32_t before = interface_receive_queues(grant->mac_filter_fd, grant->netdev);
    int error = attach(grant);
    return error != 0 ? error : check_zero_copy_safe(grant, before);
}

static int finish_device(struct grant *grant)
{
    grant->fds[SV_BROKER_FD_MEMORY] = grant->sockets.memory_fd;
    int error = sockets_seal(&grant->sockets);
    if (error == 0 && !grant->is_reused)
        error = sv_kernel_steering_seal(grant->steering);
    return error == 0 ? 0 : sv_explain(error, "the maps and the memory of '%s' can't be sealed: %s", grant->netdev,
                                       strerror(error));
}

/* The grant keeps the maps and the memory. A resumed device gets one descriptor, a map that the grant keeps too. */
static bool is_to_be_closed(const struct grant *grant, unsigned at)
{
    return !grant->is_resumed && (at == SV_BROKER_FD_XDP_LINK || at >= SV_BROKER_FD_SOCKETS);
}

void grant_close_sent_fds(struct grant *grant)
{
    for (unsigned i = 0; i < grant->fd_count; i++)
        if (is_to_be_closed(grant, i) && grant->fds[i] >= 0)
            close(grant->fds[i]);
    grant->fd_count = 0;
}

static void close_passed_fds(struct grant *grant)
{
    for (unsigned i = 0; i < grant->passed_count; i++)
        if (grant->passed[i] >= 0)
            close(grant->passed[i]);
    grant->passed_count = 0;
}

void grant_init(struct grant *grant, const struct sv_broker_open *wanted, uid_t uid)
{
    memset(grant, 0, sizeof *grant);
    grant->uid = uid;
    grant->program = -1;
    grant->in_use = grant->is_opening = true;
    grant->mode = wanted->mode;
    grant->wanted = *wanted;
    grant->mac_filter_fd = grant->link_fd = grant->sockets.memory_fd = grant->sockets.waiting_fd = -1;
    memcpy(grant->netdev, wanted->netdev, sizeof grant->netdev);
}

int grant_begin_opening(struct grant *grant, const struct sv_broker_open *wanted, uid_t uid)
{
    grant_init(grant, wanted, uid);
    int error = find_interface(grant);
    if (error == 0)
        return EINPROGRESS;
    grant_close(grant, true);
    return error;
}

/* Does one piece of the work. Returns EINPROGRESS if there is more. */
static int open_step(struct grant *grant)
{
    if (grant->steering == NULL) {
        int error = prepare_device(grant);
        return error == 0 ? EINPROGRESS : error;
    }
    if (grant->program < 0)
        return grant_load_program(grant);
    if (grant->fds[SV_BROKER_FD_XDP_LINK] < 0) {
        int error = attach_program(grant);
        return error == 0 ? EINPROGRESS : error;
    }
    int error = open_queue(grant);
    return error == 0 ? finish_device(grant) : error;
}

int grant_continue_opening(struct grant *grant)
{
    int error = grant->is_resumed ? grant_resume_step(grant) : open_step(grant);
    if (error == 0)
        grant->is_opening = false;
    else if (error != EINPROGRESS)
        grant_close(grant, true);
    return error;
}

bool grant_is_waiting(const struct grant *grant)
{
    return grant->is_opening && grant->sockets.waiting_fd >= 0;
}

/*
 * Keeps the programs of a device that was open. Those of a resumed device have maps whose memory is not mapped.
 * `delete_sockets`: the sockets of a resumed device may outlive its map, and would keep it.
 */
static void close_steering(struct grant *grant, bool delete_sockets)
{
    const struct programs_of of = programs_of(grant);
    if (!grant->is_opening && !grant->is_resumed && grant->rule_count <= PROGRAMS_MAX_RULES) {
        programs_keep(&of, grant->steering, grant->program);
        return;
    }
    if (delete_sockets && grant->steering != NULL)
        sv_kernel_steering_delete_sockets(grant->steering);
    sv_kernel_steering_close(grant->steering);
    if (grant->program >= 0)
        close(grant->program);
}

void grant_close(struct grant *grant, bool free_memory)
{
    if (!grant->in_use)
        return;
    grant_close_sent_fds(grant);
    close_passed_fds(grant);
    sockets_close(&grant->sockets, free_memory);
    close_steering(grant, grant->is_resumed && (free_memory || grant->is_opening || grant->link_fd >= 0));
    if (grant->link_fd >= 0)
        close(grant->link_fd);
    if (grant->mac_filter_fd >= 0)
        close(grant->mac_filter_fd);
    memset(grant, 0, sizeof *grant);
}
