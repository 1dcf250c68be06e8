/* SPDX-License-Identifier: Apache-2.0 */
/* See passed.h. */
#include "passed.h"

#include "af_xdp.h"
#include "bpf.h"
#include "broker.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62     /* Linux 5.1 */
#endif
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71      /* Linux 5.14 */
#endif

/* ---- kinds ---- */

uint64_t passed_netns_cookie(int socket)
{
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    return getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

static int option_of(int socket, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/* The kernel reads these options without a lock of the socket. */
static bool is_xdp_socket(int fd, uint64_t netns_cookie)
{
    return netns_cookie != 0 && option_of(fd, SO_DOMAIN) == AF_XDP && passed_netns_cookie(fd) == netns_cookie;
}

static bool read_xdp_link(int fd, struct bpf_link_info *info)
{
    return sv_object_read_info(fd, info, sizeof *info) && info->type == BPF_LINK_TYPE_XDP;
}

static bool is_array(int fd)
{
    struct bpf_map_info info;
    return sv_object_read_info(fd, &info, sizeof info) && info.type == BPF_MAP_TYPE_ARRAY;
}

bool passed_are_harmless(const int *fds, unsigned count, uint64_t netns_cookie)
{
    struct bpf_link_info info;
    if (count < SV_BROKER_RESUME_SOCKETS || !read_xdp_link(fds[SV_BROKER_RESUME_LINK], &info))
        return false;
    for (unsigned i = SV_BROKER_RESUME_MAPS; i < SV_BROKER_RESUME_SOCKETS; i++)
        if (!is_array(fds[i]))
            return false;
    for (unsigned i = SV_BROKER_RESUME_SOCKETS; i < count; i++)
        if (!is_xdp_socket(fds[i], netns_cookie))
            return false;
    return true;
}

static bool is_zero_copy(int socket, bool *zero_copy)
{
    struct xdp_options options = {.flags = 0};
    socklen_t size = sizeof options;
    if (getsockopt(socket, SOL_XDP, XDP_OPTIONS, &options, &size) != 0)
        return false;
    *zero_copy = (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
    return true;
}

int passed_check_mode(const int *fds, unsigned count, bool zero_copy)
{
    for (unsigned i = SV_BROKER_RESUME_SOCKETS; i < count; i++) {
        bool has_zero_copy;
        if (!is_zero_copy(fds[i], &has_zero_copy))
            return sv_explain(errno, "the mode of a passed socket can't be read: %s", strerror(errno));
        if (has_zero_copy != zero_copy)
            return sv_explain(EACCES, "a passed socket is %s",
                              has_zero_copy ? "in zerocopy mode, which was not requested" : "not in zerocopy mode");
    }
    return 0;
}

/* ---- checks against the policy's device ---- */

uint32_t passed_link_program(int link_fd)
{
    struct bpf_link_info info;
    return read_xdp_link(link_fd, &info) ? info.prog_id : 0;
}

/*
 * A link in another network namespace can name the same number of an interface. Ids of programs are unique, and a
 * client cannot get a link of a program that is not its own.
 */
int passed_check_link(int link_fd, const struct passed_device *device, uint32_t *program_id)
{
    struct bpf_link_info info;
    struct sv_attached_program program;
    if (!read_xdp_link(link_fd, &info) || info.xdp.ifindex != (uint32_t)device->ifindex ||
        !sv_attached_find_xdp(device->ifindex, &program) || program.id != info.prog_id)
        return sv_explain(EINVAL, "the passed link does not hold the XDP program of '%s'", device->netdev);
    if (program.in_driver_mode != device->native)
        return sv_explain(EACCES, "the passed link holds its program on '%s' in another mode", device->netdev);
    *program_id = info.prog_id;
    return 0;
}

/* The session has checked kind and namespace too, but the broker does not trust it. */
int passed_check_socket(int socket, const struct passed_device *device)
{
    if (is_xdp_socket(socket, device->netns_cookie) && option_of(socket, SO_BINDTOIFINDEX) == device->ifindex)
        return 0;
    return sv_explain(EINVAL, "a passed descriptor is no AF_XDP socket of '%s'", device->netdev);
}
