/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONNECTX_EMULATOR_H
#define CONNECTX_EMULATOR_H

/*
 * Functions of the emulated ConnectX for tests. Programs that run under the preloaded library find them with
 * dlsym(RTLD_DEFAULT, ...). Devices are identified by name: mlx5_0, mlx5_1, ...
 *
 * Functions return 0 or an errno value; all are safe to call from any thread.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cxemu_counters {
    uint64_t sent_frames;
    uint64_t sent_bytes;
    uint64_t received_frames;       /* per receive queue that got one */
    uint64_t received_bytes;
    uint64_t no_match;              /* no rule matched */
    uint64_t no_receive;            /* no receive was posted */
    uint64_t not_ready;             /* the receive queue was in no state to receive */
    uint64_t port_down;             /* sent, or come in, while the port was down */
    uint64_t wire_lost;             /* the wire was full, or delivered an invalid frame */
    uint64_t dropped_by_test;
    uint64_t duplicated_by_test;
    uint64_t send_errors;           /* completions with an error, flushed requests not among them */
    uint64_t receive_errors;
    uint64_t flushed;
    uint64_t cq_overruns;           /* completions that found their queue full, of flushed requests not among them */
    uint64_t doorbells;
    uint64_t bad_doorbells;         /* for no queue or no request that is there, and records that can't be */
    uint64_t stale_armings;         /* with the sequence number of an event that was raised already */
    uint64_t events;
    uint64_t foreign_mac;           /* for an address that the list of a virtual function does not have */
    uint64_t own_blocked;           /* sent by the port itself to a queue pair that receives no such frames */
    uint64_t unreported_sends;      /* sent by requests of which no completion told before their queue was reset */
    /* What the card reads over PCIe to send. BlueFlame saves reads in step mode alone. */
    uint64_t request_bytes;         /* of requests, in blocks of 64 */
    uint64_t frame_bytes;           /* of frames, but what lies in their requests */
    uint64_t frame_reads;           /* of pieces of frames */
};

int cxemu_query_counters(const char *device, struct cxemu_counters *counters);

/* A doorbell that rang. */
struct cxemu_doorbell {
    uint32_t page;                  /* of doorbells, in the context */
    uint32_t offset;                /* in the page: 0x20 arms completion queues, from 0x800 on are send queues' */
    uint64_t value;                 /* the eight bytes as they were written */
};

/* Copies the last `*count` rings, oldest first, at most 1024; sets *count to their number. */
int cxemu_trace(const char *device, struct cxemu_doorbell *bells, uint32_t *count);

/* Step mode: the engine works only on demand. Doorbells are then exact: one is for the request that it names. */
int cxemu_set_stepping(const char *device, int on);
/* In step mode, a device that reads the records of send queues at every step: it may do so without a doorbell. */
int cxemu_set_eager(const char *device, int on);
/* The bytes of its frame that a request has to hold: 18, as of a ConnectX-4 Lx, or 0, as of a ConnectX-5. */
int cxemu_set_min_inline(const char *device, uint32_t bytes);
/* Handles the rung doorbells and executes up to `requests` work requests; sets *done. */
int cxemu_step(const char *device, uint32_t requests, uint32_t *done);

/*
 * The next send (receive != 0: receive) of a queue completes with this syndrome (of MLX5_CQE_SYNDROME_*), and the queue
 * goes to the state of error. The number is a queue pair's or a work queue's.
 */
int cxemu_fail_next_completion(const char *device, uint32_t number, int receive, uint8_t syndrome);
/* The queue pair goes to ERR, with IBV_EVENT_QP_FATAL. */
int cxemu_fail_qp(const char *device, uint32_t number);
/* As if the program had let the queue overrun: the queues that complete there go to the state of error. */
int cxemu_overrun_cq(const char *device, uint32_t cqn);
/* The same for the completion queue of a queue pair's or work queue's receives, or of its sends. */
int cxemu_overrun_completions(const char *device, uint32_t number, int receive);
/* The completion vector of a completion queue, and the access flags of a memory region. */
int cxemu_completion_vector(const char *device, uint32_t cqn, uint32_t *vector);
int cxemu_region_access(const char *device, uint32_t lkey, uint32_t *access);
int cxemu_drop_frames(const char *device, uint32_t frames);
int cxemu_duplicate_frames(const char *device, uint32_t frames);
/* IBV_EVENT_PORT_ERR or IBV_EVENT_PORT_ACTIVE; frames sent while it is down are lost. */
int cxemu_set_port_up(const char *device, int up);
/* IBV_EVENT_DEVICE_FATAL; every queue in error, every command from now on fails with EIO. */
int cxemu_remove_device(const char *device);
int cxemu_restore_device(const char *device);
/* The next `count` commands of this number, of enum ib_uverbs_write_cmds, fail; CXEMU_ANY_COMMAND: of any number. */
#define CXEMU_ANY_COMMAND UINT32_MAX
int cxemu_fail_commands(const char *device, uint32_t command, int error, uint32_t count);
int cxemu_set_mtu(const char *device, uint32_t mtu);
/* Delivers a frame from outside. */
int cxemu_inject(const char *device, const void *frame, uint32_t length);

#ifdef __cplusplus
}
#endif

#endif
