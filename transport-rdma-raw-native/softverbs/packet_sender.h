/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_PACKET_SENDER_H
#define SV_PACKET_SENDER_H

#include "frame.h"

#include <stdint.h>

/*
 * A packet socket that sends frames by sendmmsg, straight from where they lie. Any number of processes may have one on
 * an interface, and any number of threads may send by it.
 */
struct sv_packet_sender {
    int fd;                             /* -1: closed */
};

/* Returns 0 or an errno. */
int sv_packet_sender_open(struct sv_packet_sender *sender, int ifindex);
void sv_packet_sender_close(struct sv_packet_sender *sender);
/* Returns how many of at most SV_BURST frames the interface took; *error is the reason for less. */
unsigned sv_packet_sender_send(const struct sv_packet_sender *sender, const struct sv_frame *frames, unsigned count,
                               int *error);

#endif
