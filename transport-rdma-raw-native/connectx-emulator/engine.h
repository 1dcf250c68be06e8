/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_ENGINE_H
#define CX_ENGINE_H

/* The card: its devices, queues and wires. Functions need the device's mutex unless stated otherwise. */

#include "objects.h"

struct cx_completion;

/* devices.c. The caller holds no lock. */
struct cx_device *cx_device_by_index(unsigned index);
struct cx_device *cx_device_by_name(const char *name);
unsigned cx_device_count(void);

/* engine.c */
int cx_engine_start(struct cx_device *device);
/* Runs one round and returns the work done. `budget` bounds the work requests that it executes. */
unsigned cx_engine_round(struct cx_device *device, unsigned budget);

/* doorbells.c: reads the rung doorbells and marks send queues. Returns the number of rings. */
unsigned cx_doorbells_scan(struct cx_device *device);
/* Clears the bytes that programs have written to BlueFlame registers after the words of doorbells. */
void cx_blueflame_clear(struct cx_device *device);

/* send_queue.c, tso.c */
unsigned cx_sq_run(struct cx_qp *qp, unsigned budget);
/* Returns true if the doorbell record has announced this request. */
bool cx_sq_is_announced(const struct cx_qp *qp, uint16_t index);
/* Step mode: rings the doorbell for this request and all before it. */
void cx_sq_ring_doorbell(struct cx_qp *qp, uint16_t index);
/* Makes the queue execute the requests that its record announces, without a doorbell. */
void cx_sq_ring_all(struct cx_qp *qp);
void cx_sq_flush(struct cx_qp *qp);
/* Forgets the frames without a completion, when the queue is reset or destroyed: no completion will report them. */
void cx_sq_count_unreported(struct cx_qp *qp);
uint8_t cx_tso_send(struct cx_qp *qp, const uint8_t *header, uint32_t header_bytes, const uint8_t *payload,
                    uint32_t payload_bytes, uint32_t mss);

/* receive_queue.c */
void cx_rq_flush(struct cx_rq *rq);
/* Returns true if a request is available. Reads the doorbell record if necessary. */
bool cx_rq_has_request(struct cx_rq *rq);
const uint8_t *cx_rq_request(const struct cx_rq *rq);
/*
 * Copies a frame to the data segments of a request, from `offset` on. The first segment is `first` bytes after the
 * start of the request. Returns 0 or a syndrome.
 */
uint8_t cx_rq_scatter(const struct cx_rq *rq, uint32_t first, uint32_t offset, const struct sv_frame *frame);

/* striding.c: the position of a frame in a striding queue. */
enum cx_placed { CX_PLACED, CX_NO_REQUEST, CX_TOO_LONG };
enum cx_placed cx_strides_place(struct cx_rq *rq, uint32_t length, struct cx_completion *completion);
uint8_t cx_strides_fill(const struct cx_rq *rq, const struct sv_frame *frame);
/* Called after the frame has been written, or has failed. */
void cx_strides_consume(struct cx_rq *rq, const struct cx_completion *completion);
/* Takes all remaining strides of the request. */
void cx_strides_consume_rest(struct cx_rq *rq, struct cx_completion *completion);

/* completions.c */
struct cx_completion {
    uint8_t opcode;                 /* MLX5_CQE_* */
    uint8_t syndrome;               /* of error CQEs */
    uint8_t send_opcode;
    bool solicited;
    uint16_t wqe_counter;           /* striding queue: the first stride in the request */
    uint16_t wqe_id;                /* striding queue: the request */
    uint16_t strides;               /* strides consumed; 0: not a striding queue */
    bool filler;                    /* the strides hold no frame, because the next frame did not fit */
    uint32_t number;                /* queue number of sends, flow tag of receives */
    uint32_t uidx;
    uint32_t byte_count;
    uint32_t rss_hash;
    const struct sv_frame *frame;   /* a received frame, for the fields of its headers */
    bool vlan;
};

/* Returns false if the queue has overrun. */
bool cx_cq_add(struct cx_cq *cq, const struct cx_completion *completion);
/* Writes the completions that the device's queues have compressed so far. Called when no more frames are available. */
void cx_cqs_close_sessions(struct cx_device *device);
/* Reads the arming record after its doorbell has rung. */
void cx_cq_arm(struct cx_cq *cq);
/* Returns true if the arming record holds this word. */
bool cx_cq_is_arming(const struct cx_cq *cq, uint32_t word);
void cx_cq_overrun(struct cx_cq *cq);
/* Returns the number of entries that the program has not consumed yet. */
uint32_t cx_cq_unconsumed(const struct cx_cq *cq);

