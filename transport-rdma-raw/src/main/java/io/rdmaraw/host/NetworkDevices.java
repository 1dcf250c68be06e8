package io.rdmaraw.host;

import io.rdmaraw.verbs.port.PortInterfaces;
import io.rdmaraw.verbs.DeviceName;

import java.io.IOException;

/** Finds the Linux network interface of a device. */
public final class NetworkDevices {
    private NetworkDevices() {
    }

    /**
     * Returns the name of the network interface with the addresses that the channels of a device share.
     *
     * @param deviceName such as {@code mlx5_0}, {@code soft:xdp:eth0} or the name of an interface
     * @throws IOException if the interface is not in this network namespace, or is a bond of several RDMA devices
     */
    public static String interfaceOf(String deviceName) throws IOException {
        return interfaceOf(deviceName, PortInterfaces.ofHost());
    }

    static String interfaceOf(String deviceName, PortInterfaces interfaces) throws IOException {
        String name = interfaceOfOrNull(deviceName, interfaces);
        if (name == null) {
            throw new IOException("the network interface of the RDMA device " + deviceName + " is not in this network"
                    + " namespace, so its addresses are not known; move it here (ip link set DEV netns PID), or"
                    + " configure a userspace host (userspaceAddress)");
        }
        // AF_XDP and AF_PACKET on a bond receive the frames of all its interfaces.
        String problem = new DeviceName(deviceName).isSoftware() ? null : interfaces.bondProblem(name);
        if (problem != null) {
            throw new IOException(problem);
        }
        return name;
    }

    /** Like {@link #interfaceOf}, but returns null instead of throwing an exception. */
    public static String interfaceOfOrNull(String deviceName) {
        return interfaceOfOrNull(deviceName, PortInterfaces.ofHost());
    }

    private static String interfaceOfOrNull(String deviceName, PortInterfaces interfaces) {
        DeviceName name = new DeviceName(deviceName);
        if (name.isSoftware()) {
            return name.interfaceName();
        }
        return interfaces.isDevice(deviceName) ? interfaces.interfaceOf(deviceName, interfaces.ownPortOf(deviceName))
                : interfaces.bondOf(deviceName);
    }
}
