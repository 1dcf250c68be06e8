/*
 * What infiniband/mlx5dv.h makes of send requests and completions, for comparison with ours. One case a line:
 *
 *   S qpn producer blocks checksums signaled frame(hex) elements { address length lkey }
 *   T qpn producer blocks mss signaled headers(hex) elements { address length lkey }
 *     -> the whole ring after the request, which was filled with 0xa5 before
 *   C hds_ip_ext l4_hdr_type_etc flow_tag byte_cnt wqe_counter op_own
 *   E syndrome wqe_counter op_own
 *     -> the completion
 */
#include <infiniband/mlx5dv.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 64
#define INLINE_BYTES 18

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

/* The address of a unit of 16 bytes of the request, which goes on at the ring's beginning. */
static void *unit(unsigned start, unsigned blocks, unsigned index)
{
    return ring + (start * 4 + index) % (blocks * 4) * 16;
}

static void send_request(int segmented)
{
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
        head_bytes = INLINE_BYTES;
    }
    eth.inline_hdr_sz = htobe16((uint16_t)head_bytes);
    memcpy(eth.inline_hdr_start, head, 2);
    memcpy(unit(start, blocks, 1), &eth, 16);
    units = 2;
    for (size_t done = 2; done < head_bytes; done += 16)
        memcpy(unit(start, blocks, units++), head + done, head_bytes - done < 16 ? head_bytes - done : 16);
    size_t skip = segmented ? 0 : INLINE_BYTES;
    for (unsigned i = 0; i < elements; i++) {
        uint64_t address = number();
        uint32_t length = (uint32_t)number();
        uint32_t lkey = (uint32_t)number();
        uint32_t taken = skip < length ? (uint32_t)skip : length;
        skip -= taken;
        if (length > taken)
            mlx5dv_set_data_seg(unit(start, blocks, units++), length - taken, lkey, address + taken);
    }
    memset(unit(start, blocks, 0), 0, 16);      /* the inline leaves two reserved bytes as they are */
    mlx5dv_set_ctrl_seg(unit(start, blocks, 0), (uint16_t)producer, segmented ? MLX5_OPCODE_TSO : MLX5_OPCODE_SEND, 0, qpn,
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
        switch (strtok(line, " \n")[0]) {
        case 'S':
            send_request(0);
            break;
        case 'T':
            send_request(1);
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
