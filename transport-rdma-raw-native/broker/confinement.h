/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BROKER_CONFINEMENT_H
#define BROKER_CONFINEMENT_H

#include <stdbool.h>

/*
 * The system calls that each process of the broker makes once it serves, by seccomp(2): any other call kills the
 * process. None of them can execute a program, open a file, or change its user. Returns false, with errno, where the
 * kernel has no such filters.
 */
bool confine_broker(void);
bool confine_acceptor(void);
bool confine_session(void);

#endif
