/*
 * Encodes send requests and completions with the functions of infiniband/mlx5dv.h, for comparison with ours. Each
 * input line is a case:
 *
 *   S qpn producer blocks checksums signaled frame(hex) elements { address length lkey }
 *   N as S, but no part of the frame is inlined
 *   M as N, but each element is a separate frame
 *   I as S, but the whole frame is inlined
 *   T qpn producer blocks mss signaled headers(hex) elements { address length lkey }
 *     prints the whole ring with the request; the ring was filled with 0xa5 before
 *   C hds_ip_ext l4_hdr_type_etc flow_tag byte_cnt wqe_counter op_own
 *   E syndrome wqe_counter op_own
 *     prints the completion
 */
#include <infiniband/mlx5dv.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 64
#define INLINE_BYTES 18
#define OPCODE_ENHANCED_MPSW 0x29       /* not defined in the header */

static uint8_t ring[MAX_BLOCKS * MLX5_SEND_WQE_BB];

static uint64_t number(void)
{
    char *word = strtok(NULL, " \n");
    if (word == NULL)
        abort();
    return strtoull(word, NULL, 0);
}

static size_t hex(uint8_t *bytes)
{
    char *word = strtok(NULL, " \n");
    size_t length = 0;
    for (; word != NULL && word[2 * length] != 0; length++)
        sscanf(word + 2 * length, "%2" SCNx8, &bytes[length]);
    return length;
}

static void answer(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf("%02x", ((const uint8_t *)bytes)[i]);
    printf("\n");
}

/* Returns the address of a 16-byte unit of the request, which wraps around at the end of the ring. */
static void *unit(unsigned start, unsigned blocks, unsigned index)
{
    return ring + (start * 4 + index) % (blocks * 4) * 16;
}

static uint8_t opcode_of(char kind, unsigned frames)
{
    if (kind == 'T')
        return MLX5_OPCODE_TSO;
    return kind == 'M' && frames > 1 ? OPCODE_ENHANCED_MPSW : MLX5_OPCODE_SEND;
}

static void send_request(char kind)
{
    const int segmented = kind == 'T';
    uint8_t head[256];
    uint32_t qpn = (uint32_t)number();
    unsigned producer = (unsigned)number();
    unsigned blocks = (unsigned)number();
    unsigned option = (unsigned)number();
    int is_signaled = (int)number();
    size_t head_bytes = hex(head);
    unsigned elements = (unsigned)number();
    unsigned start = producer % blocks;
    struct mlx5_wqe_eth_seg eth;
    unsigned units;

    memset(ring, 0xa5, sizeof ring);
    memset(&eth, 0, sizeof eth);
    if (segmented) {
        eth.cs_flags = MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM;
        eth.mss = htobe16((uint16_t)option);
    } else {
        eth.cs_flags = option ? MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM : 0;
    }
    const size_t frame_bytes = head_bytes;
    if (!segmented)
        head_bytes = kind == 'S' ? INLINE_BYTES : 0;
    eth.inline_hdr_sz = htobe16((uint16_t)head_bytes);
    if (head_bytes > 0)
        memcpy(eth.inline_hdr_start, head, 2);
    memcpy(unit(start, blocks, 1), &eth, 16);
    units = 2;
    for (size_t done = 2; done < head_bytes; done += 16)
        memcpy(unit(start, blocks, units++), head + done, head_bytes - done < 16 ? head_bytes - done : 16);
    size_t skip = segmented ? 0 : head_bytes;
    if (kind == 'I') {
        uint8_t segment[sizeof head + 16];
        memset(segment, 0xa5, sizeof segment);
        mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)segment, (uint32_t)frame_bytes | MLX5_INLINE_SEG, 0, 0);
        memcpy(segment + 4, head, frame_bytes);
        /* After a short inlined frame, the unit keeps its previous bytes. */
        for (size_t done = 0; done < 4 + frame_bytes; done += 16)
            memcpy(unit(start, blocks, units++), segment + done, 16);
        elements = 0;
    }
    for (unsigned i = 0; i < elements; i++) {
        uint64_t address = number();
        uint32_t length = (uint32_t)number();
        uint32_t lkey = (uint32_t)number();
        uint32_t taken = skip < length ? (uint32_t)skip : length;
        skip -= taken;
        if (length > taken)
            mlx5dv_set_data_seg(unit(start, blocks, units++), length - taken, lkey, address + taken);
    }
    memset(unit(start, blocks, 0), 0, 16);      /* mlx5dv_set_ctrl_seg does not write two reserved bytes */
    mlx5dv_set_ctrl_seg(unit(start, blocks, 0), (uint16_t)producer, opcode_of(kind, elements), 0, qpn,
                        is_signaled ? MLX5_WQE_CTRL_CQ_UPDATE : 0, (uint8_t)units, 0, 0);
    answer(ring, blocks * MLX5_SEND_WQE_BB);
}

static void completion(void)
{
    struct mlx5_cqe64 cqe;
    memset(&cqe, 0x5a, sizeof cqe);
    cqe.hds_ip_ext = (uint8_t)number();
    cqe.l4_hdr_type_etc = (uint8_t)number();
    cqe.sop_drop_qpn = htobe32(0x77000000 | (uint32_t)number());
    cqe.byte_cnt = htobe32((uint32_t)number());
    cqe.wqe_counter = htobe16((uint16_t)number());
    cqe.op_own = (uint8_t)number();
    answer(&cqe, sizeof cqe);
}

static void error_completion(void)
{
    struct mlx5_err_cqe cqe;
    memset(&cqe, 0x5a, sizeof cqe);
    cqe.syndrome = (uint8_t)number();
    cqe.wqe_counter = htobe16((uint16_t)number());
    cqe.op_own = (uint8_t)number();
    answer(&cqe, sizeof cqe);
}

int main(void)
{
    static char line[65536];
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    while (fgets(line, sizeof line, stdin) != NULL) {
        char kind = strtok(line, " \n")[0];
        switch (kind) {
        case 'S':
        case 'N':
        case 'M':
        case 'I':
        case 'T':
            send_request(kind);
            break;
        case 'C':
            completion();
            break;
        case 'E':
            error_completion();
            break;
        default:
            return 2;
        }
    }
    return 0;
}
