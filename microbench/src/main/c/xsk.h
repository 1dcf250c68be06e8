/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_XSK_H
#define BENCH_XSK_H

#include <linux/if_xdp.h>
#include <stdint.h>

/*
 * AF_XDP in its plainest form, without a library: one socket on receive queue 0, generic mode, copies made by the
 * kernel, no rules except one UDP port. The provider is compared with it.
 */
enum { XSK_CHUNK = 2048, XSK_RING = 2048, XSK_BURST = 64 };

struct xsk_ring {
    uint32_t *producer;
    uint32_t *consumer;
    void *entries;
    uint32_t position;      /* our own side's index */
};

struct xsk {
    int fd;
    int program;            /* the link that holds the XDP program on the interface */
    uint8_t *umem;          /* XSK_RING chunks to receive into, then as many to send from */
    struct xsk_ring rx;
    struct xsk_ring tx;
    struct xsk_ring fill;
    struct xsk_ring completion;
};

/* Takes the UDP datagrams to a port over IPv4 from the kernel. Ends the program with a message when it can't. */
void xsk_open(struct xsk *xsk, const char *interface, uint16_t port);

/* Frames waiting, at most XSK_BURST; their descriptors. xsk_received() gives them up. */
unsigned xsk_receive(struct xsk *xsk, struct xdp_desc *frames);
/* Gives a chunk back to be received into. */
void xsk_refill(struct xsk *xsk, const uint64_t *chunks, unsigned count);
/* Puts frames into the send ring, which must have room, and makes the kernel send them all. */
void xsk_send(struct xsk *xsk, const struct xdp_desc *frames, unsigned count);
/* Chunks that have been sent, at most XSK_BURST. */
unsigned xsk_completed(struct xsk *xsk, uint64_t *chunks);

#endif
