/* SPDX-License-Identifier: Apache-2.0 */
#include "cqe_reader.h"

enum { MINIS = 8, COMPRESSED = 3 };

struct mini {
    __be32 first;                   /* a hash, or a checksum and a stride */
    __be32 byte_count;
};

struct ibv_cq_ex *create_compressed(struct world *world, uint32_t entries, uint8_t format)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = entries - 1, .wc_flags = IBV_WC_STANDARD_FLAGS};
    struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE,
                                     .cqe_comp_res_format = format};
    return mlx5dv_create_cq(world->context, &attr, &dv);
}

void cqe_reader_open(struct cqe_reader *reader, struct ibv_cq *cq, uint8_t format)
{
    *reader = (struct cqe_reader){.format = format};
    struct mlx5dv_obj object = {.cq = {.in = cq, .out = &reader->ring}};
    CHECK_EQ(0, mlx5dv_init_obj(&object, MLX5DV_OBJ_CQ));
    CHECK_EQ(sizeof(struct mlx5_cqe64), reader->ring.cqe_size);
}

static struct mlx5_cqe64 *entry(const struct cqe_reader *reader, uint32_t index)
{
    return (struct mlx5_cqe64 *)reader->ring.buf + (index & (reader->ring.cqe_cnt - 1));
}

static struct cqe_fields fields_of(const struct mlx5_cqe64 *cqe)
{
    const uint8_t ok = MLX5_CQE_L3_OK | MLX5_CQE_L4_OK;
    return (struct cqe_fields){
        .byte_count = be32toh(cqe->byte_cnt),
        .counter = be16toh(cqe->wqe_counter),
        .request = be16toh(cqe->wqe_id),
        .tag = be32toh(cqe->sop_drop_qpn) & 0xffffff,
        .checksum_ok = (cqe->hds_ip_ext & ok) == ok,
    };
}

static void expand(const struct cqe_reader *reader, uint32_t count, struct cqe_fields *to)
{
    const struct cqe_fields title = fields_of(entry(reader, reader->consumed));
    for (uint32_t i = 0; i < count; i++) {
        const struct mini *minis = (struct mini *)entry(reader, reader->consumed + (i < MINIS ? 1 : i / MINIS * MINIS));
        to[i] = title;
        to[i].byte_count = be32toh(minis[i % MINIS].byte_count);
        to[i].counter = (uint16_t)(title.counter + i);
        if (reader->format == MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX)
            to[i].counter = (uint16_t)be32toh(minis[i % MINIS].first);
    }
}

uint32_t cqe_reader_take(struct cqe_reader *reader, struct cqe_fields *to)
{
    struct mlx5_cqe64 *title = entry(reader, reader->consumed);
    uint8_t op_own = __atomic_load_n(&title->op_own, __ATOMIC_ACQUIRE);
    uint8_t owner = (reader->consumed & reader->ring.cqe_cnt) != 0;
    if (op_own >> 4 == MLX5_CQE_INVALID || (op_own & 1) != owner)
        return 0;
    CHECK_EQ(MLX5_CQE_RESP_SEND, op_own >> 4);
    uint32_t count = 1;
    if ((op_own >> 2 & 3) == COMPRESSED) {
        count = be32toh(title->byte_cnt);
        CHECK(count > 1 && count <= reader->ring.cqe_cnt);
        expand(reader, count, to);
        reader->sessions++;
    } else {
        *to = fields_of(title);
    }
    /* Invalidates the entries in between: in the next round they must not look like completions. */
    for (uint32_t i = 0; i < count; i++)
        entry(reader, reader->consumed + i)->op_own = MLX5_CQE_INVALID << 4;
    reader->consumed += count;
    __atomic_store_n(&reader->ring.dbrec[0], htobe32(reader->consumed & 0xffffff), __ATOMIC_RELEASE);
    return count;
}
