package io.rdmaraw.verbs.abi;

import io.rdmaraw.ffi.PthreadTypes;

/**
 * The structures of {@code infiniband/verbs.h} (rdma-core 44) in the order of the header: sizes and offsets in
 * bytes. A constant is named after its member. A prefix such as {@code CAP_} or {@code OPS_} denotes a nested
 * structure.
 */
public final class VerbsLayouts {
    private VerbsLayouts() {
    }

    /** {@code struct ibv_device}. */
    public static final class DeviceLayout {
        public static final int NAME_OFFSET = 24;
    }

    /** {@code struct ibv_device_attr}. */
    public static final class DeviceAttrLayout {
        public static final int SIZE_BYTES = 232;
        public static final int FW_VER_OFFSET = 0;
        public static final int NODE_GUID_OFFSET = 64;
        public static final int SYS_IMAGE_GUID_OFFSET = 72;
        public static final int MAX_MR_SIZE_OFFSET = 80;
        public static final int PAGE_SIZE_CAP_OFFSET = 88;
        public static final int VENDOR_ID_OFFSET = 96;
        public static final int VENDOR_PART_ID_OFFSET = 100;
        public static final int HW_VER_OFFSET = 104;
        public static final int MAX_QP_OFFSET = 108;
        public static final int MAX_QP_WR_OFFSET = 112;
        public static final int DEVICE_CAP_FLAGS_OFFSET = 116;
        public static final int MAX_SGE_OFFSET = 120;
        public static final int MAX_CQ_OFFSET = 128;
        public static final int MAX_CQE_OFFSET = 132;
        public static final int MAX_MR_OFFSET = 136;
        public static final int MAX_PD_OFFSET = 140;
        public static final int MAX_RAW_ETHY_QP_OFFSET = 184;
        public static final int PHYS_PORT_CNT_OFFSET = 227;
    }

    /** {@code struct ibv_device_attr_ex}, which begins with {@code struct ibv_device_attr}. */
    public static final class DeviceAttrExLayout {
        public static final int SIZE_BYTES = 400;
        public static final int COMPLETION_TIMESTAMP_MASK_OFFSET = 264;
        public static final int HCA_CORE_CLOCK_OFFSET = 272;
        public static final int DEVICE_CAP_FLAGS_EX_OFFSET = 280;
        public static final int TSO_CAPS_MAX_TSO_OFFSET = 288;
        public static final int TSO_CAPS_SUPPORTED_QPTS_OFFSET = 292;
        public static final int RSS_CAPS_SUPPORTED_QPTS_OFFSET = 296;
        public static final int RSS_CAPS_MAX_RWQ_INDIRECTION_TABLES_OFFSET = 300;
        public static final int RSS_CAPS_MAX_RWQ_INDIRECTION_TABLE_SIZE_OFFSET = 304;
        public static final int RSS_CAPS_RX_HASH_FIELDS_MASK_OFFSET = 312;
        public static final int RSS_CAPS_RX_HASH_FUNCTION_OFFSET = 320;
        public static final int MAX_WQ_TYPE_RQ_OFFSET = 328;
        public static final int PACKET_PACING_CAPS_QP_RATE_LIMIT_MIN_OFFSET = 332;
        public static final int PACKET_PACING_CAPS_QP_RATE_LIMIT_MAX_OFFSET = 336;
        public static final int PACKET_PACING_CAPS_SUPPORTED_QPTS_OFFSET = 340;
        public static final int RAW_PACKET_CAPS_OFFSET = 344;
        public static final int CQ_MOD_CAPS_MAX_CQ_COUNT_OFFSET = 368;
        public static final int CQ_MOD_CAPS_MAX_CQ_PERIOD_OFFSET = 370;
        public static final int MAX_DM_SIZE_OFFSET = 376;
        public static final int PHYS_PORT_CNT_EX_OFFSET = 396;
    }

