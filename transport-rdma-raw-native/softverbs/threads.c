/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc 2.32 and 2.34 moved functions from libpthread to libc and gave them a second version. A library that is linked
 * as usual needs the new version and does not load with an older glibc. These are the old versions, which every glibc
 * has: an older one provides them in libpthread, which a JVM has loaded. Sanitizers bring their own functions, and musl
 * has no versions. This file is compiled without link-time optimisation (Makefile), which would separate the references
 * from their versions.
 */
#define _GNU_SOURCE
#include "netdev_port.h"

#include <signal.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#if defined(__x86_64__)
#define PTHREAD_VERSION "GLIBC_2.2.5"
#define SETNAME_VERSION "GLIBC_2.12"
#elif defined(__aarch64__)
#define PTHREAD_VERSION "GLIBC_2.17"
#define SETNAME_VERSION "GLIBC_2.17"
#endif
#endif

#ifdef PTHREAD_VERSION
__asm__(".symver pthread_create,pthread_create@" PTHREAD_VERSION);
__asm__(".symver pthread_join,pthread_join@" PTHREAD_VERSION);
__asm__(".symver pthread_sigmask,pthread_sigmask@" PTHREAD_VERSION);
__asm__(".symver pthread_mutex_trylock,pthread_mutex_trylock@" PTHREAD_VERSION);
__asm__(".symver pthread_setname_np,pthread_setname_np@" SETNAME_VERSION);
#endif

int sv_thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *name)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        pthread_setname_np(*thread, name);
    return error;
}

void sv_thread_join(pthread_t thread)
{
    pthread_join(thread, NULL);
}

bool sv_mutex_trylock(pthread_mutex_t *mutex)
{
    return pthread_mutex_trylock(mutex) == 0;
}
