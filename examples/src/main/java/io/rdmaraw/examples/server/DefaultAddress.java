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
 * Where a server listens that was given a device and no address: there, and never on the host's loopback, where the
 * kernel would carry it unnoticed.
 */
final class DefaultAddress {
    private DefaultAddress() {
    }

    /**
     * Returns the first address of a device's network interface, of IPv4 if it has one.
     *
     * @throws ExampleException when the interface has none, or cannot be found
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

    /** Of an RDMA device; its own name if it is an interface's already, or has none that can be seen. */
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
