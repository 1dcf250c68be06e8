/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other symbols of libibverbs 1.14 (rdma-core 44), for RDMA transports that a plain Ethernet port lacks. They exist
 * so that programs built against libibverbs start, and they fail with EOPNOTSUPP.
 */
#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct ib_uverbs_qp_attr;
struct ibv_sa_path_rec;

/* Declared in a header that is not installed. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buffer, size_t size);

/* No device pins memory, so fork needs no precautions. */
SV_EXPORT int ibv_fork_init(void) { return 0; }
SV_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }
SV_EXPORT int ibv_dontfork_range(void *base, size_t size) { (void)base; (void)size; return 0; }
SV_EXPORT int ibv_dofork_range(void *base, size_t size) { (void)base; (void)size; return 0; }

SV_EXPORT const char *ibv_get_sysfs_path(void) { return "/sys"; }

SV_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buffer, size_t size)
{
    char path[512];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, file) >= sizeof path)
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t length = read(fd, buffer, size);
    close(fd);
    if (length > 0 && buffer[length - 1] == '\n')
        buffer[--length] = '\0';
    else if (length >= 0 && (size_t)length < size)
        buffer[length] = '\0';
    else
        return -1;
    return (int)length;
}

/* ---- rates: pairs of the enum and 2.5 Gbit/s units or Mbit/s ---- */

static const struct { enum ibv_rate rate; int mult; int mbps; } rates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2500}, {IBV_RATE_5_GBPS, 2, 5000}, {IBV_RATE_10_GBPS, 4, 10000},
    {IBV_RATE_20_GBPS, 8, 20000}, {IBV_RATE_30_GBPS, 12, 30000}, {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000}, {IBV_RATE_80_GBPS, 32, 80000}, {IBV_RATE_120_GBPS, 48, 120000},
    {IBV_RATE_14_GBPS, 6, 14062}, {IBV_RATE_56_GBPS, 22, 56250}, {IBV_RATE_112_GBPS, 45, 112500},
    {IBV_RATE_168_GBPS, 67, 168750}, {IBV_RATE_25_GBPS, 10, 25781}, {IBV_RATE_100_GBPS, 41, 103125},
    {IBV_RATE_200_GBPS, 82, 206250}, {IBV_RATE_300_GBPS, 123, 309375}, {IBV_RATE_50_GBPS, 20, 53125},
    {IBV_RATE_400_GBPS, 160, 425000}, {IBV_RATE_600_GBPS, 240, 637500},
};

enum { RATES = sizeof rates / sizeof rates[0] };

SV_EXPORT int ibv_rate_to_mult(enum ibv_rate rate)
{
    for (int i = 0; i < RATES; i++)
        if (rates[i].rate == rate)
            return rates[i].mult;
    return -1;
}

SV_EXPORT enum ibv_rate mult_to_ibv_rate(int mult)
{
    for (int i = 0; i < RATES; i++)
        if (rates[i].mult == mult)
            return rates[i].rate;
    return IBV_RATE_MAX;
}

SV_EXPORT int ibv_rate_to_mbps(enum ibv_rate rate)
{
    for (int i = 0; i < RATES; i++)
        if (rates[i].rate == rate)
            return rates[i].mbps;
    return -1;
}

SV_EXPORT enum ibv_rate mbps_to_ibv_rate(int mbps)
{
    for (int i = 0; i < RATES; i++)
        if (rates[i].mbps == mbps)
            return rates[i].rate;
    return IBV_RATE_MAX;
}

/* ---- not there ---- */

#define NO_POINTER(type, name, ...) SV_EXPORT type *name(__VA_ARGS__) { errno = EOPNOTSUPP; return NULL; }
#define NO_ERRNO(name, ...) SV_EXPORT int name(__VA_ARGS__) { return EOPNOTSUPP; }
#define NO_EFFECT(name, ...) SV_EXPORT void name(__VA_ARGS__) { }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"      /* some are declared in headers that are not installed */

NO_POINTER(struct ibv_ah, ibv_create_ah, struct ibv_pd *pd, struct ibv_ah_attr *attr)
NO_POINTER(struct ibv_ah, ibv_create_ah_from_wc, struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
           uint8_t port_num)
NO_POINTER(struct ibv_srq, ibv_create_srq, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
NO_POINTER(struct ibv_context, ibv_import_device, int cmd_fd)
NO_POINTER(struct ibv_pd, ibv_import_pd, struct ibv_context *context, uint32_t handle)
NO_POINTER(struct ibv_mr, ibv_import_mr, struct ibv_pd *pd, uint32_t handle)
NO_POINTER(struct ibv_dm, ibv_import_dm, struct ibv_context *context, uint32_t handle)
NO_POINTER(struct ibv_mr, ibv_reg_dmabuf_mr, struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
           int access)
NO_ERRNO(ibv_destroy_ah, struct ibv_ah *ah)
NO_ERRNO(ibv_modify_srq, struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
NO_ERRNO(ibv_query_srq, struct ibv_srq *srq, struct ibv_srq_attr *attr)
NO_ERRNO(ibv_destroy_srq, struct ibv_srq *srq)
NO_ERRNO(ibv_attach_mcast, struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
NO_ERRNO(ibv_detach_mcast, struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
NO_ERRNO(ibv_query_ece, struct ibv_qp *qp, struct ibv_ece *ece)
NO_ERRNO(ibv_set_ece, struct ibv_qp *qp, struct ibv_ece *ece)
NO_EFFECT(ibv_unimport_pd, struct ibv_pd *pd)
NO_EFFECT(ibv_unimport_mr, struct ibv_mr *mr)
NO_EFFECT(ibv_unimport_dm, struct ibv_dm *dm)
NO_EFFECT(ibv_copy_ah_attr_from_kern, struct ibv_ah_attr *to, void *from)
NO_EFFECT(ibv_copy_qp_attr_from_kern, struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from)
NO_EFFECT(ibv_copy_path_rec_from_kern, struct ibv_sa_path_rec *to, void *from)
NO_EFFECT(ibv_copy_path_rec_to_kern, void *to, struct ibv_sa_path_rec *from)

SV_EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
    errno = EOPNOTSUPP;
    return IBV_REREG_MR_ERR_INPUT;
}

SV_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
                                  struct ibv_ah_attr *attr)
{
    errno = EOPNOTSUPP;
    return -1;
}

SV_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
                                          uint8_t eth_mac[6], uint16_t *vid)
{
    return -EOPNOTSUPP;
}

/* The order in which the bytes of a frame are written is not guaranteed. */
SV_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
    return 0;
}

#pragma GCC diagnostic pop
