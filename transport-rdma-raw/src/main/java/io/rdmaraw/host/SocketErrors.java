package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.NetworkSnapshot;

import java.io.IOException;
import java.net.BindException;
import java.net.NoRouteToHostException;
import java.net.SocketException;

/** Creates the exceptions that networks of all kinds have in common, with the messages of Linux. */
public final class SocketErrors {
    private SocketErrors() {
    }

    /** Returns the exception for a local address that the host does not have. */
    public static BindException notLocal(IpAddress address) {
        return new BindException("Cannot assign requested address: " + address + " is not an address of this host");
    }

    /** Returns the exception for a destination without a route. */
    public static NoRouteToHostException noRoute(Object destination) {
        return new NoRouteToHostException("Network is unreachable: there is no route to " + destination);
    }

    /** Returns the exception for a remote destination on a device that cannot leave this host. */
    public static NoRouteToHostException notOnDevice(String deviceName, Object destination) {
        return new NoRouteToHostException("Network is unreachable: " + deviceName + " does not lead to "
                + destination);
    }

    /** Throws an exception unless both addresses have the same IP version. */
    public static void requireSameVersion(IpAddress source, IpAddress target) throws SocketException {
        if (source.version() != target.version()) {
            throw new SocketException("Network is unreachable: " + target + " cannot be reached from " + source);
        }
    }

    /** Returns the network interface of a device. Throws an exception if it does not exist. */
    static Link requireLink(IpHost host, String deviceName, String linkName) throws IOException {
        Link link = host.link(linkName);
        if (link == null) {
            throw noInterface(deviceName, linkName);
        }
        return link;
    }

    /**
     * Returns the network interface of a device by its index, which stays the same if the interface is renamed. Throws
     * an exception if it does not exist.
     */
    static Link requireLink(NetworkSnapshot snapshot, String deviceName, String linkName, int linkIndex)
            throws SocketException {
        Link link = snapshot.link(linkIndex);
        if (link == null) {
            throw noInterface(deviceName, linkName);
        }
        return link;
    }

    /** Returns the exception for a device without a network interface. */
    static SocketException noInterface(String deviceName, String linkName) {
        if (!deviceName.equals(linkName)) {
            return new SocketException("the network interface " + linkName + " of " + deviceName
                    + " does not exist in this network namespace; see `ip link`");
        }
        boolean lacksPrefix = deviceName.startsWith("xdp:") || deviceName.startsWith("packet:")
                || deviceName.equals("loop");
        return new SocketException("there is no device " + deviceName + (lacksPrefix ? "; is soft:" + deviceName
                + " meant?" : ", nor a network interface of that name in this network namespace; `ip link` and"
                + " `./rdma-raw devinfo --list` name those that there are"));
    }
}
