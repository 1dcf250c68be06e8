package io.rdmaraw.net.socket;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;

/** Looks for interfaces of this host, as the JDK sees them, while others may be removed. */
public final class HostInterfaces {
    /** The JDK lists all interfaces anew for each question, and fails when one of them vanishes meanwhile. */
    private static final int MAX_ATTEMPTS = 20;

    private HostInterfaces() {
    }

    /**
     * Returns the interface that has an address, or null.
     *
     * @throws SocketException when the JDK cannot tell
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
