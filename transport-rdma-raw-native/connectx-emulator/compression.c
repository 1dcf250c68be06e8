/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed completions, as a ConnectX-5 writes them. A title is the first completion, with the number of completions
 * in place of the byte count. Miniature entries of eight bytes contain the fields that differ. Eight of them fill an
 * entry: the one after the title, then every eighth counted from the title. The entries in between keep their contents.
 */
#include "engine.h"

#include <endian.h>
#include <rdma/mlx5-abi.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_AT = 12, CHECKSUM_AT = 20, MINIS_PER_ENTRY = 8, FORMAT_COMPRESSED = 3 };

/* The first word is a hash, or a checksum and, in its lower half, a stride number. Big-endian. */
struct mini {
    uint32_t first;
    uint32_t byte_count;
};

struct cx_session {
    uint8_t format;
    uint32_t count;
    struct mlx5_cqe64 title;
    struct mini minis[CX_MAX_SESSION_CQES];
};

struct cx_session *cx_session_new(uint8_t format)
{
    struct cx_session *session = calloc(1, sizeof *session);
    if (session != NULL)
        session->format = format;
    return session;
}

/* A miniature entry with a hash has no room for a stride number, so frames of several strides are not compressed. */
bool cx_session_accepts(const struct cx_session *session, const struct cx_completion *completion)
{
    if (completion->opcode != MLX5_CQE_RESP_SEND || completion->solicited || completion->filler)
        return false;
    return completion->strides <= 1 || session->format == MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX;
}

uint32_t cx_session_count(const struct cx_session *session)
{
    return session->count;
}

static struct mini mini_of(const struct cx_session *session, const struct mlx5_cqe64 *cqe, uint16_t checksum)
{
    struct mini mini = {.byte_count = cqe->byte_cnt};
    if (session->format == MLX5_IB_CQE_RES_FORMAT_HASH)
        memcpy(&mini.first, (const uint8_t *)cqe + HASH_AT, sizeof mini.first);
    else if (session->format == MLX5_IB_CQE_RES_FORMAT_CSUM)
        mini.first = htobe32((uint32_t)checksum << 16);
    else
        mini.first = htobe32((uint32_t)checksum << 16 | be16toh(cqe->wqe_counter));
    return mini;
}

/* Returns true if a completion differs from the title only in fields of a miniature entry. */
static bool is_mini_of(const struct cx_session *session, const struct mlx5_cqe64 *cqe)
{
    struct mlx5_cqe64 expected = session->title;
    expected.byte_cnt = cqe->byte_cnt;
    if (session->format == MLX5_IB_CQE_RES_FORMAT_HASH)
        memcpy((uint8_t *)&expected + HASH_AT, (const uint8_t *)cqe + HASH_AT, sizeof(uint32_t));
    if (session->format == MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX)
        expected.wqe_counter = cqe->wqe_counter;
    else
        expected.wqe_counter = htobe16((uint16_t)(be16toh(expected.wqe_counter) + session->count));
    return memcmp(&expected, cqe, sizeof expected) == 0;
}

bool cx_session_add(struct cx_session *session, const struct mlx5_cqe64 *cqe, uint16_t checksum)
{
    if (session->count == CX_MAX_SESSION_CQES || (session->count > 0 && !is_mini_of(session, cqe)))
        return false;
    if (session->count == 0)
        session->title = *cqe;
    session->minis[session->count++] = mini_of(session, cqe, checksum);
    return true;
}

static void write_minis(const struct cx_session *session, struct cx_cq *cq)
{
    for (uint32_t i = 0; i < session->count; i += MINIS_PER_ENTRY) {
        uint32_t left = session->count - i;
        uint32_t place = cq->produced + (i == 0 ? 1 : i) + cx_is_mutant(CX_MUTANT_MINI_ENTRIES_MISPLACED) * (i > 0);
        memcpy(cq->ring + (size_t)(place & (cq->entries - 1)) * cq->entry_bytes, &session->minis[i],
               (left < MINIS_PER_ENTRY ? left : MINIS_PER_ENTRY) * sizeof session->minis[0]);
    }
}

uint8_t cx_session_close(struct cx_session *session, struct cx_cq *cq, struct mlx5_cqe64 *title, uint32_t *count)
{
    *title = session->title;
    *count = session->count;
    if (session->count > 1) {
        write_minis(session, cq);
        title->byte_cnt = htobe32(session->count);
    }
    session->count = 0;
    return *count > 1 ? FORMAT_COMPRESSED : 0;
}
