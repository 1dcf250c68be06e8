/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_PRIVILEGES_H
#define BROKER_PRIVILEGES_H

#include <stdbool.h>

/*
 * Gives up for good all capabilities but CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, and the ways to others. Returns the
 * name of one of them that this process has not, or NULL when it has all three.
 */
const char *drop_privileges(void);

#endif
