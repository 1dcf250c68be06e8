/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of the device, the port and their tables. */
#include "device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* No vendor has this identifier. The kernel's rxe, which is software too, reports the same one. */
enum { VENDOR_ID = 0xffffff };
enum { PHYS_STATE_DISABLED = 3, PHYS_STATE_LINK_UP = 5, WIDTH_4X = 2, SPEED_EDR = 32 };

static void fill_device(const struct sv_device *device, struct ibv_device_attr *attr)
{
    memset(attr, 0, sizeof *attr);
    snprintf(attr->fw_ver, sizeof attr->fw_ver, "1.0.0");
    attr->node_guid = attr->sys_image_guid = ibv_get_device_guid((struct ibv_device *)&device->ibv);
    attr->max_mr_size = UINT64_MAX;
    attr->page_size_cap = ~(uint64_t)0xfff;
    attr->vendor_id = VENDOR_ID;
    attr->phys_port_cnt = 1;
    attr->max_qp = 131072;
    attr->max_qp_wr = SV_MAX_QP_WR;
    attr->device_cap_flags = IBV_DEVICE_RAW_MULTI | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_RC_RNR_NAK_GEN |
                             IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RAW_IP_CSUM |
                             IBV_DEVICE_MANAGED_FLOW_STEERING;
    attr->max_sge = SV_MAX_SGE;
    attr->max_cq = 131072;
    attr->max_cqe = SV_MAX_CQE;
    attr->max_mr = SV_MR_SLOTS;
    attr->max_pd = 65536;
    attr->max_raw_ethy_qp = 131072;
    attr->max_pkeys = 1;
    attr->atomic_cap = IBV_ATOMIC_NONE;
}

SV_EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    struct sv_device *device = sv_device_of(context);
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_QUERY_DEVICE);
    if (error == 0)
        fill_device(device, attr);
    return error;
}

int sv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size)
{
    struct sv_device *device = sv_device_of(context);
    struct ibv_device_attr_ex full;
    const uint32_t raw_packet = 1u << IBV_QPT_RAW_PACKET;
    if ((input != NULL && input->comp_mask != 0) || attr_size < sizeof full.orig_attr)
        return EINVAL;
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_QUERY_DEVICE);
    if (error != 0)
        return error;
    memset(&full, 0, sizeof full);
    fill_device(device, &full.orig_attr);
    full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
    full.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    full.tso_caps.max_tso = SV_MAX_TSO_PAYLOAD;
    full.tso_caps.supported_qpts = raw_packet;
    full.rss_caps.supported_qpts = raw_packet;
    full.rss_caps.max_rwq_indirection_tables = 1u << 20;
    full.rss_caps.max_rwq_indirection_table_size = SV_MAX_IND_TABLE;
    full.rss_caps.rx_hash_fields_mask = 0xff;       /* addresses and ports of IPv4, IPv6, TCP and UDP */
    full.rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
    full.max_wq_type_rq = 131072;
    full.raw_packet_caps = IBV_RAW_PACKET_CAP_IP_CSUM;
    full.phys_port_cnt_ex = 1;
    memset(attr, 0, attr_size);
    memcpy(attr, &full, attr_size < sizeof full ? attr_size : sizeof full);
    return 0;
}

/* Returns the largest MTU of verbs that fits the payload of a frame. */
static enum ibv_mtu mtu_enum(uint32_t mtu)
{
    enum ibv_mtu result = IBV_MTU_256;
    for (uint32_t size = 512; size <= 4096 && size <= mtu; size *= 2)
        result++;
    return result;
}

int sv_query_port_attr(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t length)
{
    struct sv_device *device = sv_device_of(context);
    struct ibv_port_attr full;
    int error = sv_consume_injected_error(device, SOFTVERBS_CALL_QUERY_PORT);
    if (error == 0 && port_num != SV_PORT_NUM)
        error = EINVAL;
    if (error != 0)
        return error;
    bool up = atomic_load(&device->port_up) && !atomic_load(&device->failed);
    memset(&full, 0, sizeof full);
    full.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    full.phys_state = up ? PHYS_STATE_LINK_UP : PHYS_STATE_DISABLED;
    full.max_mtu = IBV_MTU_4096;
    full.active_mtu = mtu_enum(atomic_load(&device->mtu));
    full.gid_tbl_len = 1;
    full.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
    full.max_msg_sz = 0x40000000;
    full.pkey_tbl_len = 1;
    full.active_width = WIDTH_4X;
    full.active_speed = SPEED_EDR;
    full.max_vl_num = 1;
    full.link_layer = IBV_LINK_LAYER_ETHERNET;
    memset(attr, 0, length);
    memcpy(attr, &full, length < sizeof full ? length : sizeof full);
    return 0;
}

/* The structure of this symbol ends before port_cap_flags2, which was added later. */
#undef ibv_query_port
SV_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
    return sv_query_port_attr(context, port_num, (struct ibv_port_attr *)attr,
                              offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* There is one GID: the link-local address derived from the MAC address. */
SV_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
    if (port_num != SV_PORT_NUM || index != 0) {
        errno = EINVAL;
        return -1;
    }
    gid->global.subnet_prefix = (__be64)htonl(0xfe800000);
    gid->global.interface_id = ibv_get_device_guid(context->device);
    return 0;
}

SV_EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
                                struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
    struct ibv_gid_entry full = {.gid_index = gid_index, .port_num = port_num, .gid_type = IBV_GID_TYPE_ROCE_V1};
    if (flags != 0 || port_num != SV_PORT_NUM || gid_index != 0)
        return EINVAL;
    ibv_query_gid(context, SV_PORT_NUM, 0, &full.gid);
    memset(entry, 0, entry_size);
    memcpy(entry, &full, entry_size < sizeof full ? entry_size : sizeof full);
    return 0;
}

SV_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
                                       uint32_t flags, size_t entry_size)
{
    if (max_entries < 1)
        return -EINVAL;
    int error = _ibv_query_gid_ex(context, SV_PORT_NUM, 0, entries, flags, entry_size);
    return error != 0 ? -error : 1;
}

/* ibv_devinfo reads this. The values are those of libibverbs' private enum ibv_gid_type_sysfs: 0 is "IB or RoCE v1". */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type);
SV_EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type)
{
    (void)context;
    if (port_num != SV_PORT_NUM || index != 0) {
        errno = EINVAL;
        return -1;
    }
    *type = 0;
    return 0;
}

SV_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
    (void)context;
    if (port_num != SV_PORT_NUM || index != 0) {
        errno = EINVAL;
        return -1;
    }
    *pkey = 0xffff;
    return 0;
}

SV_EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
    __be16 only;
    return ibv_query_pkey(context, port_num, 0, &only) == 0 && only == pkey ? 0 : -1;
}

int sv_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
    (void)context;
    if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
        return EOPNOTSUPP;
    return clock_gettime(CLOCK_MONOTONIC_RAW, &values->raw_clock) == 0 ? 0 : errno;
}