/* compression.c: `format` is of enum mlx5_ib_cqe_comp_res_format. Returns NULL if memory is missing. */
struct cx_session *cx_session_new(uint8_t format);
/* Returns true if such completions are compressed at all. */
bool cx_session_accepts(const struct cx_session *session, const struct cx_completion *completion);
uint32_t cx_session_count(const struct cx_session *session);
/* Adds a completion to the session. Returns false if they do not match and the session has to be closed first. */
bool cx_session_add(struct cx_session *session, const struct mlx5_cqe64 *cqe, uint16_t checksum);
/*
 * Writes miniature entries to the ring from `first` on, and the title to *title, which the caller publishes in the
 * first entry. A session with one completion is written in full. Returns the format bits of the title and the number of
 * entries in `*count`, and empties the session.
 */
uint8_t cx_session_close(struct cx_session *session, struct cx_cq *cq, struct mlx5_cqe64 *title, uint32_t *count);

/* errors.c: moves queues to the error state and flushes them, and raises asynchronous events */
void cx_sq_enter_error(struct cx_qp *qp);
void cx_rq_enter_error(struct cx_rq *rq);
/* Moves both halves to the error state. */
void cx_qp_enter_error(struct cx_qp *qp);
void cx_raise(struct cx_object *object, enum ibv_event_type type);
void cx_raise_all(struct cx_device *device, enum ibv_event_type type, uint32_t port);

/* wire.c */
int cx_wire_open(struct cx_device *device, const char *kind);
/* Sends frames of a queue pair, or frames from outside if `sender` is NULL. */
void cx_wire_send(struct cx_device *device, struct cx_qp *sender, struct sv_frame *frames, unsigned count);
/* Returns true if the wire accepts frames now. */
bool cx_wire_has_room(const struct cx_device *device);
void cx_wire_deliver(struct cx_device *device);
unsigned cx_wire_receive(struct cx_device *device);
void cx_wire_discard_pending(struct cx_device *device);
/* Receives a frame from outside. */
void cx_device_receive(struct cx_device *device, const uint8_t *data, uint32_t length);
enum { CX_WIRE_DESCRIPTORS = 2 };
/* Stores the descriptors that are readable when frames arrive, or -1. */
void cx_wire_descriptors(const struct cx_device *device, int descriptors[CX_WIRE_DESCRIPTORS]);

/* ---- requests of send queues ---- */

enum {
    CX_SEGMENT_BYTES = 16,
    CX_MAX_SEGMENTS = 63,           /* the maximum of a six-bit count */
    CX_OPCODE_MULTI_PACKET = 0x29,  /* MLX5_OPCODE_ENHANCED_MPSW of DPDK and the kernel; not in mlx5dv.h */
};

/* A contiguous copy of a request if the queue wraps within it. */
struct cx_send_request {
    const uint8_t *bytes;
    uint32_t length;
    uint16_t index;
    uint8_t opcode;
    uint8_t blocks;
    bool signalled;
    bool solicited;
    uint8_t copy[CX_MAX_SEGMENTS * CX_SEGMENT_BYTES];
};

struct cx_gathered {
    uint8_t *bytes;
    uint32_t length;
    uint32_t limit;
};

/* send_request.c; functions return 0 or a syndrome. */
uint8_t cx_append_bytes(struct cx_gathered *to, const uint8_t *from, uint32_t length);
/* Appends the data segment at `*at`, and moves `*at` to the next one. */
uint8_t cx_gather_segment(const struct cx_qp *qp, const struct cx_send_request *request, uint32_t *at,
                          struct cx_gathered *to);
/* Appends the data segments from `at` to the end of the request. */
uint8_t cx_gather_segments(const struct cx_qp *qp, const struct cx_send_request *request, uint32_t at,
                           struct cx_gathered *to);

/* send_queue.c */
uint8_t cx_send_frame(struct cx_qp *qp, struct cx_gathered *frame, uint8_t checksum_flags);

/* multi_packet.c */
uint8_t cx_multi_packet_send(struct cx_qp *qp, const struct cx_send_request *request);

#endif
