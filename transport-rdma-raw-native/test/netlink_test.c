/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the kernel about links (link.c) and about the holder of an interface (guard.c), as no kernel sends them
 * at will: with lengths that are not aligned, and lists that changed while the kernel sent them. The sources are
 * included, with recv() replaced.
 */
#define _GNU_SOURCE
#define sv_link_process tested_link_follow
#define sv_link_open tested_link_open
#define sv_interface_reserve tested_guard_take
#define sv_netdev_port_attach_tc tested_put_tc
#define sv_device_set_port_up fake_set_port_up
#define sv_device_fail fake_fail
#define sv_netdev_port_record_mac fake_record_mac
#define sv_netdev_port_apply_mtu fake_mtu_known

#include "harness.h"
#include "netdev_port.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

enum { MAX_DATAGRAMS = 32, DATAGRAM_BYTES = 512, IFINDEX = 7, HOLDER = 99 };

/* A datagram of the kernel. The receive buffer may have bytes of an earlier one behind it. */
struct datagram {
    alignas(struct nlmsghdr) uint8_t bytes[DATAGRAM_BYTES];
    size_t stored;
    size_t length;
};

static struct datagram datagrams[MAX_DATAGRAMS];
static unsigned added, received, requests, failures;

static ssize_t fake_recv(void *buffer)
{
    if (received == added) {
        errno = EAGAIN;
        return -1;
    }
    const struct datagram *next = &datagrams[received++];
    memcpy(buffer, next->bytes, next->stored);
    return (ssize_t)next->length;
}

static ssize_t fake_send(int fd, size_t length)
{
    (void)fd;
    requests++;
    return (ssize_t)length;
}

void fake_fail(struct sv_device *device)
{
    (void)device;
    failures++;
}

void fake_set_port_up(struct sv_device *device, bool up)
{
    (void)device, (void)up;
}

void fake_record_mac(struct sv_netdev_port *port, const uint8_t mac[6])
{
    (void)port, (void)mac;
}

void fake_mtu_known(struct sv_netdev_port *port)
{
    (void)port;
}

#define recv(FD, BUFFER, ...) fake_recv(BUFFER)
#define send(FD, BYTES, LENGTH, ...) fake_send(FD, LENGTH)

#include "../softverbs/guard.c"
#include "../softverbs/link.c"

static void script_open(void)
{
    memset(datagrams, 0, sizeof datagrams);
    added = received = requests = failures = 0;
}

static struct datagram *add_datagram(void)
{
    CHECK(added < MAX_DATAGRAMS);
    return &datagrams[added++];
}

/* Appends a message with a body and padding. */
static struct nlmsghdr *add_message(struct datagram *datagram, uint16_t type, uint16_t flags, size_t body)
{
    struct nlmsghdr *message = (struct nlmsghdr *)(void *)(datagram->bytes + datagram->stored);
    message->nlmsg_len = (uint32_t)NLMSG_LENGTH(body);
    message->nlmsg_type = type;
    message->nlmsg_flags = flags;
    datagram->stored += NLMSG_ALIGN(message->nlmsg_len);
    datagram->length = datagram->stored;
    return message;
}

/* Makes the datagram end with the last byte of its first message, without the padding and what follows. */
static void cut_after_first(struct datagram *datagram)
{
    datagram->length = ((const struct nlmsghdr *)(const void *)datagram->bytes)->nlmsg_len;
    CHECK(datagram->length % NLMSG_ALIGNTO != 0);
}

/* ---- links ---- */

static void add_removal(struct datagram *datagram)
{
    struct ifinfomsg *info = NLMSG_DATA(add_message(datagram, RTM_DELLINK, 0, sizeof *info));
    info->ifi_family = AF_UNSPEC;
    info->ifi_index = IFINDEX;
}

static void follow_links(void)
{
    static struct sv_device device = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    static struct sv_netdev_port port;
    port.device = &device;
    port.ifindex = IFINDEX;
    tested_link_follow(&port);
    CHECK_EQ(added, received);
}

