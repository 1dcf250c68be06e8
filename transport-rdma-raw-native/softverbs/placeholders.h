/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_PLACEHOLDERS_H
#define SV_PLACEHOLDERS_H

#include "flow.h"

/*
 * Keeps the kernel from answering for ports that rules take, where no program can take the frames away from it: a socket
 * on the port whose filter drops everything, so that neither a reset nor a port-unreachable goes out. Sockets go with
 * the process, however it ends; a filter on a clsact qdisc would stay.
 *
 * Only rules that name one UDP or TCP destination port have one. Rules without, and those whose port cannot be had
 * (somebody has a socket on it, or there are no descriptors left), are counted: there the kernel may answer.
 * All calls are made with the device's mutex held.
 */
struct sv_placeholder;

struct sv_placeholders {
    struct sv_placeholder *first;
    uint32_t unquiet;       /* rules in force that the kernel may answer for */
};

/* 0, also when the kernel cannot be kept quiet; or ENOMEM. */
int sv_placeholders_add(struct sv_placeholders *all, const struct sv_rule_spec *spec);
void sv_placeholders_remove(struct sv_placeholders *all, enum ibv_flow_attr_type type, const union sv_key *mask,
                            const struct sv_rule *rule);
void sv_placeholders_close(struct sv_placeholders *all);

#endif
