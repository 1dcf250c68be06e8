/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of the device and its port: a ConnectX-5, or the smaller feature set of a ConnectX-4 Lx. */
#include "commands.h"

#include <endian.h>
#include <errno.h>
#include <rdma/mlx5-abi.h>

enum {
    VENDOR_ID = 0x02c9,
    PART_ID = 4119,
    PHYS_STATE_DISABLED = 3,
    PHYS_STATE_LINK_UP = 5,
    WIDTH_4X = 2,
    SPEED_EDR = 32,
    LINK_LAYER_ETHERNET = 2,
    MAX_QPS = 1 << 17,
    CQE_VERSION = 1,
    BF_REG_BYTES = CX_BF_BYTES,
    RSS_FIELDS = 0xff,
    MAX_IND_TABLE = 512,
};

/* ---- contexts ---- */

int cx_async_open(struct cx_context *context, int *fd)
{
    if (context->async != NULL)
        return EINVAL;
    struct cx_events *events = cx_events_open(CX_ASYNC_EVENTS);
    if (events == NULL)
        return errno;
    *fd = events->fd;
    int error = cx_file_add_events(*fd, events);
    if (error != 0) {
        cx_real()->close(*fd);
        cx_events_put(events);
        return error;
    }
    context->async = cx_events_get(events);
    return 0;
}

/* A program that allocates doorbell pages itself receives none with the context: libmlx5's dynamic UARs. */
static int assign_doorbells(struct cx_context *context, const struct mlx5_ib_alloc_ucontext_req_v2 *request)
{
    uint32_t total = (request->total_num_bfregs + 1) & ~1u;
    if (cx_uses_ioctl() && (request->lib_caps & MLX5_LIB_CAP_DYN_UAR))
        return 0;
    if (total == 0 || total > CX_MAX_BFREGS || request->num_low_latency_bfregs > total - 1)
        return EINVAL;
    context->static_bfregs = total;
    context->low_latency_bfregs = request->num_low_latency_bfregs;
    context->uar_pages = total / CX_USED_BFREGS_PER_UAR;
    for (uint32_t i = 0; i < context->uar_pages; i++)
        context->uars[i].in_use = true;
    return 0;
}

static void respond_context(struct cx_command *command)
{
    const bool inlines = command->context->device->min_inline_bytes > 0;
    struct mlx5_ib_alloc_ucontext_resp driver = {
        .qp_tab_size = MAX_QPS,
        .bf_reg_size = BF_REG_BYTES,
        .tot_bfregs = command->context->static_bfregs,
        .cache_line_size = 64,
        .max_sq_desc_sz = CX_MAX_SQ_DESC_BYTES,
        .max_rq_desc_sz = CX_MAX_RQ_DESC_BYTES,
        .max_send_wqebb = CX_MAX_SEND_WQEBBS,
        .max_recv_wr = CX_MAX_RECV_WR,
        .max_srq_recv_wr = CX_MAX_RECV_WR,
        .num_ports = (uint8_t)command->context->device->own_port,
        .response_length = sizeof driver,
        .cqe_version = CQE_VERSION,
        .cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
        .eth_min_inline = inlines ? MLX5_USER_INLINE_MODE_L2 : MLX5_USER_INLINE_MODE_NONE,
        .log_uar_size = 12,
        .num_uars_per_page = 1,
    };
    CX_DRIVER_RESPOND(command, &driver);
}

int cx_get_context(struct cx_command *command)
{
    struct cx_context *context = command->context;
    struct mlx5_ib_alloc_ucontext_req_v2 request;
    struct ib_uverbs_get_context_resp response = {.async_fd = UINT32_MAX, .num_comp_vectors = CX_COMP_VECTORS};
    int fd = -1;
    if (context->opened)
        return EINVAL;
    int error = CX_READ_DRIVER_REQUEST(command, &request);
    if (error != 0)
        return error;
    if (command->driver.in_bytes < sizeof(struct mlx5_ib_alloc_ucontext_req))
        return EINVAL;
    if (request.flags & MLX5_IB_ALLOC_UCTX_DEVX)
        return EPERM;       /* as without CAP_NET_RAW: libmlx5 retries without this request */
    if (request.max_cqe_version < CQE_VERSION)
        return EOPNOTSUPP;
    error = assign_doorbells(context, &request);
    /* With the ioctl ABI the program creates the file of asynchronous events itself. */
    if (error == 0 && !cx_uses_ioctl())
        error = cx_async_open(context, &fd);
    if (error != 0)
        return error;
    response.async_fd = (uint32_t)fd;
    context->opened = true;
    cx_respond(&command->core, &response, sizeof(struct ib_uverbs_get_context_resp));
    respond_context(command);
    return 0;
}

/* ---- device ---- */

uint64_t cx_guid(const struct cx_device *device)
{
    const uint8_t *m = device->mac;
    const uint8_t guid[8] = {m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]};
    uint64_t value;
    memcpy(&value, guid, sizeof value);
    return value;
}

