package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.NetworkSnapshot;

import java.net.BindException;
import java.net.NoRouteToHostException;
import java.net.SocketException;

/** The errors that networks of all kinds have in common, in the words of Linux. */
public final class Refusals {
    private Refusals() {
    }

    /** A local address that the host does not have. */
    public static BindException notLocal(IpAddress address) {
        return new BindException("Cannot assign requested address: " + address + " is not an address of this host");
    }

    /** A destination without a route. */
    public static NoRouteToHostException noRoute(Object destination) {
        return new NoRouteToHostException("Network is unreachable: there is no route to " + destination);
    }

    /** A destination that is not this host's, on a device that leads to no other. */
    public static NoRouteToHostException notOnDevice(String deviceName, Object destination) {
        return new NoRouteToHostException("Network is unreachable: " + deviceName + " does not lead to "
                + destination);
    }

    /** Requires two addresses of one IP version. */
    public static void requireSameVersion(IpAddress source, IpAddress target) throws SocketException {
        if (source.version() != target.version()) {
            throw new SocketException("Network is unreachable: " + target + " cannot be reached from " + source);
        }
    }

    /** Returns the network interface of a device. */
    static Link requireLink(NetworkSnapshot snapshot, String deviceName, String linkName) throws SocketException {
        Link link = snapshot.link(linkName);
        if (link == null) {
            throw missing(deviceName, linkName);
        }
        return link;
    }

    /** A device whose network interface does not exist. */
    static SocketException missing(String deviceName, String linkName) {
        if (!deviceName.equals(linkName)) {
            return new SocketException("the network interface " + linkName + " of " + deviceName
                    + " does not exist in this network namespace; see `ip link`");
        }
        boolean wantsPrefix = deviceName.startsWith("xdp:") || deviceName.startsWith("packet:")
                || deviceName.equals("loop");
        return new SocketException("there is no device " + deviceName + (wantsPrefix ? "; is soft:" + deviceName
                + " meant?" : ", nor a network interface of that name in this network namespace; `ip link` and"
                + " `./rdma-raw devinfo --list` name those that there are"));
    }
}
