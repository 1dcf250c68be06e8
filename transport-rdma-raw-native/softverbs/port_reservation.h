/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_PORT_RESERVATION_H
#define SV_PORT_RESERVATION_H

#include "flow.h"

/*
 * Reserves ports in the kernel, so that it does not answer for ports that rules take, where no program keeps the frames
 * from
 * it: a socket on the port with a filter that drops everything, so that neither a reset nor a port-unreachable leaves.
 *   The
 * kernel closes the sockets with the process; a filter on a clsact qdisc would stay.
 *
 * Only rules that name one UDP or TCP destination port have a reservation. Other rules, and rules whose port is taken
 * or for
 * which no descriptor is left, are counted: the kernel may answer for them.
 * The caller holds the device's mutex.
 */
struct sv_port_reservation;

struct sv_port_reservations {
    struct sv_port_reservation *first;
    uint32_t kernel_visible;    /* rules in force for which the kernel may answer */
};

/* Returns 0, also if the kernel may still answer, or ENOMEM. */
int sv_port_reservations_add(struct sv_port_reservations *all, const struct sv_rule_spec *spec);
void sv_port_reservations_remove(struct sv_port_reservations *all, enum ibv_flow_attr_type type,
                                 const union sv_key *mask, const struct sv_rule *rule);
void sv_port_reservations_close(struct sv_port_reservations *all);

#endif
