package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.DeviceAttrLayout;
import java.util.Map;

/**
 * {@code struct ibv_device_attr}, as far as raw packets go.
 *
 * @param firmwareVersion     as the vendor writes it
 * @param nodeGuid            in the machine's byte order
 * @param systemImageGuid     in the machine's byte order
 * @param maxMrSizeBytes      the longest memory region
 * @param pageSizes           bit mask of the page sizes that regions can have
 * @param vendorId            the vendor's IEEE number
 * @param vendorPartId        the vendor's number for the device
 * @param hardwareVersion     the vendor's number for the revision
 * @param maxQp               queue pairs
 * @param maxQpWr             requests in each ring of a queue pair
 * @param capabilityFlags     {@code enum ibv_device_cap_flags}
 * @param maxSge              SGEs of one request
 * @param maxCq               completion queues
 * @param maxCqe              entries of one completion queue
 * @param maxMr               memory regions
 * @param maxPd               protection domains
 * @param maxRawEthernetQp    raw Ethernet queue pairs; many drivers leave it at 0
 * @param ports               number of physical ports
 * @param others              what concerns other kinds of queue pairs, by its name in C
 */
public record DeviceAttributes(String firmwareVersion, long nodeGuid, long systemImageGuid, long maxMrSizeBytes,
        long pageSizes, int vendorId, int vendorPartId, int hardwareVersion, int maxQp, int maxQpWr,
        int capabilityFlags, int maxSge, int maxCq, int maxCqe, int maxMr, int maxPd, int maxRawEthernetQp, int ports,
        Map<String, Integer> others) {
    /** {@code IBV_DEVICE_RAW_IP_CSUM}: checksums can be left to the device on raw-packet queue pairs. */
    public static final int RAW_IP_CSUM = 1 << 26;
    /** {@code IBV_DEVICE_MANAGED_FLOW_STEERING}. */
    public static final int MANAGED_FLOW_STEERING = 1 << 29;

    private static final int FIRMWARE_VERSION_LENGTH_BYTES = 64;

    static DeviceAttributes read(long attr) {
        return new DeviceAttributes(
                NativeMemory.segment(attr + DeviceAttrLayout.FW_VER_OFFSET, FIRMWARE_VERSION_LENGTH_BYTES).getString(0),
                Long.reverseBytes(NativeMemory.getLong(attr + DeviceAttrLayout.NODE_GUID_OFFSET)),
                Long.reverseBytes(NativeMemory.getLong(attr + DeviceAttrLayout.SYS_IMAGE_GUID_OFFSET)),
                NativeMemory.getLong(attr + DeviceAttrLayout.MAX_MR_SIZE_OFFSET),
                NativeMemory.getLong(attr + DeviceAttrLayout.PAGE_SIZE_CAP_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.VENDOR_ID_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.VENDOR_PART_ID_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.HW_VER_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.MAX_QP_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.MAX_QP_WR_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.DEVICE_CAP_FLAGS_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.MAX_SGE_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.MAX_CQ_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.MAX_CQE_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.MAX_MR_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.MAX_PD_OFFSET),
                NativeMemory.getInt(attr + DeviceAttrLayout.MAX_RAW_ETHY_QP_OFFSET),
                NativeMemory.getByte(attr + DeviceAttrLayout.PHYS_PORT_CNT_OFFSET) & 0xff,
                OtherAttributes.read(OtherAttributes.OF_DEVICE, attr));
    }
}
