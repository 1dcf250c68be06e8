package io.rdmaraw.verbs.abi;

/** {@code struct ibv_device}. */
public final class DeviceLayout {
    public static final int NAME_OFFSET = 24;

    private DeviceLayout() {
    }
}
