package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.host.TcpNetwork;
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
import java.util.function.Consumer;

/**
 * The kernel's side of a listening port: an ordinary listening socket. It keeps the port from other programs and
 * accepts what does not come by the device: connections from this host and by other interfaces.
 *
 * <p>A thread waits for these, which are few. On the server's loop the socket would be one more NIO channel,
 * and the loop would have to sleep in a selector and be woken by another thread for each frame.
 */
final class KernelListener {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(KernelListener.class);
    /** Accepting fails when there are no descriptors left; as long as ServerBootstrap waits then. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** By what the JDK makes of the error number. */
    private static final Map<String, String> REMEDIES = Map.of(
            "Permission denied", "; ports below net.ipv4.ip_unprivileged_port_start (1024) want CAP_NET_BIND_SERVICE",
            "Address already in use", "; `ss -ltnp` tells which process listens there",
            "Cannot assign requested address", "; bind to an address of this host, which `ip address` shows, or to"
                    + " 0.0.0.0 or :: for all of them");
    private static final Duration END_TIMEOUT = Duration.ofSeconds(1);

    private final RdmaRawServerSocketChannel server;
    private final Consumer<Channel> accepted;
    private final ServerSocketChannel socket;
    private final Thread acceptor;
    /** The socket's descriptor; -1 when it is not known. */
    private final int fd;
    private final int port;
    /** Another process accepts by the socket. */
    private volatile boolean held;

    /**
     * Listens.
     *
     * @param deviceLinkIndex the link whose connections are to be the device's, from which the kernel takes none until
     *                        {@link #refuse}: the rules that take their segments away from it are yet to be made. 0
     *                        where there is none
     * @param accepted takes the channels of connections that the kernel carries, on this class's thread
     */
    KernelListener(RdmaRawServerSocketChannel server, InetSocketAddress local, int deviceLinkIndex,
            Consumer<Channel> accepted) throws IOException {
        this.server = server;
        this.accepted = accepted;
        socket = ServerSocketChannel.open();
        try {
            fd = ServerDescriptor.find(socket);
            if (server.config().isReusePort()) {
                socket.setOption(StandardSocketOptions.SO_REUSEPORT, true);
            }
            mark();
            bind(local, deviceLinkIndex);
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
        port = socket.socket().getLocalPort();
        acceptor = start();
    }

    /**
     * Accepts by a socket that listens already, of another process perhaps: what waits there to be accepted is not
     * lost.
     *
     * @param listening its descriptor, which stays the caller's
     * @param port      the port that it listens on
     * @param waits     whether it accepts nothing, and keeps its mark, before {@link #release}
     * @throws IOException also where it waits and this process may not mark sockets as it will have to
     */
    KernelListener(RdmaRawServerSocketChannel server, int listening, int port, Consumer<Channel> accepted,
            boolean waits) throws IOException {
        held = waits;
        this.server = server;
        this.accepted = accepted;
        this.port = port;
        socket = ServerSocketChannel.open();
        try {
            fd = ServerDescriptor.find(socket);
            if (fd < 0) {
                throw new IOException("the descriptor of a socket of the JDK is not known");
            }
            if (waits) {
                // By a socket that has no clients: better than to find out when the other process has stopped.
                mark();
            }
            // The JDK accepts by what it has bound itself: the other socket takes that one's descriptor.
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            int errno = Libc.replace(fd, listening);
            if (errno != 0) {
                throw new IOException("a listening socket was not taken over: " + Errno.describe(errno));
            }
            if (!waits) {
                markTakenOver();
            }
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
        acceptor = start();
    }

    private Thread start() {
        return Thread.ofPlatform().daemon().name("rdma-raw-kernel-listener").start(this::acceptAll);
    }

    /** Connections that the kernel accepts from now on have the server's mark, as ours have. */
    private void mark() throws IOException {
        int mark = server.config().mark();
        if (fd >= 0) {
            SocketMark.set(fd, mark);
        } else if (mark != 0) {
            throw new IOException("SO_MARK is " + mark + ", but the descriptor of the kernel's socket is not known");
        }
    }

    /** A socket with clients is worth more than its mark. */
    private void markTakenOver() {
        try {
            mark();
        } catch (IOException e) {
            LOGGER.warn("what the kernel accepts on port {} has the mark that another process gave it, which this one "
                    + "may not change: give it CAP_NET_ADMIN", port, e);
        }
    }

    /** Accepts what waits and what comes: the socket is this process's now. */
    synchronized void release() {
        if (socket.isOpen()) {
            markTakenOver();
        }
        held = false;
        LockSupport.unpark(acceptor);
    }

    /** Returns a second descriptor of the socket, which is the caller's. */
    synchronized int duplicate() throws IOException {
        if (!socket.isOpen()) {
            // The descriptor may be another's by now.
            throw new IOException("the server on port " + port + " is closed");
        }
        int made = fd < 0 ? -Errno.EBADF : Libc.duplicate(fd);
        if (made < 0) {
            throw new IOException("port " + port + " cannot be handed over: " + Errno.describe(-made));
        }
        return made;
    }

    private void bind(InetSocketAddress local, int deviceLinkIndex) throws IOException {
        if (deviceLinkIndex == 0 || fd < 0) {
            bind(local);
            return;
        }
        SocketFilter filter = SocketFilter.refuse(deviceLinkIndex);
        boolean isQuiet = filter.attachBeforeBind(fd);
        bind(local);
        if (!isQuiet) {
            try {
                // A broker wants a port.
                filter.attachToTcp(fd);
            } catch (IOException e) {
                LOGGER.debug("until its rules are made the kernel takes connections to port {}", local.getPort(), e);
            }
        }
    }

    /** The JDK's exception does not say which address was wanted, nor what to do. */
    private void bind(InetSocketAddress local) throws IOException {
        try {
            socket.bind(local, server.config().getBacklog());
        } catch (SocketException e) {
            String remedy = REMEDIES.getOrDefault(e.getMessage(), "");
            BindException named = new BindException(e.getMessage() + ": " + local.getAddress().getHostAddress()
                    + " port " + local.getPort() + remedy);
            named.initCause(e);
            throw named;
        }
    }

    /**
     * Has the kernel take no notice of what the device's rules are for. Some of it reaches the kernel all the same:
     * fragments and segments behind extension headers, which no rule matches, and everything by a device that cannot
     * keep its frames from the kernel. The kernel knows no connection of it and would answer by resets.
     *
     * @throws IOException when the kernel does not let its socket be kept quiet
     */
    synchronized void refuse(TcpNetwork.Steered steered) throws IOException {
        if (!socket.isOpen()) {
            // The descriptor may be another's by now.
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
            if (held) {
                LockSupport.park(this);
                continue;
            }
            try {
                hand(socket.accept());
            } catch (ClosedChannelException closed) {
                return;
            } catch (IOException | ChannelException e) {
                LOGGER.warn("a connection by the kernel to port {} was not accepted", port(), e);
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    private void hand(SocketChannel connection) {
        accepted.accept(new KernelSocket(server, connection));
    }

    private synchronized void closeSocket() throws IOException {
        socket.close();
    }

    /**
     * The port is free when the call returns: the kernel keeps the socket as long as a thread is within accept(), and
     * closing only makes that thread leave it.
     */
    void close() {
        try {
            closeSocket();
            LockSupport.unpark(acceptor);
            if (!acceptor.join(END_TIMEOUT)) {
                LOGGER.warn("the thread that accepts from the kernel has not ended; its port may stay in use");
            }
        } catch (IOException e) {
            LOGGER.warn("the kernel's socket of a listening port could not be closed", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
