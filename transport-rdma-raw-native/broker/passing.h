/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_PASSING_H
#define BROKER_PASSING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Messages with descriptors, as sendmsg(2) and recvmsg(2) of SOCK_SEQPACKET have them. */

/* Whether the message was sent as a whole. The descriptors stay the caller's. */
bool pass_send(int socket, const void *bytes, size_t length, const int *fds, unsigned count, int flags);

/*
 * Returns the length, 0 at the end of the connection, or -1 with errno. The descriptors, at most `room_fds`, are the
 * caller's from then on. `whole`: nothing was cut off, and no more descriptors came than there was room for.
 */
ssize_t pass_receive(int socket, void *bytes, size_t room, int *fds, unsigned room_fds, unsigned *count, bool *whole,
                     int flags);

/* From now on no descriptor can be sent to this end: Linux 6.16. Older kernels do not know the option. */
void pass_refuse(int socket);

#endif
