/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine, a thread that acts as the NIC: it reads the doorbells, executes work requests, and receives from the
 * wire. Doorbells are plain memory and wake no thread, so the engine polls them. The longer nothing happens, the longer
 * it sleeps between polls.
 */
#include "engine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    ROUND_BUDGET = 64,              /* work requests per queue and round */
    ROUNDS_PER_CLOCK_READ = 16,     /* reading the clock costs more than a round */
    SPIN_MICROS = 20,
    SHORT_NAPS_UNTIL_MICROS = 20 * 1000,    /* idle time after which naps become long */
    SHORT_NAP_NANOS = 5 * 1000,
    LONG_NAP_NANOS = 200 * 1000,
    TIMER_SLACK_NANOS = 1,          /* the default of 50 microseconds exceeds a nap */
};

unsigned cx_engine_round(struct cx_device *device, unsigned budget)
{
    unsigned work = cx_doorbells_scan(device);
    for (struct cx_qp *qp = device->qps; qp != NULL; qp = qp->next) {
        if (qp->has_sq && device->eager)
            cx_sq_ring_all(qp);
        if (qp->has_sq && qp->sq.rung)
            work += cx_sq_run(qp, budget);
        if (qp->has_sq && qp->sq.state == CX_QUEUE_ERROR)
            cx_sq_flush(qp);
        if (qp->has_rq && qp->rq.state == CX_QUEUE_ERROR)
            cx_rq_flush(&qp->rq);
    }
    for (struct cx_wq *wq = device->wqs; wq != NULL; wq = wq->next)
        if (wq->rq.state == CX_QUEUE_ERROR)
            cx_rq_flush(&wq->rq);
    cx_wire_deliver(device);
    work += cx_wire_receive(device);
    cx_cqs_close_sessions(device);
    return work;
}

static uint64_t now_micros(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void sleep_if_idle(struct cx_device *device, uint64_t idle_micros)
{
    if (idle_micros < SPIN_MICROS)
        return;
    struct timespec nap = {0, idle_micros < SHORT_NAPS_UNTIL_MICROS ? SHORT_NAP_NANOS : LONG_NAP_NANOS};
    int descriptors[CX_WIRE_DESCRIPTORS];
    struct pollfd wires[CX_WIRE_DESCRIPTORS];
    cx_wire_descriptors(device, descriptors);
    for (unsigned i = 0; i < CX_WIRE_DESCRIPTORS; i++)
        wires[i] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
    ppoll(wires, CX_WIRE_DESCRIPTORS, &nap, NULL);
}

static void *run(void *argument)
{
    struct cx_device *device = argument;
    uint64_t last_work = now_micros();
    unsigned rounds = 0;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NANOS);
    for (;;) {
        cx_lock(device);
        while (device->contexts == NULL)
            pthread_cond_wait(&device->opened, &device->mutex);
        unsigned work = device->stepping ? 0 : cx_engine_round(device, ROUND_BUDGET);
        cx_unlock(device);
        rounds = work > 0 ? 0 : rounds + 1;
        if (rounds % ROUNDS_PER_CLOCK_READ != 0)
            continue;
        uint64_t now = now_micros();
        if (work > 0)
            last_work = now;
        sleep_if_idle(device, now - last_work);
    }
    return NULL;
}

/* The program does not know this thread, so the thread blocks all signals. */
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
