/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_DISPATCH_H
#define SV_DISPATCH_H

#include "device.h"

/*
 * Steers a burst and delivers it. `sender` is NULL for frames that came from outside. `cache` and `counters` belong to
 * the caller alone. Something must keep rules and queues alive meanwhile: the sender's sq.lock, or what quiesce waits for.
 */
void sv_dispatch(struct sv_device *device, const struct sv_qp *sender, struct sv_steer_cache *cache,
                 struct softverbs_queue_counters *counters, struct sv_frame *frames, unsigned count);

#endif
