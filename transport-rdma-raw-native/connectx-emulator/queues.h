/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_QUEUES_H
#define CX_QUEUES_H

#include "emulator.h"

/* Checks that the ring and its doorbell record are the program's memory, and makes it empty. 0 or an errno. */
int cx_ring_init(struct cx_ring *ring, struct cx_object *owner, uint64_t memory, uint32_t units, uint32_t unit_shift,
                 uint64_t record);
/* As after RESET: the driver starts at 0 as well, and clears the record. */
void cx_ring_reset(struct cx_ring *ring);

#endif
