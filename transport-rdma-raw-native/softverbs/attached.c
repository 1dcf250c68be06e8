/* SPDX-License-Identifier: Apache-2.0 */
/* See bpf.h. */
#include "bpf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 16384, ATTEMPTS = 16 };

/* Newer than the oldest <linux/bpf.h> this builds with: Linux 6.6. */
enum { TCX_INGRESS = 46, ATTACH_BEFORE = 1 << 3, ATTACH_AFTER = 1 << 4, ATTACH_BY_ID = 1 << 5 };

/* The fields of union bpf_attr of Linux 6.6 for BPF_PROG_QUERY and for BPF_LINK_CREATE of a tc program. */
struct prog_query_attr {
    uint32_t ifindex, type, query_flags, attach_flags;
    uint64_t ids;
    uint32_t count, reserved;
    uint64_t attach_flags_of_each, links, attach_flags_of_links, revision;
};

struct tcx_link_attr {
    uint32_t program_fd, ifindex, type, flags, relative_id, reserved;
    uint64_t revision;
};

_Static_assert(sizeof(struct prog_query_attr) <= sizeof(union bpf_attr), "the attributes have room");
_Static_assert(sizeof(struct tcx_link_attr) <= sizeof(union bpf_attr), "the attributes have room");

/* ---- names ---- */

uint32_t sv_program_id(int program_fd)
{
    struct bpf_prog_info info;
    return sv_object_read_info(program_fd, &info, sizeof info) ? info.id : 0;
}

void sv_attached_read_name(uint32_t id, char name[SV_ATTACHED_NAME_BYTES])
{
    struct bpf_prog_info info;
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_id = id;
    name[0] = '\0';
    int program_fd = sv_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
    if (program_fd < 0)
        return;
    if (sv_object_read_info(program_fd, &info, sizeof info))
        snprintf(name, SV_ATTACHED_NAME_BYTES, "%.*s", SV_ATTACHED_NAME_BYTES - 1, info.name);
    close(program_fd);
}

bool sv_attached_is_own(const struct sv_attached_program *program)
{
    static const char prefix[] = "rdma_raw_";
    return strncmp(program->name, prefix, sizeof prefix - 1) == 0;
}

const char *sv_attached_format(const struct sv_attached_program *program, char text[SV_ATTACHED_TEXT_BYTES])
{
    bool named = program->name[0] != '\0';
    snprintf(text, SV_ATTACHED_TEXT_BYTES, named ? "'%s' (id %u)" : "%sid %u", program->name, program->id);
    return text;
}

/* ---- XDP ---- */

/* Returns an attribute, or NULL. */
static const struct rtattr *find_attribute(const struct rtattr *at, size_t bytes, unsigned short type)
{
    for (int left = (int)bytes; RTA_OK(at, left); at = RTA_NEXT(at, left))
        if ((at->rta_type & NLA_TYPE_MASK) == type)
            return at;
    return NULL;
}

static uint32_t number_in(const struct rtattr *xdp, unsigned short type)
{
    uint32_t number = 0;
    const struct rtattr *attribute = find_attribute(RTA_DATA(xdp), RTA_PAYLOAD(xdp), type);
    if (attribute != NULL && RTA_PAYLOAD(attribute) >= sizeof number)
        memcpy(&number, RTA_DATA(attribute), sizeof number);
    return number;
}

static void parse_newlink(const struct nlmsghdr *header, struct sv_attached_program *program)
{
    const struct ifinfomsg *info = NLMSG_DATA(header);
    if (header->nlmsg_type != RTM_NEWLINK || header->nlmsg_len < NLMSG_LENGTH(sizeof *info))
        return;
    const struct rtattr *xdp = find_attribute(IFLA_RTA(info), IFLA_PAYLOAD(header), IFLA_XDP);
    if (xdp == NULL)
        return;
    program->id = number_in(xdp, IFLA_XDP_SKB_PROG_ID);
    program->in_driver_mode = program->id == 0;
    if (program->id == 0)
        program->id = number_in(xdp, IFLA_XDP_DRV_PROG_ID);
    if (program->id == 0)
        program->id = number_in(xdp, IFLA_XDP_HW_PROG_ID);
}

bool sv_attached_find_xdp(int ifindex, struct sv_attached_program *program)
{
    alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
    } request;
    memset(program, 0, sizeof *program);
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = RTM_GETLINK;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.info.ifi_index = ifindex;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0)
        return false;
    /* The kernel answers before send() returns. */
    ssize_t got = send(fd, &request, sizeof request, 0);
    if (got >= 0)
        got = recv(fd, answer, sizeof answer, 0);
    close(fd);
    const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
    if (got >= 0 && NLMSG_OK(header, (size_t)got))
        parse_newlink(header, program);
    if (program->id != 0)
        sv_attached_read_name(program->id, program->name);
    return program->id != 0;
}

/* ---- tc ---- */

int sv_attached_list_tc(int ifindex, struct sv_attached_list *list)
{
    union bpf_attr attr;
    memset(list, 0, sizeof *list);
    struct prog_query_attr query = {.ifindex = (uint32_t)ifindex, .type = TCX_INGRESS, .ids = sv_ptr_to_u64(list->id),
                                    .count = SV_ATTACHED_MAX};
    memset(&attr, 0, sizeof attr);
    memcpy(&attr, &query, sizeof query);
    if (sv_bpf(BPF_PROG_QUERY, &attr) != 0)
        return errno == ENOENT ? 0 : errno;     /* Linux 6.6 returns ENOENT for an interface without programs */
    memcpy(&query, &attr, sizeof query);
    list->count = query.count < SV_ATTACHED_MAX ? query.count : SV_ATTACHED_MAX;
    list->revision = query.revision;
    return 0;
}

static int attach_at(int program_fd, int ifindex, const struct sv_attached_list *list, bool (*is_own)(uint32_t id))
{
    union bpf_attr attr;
    struct tcx_link_attr placement = {.program_fd = (uint32_t)program_fd, .ifindex = (uint32_t)ifindex,
                                      .type = TCX_INGRESS, .flags = ATTACH_BEFORE, .revision = list->revision};
    for (uint32_t i = 0; i < list->count; i++)
        if (is_own(list->id[i])) {
            placement.flags = ATTACH_AFTER | ATTACH_BY_ID;
            placement.relative_id = list->id[i];
        }
    memset(&attr, 0, sizeof attr);
    memcpy(&attr, &placement, sizeof placement);
    int link_fd = sv_bpf(BPF_LINK_CREATE, &attr);
    return link_fd >= 0 ? link_fd : -errno;
}

int sv_attach_tc(int program_fd, int ifindex, bool (*is_own)(uint32_t id))
{
    int link_fd = -ESTALE;
    /* ESTALE and ENOENT: the list has changed since it was read. */
    for (int i = 0; i < ATTEMPTS && (link_fd == -ESTALE || link_fd == -ENOENT); i++) {
        struct sv_attached_list list;
        int error = sv_attached_list_tc(ifindex, &list);
        link_fd = error != 0 ? -error : attach_at(program_fd, ifindex, &list, is_own);
    }
    return link_fd;
}
