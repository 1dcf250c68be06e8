/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_DISPATCH_H
#define SV_DISPATCH_H

#include "device.h"

/*
 * Steers a burst and delivers it. `sender` is NULL for frames from outside. `cache` and `counters` belong to the caller
 * alone. The caller holds a lock that keeps rules and queues alive: the sender's sq.lock, or one that quiesce takes.
 */
void sv_dispatch(struct sv_flow_table *flows, const struct sv_qp *sender, struct sv_steer_cache *cache,
                 struct softverbs_queue_counters *counters, struct sv_frame *frames, unsigned count);

#endif
