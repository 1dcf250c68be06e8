package io.rdmaraw.tools.devinfo;

import io.rdmaraw.verbs.DeviceName;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The network interfaces that AF_XDP can open as devices. Softverbs itself lists only those that are already open. */
public final class NetworkInterfaces {
    private static final String XDP_PREFIX = "soft:xdp:";

    private NetworkInterfaces() {
    }

    /** Returns the device names. Loopback interfaces are excluded, because their frames have no MAC addresses. */
    public static List<String> onThisHost() {
        try {
            return NetworkInterface.networkInterfaces().filter(NetworkInterfaces::isOfUse)
                    .map(each -> XDP_PREFIX + each.getName()).sorted().toList();
        } catch (SocketException e) {
            return List.of();
        }
    }

    private static boolean isOfUse(NetworkInterface each) {
        try {
            return !each.isLoopback();
        } catch (SocketException e) {
            return false;
        }
    }

    /** Returns the state, addresses and MTU of an interface; empty for other devices. */
    public static String describe(String device) {
        if (!device.startsWith(XDP_PREFIX)) {
            return "";
        }
        try {
            NetworkInterface netdev = NetworkInterface.getByName(new DeviceName(device).interfaceName());
            return netdev == null ? "" : Stream.concat(
                    Stream.of(netdev.isUp() ? "up" : "down"), Stream.concat(netdev.getInterfaceAddresses().stream()
                            .map(InterfaceAddress::getAddress).map(address -> address.getHostAddress().split("%")[0]),
                    Stream.of("MTU " + netdev.getMTU()))).collect(Collectors.joining(", "));
        } catch (SocketException e) {
            return "";
        }
    }
}
