/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_SEND_REQUEST_H
#define CX_SEND_REQUEST_H

#include "emulator.h"

enum {
    CX_SEGMENT_BYTES = 16,
    CX_MAX_SEGMENTS = 63,           /* the maximum of a six-bit count */
    CX_OPCODE_MULTI_PACKET = 0x29,  /* MLX5_OPCODE_ENHANCED_MPSW of DPDK and the kernel; not in mlx5dv.h */
};

/* A request in one piece, also where the queue wraps. */
struct cx_request {
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
/* The data segment at `*at`, which then is where the next one begins. */
uint8_t cx_gather_segment(const struct cx_qp *qp, const struct cx_request *request, uint32_t *at,
                          struct cx_gathered *to);
/* Data segments from `at` to the end of the request. */
uint8_t cx_gather_segments(const struct cx_qp *qp, const struct cx_request *request, uint32_t at,
                           struct cx_gathered *to);

/* send_queue.c */
uint8_t cx_send_frame(struct cx_qp *qp, struct cx_gathered *frame, uint8_t checksum_flags);

/* multi_packet.c */
uint8_t cx_multi_packet_send(struct cx_qp *qp, const struct cx_request *request);

#endif
