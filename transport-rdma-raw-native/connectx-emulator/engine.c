/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that is the NIC: it looks at the doorbells, executes what was rung, and receives from the wire. Doorbells
 * are plain memory, which wakes nobody, so it has to look again and again; the longer nothing happens, the longer it
 * sleeps between two looks.
 */
#include "emulator.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

enum {
    ROUND_BUDGET = 64,              /* work requests per queue and round */
    SPIN_ROUNDS = 2000,
    YIELD_ROUNDS = 2200,
    SHORT_NAP_NANOS = 20 * 1000,
    LONG_NAP_NANOS = 200 * 1000,
    SHORT_NAPS = 500,
};

unsigned cx_engine_round(struct cx_device *device, unsigned budget)
{
    unsigned work = cx_doorbells_scan(device);
    for (struct cx_qp *qp = device->qps; qp != NULL; qp = qp->next) {
        if (qp->has_sq && qp->sq.rung)
            work += cx_sq_run(qp, budget);
        if (qp->has_sq && qp->sq.state == CX_ERROR)
            cx_sq_flush(qp);
        if (qp->has_rq && qp->rq.state == CX_ERROR)
            cx_rq_flush(&qp->rq);
    }
    for (struct cx_wq *wq = device->wqs; wq != NULL; wq = wq->next)
        if (wq->rq.state == CX_ERROR)
            cx_rq_flush(&wq->rq);
    work += cx_wire_receive(device);
    for (struct cx_cq *cq = device->cqs; cq != NULL; cq = cq->next)
        if (cq->session != NULL)
            cx_cq_flush_session(cq);
    return work;
}

/* `idle` counts rounds without work. */
static void rest(struct cx_device *device, unsigned idle)
{
    if (idle < SPIN_ROUNDS) {
        __builtin_ia32_pause();
        return;
    }
    if (idle < YIELD_ROUNDS) {
        sched_yield();
        return;
    }
    struct timespec nap = {0, idle < YIELD_ROUNDS + SHORT_NAPS ? SHORT_NAP_NANOS : LONG_NAP_NANOS};
    struct pollfd wire = {.fd = cx_wire_descriptor(device), .events = POLLIN};
    ppoll(&wire, 1, &nap, NULL);
}

static void *run(void *argument)
{
    struct cx_device *device = argument;
    unsigned idle = 0;
    for (;;) {
        pthread_mutex_lock(&device->mutex);
        while (device->contexts == NULL)
            pthread_cond_wait(&device->opened, &device->mutex);
        unsigned work = device->stepping ? 0 : cx_engine_round(device, ROUND_BUDGET);
        pthread_mutex_unlock(&device->mutex);
        idle = work > 0 ? 0 : idle + (idle < UINT32_MAX);
        while (atomic_load_explicit(&device->waiting, memory_order_relaxed) > 0)
            sched_yield();
        rest(device, idle);
    }
    return NULL;
}

/* A thread of a program that knows nothing of it: no signal is for it. */
int cx_engine_start(struct cx_device *device)
{
    sigset_t all, before;
    pthread_t thread;
    int error = 0;
    cx_lock(device);
    if (!device->engine_runs) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&thread, NULL, run, device);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        device->engine_runs = error == 0;
        if (error == 0)
            pthread_detach(thread);
    }
    cx_unlock(device);
    return error;
}
