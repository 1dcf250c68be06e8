/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_LINK_QUERY_H
#define SV_LINK_QUERY_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <sys/types.h>

/* Queries rtnetlink once for the description of interfaces (RTM_GETLINK). */

enum { SV_LINK_ANSWER_BYTES = 32768 };

/*
 * Requests the description of an interface. Returns it as an RTM_NEWLINK message in `answer`, or NULL with *error.
 */
const struct nlmsghdr *sv_link_query(int ifindex, uint8_t answer[SV_LINK_ANSWER_BYTES], int *error);
/*
 * Requests the descriptions of all interfaces below this master, and calls the function for each. Returns 0, an errno,
 * or EINTR if interfaces changed during the answer.
 */
int sv_link_query_below(int master_ifindex, void (*on_link)(void *context, const struct nlmsghdr *link),
                        void *context);

/* Returns an attribute of a description, or NULL. */
const struct rtattr *sv_link_attribute(const struct nlmsghdr *link, unsigned short type);
/* Returns an attribute in another one, or NULL. `outer` may be NULL. */
const struct rtattr *sv_link_nested(const struct rtattr *outer, unsigned short type);
/* Returns the number of 1 to 4 bytes in an attribute, or `otherwise` if there is none. */
uint32_t sv_link_number(const struct rtattr *attribute, uint32_t otherwise);

#endif