    /** {@code struct ibv_port_attr}. */
    public static final class PortAttrLayout {
        public static final int SIZE_BYTES = 52;
        public static final int STATE_OFFSET = 0;
        public static final int MAX_MTU_OFFSET = 4;
        public static final int ACTIVE_MTU_OFFSET = 8;
        public static final int GID_TBL_LEN_OFFSET = 12;
        public static final int PORT_CAP_FLAGS_OFFSET = 16;
        public static final int MAX_MSG_SZ_OFFSET = 20;
        public static final int PKEY_TBL_LEN_OFFSET = 32;
        public static final int LID_OFFSET = 34;
        public static final int SM_LID_OFFSET = 36;
        public static final int ACTIVE_WIDTH_OFFSET = 43;
        public static final int ACTIVE_SPEED_OFFSET = 44;
        public static final int PHYS_STATE_OFFSET = 45;
        public static final int LINK_LAYER_OFFSET = 46;
        public static final int FLAGS_OFFSET = 47;
        public static final int PORT_CAP_FLAGS2_OFFSET = 48;
    }

    /** {@code struct ibv_async_event}. */
    public static final class AsyncEventLayout {
        public static final int SIZE_BYTES = 16;
        public static final int ELEMENT_OFFSET = 0;
        public static final int EVENT_TYPE_OFFSET = 8;
    }

    /** {@code struct ibv_context}, with those members of {@code ops} that inline functions of the header call. */
    public static final class ContextLayout {
        public static final int DEVICE_OFFSET = 0;
        public static final int OPS_POLL_CQ_OFFSET = 96;
        public static final int OPS_REQ_NOTIFY_CQ_OFFSET = 104;
        public static final int OPS_POST_SEND_OFFSET = 208;
        public static final int OPS_POST_RECV_OFFSET = 216;
        public static final int ASYNC_FD_OFFSET = 268;
        public static final int NUM_COMP_VECTORS_OFFSET = 272;
        /** Follows a mutex; the size of a mutex depends on the CPU. */
        public static final int ABI_COMPAT_OFFSET = 280 + PthreadTypes.MUTEX_BYTES;
        public static final int SIZE_BYTES = ABI_COMPAT_OFFSET + Long.BYTES;
    }

    /**
     * {@code struct verbs_context}, which ends with an extended {@code ibv_context} and grows at its start.
     * Offsets are relative to the start in this version of the header. {@code VerbsContext} converts them to
     * distances from the embedded context, which are the same in every version.
     */
    public static final class VerbsContextLayout {
        public static final int QUERY_PORT_OFFSET = 0;
        public static final int MODIFY_QP_RATE_LIMIT_OFFSET = 104;
        public static final int DESTROY_RWQ_IND_TABLE_OFFSET = 152;
        public static final int CREATE_RWQ_IND_TABLE_OFFSET = 160;
        public static final int DESTROY_WQ_OFFSET = 168;
        public static final int MODIFY_WQ_OFFSET = 176;
        public static final int CREATE_WQ_OFFSET = 184;
        public static final int QUERY_DEVICE_EX_OFFSET = 216;
        public static final int IBV_DESTROY_FLOW_OFFSET = 224;
        public static final int IBV_CREATE_FLOW_OFFSET = 240;
        public static final int CREATE_QP_EX_OFFSET = 264;
        public static final int SZ_OFFSET = 312;
        public static final int CONTEXT_OFFSET = 320;
        public static final int SIZE_BYTES = CONTEXT_OFFSET + ContextLayout.SIZE_BYTES;
    }

    /** {@code struct ibv_mr}. */
    public static final class MrLayout {
        public static final int ADDR_OFFSET = 16;
        public static final int LENGTH_OFFSET = 24;
        public static final int LKEY_OFFSET = 36;
    }

    /** {@code struct ibv_cq_init_attr_ex}. */
    public static final class CqInitAttrExLayout {
        public static final int SIZE_BYTES = 56;
        public static final int CQE_OFFSET = 0;
        public static final int CHANNEL_OFFSET = 16;
        public static final int COMP_VECTOR_OFFSET = 24;
        public static final int WC_FLAGS_OFFSET = 32;
        public static final int COMP_MASK_OFFSET = 40;
        public static final int FLAGS_OFFSET = 44;
    }

    /**
     * {@code struct ibv_cq}, which is the start of {@code struct ibv_cq_ex}, and
     * {@code struct ibv_comp_channel}.
     */
    public static final class CqLayout {
        public static final int CQE_OFFSET = 28;

