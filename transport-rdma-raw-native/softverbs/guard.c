/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reserves an interface for one process, for the modes of AF_XDP in which the kernel grants program and sockets to one
 * process only (EBUSY).
 *
 * The guard is a listening socket with an abstract name. It lives as long as its process. Like the interface it belongs
 * to the network namespace, so processes with different file systems see it. But any process of the namespace can take
 * an abstract name without a capability. So a name held by a user other than root and the process's own is skipped, and
 * the next name is tried. Holding names therefore cannot prevent other processes from opening.
 *
 * In the modes that share an interface, such a name marks a process's tc program for processes that open later.
 */
#define _GNU_SOURCE
#include "bpf.h"
#include "netdev_port.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Retries for a while, because the last owner may be ending. */
enum { BUSY_RETRIES = 40, BUSY_RETRY_MILLIS = 25, MAX_NAMES = 8, LIST_TRIES = 10 };

struct owner {
    char name[sizeof((struct sockaddr_un *)NULL)->sun_path];     /* without the leading zero byte */
    uint32_t uid;
};

/* ---- finding the owner ---- */

/* The names differ in a number at the end: see bind_free(). */
static bool has_base_name(const struct owner *owner, const char *base_name)
{
    size_t length = strlen(base_name);
    return strncmp(owner->name, base_name, length) == 0 && (owner->name[length] == '\0' || owner->name[length] == '/');
}

/*
 * Fills *owner from the description of a socket. Returns false if it is this socket, or lacks an abstract name or a
 * known user.
 */
static bool read_owner(const struct nlmsghdr *message, ino_t own_inode, struct owner *owner)
{
    const struct unix_diag_msg *socket = NLMSG_DATA(message);
    if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY || message->nlmsg_len < NLMSG_LENGTH(sizeof *socket) ||
        socket->udiag_ino == (uint32_t)own_inode)
        return false;
    bool named = false, known = false;
    const struct nlattr *attribute = (const struct nlattr *)(socket + 1);
    size_t left = message->nlmsg_len - NLMSG_LENGTH(sizeof *socket);
    while (left >= sizeof *attribute && attribute->nla_len >= sizeof *attribute && attribute->nla_len <= left) {
        const char *value = (const char *)(attribute + 1);
        size_t length = attribute->nla_len - sizeof *attribute;
        if (attribute->nla_type == UNIX_DIAG_NAME && length > 1 && length <= sizeof owner->name && value[0] == '\0') {
            memset(owner->name, 0, sizeof owner->name);
            memcpy(owner->name, value + 1, length - 1);
            named = true;
        } else if (attribute->nla_type == UNIX_DIAG_UID && length == sizeof owner->uid) {
            memcpy(&owner->uid, value, sizeof owner->uid);
            known = true;
        }
        size_t step = NLMSG_ALIGN(attribute->nla_len);
        if (step >= left)
            break;
        left -= step;
        attribute = (const struct nlattr *)((const char *)attribute + step);
    }
    return named && known;
}

static int request_listeners(int fd)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req diag;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .diag = {.sdiag_family = AF_UNIX, .udiag_states = 1 << TCP_LISTEN,
                 .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID},
    };
    return send(fd, &request, sizeof request, 0) == sizeof request ? 0 : errno;
}

/*
 * Looks for a guard of root or of the process's own user, other than the socket with this inode. Returns 0 with
 * owner->name set or empty, or an errno: the kernel may lack the diagnosis (CONFIG_UNIX_DIAG). Unlike SO_PEERCRED, it
 * also reports sockets that accept no connection or have a full queue.
 */
