/* SPDX-License-Identifier: Apache-2.0 */
/* See xsk.h, and af_xdp.rst of the kernel. */
#define _GNU_SOURCE
#include "xsk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif

enum { BUSY_RETRIES = 40, BUSY_RETRY_MILLIS = 25, KICK_TRIES = 100000 };

static void die(const char *what)
{
    fprintf(stderr, "wire-bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

/* ---- the program: UDP over IPv4 to one port is redirected to the socket of the receive queue ---- */

#define INSN(CODE, DST, SRC, OFF, IMM) \
    ((struct bpf_insn){.code = (CODE), .dst_reg = (DST), .src_reg = (SRC), .off = (int16_t)(OFF), .imm = (IMM)})
#define LOAD(SIZE, DST, SRC, OFF) INSN(BPF_LDX | BPF_MEM | (SIZE), DST, SRC, OFF, 0)
#define MOVE(DST, SRC) INSN(BPF_ALU64 | BPF_MOV | BPF_X, DST, SRC, 0, 0)
#define SET(DST, IMM) INSN(BPF_ALU64 | BPF_MOV | BPF_K, DST, 0, 0, IMM)
#define UNLESS_EQUAL(DST, IMM, SKIP) INSN(BPF_JMP | BPF_JNE | BPF_K, DST, 0, SKIP, IMM)

static int load_program(int map, uint16_t port)
{
    const struct bpf_insn code[] = {
        MOVE(BPF_REG_6, BPF_REG_1),
        LOAD(BPF_W, BPF_REG_2, BPF_REG_1, offsetof(struct xdp_md, data)),
        LOAD(BPF_W, BPF_REG_3, BPF_REG_1, offsetof(struct xdp_md, data_end)),
        MOVE(BPF_REG_4, BPF_REG_2),
        INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_4, 0, 0, 42),
        INSN(BPF_JMP | BPF_JGT | BPF_X, BPF_REG_4, BPF_REG_3, 12, 0),
        LOAD(BPF_H, BPF_REG_5, BPF_REG_2, 12),
        UNLESS_EQUAL(BPF_REG_5, htons(ETH_P_IP), 10),
        LOAD(BPF_B, BPF_REG_5, BPF_REG_2, 23),
        UNLESS_EQUAL(BPF_REG_5, IPPROTO_UDP, 8),
        LOAD(BPF_H, BPF_REG_5, BPF_REG_2, 36),
        UNLESS_EQUAL(BPF_REG_5, htons(port), 6),
        LOAD(BPF_W, BPF_REG_2, BPF_REG_6, offsetof(struct xdp_md, rx_queue_index)),
        INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
        INSN(0, 0, 0, 0, 0),
        SET(BPF_REG_3, XDP_PASS),
        INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
        INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
        SET(BPF_REG_0, XDP_PASS),
        INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_XDP;
    attr.insns = (uint64_t)(uintptr_t)code;
    attr.insn_cnt = sizeof code / sizeof code[0];
    attr.license = (uint64_t)(uintptr_t)"Apache-2.0";
    int fd = bpf(BPF_PROG_LOAD, &attr);
    if (fd < 0)
        die("BPF_PROG_LOAD");
    return fd;
}

static int create_map(void)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_type = BPF_MAP_TYPE_XSKMAP;
    attr.key_size = attr.value_size = 4;
    attr.max_entries = 1;
    int fd = bpf(BPF_MAP_CREATE, &attr);
    if (fd < 0)
        die("BPF_MAP_CREATE");
    return fd;
}

static void attach(struct xsk *xsk, unsigned interface, uint16_t port)
{
    const uint32_t queue = 0;
    union bpf_attr attr;
    int map = create_map();
    int program = load_program(map, port);
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)map;
    attr.key = (uint64_t)(uintptr_t)&queue;
    attr.value = (uint64_t)(uintptr_t)&xsk->fd;
    if (bpf(BPF_MAP_UPDATE_ELEM, &attr) != 0)
        die("BPF_MAP_UPDATE_ELEM");
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.target_ifindex = interface;
    attr.link_create.attach_type = BPF_XDP;
    attr.link_create.flags = XDP_FLAGS_SKB_MODE;
    xsk->program = bpf(BPF_LINK_CREATE, &attr);
    if (xsk->program < 0)
        die("BPF_LINK_CREATE");
    close(program);
    close(map);
}

/* ---- the socket ---- */

static void set_option(const struct xsk *xsk, int option, const void *value, socklen_t bytes)
{
    if (setsockopt(xsk->fd, SOL_XDP, option, value, bytes) != 0)
        die("setsockopt(SOL_XDP)");
}

static void map_ring(const struct xsk *xsk, struct xsk_ring *ring, const struct xdp_ring_offset *offset, uint64_t page,
                     size_t entry_bytes)
{
    uint8_t *map = mmap(NULL, offset->desc + XSK_RING * entry_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE, xsk->fd, (off_t)page);
    if (map == MAP_FAILED)
        die("mmap of a ring");
    *ring = (struct xsk_ring){.producer = (uint32_t *)(map + offset->producer),
                              .consumer = (uint32_t *)(map + offset->consumer), .entries = map + offset->desc};
}

