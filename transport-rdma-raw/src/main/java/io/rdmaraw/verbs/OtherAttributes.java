package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.DeviceAttrLayout;
import io.rdmaraw.verbs.abi.PortAttrLayout;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The attributes of devices and ports that concern other kinds of queue pairs than raw packets. The transport does not
 * use them; they are kept by their C names for tools that describe a device.
 */
final class OtherAttributes {
    private OtherAttributes() {
    }

    static Map<String, Integer> ofDevice(long attr) {
        Map<String, Integer> values = new LinkedHashMap<>();
        values.put("max_sge_rd", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_SGE_RD_OFFSET));
        values.put("max_qp_rd_atom", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_QP_RD_ATOM_OFFSET));
        values.put("max_ee_rd_atom", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_EE_RD_ATOM_OFFSET));
        values.put("max_res_rd_atom", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_RES_RD_ATOM_OFFSET));
        values.put("max_qp_init_rd_atom", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_QP_INIT_RD_ATOM_OFFSET));
        values.put("max_ee_init_rd_atom", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_EE_INIT_RD_ATOM_OFFSET));
        values.put("atomic_cap", NativeMemory.getInt(attr + DeviceAttrLayout.ATOMIC_CAP_OFFSET));
        values.put("max_ee", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_EE_OFFSET));
        values.put("max_rdd", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_RDD_OFFSET));
        values.put("max_mw", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_MW_OFFSET));
        values.put("max_raw_ipv6_qp", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_RAW_IPV6_QP_OFFSET));
        values.put("max_mcast_grp", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_MCAST_GRP_OFFSET));
        values.put("max_mcast_qp_attach", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_MCAST_QP_ATTACH_OFFSET));
        values.put("max_total_mcast_qp_attach",
                NativeMemory.getInt(attr + DeviceAttrLayout.MAX_TOTAL_MCAST_QP_ATTACH_OFFSET));
        values.put("max_ah", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_AH_OFFSET));
        values.put("max_fmr", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_FMR_OFFSET));
        values.put("max_map_per_fmr", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_MAP_PER_FMR_OFFSET));
        values.put("max_srq", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_SRQ_OFFSET));
        values.put("max_srq_wr", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_SRQ_WR_OFFSET));
        values.put("max_srq_sge", NativeMemory.getInt(attr + DeviceAttrLayout.MAX_SRQ_SGE_OFFSET));
        values.put("max_pkeys", NativeMemory.getShort(attr + DeviceAttrLayout.MAX_PKEYS_OFFSET) & 0xffff);
        values.put("local_ca_ack_delay",
                NativeMemory.getByte(attr + DeviceAttrLayout.LOCAL_CA_ACK_DELAY_OFFSET) & 0xff);
        return Collections.unmodifiableMap(values);
    }

    static Map<String, Integer> ofPort(long attr) {
        Map<String, Integer> values = new LinkedHashMap<>();
        values.put("bad_pkey_cntr", NativeMemory.getInt(attr + PortAttrLayout.BAD_PKEY_CNTR_OFFSET));
        values.put("qkey_viol_cntr", NativeMemory.getInt(attr + PortAttrLayout.QKEY_VIOL_CNTR_OFFSET));
        values.put("lmc", NativeMemory.getByte(attr + PortAttrLayout.LMC_OFFSET) & 0xff);
        values.put("max_vl_num", NativeMemory.getByte(attr + PortAttrLayout.MAX_VL_NUM_OFFSET) & 0xff);
        values.put("sm_sl", NativeMemory.getByte(attr + PortAttrLayout.SM_SL_OFFSET) & 0xff);
        values.put("subnet_timeout", NativeMemory.getByte(attr + PortAttrLayout.SUBNET_TIMEOUT_OFFSET) & 0xff);
        values.put("init_type_reply", NativeMemory.getByte(attr + PortAttrLayout.INIT_TYPE_REPLY_OFFSET) & 0xff);
        return Collections.unmodifiableMap(values);
    }
}