static void bytes_behind_a_message_about_links_are_not_read(void)
{
    script_open();
    struct datagram *datagram = add_datagram();
    add_message(datagram, RTM_NEWNSID, 0, 1);
    add_removal(datagram);
    follow_links();
    CHECK_EQ(1, failures);      /* it is part of the datagram */
    script_open();
    datagram = add_datagram();
    add_message(datagram, RTM_NEWNSID, 0, 1);
    add_removal(datagram);
    cut_after_first(datagram);
    follow_links();
    CHECK_EQ(0, failures);
}

/* ---- the holder of an interface ---- */

static const char family_of_test[] = "rdma-raw/xdp/7";

static void add_attribute(uint8_t **at, uint16_t type, const void *value, size_t length)
{
    struct nlattr *attribute = (struct nlattr *)(void *)*at;
    attribute->nla_type = type;
    attribute->nla_len = (uint16_t)(sizeof *attribute + length);
    memcpy(attribute + 1, value, length);
    *at += NLMSG_ALIGN(attribute->nla_len);
}

/* Adds the description of a socket of root with the name, which begins with a zero byte. */
static void add_holder(struct datagram *datagram, uint16_t flags)
{
    static const uint32_t root = 0;
    char name[sizeof family_of_test] = "";
    memcpy(name + 1, family_of_test, sizeof name - 1);
    size_t body = sizeof(struct unix_diag_msg) + 2 * sizeof(struct nlattr) + NLMSG_ALIGN(sizeof name) + sizeof root;
    struct unix_diag_msg *socket = NLMSG_DATA(add_message(datagram, SOCK_DIAG_BY_FAMILY, flags, body));
    uint8_t *at = (uint8_t *)(socket + 1);
    socket->udiag_ino = HOLDER;
    add_attribute(&at, UNIX_DIAG_NAME, name, sizeof name);
    add_attribute(&at, UNIX_DIAG_UID, &root, sizeof root);
}

static void add_done(uint16_t flags)
{
    add_message(add_datagram(), NLMSG_DONE, flags, sizeof(int));
}

/* Returns true if the holder was found. */
static bool finds_holder(int expected)
{
    struct owner owner;
    CHECK_EQ(expected, find_owner(family_of_test, 1, &owner));
    CHECK_EQ(added, received);
    CHECK(owner.name[0] == '\0' || strcmp(owner.name, family_of_test) == 0);
    return owner.name[0] != '\0';
}

static void bytes_behind_a_list_of_sockets_are_not_read(void)
{
    for (int cut = 0; cut < 2; cut++) {
        script_open();
        struct datagram *datagram = add_datagram();
        add_message(datagram, NLMSG_NOOP, 0, 1);
        add_holder(datagram, 0);
        if (cut)
            cut_after_first(datagram);
        add_done(0);
        CHECK_EQ(!cut, finds_holder(0));
    }
}

/* The kernel marks a list during which sockets were closed. It may lack others then. */
static void an_interrupted_list_of_sockets_is_requested_again(void)
{
    script_open();
    add_message(add_datagram(), NLMSG_NOOP, NLM_F_MULTI | NLM_F_DUMP_INTR, 0);
    add_done(NLM_F_MULTI);
    add_done(NLM_F_MULTI | NLM_F_DUMP_INTR);
    add_holder(add_datagram(), NLM_F_MULTI);
    add_done(NLM_F_MULTI);
    CHECK(finds_holder(0));
    CHECK_EQ(3, requests);
    script_open();                      /* it is found in such a list */
    add_holder(add_datagram(), NLM_F_MULTI | NLM_F_DUMP_INTR);
    add_done(NLM_F_MULTI);
    CHECK(finds_holder(0));
    CHECK_EQ(1, requests);
    script_open();                      /* not for ever */
    for (int i = 0; i < LIST_TRIES; i++)
        add_done(NLM_F_MULTI | NLM_F_DUMP_INTR);
    CHECK(!finds_holder(EINTR));
    CHECK_EQ(LIST_TRIES, requests);
}

const struct test netlink_tests[] = {
    {"netlink: bytes behind a message about links are not read", bytes_behind_a_message_about_links_are_not_read},
    {"netlink: bytes behind a list of sockets are not read", bytes_behind_a_list_of_sockets_are_not_read},
    {"netlink: an interrupted list of sockets is requested again", an_interrupted_list_of_sockets_is_requested_again},
    {NULL, NULL},
};
