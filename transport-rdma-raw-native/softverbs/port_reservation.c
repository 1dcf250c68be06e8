/* SPDX-License-Identifier: Apache-2.0 */
/* See packet.h. */
#include "packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct sv_port_reservation {
    struct sv_port_reservation *next;
    union sv_key mask;
    union sv_key value;
    uint32_t rule_count;    /* number of rules with this match */
    bool silences_kernel;   /* all sockets that the match needs are open */
    int ipv4_fd;            /* sockets, or -1 */
    int ipv6_fd;
};

static bool names_a_port(const struct sv_headers *mask, const struct sv_headers *value)
{
    return mask->dst_port == 0xffff && (value->layers & (SV_LAYER_TCP | SV_LAYER_UDP)) != 0;
}

static bool is_full_mask(const uint8_t *mask, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (mask[i] != 0xff)
            return false;
    return true;
}

/* Opens a socket that drops everything. Attaches the filter before bind(), so it never receives anything. */
static int open_dropping(int family, const struct sockaddr *address, socklen_t bytes, bool tcp)
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
    if (is_full_mask(mask->dst_ip, 4))
        memcpy(&address.sin_addr, value->dst_ip, 4);
    return open_dropping(AF_INET, (struct sockaddr *)&address, sizeof address, value->layers & SV_LAYER_TCP);
}

static int open_ipv6(const struct sv_headers *mask, const struct sv_headers *value)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = value->dst_port};
    if (is_full_mask(mask->dst_ip, 16))
        memcpy(&address.sin6_addr, value->dst_ip, 16);
    return open_dropping(AF_INET6, (struct sockaddr *)&address, sizeof address, value->layers & SV_LAYER_TCP);
}

static struct sv_port_reservation **find_reservation(struct sv_port_reservations *reservations,
                                                     const union sv_key *mask, const union sv_key *value)
{
    struct sv_port_reservation **at = &reservations->first;
    while (*at != NULL && (memcmp(&(*at)->mask, mask, sizeof *mask) != 0 ||
                           memcmp(&(*at)->value, value, sizeof *value) != 0))
        at = &(*at)->next;
    return at;
}

/* Returns true if the kernel lacks the protocol or the address, so that it does not answer. */
static bool means_no_answer(int error)
{
    return error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
}

static struct sv_port_reservation *new_reservation(const struct sv_rule_spec *spec)
{
    const struct sv_headers *mask = &spec->mask.outer;
    const struct sv_headers *value = &spec->value.outer;
    struct sv_port_reservation *reservation = sv_alloc_zeroed(sizeof *reservation);
    if (reservation == NULL)
        return NULL;
    bool ipv4 = names_a_port(mask, value) && !(value->layers & SV_LAYER_IPV6);
    bool ipv6 = names_a_port(mask, value) && !(value->layers & SV_LAYER_IPV4);
    reservation->mask = spec->mask;
    reservation->value = spec->value;
    reservation->silences_kernel = ipv4 || ipv6;
    reservation->ipv4_fd = ipv4 ? open_ipv4(mask, value) : -1;
    if (ipv4 && reservation->ipv4_fd < 0 && !means_no_answer(errno))
        reservation->silences_kernel = false;
    reservation->ipv6_fd = ipv6 ? open_ipv6(mask, value) : -1;
    if (ipv6 && reservation->ipv6_fd < 0 && !means_no_answer(errno))
        reservation->silences_kernel = false;
    return reservation;
}

int sv_port_reservations_add(struct sv_port_reservations *reservations, const struct sv_rule_spec *spec)
{
    if (spec->type != IBV_FLOW_ATTR_NORMAL || spec->dont_trap)
        return 0;
    struct sv_port_reservation **at = find_reservation(reservations, &spec->mask, &spec->value);
    if (*at == NULL)
        *at = new_reservation(spec);
    if (*at == NULL)
        return ENOMEM;
    (*at)->rule_count++;
    reservations->kernel_visible_rules += !(*at)->silences_kernel;
    return 0;
}

static void free_reservation(struct sv_port_reservation *reservation)
{
    if (reservation->ipv4_fd >= 0)
        close(reservation->ipv4_fd);
    if (reservation->ipv6_fd >= 0)
        close(reservation->ipv6_fd);
    free(reservation);
}

void sv_port_reservations_remove(struct sv_port_reservations *reservations, enum ibv_flow_attr_type type,
                                 const union sv_key *mask, const struct sv_rule *rule)
{
    if (type != IBV_FLOW_ATTR_NORMAL || rule->dont_trap)
        return;
    struct sv_port_reservation **at = find_reservation(reservations, mask, &rule->key);
    struct sv_port_reservation *found = *at;
    if (found == NULL)
        return;
    reservations->kernel_visible_rules -= !found->silences_kernel;
    if (--found->rule_count > 0)
        return;
    *at = found->next;
    free_reservation(found);
}

void sv_port_reservations_close(struct sv_port_reservations *reservations)
{
    while (reservations->first != NULL) {
        struct sv_port_reservation *next = reservations->first->next;
        free_reservation(reservations->first);
        reservations->first = next;
    }
    reservations->kernel_visible_rules = 0;
}
