/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the functions of the C library behind those that hooks.c interposes. */
#include "base.h"

#include <dlfcn.h>
#include <pthread.h>

static struct cx_real real;
static pthread_once_t real_once = PTHREAD_ONCE_INIT;

/* dlsym returns a void pointer, which ISO C cannot convert to a function pointer. */
#define FIND(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name)

static void find_real(void)
{
    FIND(open);
    FIND(open64);
    FIND(stat);
    FIND(stat64);
    FIND(close);
    FIND(read);
    FIND(write);
    FIND(ioctl);
    FIND(mmap);
    FIND(socket);
    FIND(sendto);
    FIND(sendmsg);
    FIND(setsockopt);
}

const struct cx_real *cx_real(void)
{
    pthread_once(&real_once, find_real);
    return &real;
}
