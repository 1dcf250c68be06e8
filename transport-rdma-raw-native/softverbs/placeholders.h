/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_PLACEHOLDERS_H
#define SV_PLACEHOLDERS_H

#include "flow.h"

/*
 * Keeps the kernel from answering for ports that rules take, where no program can take the frames away from it: a socket
 * on the port whose filter drops everything, so that neither a reset nor a port-unreachable goes out. Sockets go with
 * the process, however it ends; a filter on a clsact qdisc would stay.
 *
 * Only rules that name one UDP or TCP destination port have one. A port that somebody has a socket on needs none.
 * All calls are made with the device's mutex held.
 */
struct sv_placeholder;

struct sv_placeholders {
    struct sv_placeholder *first;
};

void sv_placeholders_add(struct sv_placeholders *all, const struct sv_rule_spec *spec);
void sv_placeholders_remove(struct sv_placeholders *all, const struct sv_flow *flow);
void sv_placeholders_close(struct sv_placeholders *all);

#endif
