/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_EMULATOR_H
#define CX_EMULATOR_H

/* The devices, and the functions of the emulator's parts. They need the device's mutex unless stated otherwise. */

#include "connectx_emulator.h"
#include "mutants.h"
#include "objects.h"

struct cx_wire;
struct cx_completion;

enum { CX_TRACE_ENTRIES = 1024, CX_MORE_MACS = 64 };

/* Requests of tests; see include/connectx_emulator.h. */
struct cx_faults {
    struct {
        uint32_t command;           /* enum ib_uverbs_write_cmds, with the flag of extended commands */
        int error;
        uint32_t count;
    } next_command;
    uint32_t drop_frames;
    uint32_t duplicate_frames;
};

struct cx_device {
    unsigned index;
    char name[16];
    char interface[16];             /* the network interface of the port */
    uint8_t mac[6];
    uint8_t more_macs[CX_MORE_MACS][6];     /* that the interface lets in beside its own; a virtual function no others */
    uint32_t more_mac_count;
    uint32_t mtu;
    bool port_up;
    bool removed;
    struct sv_flow_table flows;
    struct cx_wire *wire;

    pthread_mutex_t turnstile;      /* in front of the mutex, for fairness: see cx_lock() */
    pthread_mutex_t mutex;
    struct cx_context *contexts;
    struct cx_qp *qps;
    struct cx_wq *wqs;
    struct cx_cq *cqs;
    uint32_t next_number;           /* of queues */
    uint32_t next_cqn;
    uint32_t next_pdn;
    uint32_t next_mkey;
    struct cx_mkey mkeys[CX_MKEYS];

    bool engine_runs;
    pthread_cond_t opened;          /* the engine sleeps while the device is not open */
    bool stepping;
    uint32_t min_inline_bytes;      /* of a frame that a request has to hold; 0: and there are multi-packet requests */
    bool eager;                     /* step mode: records are read without a bell */
    uint8_t *scratch;               /* a frame that is being sent */
    uint8_t *segment;               /* a segment of a large send */
    bool own_frame;                 /* what is being steered was sent by this port */
    struct sv_steer_cache wire_cache;
    struct softverbs_queue_counters wire_counters;
    struct cxemu_counters counters;
    struct cx_faults faults;
    struct cxemu_doorbell trace[CX_TRACE_ENTRIES];
    uint64_t traced;
};

/* devices.c: no lock held */
struct cx_device *cx_device_by_index(unsigned index);
struct cx_device *cx_device_by_name(const char *name);
unsigned cx_device_count(void);
void cx_lock(struct cx_device *device);
void cx_unlock(struct cx_device *device);
bool cx_uses_ioctl(void);
/* Whether the host or the card is set up in a way that CONNECTX_EMULATOR_SETUP names; see devices.c. */
bool cx_setup(const char *word);

/* contexts.c: the first two without a lock held */
struct cx_context *cx_context_open(struct cx_device *device);
void cx_context_close(struct cx_context *context);
/* Returns the page of a mapping offset, or fails with an errno. */
int cx_context_map(struct cx_context *context, uint64_t offset, uint32_t *page);
/* Returns a doorbell register for a queue pair, or UINT32_MAX. */
uint32_t cx_bfreg_take(struct cx_context *context);
void cx_bfreg_put(struct cx_context *context, uint32_t bfreg);

/* memory.c: NULL if the key does not cover the bytes with this access. */
uint8_t *cx_translate(const struct cx_device *device, const struct cx_pd *pd, uint32_t key, uint64_t address,
                      uint32_t length, uint32_t access);

/* engine.c */
int cx_engine_start(struct cx_device *device);
/* Runs one round and returns the work done. `budget` bounds the work requests that it executes. */
unsigned cx_engine_round(struct cx_device *device, unsigned budget);

/* doorbells.c: reads the rung doorbells and marks send queues; returns the number of rings. */
unsigned cx_doorbells_scan(struct cx_device *device);
/* Forgets what programs have written to BlueFlame registers behind the words of doorbells. */
void cx_blueflame_clear(struct cx_device *device);

/* send_queue.c, large_send.c */
unsigned cx_sq_run(struct cx_qp *qp, unsigned budget);
/* Whether the doorbell record has announced this request. */
bool cx_sq_announced(const struct cx_qp *qp, uint16_t index);
/* Step mode: a bell has rung for this request and all before it. */
void cx_sq_ring(struct cx_qp *qp, uint16_t index);
/* Has the queue execute what its record says, without a bell. */
void cx_sq_look(struct cx_qp *qp);
void cx_sq_flush(struct cx_qp *qp);
/* The queue is reset or destroyed: what it has sent and not told of, nobody will know. */
void cx_sq_forget(struct cx_qp *qp);
uint8_t cx_large_send(struct cx_qp *qp, const uint8_t *header, uint32_t header_bytes, const uint8_t *payload,
                      uint32_t payload_bytes, uint32_t mss);

