package io.rdmaraw.kernel;

import io.netty.channel.ChannelException;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.net.socket.ServerDescriptor;
import io.rdmaraw.net.socket.SocketFilter;
import io.rdmaraw.net.socket.SocketMark;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The kernel's listening socket on the port of a server channel. It reserves the port and accepts the connections that
 * do not arrive through the device: connections from this host and through other interfaces.
 *
 * <p>A thread accepts, because such connections are few. If the event loop accepted, the socket would be an NIO
 * channel: the loop would have to sleep in a selector, and another thread would have to wake it for each frame.
 */
final class KernelListener {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(KernelListener.class);
    /** Pause after a failure such as EMFILE, as long as that of Netty's ServerBootstrap. */
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Remedies by the JDK's text for the errno. */
    private static final Map<String, String> REMEDIES = Map.of(
            "Permission denied", "; ports below net.ipv4.ip_unprivileged_port_start (1024) want CAP_NET_BIND_SERVICE",
            "Address already in use", "; `ss -ltnp` tells which process listens there",
            "Cannot assign requested address", "; bind to an address of this host, which `ip address` shows, or to"
                    + " 0.0.0.0 or :: for all of them");
    private static final Duration END_TIMEOUT = Duration.ofSeconds(1);

    private final KernelPort owner;
    private final KernelPort.Server server;
    private final ServerSocketChannel socket;
    private final Thread acceptThread;
    /** Descriptor of the socket; -1 if unknown. */
    private final int fd;
    private final int port;
    /** Set while another process accepts from the socket. */
    private volatile boolean suspended;

