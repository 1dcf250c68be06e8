package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.VerbsLayouts.PortAttrLayout;
import java.util.Map;

/**
 * The attributes of a port ({@code struct ibv_port_attr}).
 *
 * @param state            {@link #STATE_DOWN}, {@link #STATE_ACTIVE} and so on
 * @param maxMtu           {@code enum ibv_mtu}: an InfiniBand MTU of 256 to 4096 bytes, not the Ethernet MTU
 * @param activeMtu        {@code enum ibv_mtu}, like {@code maxMtu}
 * @param gidTableEntries  number of entries of the GID table; see {@link VerbsContext#queryGid}
 * @param capabilityFlags  {@code enum ibv_port_cap_flags}
 * @param capabilityFlags2 {@code enum ibv_port_cap_flags2}
 * @param maxMessageBytes  maximum length of a message
 * @param pkeyTableEntries number of entries of the P_Key table
 * @param lid              the local identifier (InfiniBand only)
 * @param smLid            the local identifier of the subnet manager (InfiniBand only)
 * @param activeWidth      the code of the number of lanes
 * @param activeSpeed      the code of the speed of a lane
 * @param physicalState    the code of the physical link state; 5 is LinkUp
 * @param linkLayer        {@link #LINK_LAYER_ETHERNET} and so on
 * @param flags            {@code flags} of the C structure
 * @param others           the attributes that concern only InfiniBand, by their C names
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

    /** Returns whether the port is active and can carry frames. */
    public boolean isActive() {
        return state == STATE_ACTIVE;
    }
}
