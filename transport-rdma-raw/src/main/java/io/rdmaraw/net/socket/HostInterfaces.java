package io.rdmaraw.net.socket;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;

/** Looks up network interfaces of this host with the JDK. Tolerates concurrent removal of interfaces. */
public final class HostInterfaces {
    /** The JDK lists all interfaces for each lookup, and fails if one of them disappears in between. */
    private static final int MAX_ATTEMPTS = 20;

    private HostInterfaces() {
    }

    /**
     * Returns the interface that has an address, or null if there is none.
     *
     * @throws SocketException if the JDK fails repeatedly
     */
    public static NetworkInterface withAddress(InetAddress address) throws SocketException {
        for (int attempt = 1;; attempt++) {
            try {
                return NetworkInterface.getByInetAddress(address);
            } catch (SocketException e) {
                if (attempt == MAX_ATTEMPTS) {
                    throw e;
                }
            }
        }
    }
}
