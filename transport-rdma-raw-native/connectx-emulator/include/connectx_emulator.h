/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONNECTX_EMULATOR_H
#define CONNECTX_EMULATOR_H

/*
 * Functions of the emulated ConnectX for tests. Programs that run under the preloaded library find them with
 * dlsym(RTLD_DEFAULT, ...). Devices are identified by name: mlx5_0, mlx5_1, ...
 *
 * Functions return 0 or an errno value. All are safe to call from any thread.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cxemu_counters {
    uint64_t sent_frames;
    uint64_t sent_bytes;
    uint64_t received_frames;       /* per receive queue that received one */
    uint64_t received_bytes;
    uint64_t no_match;              /* no rule matched */
    uint64_t no_receive;            /* no receive was posted */
    uint64_t not_ready;             /* the receive queue could not receive in its state */
    uint64_t port_down;             /* sent or received while the port was down */
    uint64_t wire_lost;             /* the wire was full, or delivered an invalid frame */
    uint64_t dropped_by_test;
    uint64_t duplicated_by_test;
    uint64_t send_errors;           /* completions with an error, without flushed requests */
    uint64_t receive_errors;
    uint64_t flushed;
    uint64_t cq_overruns;           /* completions lost to a full queue, without those of flushed requests */
    uint64_t doorbells;
    uint64_t bad_doorbells;         /* doorbells for missing queues or requests, and impossible records */
    uint64_t stale_armings;         /* with the sequence number of an event that was already raised */
    uint64_t events;
    uint64_t foreign_mac;           /* for an address that is not in the lists of the function */
    uint64_t self_loopback_blocked; /* sent by the port itself to a queue pair that does not receive its frames */
    uint64_t unreported_sends;      /* sends without a completion when their queue was reset */
    /* Bytes that the card reads over PCIe to send. BlueFlame saves reads in step mode only. */
    uint64_t request_bytes;         /* bytes of requests, in blocks of 64 */
    uint64_t frame_bytes;           /* bytes of frames, without those inside requests */
    uint64_t frame_reads;           /* reads of pieces of frames */
};

int cxemu_query_counters(const char *device, struct cxemu_counters *counters);

/* A rung doorbell. */
struct cxemu_doorbell {
    uint32_t page;                  /* doorbell page in the context */
    uint32_t offset; /* offset in the page: 0x20 arms completion queues, send queues are at 0x800 and above */
    uint64_t value;                 /* the eight bytes as written */
};

/* Copies the last `*count` rings, oldest first, at most 1024. Sets *count to their number. */
int cxemu_trace(const char *device, struct cxemu_doorbell *bells, uint32_t *count);

/* Step mode: the engine works only on demand. Doorbells are then exact: each applies to the request that it names. */
int cxemu_set_stepping(const char *device, int on);
/* In step mode, makes the device read the records of send queues at every step, as it may do without a doorbell. */
int cxemu_set_eager(const char *device, int on);
/* Sets how many bytes of its frame a request has to hold: 18, as of a ConnectX-4 Lx, or 0, as of a ConnectX-5. */
int cxemu_set_min_inline(const char *device, uint32_t bytes);
/* Handles the rung doorbells and executes up to `requests` work requests. Sets *done. */
int cxemu_step(const char *device, uint32_t requests, uint32_t *done);

/*
 * Completes the next send (receive != 0: receive) of a queue with this syndrome (MLX5_CQE_SYNDROME_*), and moves the
 * queue to the error state. The number is that of a queue pair or a work queue.
 */
int cxemu_fail_next_completion(const char *device, uint32_t number, int receive, uint8_t syndrome);
/* Moves the queue pair to ERR and raises IBV_EVENT_QP_FATAL. */
int cxemu_fail_qp(const char *device, uint32_t number);
/*
 * Overruns the completion queue, as if the program had not polled it. The queues that complete there move to the error
 * state.
 */
int cxemu_overrun_cq(const char *device, uint32_t cqn);
/* Overruns the completion queue of a queue pair's or work queue's receives, or of its sends. */
int cxemu_overrun_completions(const char *device, uint32_t number, int receive);
/* Sets *vector to the completion vector of a completion queue. Returns EINVAL if there is no such queue. */
int cxemu_query_completion_vector(const char *device, uint32_t cqn, uint32_t *vector);
/* Sets *access to the access flags of a memory region. Returns EINVAL if there is no such region. */
int cxemu_query_region_access(const char *device, uint32_t lkey, uint32_t *access);
/* Drop or duplicate the next `frames` frames. */
int cxemu_drop_frames(const char *device, uint32_t frames);
int cxemu_duplicate_frames(const char *device, uint32_t frames);
/* Raises IBV_EVENT_PORT_ERR or IBV_EVENT_PORT_ACTIVE. Frames sent while the port is down are lost. */
int cxemu_set_port_up(const char *device, int up);
/* Raises IBV_EVENT_DEVICE_FATAL and moves every queue to the error state. Every later command fails with EIO. */
int cxemu_remove_device(const char *device);
int cxemu_restore_device(const char *device);
/* Makes the next `count` commands of this number (enum ib_uverbs_write_cmds) fail. CXEMU_ANY_COMMAND: of any number. */
#define CXEMU_ANY_COMMAND UINT32_MAX
int cxemu_fail_commands(const char *device, uint32_t command, int error, uint32_t count);
int cxemu_set_mtu(const char *device, uint32_t mtu);
/* Further rules are refused with ENOSPC. By default the table has room for one priority of mlx5_ib. */
int cxemu_set_rule_capacity(const char *device, uint32_t rules);
/* Delivers a frame from outside. */
int cxemu_inject(const char *device, const void *frame, uint32_t length);

#ifdef __cplusplus
}
#endif

#endif
