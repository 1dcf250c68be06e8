package io.rdmaraw.tools.top;

import io.rdmaraw.testsuite.net.NamespaceThreads;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.rmi.server.RMISocketFactory;

/**
 * Creates sockets in the network namespace of another process. A socket stays in the namespace in which it was created,
 * so only a short-lived thread enters the namespace.
 */
final class NamespaceSockets extends RMISocketFactory {
    /** RMI accepts only one factory during the life of a JVM. */
    private static final NamespaceSockets ALL = new NamespaceSockets();

    /** Null for the namespace of this process. */
    private volatile String namespaceFile;

    private NamespaceSockets() {
    }

    /**
     * Selects a process. From now on, RMI connects in the network namespace of that process.
     *
     * @param pidOrNull null for this process
     */
    static synchronized void enter(String pidOrNull) throws IOException {
        ALL.namespaceFile = pidOrNull == null ? null : "/proc/" + pidOrNull + "/ns/net";
        if (getSocketFactory() == null) {
            setSocketFactory(ALL);
        }
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        String file = namespaceFile;
        return file == null ? new Socket(host, port) : createSocket(file, host, port);
    }

    private static Socket createSocket(String file, String host, int port) throws IOException {
        Socket[] made = new Socket[1];
        Exception[] failed = new Exception[1];
        Thread thread = Thread.ofPlatform().name("in " + file).start(() -> {
            try {
                NamespaceThreads.enter(file);
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