        /** {@code ibv_comp_channel.fd}. */
        public static final int COMP_CHANNEL_FD_OFFSET = 8;
    }

    /** {@code struct ibv_wq_init_attr}. */
    public static final class WqInitAttrLayout {
        public static final int SIZE_BYTES = 48;
        public static final int WQ_TYPE_OFFSET = 8;
        public static final int MAX_WR_OFFSET = 12;
        public static final int MAX_SGE_OFFSET = 16;
        public static final int PD_OFFSET = 24;
        public static final int CQ_OFFSET = 32;
        public static final int COMP_MASK_OFFSET = 40;
        public static final int CREATE_FLAGS_OFFSET = 44;
    }

    /** {@code struct ibv_wq_attr}. */
    public static final class WqAttrLayout {
        public static final int SIZE_BYTES = 20;
        public static final int ATTR_MASK_OFFSET = 0;
        public static final int WQ_STATE_OFFSET = 4;
    }

    /** {@code struct ibv_wq}. */
    public static final class WqLayout {
        public static final int WQ_CONTEXT_OFFSET = 8;
        public static final int WQ_NUM_OFFSET = 32;
        public static final int STATE_OFFSET = 40;
        public static final int POST_RECV_OFFSET = 48;
        public static final int MUTEX_OFFSET = 56;
        public static final int COND_OFFSET = MUTEX_OFFSET + PthreadTypes.MUTEX_BYTES;
        public static final int EVENTS_COMPLETED_OFFSET = COND_OFFSET + PthreadTypes.COND_BYTES;
    }

    /** {@code struct ibv_rwq_ind_table_init_attr}. */
    public static final class RwqIndTableInitAttrLayout {
        public static final int SIZE_BYTES = 24;
        public static final int LOG_IND_TBL_SIZE_OFFSET = 0;
        public static final int IND_TBL_OFFSET = 8;
    }

    /** {@code struct ibv_qp_init_attr_ex}; {@code struct ibv_qp_init_attr} has the same first 60 bytes. */
    public static final class QpInitAttrExLayout {
        public static final int SIZE_BYTES = 136;
        public static final int SEND_CQ_OFFSET = 8;
        public static final int RECV_CQ_OFFSET = 16;
        public static final int CAP_MAX_SEND_WR_OFFSET = 32;
        public static final int CAP_MAX_RECV_WR_OFFSET = 36;
        public static final int CAP_MAX_SEND_SGE_OFFSET = 40;
        public static final int CAP_MAX_RECV_SGE_OFFSET = 44;
        public static final int CAP_MAX_INLINE_DATA_OFFSET = 48;
        public static final int QP_TYPE_OFFSET = 52;
        public static final int SQ_SIG_ALL_OFFSET = 56;
        public static final int COMP_MASK_OFFSET = 60;
        public static final int PD_OFFSET = 64;
        public static final int CREATE_FLAGS_OFFSET = 80;
        public static final int MAX_TSO_HEADER_OFFSET = 84;
        public static final int RWQ_IND_TBL_OFFSET = 88;
        public static final int RX_HASH_CONF_RX_HASH_FUNCTION_OFFSET = 96;
        public static final int RX_HASH_CONF_RX_HASH_KEY_LEN_OFFSET = 97;
        public static final int RX_HASH_CONF_RX_HASH_KEY_OFFSET = 104;
        public static final int RX_HASH_CONF_RX_HASH_FIELDS_MASK_OFFSET = 112;
    }

    /** {@code struct ibv_qp_attr}. */
    public static final class QpAttrLayout {
        public static final int SIZE_BYTES = 144;
        public static final int QP_STATE_OFFSET = 0;
        static final int CAP_MAX_SEND_WR_OFFSET = 36;
        public static final int PORT_NUM_OFFSET = 129;
    }

    /** {@code struct ibv_qp_rate_limit_attr}. */
    public static final class QpRateLimitAttrLayout {
        public static final int SIZE_BYTES = 16;
        public static final int RATE_LIMIT_OFFSET = 0;
    }

    /** {@code struct ibv_qp}. */
    public static final class QpLayout {
        public static final int QP_NUM_OFFSET = 52;
    }

