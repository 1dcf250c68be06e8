/* SPDX-License-Identifier: Apache-2.0 */
/* See sockets.h. */
#define _GNU_SOURCE
#include "sockets.h"

#include "xdp_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_xdp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U          /* Linux 6.3 */
#endif

enum { PAGE = 4096 };

void sockets_init(struct sockets *sockets, const struct sv_broker_open *wanted, int ifindex)
{
    bool zero_copy = wanted->mode == SV_BROKER_MODE_ZERO_COPY;
    uint32_t mtu = wanted->mtu < SV_XDP_MAX_MTU ? wanted->mtu : SV_XDP_MAX_MTU;
    memset(sockets, 0, sizeof *sockets);
    sockets->ifindex = ifindex;
    memcpy(sockets->netdev, wanted->netdev, sizeof sockets->netdev);
    sockets->zero_copy = zero_copy;
    sockets->jumbo = sv_xdp_is_jumbo(mtu);
    sockets->memory_fd = sockets->waiting_fd = -1;
    struct sv_broker_layout *layout = &sockets->layout;
    layout->chunk_bytes = sv_xdp_chunk_bytes(mtu, zero_copy);
    layout->stride_bytes = layout->chunk_bytes + (zero_copy ? 0 : SV_XDP_STRIDE_PADDING);
    layout->multi_buffer = wanted->multi_buffer != 0 || sockets->jumbo;
    layout->main_divisor = (uint16_t)sv_xdp_main_divisor(zero_copy);
    layout->syn_divisor = (uint16_t)sv_xdp_syn_divisor(zero_copy);
    uint32_t bytes = (SV_XDP_RECEIVE_CHUNKS + SV_XDP_RECEIVE_CHUNKS / 2) * layout->stride_bytes;
    layout->queue_bytes = (bytes + PAGE - 1) & ~(uint32_t)(PAGE - 1);
}

/* ---- a socket ---- */

/* Opens a socket that can be bound to this interface only. Only CAP_NET_RAW could change that. */
static int open_confined(const char *netdev, int *fd)
{
    *fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    if (setsockopt(*fd, SOL_SOCKET, SO_BINDTODEVICE, netdev, (socklen_t)strlen(netdev)) == 0)
        return 0;
    int error = errno;
    close(*fd);
    *fd = -1;
    return error;
}

/*
 * Binds a confined socket to an interface that does not exist. xsk_bind() checks the socket's device first and returns
 * EINVAL; a kernel without that check returns ENODEV.
 */
bool kernel_confines_sockets(void)
{
    struct sockaddr_xdp nowhere = {.sxdp_family = AF_XDP, .sxdp_ifindex = INT32_MAX};
    int fd;
    if (open_confined("lo", &fd) != 0)
        return false;
    bool confined = bind(fd, (struct sockaddr *)&nowhere, sizeof nowhere) != 0 && errno == EINVAL;
    close(fd);
    return confined;
}

/* ---- memory ---- */

static int open_memory(void)
{
    int fd = (int)syscall(SYS_memfd_create, "rdma-raw", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    return fd >= 0 || errno != EINVAL ? fd
                                      : (int)syscall(SYS_memfd_create, "rdma-raw", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* The kernel pins the pages during registration, so the mapping is not needed afterwards. */
static int register_chunks(const struct sockets *sockets, int fd, uint32_t receive_chunks)
{
    const struct sv_broker_layout *layout = &sockets->layout;
    size_t bytes = (size_t)(receive_chunks + receive_chunks / 2) * layout->stride_bytes;
    size_t length = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    off_t start = (off_t)layout->queue_count * layout->queue_bytes;
    if (ftruncate(sockets->memory_fd, start + (off_t)layout->queue_bytes) != 0)
        return errno;
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, sockets->memory_fd, start);
    if (memory == MAP_FAILED)
        return errno;
    struct xdp_umem_reg umem;
    memset(&umem, 0, sizeof umem);
    umem.addr = (uint64_t)(uintptr_t)memory;
    umem.len = length;
    umem.chunk_size = layout->chunk_bytes;
    umem.flags = layout->stride_bytes == layout->chunk_bytes ? 0 : XDP_UMEM_UNALIGNED_CHUNK_FLAG;
    int error = setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem) == 0 ? 0 : errno;
    munmap(memory, length);
    return error;
}

/* ENOBUFS: the limit of locked memory. A smaller queue may fit. */
static int register_memory(struct sockets *sockets, int fd)
{
    if (sockets->memory_fd < 0 && (sockets->memory_fd = open_memory()) < 0)
        return errno;
    int error = ENOBUFS;
    for (uint32_t chunks = SV_XDP_RECEIVE_CHUNKS; error == ENOBUFS && chunks >= SV_XDP_MIN_RECEIVE_CHUNKS;
         chunks /= 2) {
        sockets->layout.receive_chunks[sockets->layout.queue_count] = (uint16_t)chunks;
        error = register_chunks(sockets, fd, chunks);
    }
    return error;
}

/* ---- a queue ---- */

static uint32_t receive_chunks_of(const struct sockets *sockets)
{
    return sockets->layout.receive_chunks[sockets->layout.queue_count];
}

static int make_rings(const struct sockets *sockets, int fd)
{
    uint32_t chunks = receive_chunks_of(sockets);
    int error = sv_xdp_set_ring_size(fd, XDP_UMEM_FILL_RING, chunks);
    if (error == 0)
        error = sv_xdp_set_ring_size(fd, XDP_UMEM_COMPLETION_RING, chunks / 2);
    if (error == 0)
        error = sv_xdp_set_ring_size(fd, XDP_RX_RING, chunks / sockets->layout.main_divisor);
    if (error == 0)
        error = sv_xdp_set_ring_size(fd, XDP_TX_RING, chunks / 2);
    sv_xdp_raise_limits(fd);
    return error;
}

/* Fills the fill ring, because a zero-copy driver takes its receive buffers from it when the socket is bound. */
static int populate_fill_ring(const struct sockets *sockets, int fd)
{
    struct xdp_mmap_offsets offsets;
    socklen_t size = sizeof offsets;
    uint32_t chunks = receive_chunks_of(sockets);
    if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size) != 0)
        return errno;
    size_t bytes = offsets.fr.desc + chunks * sizeof(uint64_t);
    uint8_t *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, XDP_UMEM_PGOFF_FILL_RING);
    if (ring == MAP_FAILED)
        return errno;
    uint64_t *entries = (uint64_t *)(void *)(ring + offsets.fr.desc);
    for (uint32_t i = 0; i < chunks; i++)
        entries[i] = (uint64_t)i * sockets->layout.stride_bytes;
    __atomic_store_n((uint32_t *)(void *)(ring + offsets.fr.producer), chunks, __ATOMIC_RELEASE);
    munmap(ring, bytes);
    return 0;
}

