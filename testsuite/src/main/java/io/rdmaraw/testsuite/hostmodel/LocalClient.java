package io.rdmaraw.testsuite.hostmodel;

import io.rdmaraw.testsuite.net.NetworkNamespace;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/** A client on the host itself that uses kernel sockets. */
final class LocalClient {
    private static final int LIMIT_MILLIS = 2000;

    private LocalClient() {
    }

    /**
     * Connects to a server on the same host and exchanges a byte. Returns "none" if successful, otherwise the error.
     */
    static String exchange(NetworkNamespace namespace, InetAddress server, int port) {
        try {
            return namespace.call(() -> {
                try (Socket socket = new Socket()) {
                    socket.connect(new InetSocketAddress(server, port), LIMIT_MILLIS);
                    socket.setSoTimeout(LIMIT_MILLIS);
                    socket.getOutputStream().write('x');
                    return socket.getInputStream().read() == 'x' ? "none" : "end of the connection";
                } catch (IOException e) {
                    return Errors.describe(e);
                }
            });
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
