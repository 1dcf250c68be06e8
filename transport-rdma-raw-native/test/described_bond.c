/* SPDX-License-Identifier: Apache-2.0 */
/* See described_bond.h. */
#include "described_bond.h"

#include "wire_fixture.h"

#include <net/if.h>

#include <linux/if_bonding.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <pthread.h>

struct described_bond described;
/* The receive thread reads the legs while a test adds some. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct rtattr *add_attribute(uint8_t *message, unsigned short type, const void *value, size_t length)
{
    struct nlmsghdr *header = (struct nlmsghdr *)message;
    struct rtattr *attribute = (struct rtattr *)(message + NLMSG_ALIGN(header->nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(length);
    if (length > 0)
        memcpy(RTA_DATA(attribute), value, length);
    header->nlmsg_len = NLMSG_ALIGN(header->nlmsg_len) + RTA_ALIGN(attribute->rta_len);
    return attribute;
}

static void add_byte(uint8_t *message, unsigned short type, uint8_t value)
{
    add_attribute(message, type, &value, sizeof value);
}

static void end_nested(const uint8_t *message, struct rtattr *attribute)
{
    const struct nlmsghdr *header = (const struct nlmsghdr *)message;
    attribute->rta_len = (unsigned short)(message + header->nlmsg_len - (const uint8_t *)attribute);
}

static ssize_t describe_bond(uint8_t *message)
{
    struct nlmsghdr *header = (struct nlmsghdr *)message;
    header->nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg));
    struct rtattr *info = add_attribute(message, IFLA_LINKINFO, NULL, 0);
    add_attribute(message, IFLA_INFO_KIND, "bond", sizeof "bond");
    struct rtattr *of_bond = add_attribute(message, IFLA_INFO_DATA, NULL, 0);
    add_byte(message, IFLA_BOND_MODE, described.mode);
    add_byte(message, IFLA_BOND_ALL_SLAVES_ACTIVE, described.all_legs_receive);
    add_byte(message, IFLA_BOND_XMIT_HASH_POLICY, described.hash_policy);
    end_nested(message, of_bond);
    end_nested(message, info);
    return header->nlmsg_len;
}

static size_t describe_a_leg(uint8_t *message, const struct described_leg *leg)
{
    struct nlmsghdr *header = (struct nlmsghdr *)message;
    struct ifinfomsg *link = NLMSG_DATA(header);
    memset(message, 0, NLMSG_LENGTH(sizeof *link));
    *header = (struct nlmsghdr){.nlmsg_len = NLMSG_LENGTH(sizeof *link), .nlmsg_type = RTM_NEWLINK,
                                .nlmsg_flags = NLM_F_MULTI};
    link->ifi_index = (int)leg->ifindex;
    link->ifi_flags = IFF_UP | IFF_RUNNING;
    add_attribute(message, IFLA_IFNAME, leg->netdev, strlen(leg->netdev) + 1);
    add_attribute(message, IFLA_MASTER, &described.ifindex, sizeof described.ifindex);
    struct rtattr *info = add_attribute(message, IFLA_LINKINFO, NULL, 0);
    add_attribute(message, IFLA_INFO_SLAVE_KIND, "bond", sizeof "bond");
    struct rtattr *of_leg = add_attribute(message, IFLA_INFO_SLAVE_DATA, NULL, 0);
    add_byte(message, IFLA_BOND_SLAVE_STATE, leg->is_active ? BOND_STATE_ACTIVE : BOND_STATE_BACKUP);
    add_byte(message, IFLA_BOND_SLAVE_MII_STATUS, BOND_LINK_UP);
    if (leg->actor_state != 0)
        add_byte(message, IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE, leg->actor_state);
    end_nested(message, of_leg);
    end_nested(message, info);
    return header->nlmsg_len;
}

/* No interface is below the veth, so the kernel's list only has an end. */
static ssize_t list_legs(uint8_t *answer)
{
    const int error = -atomic_exchange(&described.broken, 0);
    pthread_mutex_lock(&mutex);
    const unsigned count = error != 0 ? 0 : described.leg_count;
    uint8_t *at = answer;
    for (unsigned i = 0; i < count; i++)
        at += NLMSG_ALIGN(describe_a_leg(at, &described.leg[i]));
    pthread_mutex_unlock(&mutex);
    *(struct nlmsghdr *)at = (struct nlmsghdr){.nlmsg_len = NLMSG_LENGTH(sizeof error), .nlmsg_type = NLMSG_DONE,
                                               .nlmsg_flags = NLM_F_MULTI};
    memcpy(NLMSG_DATA(at), &error, sizeof error);
    return at + NLMSG_LENGTH(sizeof error) - answer;
}

static ssize_t change(void *data, ssize_t length)
{
    const struct nlmsghdr *header = data;
    if (length >= (ssize_t)NLMSG_LENGTH(sizeof(struct ifinfomsg)) && header->nlmsg_type == RTM_NEWLINK &&
        ((const struct ifinfomsg *)NLMSG_DATA(header))->ifi_index == (int)described.ifindex)
        return describe_bond(data);
    return length >= (ssize_t)sizeof *header && header->nlmsg_type == NLMSG_DONE ? list_legs(data) : length;
}

void describe(const char *netdev, uint8_t mode)
{
    described.ifindex = if_nametoindex(netdev);
    described.mode = mode;
    described.all_legs_receive = 0;
    described.hash_policy = BOND_XMIT_POLICY_LAYER34;
    described.leg_count = 0;
    described.broken = 0;
    after_failure = nothing_described;
    change_received = change;
    CHECK_EQ(0, setenv("SOFTVERBS_XDP_MODE", "native", 1));
}

void describe_leg(const char *netdev, bool is_active)
{
    pthread_mutex_lock(&mutex);
    struct described_leg *leg = &described.leg[described.leg_count];
    snprintf(leg->netdev, sizeof leg->netdev, "%.15s", netdev);
    leg->ifindex = if_nametoindex(netdev);
    leg->is_active = is_active;
    leg->actor_state = 0;
    described.leg_count++;
    pthread_mutex_unlock(&mutex);
}

void nothing_described(void)
{
    change_received = NULL;
    CHECK_EQ(0, unsetenv("SOFTVERBS_XDP_MODE"));
}