static int make_main(struct sockets *sockets, int *fd)
{
    int error = open_confined(sockets->netdev, fd);
    if (error != 0)
        return error;
    error = register_memory(sockets, *fd);
    if (error == 0)
        error = make_rings(sockets, *fd);
    if (error == 0)
        error = populate_fill_ring(sockets, *fd);
    if (error != 0)
        close(*fd);
    return error;
}

static int bind_to(const struct sockets *sockets, int fd, uint16_t flags, int shared_umem_fd)
{
    struct sockaddr_xdp address;
    memset(&address, 0, sizeof address);
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = flags;
    address.sxdp_ifindex = (uint32_t)sockets->ifindex;
    address.sxdp_queue_id = sockets->layout.queue_count;
    address.sxdp_shared_umem_fd = (uint32_t)shared_umem_fd;
    return bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
}

static int bind_main(struct sockets *sockets, int fd)
{
    const uint16_t flags = (uint16_t)(XDP_USE_NEED_WAKEUP | (sockets->zero_copy ? XDP_ZEROCOPY : XDP_COPY));
    struct sv_broker_layout *layout = &sockets->layout;
    int error = bind_to(sockets, fd, layout->multi_buffer ? flags | XDP_USE_SG : flags, 0);
    /* Before Linux 6.6, only frames that fit a chunk arrive. */
    if (error == EINVAL && layout->multi_buffer && !sockets->jumbo && layout->queue_count == 0) {
        layout->multi_buffer = false;
        error = bind_to(sockets, fd, flags, 0);
    }
    return error;
}

static int add_syn_socket(const struct sockets *sockets, int main, int *fd)
{
    int error = open_confined(sockets->netdev, fd);
    if (error != 0)
        return error;
    error = sv_xdp_set_ring_size(*fd, XDP_RX_RING, receive_chunks_of(sockets) / sockets->layout.syn_divisor);
    if (error == 0)
        error = bind_to(sockets, *fd, XDP_SHARED_UMEM, main);
    if (error != 0)
        close(*fd);
    return error;
}

int sockets_add_queue(struct sockets *sockets, int fds[SV_BPF_SOCKETS_PER_QUEUE])
{
    int fd = sockets->waiting_fd;
    int error = fd >= 0 ? 0 : make_main(sockets, &fd);
    sockets->waiting_fd = -1;
    if (error != 0)
        return error;
    error = bind_main(sockets, fd);
    if (error == EBUSY)
        sockets->waiting_fd = fd;
    if (error == 0)
        error = add_syn_socket(sockets, fd, &fds[1]);
    if (error == 0) {
        fds[0] = fd;
        sockets->layout.queue_count++;
    } else if (sockets->waiting_fd < 0) {
        close(fd);
    }
    return error;
}

int sockets_seal(const struct sockets *sockets)
{
    off_t bytes = (off_t)sockets->layout.queue_count * sockets->layout.queue_bytes;
    if (ftruncate(sockets->memory_fd, bytes) != 0)
        return errno;
    return fcntl(sockets->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 ? 0 : errno;
}

void sockets_close(struct sockets *sockets, bool free_memory)
{
    off_t bytes = (off_t)sockets->layout.queue_count * sockets->layout.queue_bytes;
    if (sockets->waiting_fd >= 0)
        close(sockets->waiting_fd);
    if (sockets->memory_fd >= 0 && free_memory && bytes > 0)
        (void)fallocate(sockets->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes);
    if (sockets->memory_fd >= 0)
        close(sockets->memory_fd);
    sockets->memory_fd = sockets->waiting_fd = -1;
}
