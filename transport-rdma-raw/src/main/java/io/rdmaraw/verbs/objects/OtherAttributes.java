package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeMemory;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Attributes of devices and ports that do not concern raw-packet queue pairs. The transport does not use them.
 * Tools that describe a device print them under their C names.
 */
final class OtherAttributes {
    /** A member of a C structure. */
    record Member(String name, int offsetBytes, int lengthBytes) {
        private int read(long structure) {
            long address = structure + offsetBytes;
            return switch (lengthBytes) {
                case Byte.BYTES -> NativeMemory.getByte(address) & 0xff;
                case Short.BYTES -> NativeMemory.getShort(address) & 0xffff;
                default -> NativeMemory.getInt(address);
            };
        }
    }

    /** Members of {@code struct ibv_device_attr}. */
    static final List<Member> OF_DEVICE = List.of(
            new Member("max_sge_rd", 124, Integer.BYTES),
            new Member("max_qp_rd_atom", 144, Integer.BYTES),
            new Member("max_ee_rd_atom", 148, Integer.BYTES),
            new Member("max_res_rd_atom", 152, Integer.BYTES),
            new Member("max_qp_init_rd_atom", 156, Integer.BYTES),
            new Member("max_ee_init_rd_atom", 160, Integer.BYTES),
            new Member("atomic_cap", 164, Integer.BYTES),
            new Member("max_ee", 168, Integer.BYTES),
            new Member("max_rdd", 172, Integer.BYTES),
            new Member("max_mw", 176, Integer.BYTES),
            new Member("max_raw_ipv6_qp", 180, Integer.BYTES),
            new Member("max_mcast_grp", 188, Integer.BYTES),
            new Member("max_mcast_qp_attach", 192, Integer.BYTES),
            new Member("max_total_mcast_qp_attach", 196, Integer.BYTES),
            new Member("max_ah", 200, Integer.BYTES),
            new Member("max_fmr", 204, Integer.BYTES),
            new Member("max_map_per_fmr", 208, Integer.BYTES),
            new Member("max_srq", 212, Integer.BYTES),
            new Member("max_srq_wr", 216, Integer.BYTES),
            new Member("max_srq_sge", 220, Integer.BYTES),
            new Member("max_pkeys", 224, Short.BYTES),
            new Member("local_ca_ack_delay", 226, Byte.BYTES));

    /** Members of {@code struct ibv_port_attr}. */
    static final List<Member> OF_PORT = List.of(
            new Member("bad_pkey_cntr", 24, Integer.BYTES),
            new Member("qkey_viol_cntr", 28, Integer.BYTES),
            new Member("lmc", 38, Byte.BYTES),
            new Member("max_vl_num", 39, Byte.BYTES),
            new Member("sm_sl", 40, Byte.BYTES),
            new Member("subnet_timeout", 41, Byte.BYTES),
            new Member("init_type_reply", 42, Byte.BYTES));

    private OtherAttributes() {
    }

    /** Reads the given members of the structure at an address. */
    static Map<String, Integer> read(List<Member> members, long structure) {
        Map<String, Integer> values = new LinkedHashMap<>();
        for (Member member : members) {
            values.put(member.name(), member.read(structure));
        }
        return Collections.unmodifiableMap(values);
    }
}