static int find_owner_once(const char *base_name, ino_t own_inode, struct owner *owner)
{
    alignas(struct nlmsghdr) char buffer[16384];
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    int error = fd < 0 ? errno : request_listeners(fd);
    bool more = error == 0;
    bool interrupted = false;
    memset(owner, 0, sizeof *owner);
    while (more) {
        ssize_t length = recv(fd, buffer, sizeof buffer, 0);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0) {
            error = length < 0 ? errno : EIO;
            break;
        }
        /* Signed, because a length that is not aligned would end below 0. */
        ssize_t left = length;
        for (const struct nlmsghdr *m = (struct nlmsghdr *)buffer; more && NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
            struct owner found = {.uid = 0};
            interrupted |= (m->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
            if (m->nlmsg_type == NLMSG_ERROR)
                error = -((const struct nlmsgerr *)NLMSG_DATA(m))->error;
            more = m->nlmsg_type != NLMSG_DONE && m->nlmsg_type != NLMSG_ERROR;
            if (more && read_owner(m, own_inode, &found) && has_base_name(&found, base_name) &&
                (found.uid == 0 || found.uid == geteuid()))
                *owner = found;
        }
    }
    if (fd >= 0)
        close(fd);
    return error == 0 && interrupted && owner->name[0] == '\0' ? EINTR : error;
}

/* Repeats the request: sockets that close while the kernel lists them may hide others. */
static int find_owner(const char *base_name, ino_t own_inode, struct owner *owner)
{
    int error = EINTR;
    for (int i = 0; i < LIST_TRIES && error == EINTR; i++)
        error = find_owner_once(base_name, own_inode, owner);
    return error;
}

/* ---- reserving ---- */

