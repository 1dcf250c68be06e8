/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_CONNECTIONS_H
#define SV_CONNECTIONS_H

/*
 * Tracks connections, so the XDP program classify_xdp can tell their segments from unsolicited ones under overload.
 * Only segments that we send add entries, as in a stateful firewall; received segments never do. An ACK that we send
 * marks a connection as known. A SYN that we send marks it as opening; the peer's acknowledgment of that SYN proves it.
 *
 * The marks are in tables that the program reads; see struct sv_steer_marks. Sending threads write them concurrently
 * without a lock. At worst a mark is lost, and the next segment writes it again.
 */
#include "frame.h"
#include "steering_maps.h"

#include <stdbool.h>

struct sv_connections {
    uint64_t secret;
    struct sv_steer_marks *known;       /* SV_STEER_KNOWN_BUCKETS of them */
    struct sv_steer_marks *opening;     /* SV_STEER_OPENING_BUCKETS of them */
};

/* Any thread calls this before it sends the frames, since an answer may come before the send call returns. */
void sv_connections_track(const struct sv_connections *connections, const struct sv_frame *frames, unsigned count);

/* Whether a received frame is a TCP segment of no connection whose local endpoint has connections. Never for SYNs. */
bool sv_connections_is_unsolicited(const struct sv_connections *connections, const struct sv_frame *frame);

#endif