/* receive_queue.c */
void cx_rq_flush(struct cx_rq *rq);
/* Returns whether a request is available; reads the doorbell record if necessary. */
bool cx_rq_has_request(struct cx_rq *rq);
const uint8_t *cx_rq_request(const struct cx_rq *rq);
/*
 * Copies a frame to the data segments of a request from `offset` on. The first segment is `first` bytes behind the
 * start of the request. Returns 0 or a syndrome.
 */
uint8_t cx_rq_scatter(const struct cx_rq *rq, uint32_t first, uint32_t offset, const struct sv_frame *frame);

/* striding.c: the position of a frame in a striding queue. */
enum cx_placed { CX_PLACED, CX_NO_REQUEST, CX_TOO_LONG };
enum cx_placed cx_strides_place(struct cx_rq *rq, uint32_t length, struct cx_completion *completion);
uint8_t cx_strides_fill(const struct cx_rq *rq, const struct sv_frame *frame);
/* Called after the frame has been written, or could not be. */
void cx_strides_take(struct cx_rq *rq, const struct cx_completion *completion);
/* Takes all strides that are left of the request. */
void cx_strides_rest(struct cx_rq *rq, struct cx_completion *completion);

/* completions.c */
struct cx_completion {
    uint8_t opcode;                 /* MLX5_CQE_* */
    uint8_t syndrome;               /* of error CQEs */
    uint8_t send_opcode;
    bool solicited;
    uint16_t wqe_counter;           /* of a striding queue: the first stride in the request */
    uint16_t wqe_id;                /* of a striding queue: the request */
    uint16_t strides;               /* strides consumed; 0: not a striding queue */
    bool filler;                    /* the strides hold no frame, since the next frame did not fit */
    uint32_t number;                /* queue number of sends, flow tag of receives */
    uint32_t uidx;
    uint32_t byte_count;
    uint32_t rss_hash;
    const struct sv_frame *frame;   /* of a received frame, for the fields of its headers */
    bool vlan;
};

/* Returns false when the queue has overrun. */
bool cx_cq_add(struct cx_cq *cq, const struct cx_completion *completion);
/* Writes the completions that the device's queues have compressed so far. Called when no more frames are available. */
void cx_cqs_close_sessions(struct cx_device *device);
/* Reads the arming record after its doorbell rang. */
void cx_cq_arm(struct cx_cq *cq);
/* Whether the arming record holds this word. */
bool cx_cq_is_arming(const struct cx_cq *cq, uint32_t word);
void cx_cq_overrun(struct cx_cq *cq);
/* The number of entries that the program has not taken yet. */
uint32_t cx_cq_waiting(const struct cx_cq *cq);

/* compression.c: `format` is of enum mlx5_ib_cqe_comp_res_format. Returns NULL without memory. */
struct cx_session *cx_session_new(uint8_t format);
/* Whether such completions are compressed at all. */
bool cx_session_takes(const struct cx_session *session, const struct cx_completion *completion);
uint32_t cx_session_count(const struct cx_session *session);
/* Adds a completion to the session; false if they do not match, so that the session has to be closed first. */
bool cx_session_add(struct cx_session *session, const struct mlx5_cqe64 *cqe, uint16_t checksum);
/*
 * Writes miniature entries to the ring from `first` on, and the title to *title, which the caller publishes in the
 * first entry. A session of one is that completion in full. Returns the format bits of the title and the number of
 * entries in `*count`, and empties the session.
 */
uint8_t cx_session_close(struct cx_session *session, struct cx_cq *cq, struct mlx5_cqe64 *title, uint32_t *count);

/* errors.c: moves queues to the error state and flushes them; raises asynchronous events */
void cx_sq_enter_error(struct cx_qp *qp);
void cx_rq_enter_error(struct cx_rq *rq);
/* Both halves. */
void cx_qp_enter_error(struct cx_qp *qp);
void cx_raise(struct cx_object *object, enum ibv_event_type type);
void cx_raise_all(struct cx_device *device, enum ibv_event_type type, uint32_t port);

/* wire.c */
int cx_wire_open(struct cx_device *device, const char *kind);
/* Sends frames of a queue pair, or of none of this device if it is NULL. */
void cx_wire_send(struct cx_device *device, struct cx_qp *sender, struct sv_frame *frames, unsigned count);
/* Whether the wire accepts frames now. */
bool cx_wire_has_room(const struct cx_device *device);
void cx_wire_deliver(struct cx_device *device);
unsigned cx_wire_receive(struct cx_device *device);
void cx_wire_catch_up(struct cx_device *device);
/* Receives a frame from outside. */
void cx_device_receive(struct cx_device *device, const uint8_t *data, uint32_t length);
enum { CX_WIRE_DESCRIPTORS = 2 };
/* The descriptors that are readable when frames arrive, or -1. */
void cx_wire_descriptors(const struct cx_device *device, int descriptors[CX_WIRE_DESCRIPTORS]);

#endif