static socklen_t make_address(struct sockaddr_un *address, const char *name)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    size_t length = strnlen(name, sizeof address->sun_path - 1);
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* Returns the listening process, or 0 if it is unknown or in another PID namespace. */
static pid_t process_of(const struct owner *owner)
{
    struct sockaddr_un address;
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof peer;
    socklen_t length = make_address(&address, owner->name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return 0;
    if (connect(fd, (struct sockaddr *)&address, length) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        peer.pid = 0;
    close(fd);
    return peer.pid;
}

/* The last name is random, so that no process can take it in advance. */
static void make_name(char *name, size_t size, const char *base_name, unsigned number)
{
    unsigned long long secret;
    if (number == 0)
        snprintf(name, size, "%s", base_name);
    else if (number == MAX_NAMES && getrandom(&secret, sizeof secret, 0) == sizeof secret)
        snprintf(name, size, "%s/%llx", base_name, secret);
    else
        snprintf(name, size, "%s/%u", base_name, number);
}

/* Binds the first free name. Returns 0 also if all are taken; find_owner() then reports the owner. */
static int bind_free(int fd, const char *base_name, bool *name_in_use)
{
    *name_in_use = false;
    for (unsigned i = 0; i <= MAX_NAMES; i++) {
        char name[sizeof((struct sockaddr_un *)NULL)->sun_path];
        struct sockaddr_un address;
        make_name(name, sizeof name, base_name, i);
        socklen_t length = make_address(&address, name);
        if (bind(fd, (struct sockaddr *)&address, length) == 0)
            return listen(fd, SOMAXCONN) == 0 ? 0 : errno;
        if (errno != EADDRINUSE)
            return errno;
        *name_in_use = true;
    }
    return 0;
}

/* Returns 0, EBUSY with *owner, or another errno. */
static int try_reserve(const char *base_name, int *fd, struct owner *owner)
{
    struct stat file_stat;
    bool name_in_use;
    *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    /* A direct system call, because glibc exports fstat() only since 2.33, and the library also runs on older ones. */
    if (*fd < 0 || syscall(SYS_fstat, *fd, &file_stat) != 0)
        return errno;
    int error = bind_free(*fd, base_name, &name_in_use);
    if (error != 0)
        return error;
    /* The holder of another name looks for this one as well, so at least one finds the other. */
    error = find_owner(base_name, file_stat.st_ino, owner);
    if (error != 0 ? name_in_use : owner->name[0] != '\0') {
        close(*fd);
        *fd = -1;
        return EBUSY;
    }
    return 0;
}

/* " (process N of user N)", or " (of user N)" if the process is unknown; empty without an owner. doctor reads it. */
static void describe_owner(const struct owner *owner, char *text, size_t size)
{
    pid_t pid = owner->name[0] != '\0' ? process_of(owner) : 0;
    text[0] = '\0';
    if (pid > 0)
        snprintf(text, size, " (process %d of user %u)", (int)pid, owner->uid);
    else if (owner->name[0] != '\0')
        snprintf(text, size, " (of user %u)", owner->uid);
}

static int explain_busy(const struct sv_netdev_port *port, const struct owner *owner)
{
    char owner_text[64];
    describe_owner(owner, owner_text, sizeof owner_text);
    if (port->vlan.ifindex != 0)
        return sv_explain(EBUSY, "'%s' is in use%s, and in this mode it and all its VLANs have one user at a time: use "
                          "SOFTVERBS_XDP_MODE=generic", port->netdev, owner_text);
    return sv_explain(EBUSY, "'%s' is in use%s as soft:%s:%s, and in this mode an interface has one user at a time; "
                      "use SOFTVERBS_XDP_MODE=tap or soft:packet:%s for several users", port->netdev, owner_text,
                      port->kind->name, port->netdev, port->netdev);
}

/* The owner of a VLAN interface has it open on its own, in another mode. */
static int explain_busy_vlan(const struct sv_netdev_port *port, const struct owner *owner)
{
    char owner_text[64];
    describe_owner(owner, owner_text, sizeof owner_text);
    return sv_explain(EBUSY, "'%s' is in use%s in another mode: end that program first, or use its mode",
                      strchr(port->device->ibv.name, ':') + 1, owner_text);
}

static int reserve(const struct sv_netdev_port *port, int ifindex, int *fd, struct owner *owner)
{
    char base_name[64];
    snprintf(base_name, sizeof base_name, "rdma-raw/%s/%d", port->kind->name, ifindex);
    int error = try_reserve(base_name, fd, owner);
    for (int i = 0; i < BUSY_RETRIES && error == EBUSY; i++) {
        struct timespec pause = {.tv_nsec = BUSY_RETRY_MILLIS * 1000000L};
        nanosleep(&pause, NULL);
        error = try_reserve(base_name, fd, owner);
    }
    return error;
}

int sv_interface_reserve(struct sv_netdev_port *port)
{
    struct owner owner = {.uid = 0};
    int error = reserve(port, port->ifindex, &port->guard_fd, &owner);
    if (error == EBUSY)
        return explain_busy(port, &owner);
    if (error != 0 || port->vlan.ifindex == 0)
        return error;
    error = reserve(port, port->vlan.ifindex, &port->vlan_guard_fd, &owner);
    return error == EBUSY ? explain_busy_vlan(port, &owner) : error;
}

/* ---- tc programs of an interface that is shared ---- */

enum { MARK_BYTES = 32 };

static void make_mark(char mark[MARK_BYTES], uint32_t program_id)
{
    snprintf(mark, MARK_BYTES, "rdma-raw/tc/%u", program_id);
}

/*
 * Returns true if another process has marked this program. Reading a program's name would need CAP_SYS_ADMIN. Without
 * an answer the program keeps its place before this one.
 */
static bool is_marked(uint32_t program_id)
{
    char mark[MARK_BYTES];
    struct owner owner;
    make_mark(mark, program_id);
    return find_owner(mark, 0, &owner) != 0 || owner.name[0] != '\0';
}

int sv_netdev_port_attach_tc(struct sv_netdev_port *port, enum sv_program which)
{
    char mark[MARK_BYTES];
    bool name_in_use;
    int program_fd = sv_kernel_steering_load(port->steering, which);
    if (program_fd < 0)
        return program_fd;
    make_mark(mark, sv_program_id(program_fd));
    port->guard_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (port->guard_fd >= 0)
        (void)bind_free(port->guard_fd, mark, &name_in_use);
    int link_fd = sv_attach_tc(program_fd, port->ifindex, is_marked);
    close(program_fd);  /* the link keeps the program */
    return link_fd;
}
