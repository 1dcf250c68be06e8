package io.rdmaraw.host;

import io.rdmaraw.net.rdma.PortInterfaces;
import io.rdmaraw.verbs.DeviceName;

import java.io.IOException;

/** Which Linux network interface a device is. */
public final class NetworkDevices {
    private static final int FIRST_PORT = 1;

    private NetworkDevices() {
    }

    /**
     * Returns the name of the network interface whose addresses the channels of a device share.
     *
     * @param deviceName such as {@code mlx5_0}, {@code soft:xdp:eth0} or the name of an interface
     * @throws IOException when it is not in this network namespace
     */
    public static String ofDevice(String deviceName) throws IOException {
        String name = ofDeviceOrNull(deviceName);
        if (name == null) {
            throw new IOException("the network interface of the RDMA device " + deviceName + " is not in this network"
                    + " namespace, so its addresses are not known; move it here (ip link set DEV netns PID), or give"
                    + " the channels a host of their own (ownAddress)");
        }
        return name;
    }

    /** As {@link #ofDevice}; null where that fails. */
    public static String ofDeviceOrNull(String deviceName) {
        DeviceName name = new DeviceName(deviceName);
        if (name.isSoftware()) {
            return name.interfaceName();
        }
        PortInterfaces interfaces = PortInterfaces.ofHost();
        return interfaces.isDevice(deviceName) ? interfaces.interfaceOf(deviceName, FIRST_PORT)
                : interfaces.bondOf(deviceName);
    }
}