    /** {@code struct ibv_flow_attr}, followed directly by the specs. */
    public static final class FlowAttrLayout {
        public static final int SIZE_BYTES = 20;
        public static final int TYPE_OFFSET = 4;
        public static final int SIZE_OFFSET = 8;
        public static final int PRIORITY_OFFSET = 10;
        public static final int NUM_OF_SPECS_OFFSET = 12;
        public static final int PORT_OFFSET = 13;
        public static final int FLAGS_OFFSET = 16;
    }

    /** {@code struct ibv_flow_spec_eth}. All specs begin with type and size, at offsets 0 and 4. */
    public static final class FlowEthLayout {
        public static final int SIZE_BYTES = 40;
        public static final int TYPE_OFFSET = 0;
        public static final int SIZE_OFFSET = 4;
        public static final int VAL_OFFSET = 6;
        public static final int MASK_OFFSET = 22;

        // struct ibv_flow_eth_filter
        public static final int FILTER_DST_MAC_OFFSET = 0;
        public static final int FILTER_SRC_MAC_OFFSET = 6;
        public static final int FILTER_ETHER_TYPE_OFFSET = 12;
        public static final int FILTER_VLAN_TAG_OFFSET = 14;
    }

    /** {@code struct ibv_flow_spec_ipv4_ext}; {@code struct ibv_flow_spec_ipv4} has only the addresses. */
    public static final class FlowIpv4Layout {
        public static final int SIZE_BYTES = 32;
        public static final int VAL_OFFSET = 8;
        public static final int MASK_OFFSET = 20;

        /** {@code sizeof(struct ibv_flow_spec_ipv4)}. */
        public static final int PLAIN_SIZE_BYTES = 24;
        /** {@code offsetof(struct ibv_flow_spec_ipv4, mask)}; val has the same offset in both structures. */
        public static final int PLAIN_MASK_OFFSET = 16;
        // struct ibv_flow_ipv4_ext_filter
        public static final int FILTER_SRC_IP_OFFSET = 0;
        public static final int FILTER_DST_IP_OFFSET = 4;
        public static final int FILTER_PROTO_OFFSET = 8;
        public static final int FILTER_TOS_OFFSET = 9;
        public static final int FILTER_TTL_OFFSET = 10;
        public static final int FILTER_FLAGS_OFFSET = 11;
    }

    /** {@code struct ibv_flow_spec_ipv6}. */
    public static final class FlowIpv6Layout {
        public static final int SIZE_BYTES = 88;
        public static final int VAL_OFFSET = 8;
        public static final int MASK_OFFSET = 48;

        // struct ibv_flow_ipv6_filter
        public static final int FILTER_SRC_IP_OFFSET = 0;
        public static final int FILTER_DST_IP_OFFSET = 16;
        public static final int FILTER_FLOW_LABEL_OFFSET = 32;
        public static final int FILTER_NEXT_HDR_OFFSET = 36;
        public static final int FILTER_TRAFFIC_CLASS_OFFSET = 37;
        public static final int FILTER_HOP_LIMIT_OFFSET = 38;
    }

    /** {@code struct ibv_flow_spec_tcp_udp}. */
    public static final class FlowTcpUdpLayout {
        public static final int SIZE_BYTES = 16;
        public static final int VAL_OFFSET = 6;
        public static final int MASK_OFFSET = 10;

        // struct ibv_flow_tcp_udp_filter
        public static final int FILTER_DST_PORT_OFFSET = 0;
        public static final int FILTER_SRC_PORT_OFFSET = 2;
    }

    /** {@code struct ibv_flow_spec_tunnel}. */
    public static final class FlowTunnelLayout {
        public static final int SIZE_BYTES = 16;
        public static final int VAL_TUNNEL_ID_OFFSET = 8;
        public static final int MASK_TUNNEL_ID_OFFSET = 12;
    }

    /** {@code struct ibv_flow_spec_action_tag}. */
    public static final class FlowTagLayout {
        public static final int SIZE_BYTES = 12;
        public static final int TAG_ID_OFFSET = 8;
    }

    /** {@code struct ibv_flow_spec_action_drop}. */
    public static final class FlowDropLayout {
        public static final int SIZE_BYTES = 8;
    }
}
