/* SPDX-License-Identifier: Apache-2.0 */
/* See placeholders.h. */
#include "placeholders.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct sv_placeholder {
    struct sv_placeholder *next;
    union sv_key mask;
    union sv_key value;
    uint32_t rules;         /* with this match */
    bool quiet;             /* all sockets are there that the match needs */
    int ipv4;               /* sockets, or -1 */
    int ipv6;
};

static bool names_a_port(const struct sv_headers *mask, const struct sv_headers *value)
{
    return mask->dst_port == 0xffff && (value->layers & (SV_LAYER_TCP | SV_LAYER_UDP)) != 0;
}

static bool whole_address(const uint8_t *mask, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (mask[i] != 0xff)
            return false;
    return true;
}

/* The filter comes before the port: nothing is ever received. */
static int open_silent(int family, const struct sockaddr *address, socklen_t bytes, bool tcp)
{
    struct sock_filter drop_all = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = 1, .filter = &drop_all};
    const int on = 1;
    int fd = socket(family, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0 ||
        (tcp && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) ||
        (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        bind(fd, address, bytes) != 0 || (tcp && listen(fd, 1) != 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int open_ipv4(const struct sv_headers *mask, const struct sv_headers *value)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = value->dst_port};
    if (whole_address(mask->dst_ip, 4))
        memcpy(&address.sin_addr, value->dst_ip, 4);
    return open_silent(AF_INET, (struct sockaddr *)&address, sizeof address, value->layers & SV_LAYER_TCP);
}

static int open_ipv6(const struct sv_headers *mask, const struct sv_headers *value)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = value->dst_port};
    if (whole_address(mask->dst_ip, 16))
        memcpy(&address.sin6_addr, value->dst_ip, 16);
    return open_silent(AF_INET6, (struct sockaddr *)&address, sizeof address, value->layers & SV_LAYER_TCP);
}

static struct sv_placeholder **find(struct sv_placeholders *all, const union sv_key *mask, const union sv_key *value)
{
    struct sv_placeholder **at = &all->first;
    while (*at != NULL && (memcmp(&(*at)->mask, mask, sizeof *mask) != 0 ||
                           memcmp(&(*at)->value, value, sizeof *value) != 0))
        at = &(*at)->next;
    return at;
}

/* The kernel answers nothing for a protocol or an address that it does not have. */
static bool is_foreign(int error)
{
    return error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
}

static struct sv_placeholder *new_placeholder(const struct sv_rule_spec *spec)
{
    const struct sv_headers *mask = &spec->mask.outer;
    const struct sv_headers *value = &spec->value.outer;
    struct sv_placeholder *made = sv_alloc_zeroed(sizeof *made);
    if (made == NULL)
        return NULL;
    bool ipv4 = names_a_port(mask, value) && !(value->layers & SV_LAYER_IPV6);
    bool ipv6 = names_a_port(mask, value) && !(value->layers & SV_LAYER_IPV4);
    made->mask = spec->mask;
    made->value = spec->value;
    made->quiet = ipv4 || ipv6;
    made->ipv4 = ipv4 ? open_ipv4(mask, value) : -1;
    if (ipv4 && made->ipv4 < 0 && !is_foreign(errno))
        made->quiet = false;
    made->ipv6 = ipv6 ? open_ipv6(mask, value) : -1;
    if (ipv6 && made->ipv6 < 0 && !is_foreign(errno))
        made->quiet = false;
    return made;
}

int sv_placeholders_add(struct sv_placeholders *all, const struct sv_rule_spec *spec)
{
    if (spec->type != IBV_FLOW_ATTR_NORMAL || spec->continues)
        return 0;
    struct sv_placeholder **at = find(all, &spec->mask, &spec->value);
    if (*at == NULL)
        *at = new_placeholder(spec);
    if (*at == NULL)
        return ENOMEM;
    (*at)->rules++;
    all->unquiet += !(*at)->quiet;
    return 0;
}

static void release(struct sv_placeholder *placeholder)
{
    if (placeholder->ipv4 >= 0)
        close(placeholder->ipv4);
    if (placeholder->ipv6 >= 0)
        close(placeholder->ipv6);
    free(placeholder);
}

void sv_placeholders_remove(struct sv_placeholders *all, enum ibv_flow_attr_type type, const union sv_key *mask,
                            const struct sv_rule *rule)
{
    if (type != IBV_FLOW_ATTR_NORMAL || rule->continues)
        return;
    struct sv_placeholder **at = find(all, mask, &rule->key);
    struct sv_placeholder *found = *at;
    if (found == NULL)
        return;
    all->unquiet -= !found->quiet;
    if (--found->rules > 0)
        return;
    *at = found->next;
    release(found);
}

void sv_placeholders_close(struct sv_placeholders *all)
{
    while (all->first != NULL) {
        struct sv_placeholder *next = all->first->next;
        release(all->first);
        all->first = next;
    }
    all->unquiet = 0;
}
