package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.PortAttrLayout;
import java.util.Map;

/**
 * {@code struct ibv_port_attr}.
 *
 * @param state             {@link #STATE_DOWN}, {@link #STATE_ACTIVE} and so on
 * @param maxMtu            {@code enum ibv_mtu}: the InfiniBand steps of 256 to 4096 bytes, not the Ethernet MTU
 * @param activeMtu         as {@code maxMtu}
 * @param gidTableEntries   entries that {@link VerbsContext#queryGid} can be asked for
 * @param capabilityFlags   {@code enum ibv_port_cap_flags}
 * @param capabilityFlags2  {@code enum ibv_port_cap_flags2}
 * @param maxMessageBytes   the longest message
 * @param pkeyTableEntries  entries of the P_Key table
 * @param lid               the local identifier (InfiniBand only)
 * @param smLid             the subnet manager's local identifier (InfiniBand only)
 * @param activeWidth       the code of the number of lanes
 * @param activeSpeed       the code of the speed of a lane
 * @param physicalState     the code of the link's training state; 5 is LinkUp
 * @param linkLayer         {@link #LINK_LAYER_ETHERNET} and so on
 * @param flags             the flags
 * @param others            what concerns InfiniBand alone, by its name in C
 */
public record PortAttributes(int state, int maxMtu, int activeMtu, int gidTableEntries, int capabilityFlags,
        int capabilityFlags2, int maxMessageBytes, int pkeyTableEntries, int lid, int smLid, int activeWidth,
        int activeSpeed, int physicalState, int linkLayer, int flags, Map<String, Integer> others) {
    public static final int STATE_DOWN = 1;
    public static final int STATE_INIT = 2;
    public static final int STATE_ARMED = 3;
    public static final int STATE_ACTIVE = 4;
    public static final int LINK_LAYER_UNSPECIFIED = 0;
    public static final int LINK_LAYER_INFINIBAND = 1;
    public static final int LINK_LAYER_ETHERNET = 2;

    static PortAttributes read(long attr) {
        return new PortAttributes(NativeMemory.getInt(attr + PortAttrLayout.STATE_OFFSET),
                NativeMemory.getInt(attr + PortAttrLayout.MAX_MTU_OFFSET),
                NativeMemory.getInt(attr + PortAttrLayout.ACTIVE_MTU_OFFSET),
                NativeMemory.getInt(attr + PortAttrLayout.GID_TBL_LEN_OFFSET),
                NativeMemory.getInt(attr + PortAttrLayout.PORT_CAP_FLAGS_OFFSET),
                NativeMemory.getShort(attr + PortAttrLayout.PORT_CAP_FLAGS2_OFFSET) & 0xffff,
                NativeMemory.getInt(attr + PortAttrLayout.MAX_MSG_SZ_OFFSET),
                NativeMemory.getShort(attr + PortAttrLayout.PKEY_TBL_LEN_OFFSET) & 0xffff,
                NativeMemory.getShort(attr + PortAttrLayout.LID_OFFSET) & 0xffff,
                NativeMemory.getShort(attr + PortAttrLayout.SM_LID_OFFSET) & 0xffff,
                NativeMemory.getByte(attr + PortAttrLayout.ACTIVE_WIDTH_OFFSET) & 0xff,
                NativeMemory.getByte(attr + PortAttrLayout.ACTIVE_SPEED_OFFSET) & 0xff,
                NativeMemory.getByte(attr + PortAttrLayout.PHYS_STATE_OFFSET) & 0xff,
                NativeMemory.getByte(attr + PortAttrLayout.LINK_LAYER_OFFSET) & 0xff,
                NativeMemory.getByte(attr + PortAttrLayout.FLAGS_OFFSET) & 0xff,
                OtherAttributes.read(OtherAttributes.OF_PORT, attr));
    }

    /** Returns whether frames can pass. */
    public boolean isActive() {
        return state == STATE_ACTIVE;
    }
}
