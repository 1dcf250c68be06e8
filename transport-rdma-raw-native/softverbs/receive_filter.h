/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_RECEIVE_FILTER_H
#define SV_RECEIVE_FILTER_H

#include "flow.h"

/*
 * The receive filter of an interface: the MAC addresses that it lets in beside its own. Memberships of a packet socket
 * add to it, and end with the socket.
 */

/* What the filter has to let in for this rule (PACKET_MR_*), or -1: nothing more. */
int sv_receive_filter_type(const struct sv_rule_spec *spec, const uint8_t own_mac[6]);
/* `option`: PACKET_ADD_MEMBERSHIP or PACKET_DROP_MEMBERSHIP. Does nothing for the type -1. */
void sv_receive_filter_change(int socket, int ifindex, int type, const uint8_t mac[6], int option);

#endif
