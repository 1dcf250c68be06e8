package io.rdmaraw.kernel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.tcp.stack.ListeningPort;
import io.rdmaraw.tcp.stack.TcpStackStatistics;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The kernel's side of a server channel: the listening socket on its port and the connections accepted from it. While
 * another process accepts from the socket (takeover), the port is suspended. Used on the channel's loop, unless a
 * method says otherwise.
 */
public final class KernelPort {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(KernelPort.class);

    /** The server channel that listens on the port. The methods are called on any thread. */
    public interface Server {
        /** Returns the parent of the accepted channels. */
        Channel channel();

        int backlog();

        /** Returns {@code SO_MARK}; 0 if it is not set. */
        int mark();

        /** Returns the options of the socket that are given by number. */
        NumberedOptions kernelOptions();

        boolean isReusePort();

        /** Returns whether the channel accepts connections now. If not, it calls {@link #wakeup} later. */
        boolean mayAccept();

        /** Receives the channel of an accepted connection. Called on the listener's thread. */
        void accepted(Channel connection);

        /** Called if accepting has failed. The listener retries after a pause. */
        void acceptFailed(Exception cause);

        /** Returns whether connections on the device support an option. */
        boolean supportsOption(ChannelOption<?> option);
    }

    private final Server server;
    private final Set<ChannelOption<?>> ignoredOptions = ConcurrentHashMap.newKeySet();
    /** Number of open connections that were accepted. */
    private final AtomicInteger connections = new AtomicInteger();
    /** Null while the port is closed or suspended. */
    private volatile KernelListener listener;
    /** Descriptor of the socket while the port is suspended; otherwise -1. */
    private int suspendedFd = -1;
    /** Whether {@link #requireSilent} has been called since the port was opened. */
    private volatile boolean silenceChecked;
    /** Failure to filter the socket before {@link #requireSilent}; null if there was none. */
    private volatile IOException filterFailure;

    public KernelPort(Server server) {
        this.server = server;
    }

    Server server() {
        return server;
    }

    /**
     * Opens a socket and listens. Returns its port.
     *
     * @param deviceLinkIndex link of the device, 0 if there is none; see {@link KernelListener}
     */
    public int open(InetSocketAddress local, int deviceLinkIndex) throws IOException {
        return use(new KernelListener(this, local, deviceLinkIndex)).port();
    }

    /**
     * Adopts the listening socket of the previous process. That process continues to accept until this one serves:
     * connections accepted earlier would be lost if this process failed to start.
     *
     * @param listeningFd descriptor of the socket, which is closed
     * @return the action that starts to accept. May be run on any thread
     */
    public Runnable adopt(int listeningFd, int port) throws IOException {
        try {
            return use(new KernelListener(this, listeningFd, port, true))::resume;
        } finally {
            Libc.close(listeningFd);
        }
    }

    private KernelListener use(KernelListener opened) {
        listener = opened;
        return opened;
    }

    /** Returns whether this process accepts from the socket. */
    public boolean isOpen() {
        return listener != null;
    }

    /** Checks {@link Server#mayAccept} again. May be called on any thread. */
    public void wakeup() {
        KernelListener current = listener;
        if (current != null && server.mayAccept()) {
            current.wakeup();
        }
    }

    /**
     * Sets an option of the socket by number, if the port is open. May be called on any thread.
     *
     * @throws IOException if the kernel rejects it
     */
    public void setOption(NumberedOptions.Key key, byte[] value) throws IOException {
        KernelListener current = listener;
        if (current != null) {
            current.setOption(key, value);
        }
    }

    /**
     * Counts an accepted connection until it is closed. Returns false, and counts nothing, if the port has been closed
     * since.
     */
    public boolean countAccepted(Channel connection, TcpStackStatistics statistics) {
        if (listener == null && suspendedFd < 0) {
            return false;
        }
        statistics.kernelConnections++;
        connections.incrementAndGet();
        connection.closeFuture().addListener(closed -> connections.decrementAndGet());
        return true;
    }

    /** Returns the number of open connections that were accepted. May be called on any thread. */
    public int connections() {
        return connections.get();
    }

    /**
     * Returns whether a user's option is left out on a connection of the kernel, because kernel sockets do not support
     * it. Logs each option once. Called on any thread.
     */
    boolean ignoresOption(ChannelOption<?> option) {
        if (!server.supportsOption(option)) {
            return false;
        }
        if (ignoredOptions.add(option)) {
            LOGGER.warn("{}: connections that the kernel carries, for example from this host, ignore the option {}:"
                    + " the JDK's sockets do not support it", server.channel().localAddress(), option);
        }
        return true;
    }

    // ---- segments that the device has, too ----

    /**
     * Makes the socket ignore the segments that the device receives. May be called on any thread. A failure is reported
     * by {@link #requireSilent}, and later ones are logged.
     */
    public void ignoreSteered(TcpNetwork.SteeredAddresses steered) {
        KernelListener current = listener;
        if (current == null) {
            return;
        }
        try {
            current.ignoreSteered(steered);
        } catch (IOException e) {
            if (current != listener) {
                // The port was closed meanwhile.
                return;
            }
            if (silenceChecked) {
                warnOfAnswers(current.port(), e);
            } else {
                filterFailure = e;
            }
        }
    }

    /**
     * Checks that the socket does not answer segments for the device. A kernel that sees each frame would complete
     * handshakes itself and send resets.
     *
     * @param device name of the device, for the message
     * @throws BindException if it would
     */
    public void requireSilent(ListeningPort port, String device) throws BindException {
        silenceChecked = true;
        IOException reason = filterFailure;
        if (reason == null) {
            return;
        }
        int portNumber = port.binding().port();
        if (port.isVisibleToKernel()) {
            throw new BindException("port " + portNumber + " is not served: the kernel sees what comes by "
                    + device + ", and its socket of the port cannot be kept quiet: " + reason.getMessage());
        }
        warnOfAnswers(portNumber, reason);
    }

    private static void warnOfAnswers(int portNumber, IOException reason) {
        LOGGER.warn("port {}: the kernel's socket may answer what is for the device: {}", portNumber,
                reason.getMessage());
    }

    // ---- takeover ----

    /** Duplicates the descriptor of the socket; the caller closes it. May be called on any thread. */
    public int duplicate() throws IOException {
        KernelListener current = listener;
        if (current == null) {
            throw new IOException("the server is closed");
        }
        return current.duplicate();
    }

    /** Stops accepting: another process accepts from the socket. */
    public void suspend() throws IOException {
        KernelListener current = listener;
        if (current != null) {
            suspendedFd = current.duplicate();
            listener = null;
            current.close();
        }
    }

    /** Accepts from a suspended socket again. */
    public void resume(int port) throws IOException {
        int listeningFd = suspendedFd;
        if (listeningFd >= 0) {
            suspendedFd = -1;
            try {
                listener = new KernelListener(this, listeningFd, port, false);
            } finally {
                Libc.close(listeningFd);
            }
        }
    }

    /** Closes the socket, also a suspended one. The server may then listen on the device alone. */
    public void close() {
        KernelListener current = listener;
        if (current != null) {
            listener = null;
            current.close();
        }
        if (suspendedFd >= 0) {
            Libc.close(suspendedFd);
            suspendedFd = -1;
        }
        silenceChecked = false;
        filterFailure = null;
    }
}
