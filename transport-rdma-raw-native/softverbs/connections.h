/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_CONNECTIONS_H
#define SV_CONNECTIONS_H

/*
 * Which connections there are, for the XDP program that places frames (place_xdp), so that it can tell their segments
 * from those of strangers when more comes than is looked at. Learned from the segments that are sent, as a stateful
 * firewall does: whoever gets an acknowledgement has a connection here, whoever gets a SYN may be about to have one, and
 * has one when he acknowledges it. What strangers send teaches nothing.
 *
 * Marks of both are in tables that the program reads; see struct sv_steer_marks. Threads that send write to them side
 * by side without a lock: at worst a mark is lost, and written again with the next segment.
 */
#include "frame.h"
#include "steering_maps.h"

#include <stdbool.h>

struct sv_connections {
    uint64_t secret;
    struct sv_steer_marks *known;       /* SV_STEER_KNOWN_PLACES of them */
    struct sv_steer_marks *opening;     /* SV_STEER_OPENING_PLACES of them */
};

/* Before the frames are sent: the answer may come before that returns. At any time, by any thread. */
void sv_connections_learn(const struct sv_connections *connections, const struct sv_frame *frames, unsigned count);

/* Whether a frame that was received is a segment of no connection, though our end of it has some. SYNs are not. */
bool sv_connections_is_stranger(const struct sv_connections *connections, const struct sv_frame *frame);

#endif