static void map_rings(struct xsk *xsk)
{
    const uint32_t entries = XSK_RING;
    struct xdp_mmap_offsets offsets;
    socklen_t size = sizeof offsets;
    static const int options[] = {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING};
    for (unsigned i = 0; i < 4; i++)
        set_option(xsk, options[i], &entries, sizeof entries);
    if (getsockopt(xsk->fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size) != 0)
        die("XDP_MMAP_OFFSETS");
    map_ring(xsk, &xsk->rx, &offsets.rx, XDP_PGOFF_RX_RING, sizeof(struct xdp_desc));
    map_ring(xsk, &xsk->tx, &offsets.tx, XDP_PGOFF_TX_RING, sizeof(struct xdp_desc));
    map_ring(xsk, &xsk->fill, &offsets.fr, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t));
    map_ring(xsk, &xsk->completion, &offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING, sizeof(uint64_t));
}

static void register_umem(struct xsk *xsk)
{
    struct xdp_umem_reg umem;
    memset(&umem, 0, sizeof umem);
    umem.len = 2ull * XSK_RING * XSK_CHUNK;
    umem.chunk_size = XSK_CHUNK;
    xsk->umem = mmap(NULL, umem.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (xsk->umem == MAP_FAILED)
        die("mmap");
    umem.addr = (uint64_t)(uintptr_t)xsk->umem;
    set_option(xsk, XDP_UMEM_REG, &umem, sizeof umem);
}

/* The previous user of the interface holds it for some milliseconds after its end. */
static void bind_to(const struct xsk *xsk, unsigned interface)
{
    struct sockaddr_xdp address;
    memset(&address, 0, sizeof address);
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = XDP_COPY | XDP_USE_NEED_WAKEUP;
    address.sxdp_ifindex = interface;
    for (int i = 0; bind(xsk->fd, (struct sockaddr *)&address, sizeof address) != 0; i++) {
        if (errno != EBUSY || i == BUSY_RETRIES)
            die("bind of the AF_XDP socket");
        nanosleep(&(struct timespec){.tv_nsec = BUSY_RETRY_MILLIS * 1000000L}, NULL);
    }
}

void xsk_open(struct xsk *xsk, const char *name, uint16_t port)
{
    unsigned interface = if_nametoindex(name);
    uint64_t chunks[XSK_BURST];
    if (interface == 0)
        die(name);
    memset(xsk, 0, sizeof *xsk);
    xsk->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (xsk->fd < 0)
        die("socket(AF_XDP)");
    register_umem(xsk);
    map_rings(xsk);
    bind_to(xsk, interface);
    for (uint32_t i = 0; i < XSK_RING; i += XSK_BURST) {
        for (uint32_t j = 0; j < XSK_BURST; j++)
            chunks[j] = (uint64_t)(i + j) * XSK_CHUNK;
        xsk_refill(xsk, chunks, XSK_BURST);
    }
    attach(xsk, interface, port);
}

/* ---- traffic ---- */

unsigned xsk_receive(struct xsk *xsk, struct xdp_desc *frames)
{
    const struct xdp_desc *entries = xsk->rx.entries;
    unsigned count = __atomic_load_n(xsk->rx.producer, __ATOMIC_ACQUIRE) - xsk->rx.position;
    if (count == 0)
        return 0;
    if (count > XSK_BURST)
        count = XSK_BURST;
    for (unsigned i = 0; i < count; i++)
        frames[i] = entries[xsk->rx.position++ % XSK_RING];
    __atomic_store_n(xsk->rx.consumer, xsk->rx.position, __ATOMIC_RELEASE);
    return count;
}

void xsk_refill(struct xsk *xsk, const uint64_t *chunks, unsigned count)
{
    uint64_t *entries = xsk->fill.entries;
    for (unsigned i = 0; i < count; i++)
        entries[xsk->fill.position++ % XSK_RING] = chunks[i] / XSK_CHUNK * XSK_CHUNK;
    __atomic_store_n(xsk->fill.producer, xsk->fill.position, __ATOMIC_RELEASE);
}

void xsk_send(struct xsk *xsk, const struct xdp_desc *frames, unsigned count)
{
    struct xdp_desc *entries = xsk->tx.entries;
    for (unsigned i = 0; i < count; i++)
        entries[xsk->tx.position++ % XSK_RING] = frames[i];
    __atomic_store_n(xsk->tx.producer, xsk->tx.position, __ATOMIC_RELEASE);
    /* One call sends at most a few dozen frames. */
    for (int i = 0; __atomic_load_n(xsk->tx.consumer, __ATOMIC_ACQUIRE) != xsk->tx.position; i++) {
        if (sendto(xsk->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN && errno != EBUSY &&
            errno != ENOBUFS && errno != EINTR)
            die("sendto");
        if (i == KICK_TRIES) {
            errno = ENOBUFS;
            die("the interface takes no frames");
        }
    }
}

unsigned xsk_completed(struct xsk *xsk, uint64_t *chunks)
{
    const uint64_t *entries = xsk->completion.entries;
    unsigned count = __atomic_load_n(xsk->completion.producer, __ATOMIC_ACQUIRE) - xsk->completion.position;
    if (count > XSK_BURST)
        count = XSK_BURST;
    for (unsigned i = 0; i < count; i++)
        chunks[i] = entries[xsk->completion.position++ % XSK_RING];
    __atomic_store_n(xsk->completion.consumer, xsk->completion.position, __ATOMIC_RELEASE);
    return count;
}
