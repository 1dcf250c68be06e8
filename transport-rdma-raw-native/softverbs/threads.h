/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SV_THREADS_H
#define SV_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* The few functions of POSIX threads that glibc has in several versions: see threads.c. */

/* Starts a thread with a name and all signals blocked: those are the program's. Returns 0 or an errno. */
int sv_thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *name);
void sv_thread_join(pthread_t thread);
/* False: another thread has it. */
bool sv_mutex_try(pthread_mutex_t *mutex);

#endif
