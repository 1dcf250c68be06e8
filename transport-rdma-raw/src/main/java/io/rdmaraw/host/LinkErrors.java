package io.rdmaraw.host;

import java.net.SocketException;

/** What is wrong with a device whose network interface is not there. */
final class LinkErrors {
    private LinkErrors() {
    }

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
