/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GSO_FRAME_FIXTURE_H
#define GSO_FRAME_FIXTURE_H

/* GSO frames as the kernel builds them, and the segments that gso_frame.c builds from them. */

#include "gso_frame.h"
#include "wire_fixture.h"

enum { MTU = 1500, MAX_FRAMES = 4096, ROOM = 1 << 17, MAX_PIECES = 64, FUZZ_ROUNDS = 20000 };
enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16, TCP_URG = 32, TCP_CWR = 128 };

/* A GSO frame as the kernel builds it. */
struct built_frame {
    uint8_t bytes[ROOM];
    uint32_t length;
    uint32_t l3;
    uint32_t l4;
    uint32_t headers;
    bool v6;
    bool udp;
};

struct shape {
    bool v6;
    bool udp;
    int vlan;
    uint32_t ip_options;        /* words */
    uint32_t tcp_options;       /* words */
    uint32_t payload;
    uint8_t flags;
};

/* The segments, each in one piece. */
struct segments {
    enum sv_gso_verdict verdict;
    unsigned count;
    struct {
        uint8_t *bytes;
        uint32_t length;
    } frame[MAX_FRAMES];
};

/* The GSO frame and the segments of the running test. */
extern struct built_frame built_frame;
extern struct segments result;
extern uint32_t random_state;

uint32_t random_below(uint32_t limit);
void put16(uint8_t *to, uint32_t value);
struct sv_layout layout_of(const struct built_frame *m);
void put_lengths(struct built_frame *m);
void build(struct built_frame *m, const struct shape *shape);
void segment_all(struct segments *segments, const struct iovec *pieces, uint32_t count, const struct sv_gso_info *info);
void free_segments(struct segments *segments);
enum sv_gso_verdict verdict_with(bool partial);
/* Checks that the segments are valid and contain the payload of the GSO frame. */
void check_segments(uint32_t mtu);

#endif