    /**
     * Opens a socket and listens.
     *
     * @param deviceLinkIndex link of the device, 0 if there is none. The socket refuses connections from this link
     *                        until {@link #ignoreSteered} is called, because the flow rules for the port do not exist
     *                        yet
     */
    KernelListener(KernelPort owner, InetSocketAddress local, int deviceLinkIndex) throws IOException {
        this.owner = owner;
        server = owner.server();
        socket = ServerSocketChannel.open();
        try {
            fd = ServerDescriptor.find(socket);
            if (server.isReusePort()) {
                socket.setOption(StandardSocketOptions.SO_REUSEPORT, true);
            }
            applyOptions();
            bind(local, deviceLinkIndex);
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
        port = socket.socket().getLocalPort();
        acceptThread = start();
    }

    /**
     * Accepts from a socket that already listens, perhaps one of another process. Connections in its backlog are not
     * lost.
     *
     * @param listeningFd descriptor of that socket; the caller closes it
     * @param port      port that it listens on
     * @param startSuspended whether to accept nothing and leave the mark unchanged until {@link #resume}
     * @throws IOException on failure; also if {@code startSuspended} is set and this process has no permission to set
     *         the mark
     */
    KernelListener(KernelPort owner, int listeningFd, int port, boolean startSuspended) throws IOException {
        suspended = startSuspended;
        this.owner = owner;
        server = owner.server();
        this.port = port;
        socket = ServerSocketChannel.open();
        try {
            fd = ServerDescriptor.find(socket);
            if (fd < 0) {
                throw new IOException("cannot determine the descriptor of a JDK socket");
            }
            if (startSuspended) {
                // A trial on the unbound socket: after the other process has stopped, it is too late to fail.
                applyOptions();
            }
            // The JDK accepts only on a channel that it has bound. The other socket then replaces its descriptor.
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            int errno = Libc.replace(fd, listeningFd);
            if (errno != 0) {
                throw new IOException("cannot take over a listening socket: " + Errno.describe(errno));
            }
            if (!startSuspended) {
                applyOptionsIfPermitted();
            }
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
        acceptThread = start();
    }

    private Thread start() {
        return Thread.ofPlatform().daemon().name("rdma-raw-kernel-listener").start(this::acceptAll);
    }

    /** Sets the server's mark and the options given by number. Accepted connections inherit the mark. */
    private void applyOptions() throws IOException {
        int mark = server.mark();
        if (fd >= 0) {
            SocketMark.set(fd, mark);
            server.kernelOptions().applyTo(fd);
        } else if (mark != 0 || !server.kernelOptions().isEmpty()) {
            throw new IOException("the descriptor of the kernel's socket is not known, so that SO_MARK and"
                    + " options given by number cannot be set");
        }
    }

    /** Sets the options but only logs a failure: the socket has clients, and refusing them would be worse. */
    private void applyOptionsIfPermitted() {
        try {
            applyOptions();
        } catch (IOException e) {
            LOGGER.warn("port {}: cannot change options of the kernel socket; connections that the kernel accepts have"
                    + " those of the previous process. SO_MARK requires CAP_NET_ADMIN", port, e);
        }
    }

    /** Starts to accept on a socket that was opened with {@code startSuspended}. */
    synchronized void resume() {
        if (socket.isOpen()) {
            applyOptionsIfPermitted();
        }
        suspended = false;
        LockSupport.unpark(acceptThread);
    }

    /**
     * Sets an option by number. Does nothing if the socket is closed.
     *
     * @throws IOException if the kernel rejects it
     */
    synchronized void setOption(NumberedOptions.Key key, byte[] value) throws IOException {
        if (!socket.isOpen()) {
            // Another file may have the descriptor by now.
            return;
        }
        if (fd < 0) {
            throw new IOException("the descriptor of the kernel's socket is not known");
        }
        NumberedOptions.set(fd, key, value);
    }

    /** Duplicates the descriptor of the socket; the caller closes it. */
    synchronized int duplicate() throws IOException {
        if (!socket.isOpen()) {
            // Another file may have the descriptor by now.
            throw new IOException("the server on port " + port + " is closed");
        }
        int duplicated = fd < 0 ? -Errno.EBADF : Libc.duplicate(fd);
        if (duplicated < 0) {
            throw new IOException("port " + port + " cannot be handed over: " + Errno.describe(-duplicated));
        }
        return duplicated;
    }

    private void bind(InetSocketAddress local, int deviceLinkIndex) throws IOException {
        if (deviceLinkIndex == 0 || fd < 0) {
            bind(local);
            return;
        }
        SocketFilter filter = SocketFilter.refuse(deviceLinkIndex);
        boolean filterAttached = filter.attachBeforeBind(fd);
        bind(local);
        if (!filterAttached) {
            try {
                // After bind(), because a broker requires a port.
                filter.attachToTcp(fd);
            } catch (IOException e) {
                LOGGER.debug("the kernel accepts connections to port {} until it has flow rules", local.getPort(), e);
            }
        }
    }

    /** Binds. Adds the address and a remedy to the message of the JDK's exception. */
    private void bind(InetSocketAddress local) throws IOException {
        try {
            socket.bind(local, server.backlog());
        } catch (SocketException e) {
            String remedy = REMEDIES.getOrDefault(e.getMessage(), "");
            BindException explained = new BindException(e.getMessage() + ": " + local.getAddress().getHostAddress()
                    + " port " + local.getPort() + remedy);
            explained.initCause(e);
            throw explained;
        }
    }

    /**
     * Makes the socket ignore segments that the flow rules steer to the device. Some of them reach the kernel anyway:
     * fragments and segments with extension headers, which no rule matches, and all segments of a device that cannot
     * withhold its frames from the kernel. The kernel has no such connections and would answer with resets.
     *
     * @throws IOException if the kernel does not accept a filter on the socket
     */
    synchronized void ignoreSteered(TcpNetwork.SteeredAddresses steered) throws IOException {
        if (!socket.isOpen()) {
            // Another file may have the descriptor by now.
            return;
        }
        if (fd < 0) {
            throw new IOException("its descriptor is not known");
        }
        SocketFilter.refuse(steered.linkIndex(), steered.addresses()).attachToTcp(fd);
    }

    int port() {
        return port;
    }

    private void acceptAll() {
        while (socket.isOpen()) {
            if (suspended || !server.mayAccept()) {
                LockSupport.park(this);
                continue;
            }
            try {
                deliver(socket.accept());
            } catch (ClosedChannelException closed) {
                return;
            } catch (IOException | ChannelException e) {
                server.acceptFailed(e);
                LockSupport.parkNanos(RETRY_NANOS);
            }
        }
    }

    /** Checks {@link KernelPort.Server#mayAccept} again. */
    void wakeup() {
        LockSupport.unpark(acceptThread);
    }

    private void deliver(SocketChannel connection) {
        server.accepted(new KernelStreamSocket(owner, connection));
    }

    private synchronized void closeSocket() throws IOException {
        socket.close();
    }

    /**
     * Closes the socket and waits for the thread. The kernel keeps the socket while a thread is in accept(), so only
     * then is the port free.
     */
    void close() {
        try {
            closeSocket();
            LockSupport.unpark(acceptThread);
            if (!acceptThread.join(END_TIMEOUT)) {
                LOGGER.warn("the thread that accepts from the kernel has not ended; its port may stay in use");
            }
        } catch (IOException e) {
            LOGGER.warn("the kernel's socket of a listening port could not be closed", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
