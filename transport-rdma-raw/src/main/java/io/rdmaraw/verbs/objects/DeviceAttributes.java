package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.VerbsLayouts.DeviceAttrLayout;
import java.util.Map;

/**
 * The attributes that every device reports ({@code struct ibv_device_attr}).
 *
 * @param firmwareVersion  vendor-specific version string
 * @param nodeGuid         node GUID in host byte order
 * @param systemImageGuid  system image GUID in host byte order
 * @param maxMrSizeBytes   maximum length of a memory region
 * @param pageSizes        bit mask of the supported page sizes
 * @param vendorId         IEEE vendor ID
 * @param vendorPartId     vendor-specific device ID
 * @param hardwareVersion  vendor-specific revision
 * @param maxQp            maximum number of queue pairs
 * @param maxQpWr          maximum number of work requests in each ring of a queue pair
 * @param capabilityFlags  {@code enum ibv_device_cap_flags}
 * @param maxSge           maximum number of SGEs per work request
 * @param maxCq            maximum number of completion queues
 * @param maxCqe           maximum number of entries of a completion queue
 * @param maxMr            maximum number of memory regions
 * @param maxPd            maximum number of protection domains
 * @param maxRawEthernetQp maximum number of raw Ethernet queue pairs; many drivers report 0 although they
 *                         support them
 * @param portCount        number of physical ports
 * @param others           the attributes that do not concern raw-packet queue pairs, by their C names
 */
public record DeviceAttributes(String firmwareVersion, long nodeGuid, long systemImageGuid, long maxMrSizeBytes,
        long pageSizes, int vendorId, int vendorPartId, int hardwareVersion, int maxQp, int maxQpWr,
        int capabilityFlags, int maxSge, int maxCq, int maxCqe, int maxMr, int maxPd, int maxRawEthernetQp,
        int portCount, Map<String, Integer> others) {
    /** {@code IBV_DEVICE_RAW_IP_CSUM}: the device can compute checksums for raw-packet queue pairs. */
    public static final int RAW_IP_CSUM = 1 << 26;
    /** {@code IBV_DEVICE_MANAGED_FLOW_STEERING}: the device supports flow rules. */
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
