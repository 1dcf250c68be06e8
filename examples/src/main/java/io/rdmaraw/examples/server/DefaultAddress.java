package io.rdmaraw.examples.server;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Comparator;

/** Where a server listens that was given a device and no address: there, and not where the kernel carries it. */
final class DefaultAddress {
    private DefaultAddress() {
    }

    /** Returns the first address of the interface that a device's name ends with, of IPv4 if it has one. */
    static InetAddress of(String device) {
        try {
            NetworkInterface netdev = NetworkInterface.getByName(device.substring(device.lastIndexOf(':') + 1));
            return netdev == null ? InetAddress.getLoopbackAddress()
                    : netdev.inetAddresses().min(Comparator.comparing(address -> !(address instanceof Inet4Address)))
                            .orElse(InetAddress.getLoopbackAddress());
        } catch (SocketException e) {
            return InetAddress.getLoopbackAddress();
        }
    }
}
