package io.rdmaraw.verbs.abi;

/** {@code struct ibv_device}. */
public final class DeviceLayout {
    static final int SIZE_BYTES = 664;
    static final int NODE_TYPE_OFFSET = 16;
    static final int TRANSPORT_TYPE_OFFSET = 20;
    public static final int NAME_OFFSET = 24;
    static final int DEV_NAME_OFFSET = 88;
    static final int DEV_PATH_OFFSET = 152;
    static final int IBDEV_PATH_OFFSET = 408;

    private DeviceLayout() {
    }
}
