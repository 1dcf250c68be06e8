package io.rdmaraw.examples.server;

import io.rdmaraw.verbs.DeviceName;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * The address of a server that was started with a device but without an address. It is an address of the device's
 * network interface. The host's loopback address would be served by the kernel without notice.
 */
final class DefaultAddress {
    private DefaultAddress() {
    }

    /**
     * Returns the first address of a device's network interface, preferably an IPv4 address.
     *
     * @throws ExampleException if the interface has no address or cannot be found
     */
    static InetAddress of(String device) throws IOException {
        return of(device, Path.of(System.getenv().getOrDefault("SYSFS_PATH", "/sys")));
    }

    static InetAddress of(String device, Path sysfs) throws IOException {
        DeviceName name = new DeviceName(device);
        if (name.isLoopback()) {
            return InetAddress.getLoopbackAddress();
        }
        String netdev = name.isSoftware() ? name.interfaceName() : netdevOf(device, sysfs);
        NetworkInterface found = NetworkInterface.getByName(netdev);
        if (found == null) {
            throw new ExampleException("no network interface of " + device + " is to be seen here; if that is right,"
                    + " give the address to listen on: --address");
        }
        return found.inetAddresses().min(Comparator.comparing(address -> !(address instanceof Inet4Address)))
                .orElseThrow(() -> new ExampleException(netdev + " has no address to listen on: ip address add"
                        + " 198.18.0.1/24 dev " + netdev + ", or --address"));
    }

    /**
     * Returns the network interface of an RDMA device. Returns the device name itself if it already names an interface
     * or if no interface is visible.
     */
    private static String netdevOf(String device, Path sysfs) throws IOException {
        Path netdevs = sysfs.resolve("class/infiniband").resolve(device).resolve("device/net");
        if (!Files.isDirectory(netdevs)) {
            return device;
        }
        try (Stream<Path> names = Files.list(netdevs)) {
            return names.map(each -> each.getFileName().toString()).sorted().findFirst().orElse(device);
        }
    }
}
