package io.rdmaraw.tools.top;

import io.rdmaraw.testsuite.net.NamespaceThreads;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.rmi.server.RMISocketFactory;

/**
 * Makes sockets in the network namespace of a process. A socket stays in the namespace in which it was made, whoever
 * uses it; so a thread that lives for one socket is all that has to enter.
 */
final class NamespaceSockets extends RMISocketFactory {
    private final String namespaceFile;

    NamespaceSockets(String pid) {
        namespaceFile = "/proc/" + pid + "/ns/net";
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        Socket[] made = new Socket[1];
        Exception[] failed = new Exception[1];
        Thread thread = Thread.ofPlatform().name("in " + namespaceFile).start(() -> {
            try {
                NamespaceThreads.enter(namespaceFile);
                made[0] = new Socket(host, port);
            } catch (IOException | IllegalStateException e) {
                failed[0] = e;
            }
        });
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while it connected", e);
        }
        if (failed[0] != null) {
            throw new IOException(failed[0].getMessage(), failed[0]);
        }
        return made[0];
    }

    @Override
    public ServerSocket createServerSocket(int port) throws IOException {
        throw new IOException("only connections are made there");
    }
}