static struct ib_uverbs_query_device_resp describe(const struct cx_device *device)
{
    return (struct ib_uverbs_query_device_resp){
        .fw_ver = (uint64_t)16 << 32 | 35 << 16 | 2000,
        .node_guid = cx_guid(device),
        .sys_image_guid = cx_guid(device),
        .max_mr_size = UINT64_MAX,
        .page_size_cap = 0xfffffffffffff000,
        .vendor_id = VENDOR_ID,
        .vendor_part_id = PART_ID,
        .max_qp = MAX_QPS,
        .max_qp_wr = CX_MAX_SEND_WQEBBS,
        .device_cap_flags = IB_UVERBS_DEVICE_RAW_MULTI | IB_UVERBS_DEVICE_CURR_QP_STATE_MOD |
                            IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT | IB_UVERBS_DEVICE_SYS_IMAGE_GUID |
                            IB_UVERBS_DEVICE_RC_RNR_NAK_GEN | IB_UVERBS_DEVICE_RAW_IP_CSUM |
                            IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING,
        .max_sge = 30,
        .max_cq = 1 << 17,
        .max_cqe = CX_MAX_CQE,
        .max_mr = CX_MKEYS,
        .max_pd = 1 << 16,
        .max_raw_ethy_qp = MAX_QPS,
        .max_pkeys = 1,
        .phys_port_cnt = (uint8_t)device->own_port,
    };
}

int cx_query_device(struct cx_command *command)
{
    struct ib_uverbs_query_device_resp response = describe(command->context->device);
    CX_CORE_RESPOND(command, &response);
    return 0;
}

static void respond_device(struct cx_command *command)
{
    const uint32_t raw_packet = 1u << IBV_QPT_RAW_PACKET;
    const bool inlines = command->context->device->min_inline_bytes > 0;
    struct mlx5_ib_query_device_resp driver = {
        .response_length = sizeof driver,
        .tso_caps = {.max_tso = CX_MAX_TSO_BYTES, .supported_qpts = raw_packet},
        .rss_caps = {.rx_hash_fields_mask = RSS_FIELDS, .rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ},
        .cqe_comp_caps = {.max_num = CX_MAX_SESSION_CQES, .supported_format = MLX5_IB_CQE_RES_FORMAT_HASH |
                          MLX5_IB_CQE_RES_FORMAT_CSUM | MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX},
        .striding_rq_caps = {.min_single_stride_log_num_of_bytes = CX_MIN_STRIDE_SHIFT,
                             .max_single_stride_log_num_of_bytes = CX_MAX_STRIDE_SHIFT,
                             .min_single_wqe_log_num_of_strides = command->context->device->min_strides_shift,
                             .max_single_wqe_log_num_of_strides = CX_MAX_STRIDES_SHIFT,
                             .supported_qpts = raw_packet},
        .mlx5_ib_support_multi_pkt_send_wqes = MLX5_IB_ALLOW_MPW | (inlines ? 0 : MLX5_IB_SUPPORT_EMPW),
    };
    CX_DRIVER_RESPOND(command, &driver);
}

int cx_ex_query_device(struct cx_command *command)
{
    struct ib_uverbs_ex_query_device request;
    int error = CX_READ_CORE_REQUEST(command, &request);
    if (error != 0)
        return error;
    if (request.comp_mask != 0 || request.reserved != 0)
        return EINVAL;
    struct ib_uverbs_ex_query_device_resp response = {
        .base = describe(command->context->device),
        .response_length = sizeof response,
        .rss_caps = {.supported_qpts = 1u << IBV_QPT_RAW_PACKET, .max_rwq_indirection_tables = 1 << 20,
                     .max_rwq_indirection_table_size = MAX_IND_TABLE},
        .max_wq_type_rq = 1 << 17,
        .raw_packet_caps = IB_UVERBS_RAW_PACKET_CAP_IP_CSUM,
    };
    response.device_cap_flags_ex = response.base.device_cap_flags;
    if (response.response_length > command->core.out_bytes)
        response.response_length = command->core.out_bytes;
    CX_CORE_RESPOND(command, &response);
    respond_device(command);
    return 0;
}

/* ---- port ---- */

/* Returns the largest MTU of verbs that fits the payload of a frame. */
static uint8_t mtu_code(uint32_t mtu)
{
    uint8_t code = IBV_MTU_256;
    for (uint32_t size = 512; size <= 4096 && size <= mtu; size *= 2)
        code++;
    return code;
}

/* If RoCE is off or the port is a representor, mlx5_query_port_roce() leaves the table of GIDs empty. */
uint32_t cx_gid_count(void)
{
    return cx_has_setup("roce-off") || cx_is_switchdev() ? 0 : 1;
}

/* mlx5_query_port_roce() reports a port as down if it has no interface or the interface is down. */
static bool is_port_up(const struct cx_device *device, uint32_t port)
{
    return cx_port_interface(device, port) != NULL && (port != device->own_port || device->port_up);
}

int cx_query_port(struct cx_command *command)
{
    const struct cx_device *device = command->context->device;
    struct ib_uverbs_query_port request;
    CX_READ_CORE_REQUEST(command, &request);
    if (request.port_num < 1 || request.port_num > device->own_port)
        return EINVAL;
    const bool up = is_port_up(device, request.port_num);
    struct ib_uverbs_query_port_resp response = {
        .port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
        .max_msg_sz = 0x40000000,
        .gid_tbl_len = (int)cx_gid_count(),
        .pkey_tbl_len = 1,
        .state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = mtu_code(device->mtu),
        .max_vl_num = 1,
        .active_width = WIDTH_4X,
        .active_speed = SPEED_EDR,
        .phys_state = up ? PHYS_STATE_LINK_UP : PHYS_STATE_DISABLED,
        .link_layer = LINK_LAYER_ETHERNET,
    };
    CX_CORE_RESPOND(command, &response);
    return 0;
}
