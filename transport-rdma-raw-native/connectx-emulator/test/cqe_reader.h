/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CX_TEST_CQE_READER_H
#define CX_TEST_CQE_READER_H

/* Reads receive completions in place, including compressed ones, which libmlx5 creates queues for and cannot read. */

#include "harness.h"

struct cqe_reader {
    struct mlx5dv_cq ring;
    uint8_t format;                 /* of miniature entries; 0: none */
    uint32_t consumed;
    uint32_t sessions;              /* sessions with more than one completion */
};

struct cqe_fields {
    uint32_t byte_count;
    uint16_t counter;               /* wqe_counter */
    uint16_t request;               /* wqe_id */
    uint32_t tag;
    bool checksum_ok;
};

/* Creates a queue with compressed completions. Returns NULL and errno as mlx5dv_create_cq does. */
struct ibv_cq_ex *create_compressed(struct world *world, uint32_t entries, uint8_t format);
void cqe_reader_open(struct cqe_reader *reader, struct ibv_cq *cq, uint8_t format);
/* Reads a completion or a session. Returns the number of completions. */
uint32_t cqe_reader_take(struct cqe_reader *reader, struct cqe_fields *to);

#endif
