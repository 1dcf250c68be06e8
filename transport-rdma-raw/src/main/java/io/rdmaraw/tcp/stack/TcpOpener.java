package io.rdmaraw.tcp.stack;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.stack.port.TcpPort;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.util.ArrayList;
import java.util.List;

/**
 * Opens connections on the stack of one loop. It selects a port and makes the engine send the SYN. Used on the loop's
 * thread only.
 */
public final class TcpOpener {
    /** Maximum number of ports tried for a connection. */
    private static final int MAX_PORT_ATTEMPTS = 64;

    private final TcpStack stack;
    private final TcpNetwork network;

    TcpOpener(TcpStack stack) {
        this.stack = stack;
        network = stack.network();
    }

    /**
     * Opens a connection. The channel is notified of the result.
     *
     * @param soMark {@code SO_MARK}; 0 if unset
     * @throws IOException if there is no route to the peer or no free port
     */
    public TcpTransport connect(InetSocketAddress localOrNull, InetSocketAddress remote, int soMark,
                                ConnectionOwner channel) throws IOException {
        IpAddress target = targetOf(remote);
        if (target.isMulticast() || target.equals(IpAddress.BROADCAST)) {
            // RFC 9293 section 3.9.2.3 (MUST-46).
            throw new NoRouteToHostException("Network is unreachable: " + target
                    + " stands for many hosts, and a connection is to one");
        }
        TcpTransport transport = openOnFreePort(localOrNull, target, remote.getPort(), soMark);
        transport.channel(channel);
        channel.applyOptions(transport.connection());
        stack.statistics().openConnections++;
        return transport;
    }

    /**
     * Returns whether the kernel must carry a connection to this peer because the device's link does not lead there.
     *
     * @param soMark {@code SO_MARK}; 0 if unset
     */
    public boolean isForKernel(InetSocketAddress localOrNull, InetSocketAddress remote, int soMark) {
        return network.isForKernel(localOrNull, remote.getAddress().isAnyLocalAddress()
                ? targetOf(remote).toInetAddress() : remote.getAddress(), soMark);
    }

    /**
     * Checks a local address for a connection.
     *
     * @throws IOException if this host does not have the address
     */
    public void checkLocal(InetSocketAddress local) throws IOException {
        network.checkLocal(IpAddress.of(local.getAddress()));
    }

    /**
     * Binds a port for a connection that is opened later; see {@link TcpNetwork#reserve}.
     *
     * @throws IOException if this host does not have the address, or the port is in use
     */
    public TcpNetwork.Binding reserve(InetSocketAddress local) throws IOException {
        return network.reserve(local);
    }

    private static IpAddress targetOf(InetSocketAddress remote) {
        IpAddress target = IpAddress.of(remote.getAddress());
        if (!target.isAny()) {
            return target;
        }
        // As on Linux, the wildcard address means this host.
        return target.isIpv4() ? IpAddress.LOOPBACK_IPV4 : IpAddress.LOOPBACK_IPV6;
    }

    /**
     * Opens a connection on a port that is not in TIME-WAIT towards this peer. The network may offer a port that is.
     * Such a port remains reserved until a port is found, so that it is not offered again.
     */
    private TcpTransport openOnFreePort(InetSocketAddress localOrNull, IpAddress target, int targetPort, int soMark)
            throws IOException {
        if (targetPort == 0) {
            throw new ConnectException("Connection refused: cannot connect to port 0 of " + target);
        }
        boolean anyPort = localOrNull == null || localOrNull.getPort() == 0;
        List<TcpPort> unusable = List.of();
        try {
            for (int attempt = 1;; attempt++) {
                TcpNetwork.Binding binding;
                try {
                    binding = network.connect(localOrNull, target, targetPort, soMark);
                } catch (BindException e) {
                    TcpPort timeWaitPort = anyPort ? acquireTimeWaitPort(localOrNull, target, targetPort) : null;
                    if (timeWaitPort == null) {
                        throw e;
                    }
                    return open(timeWaitPort.binding(), timeWaitPort, target, targetPort, soMark);
                }
                TcpPort port = new ConnectedPort(stack, binding, target, targetPort);
                if (isFree(binding, target, targetPort)) {
                    return open(binding, port, target, targetPort, soMark);
                }
                unusable = attempt == 1 ? new ArrayList<>() : unusable;
                unusable.add(port);
                if (!anyPort || attempt == MAX_PORT_ATTEMPTS) {
                    throw new IOException("Cannot assign requested address: port " + binding.port()
                            + " is in use towards port " + targetPort + " of " + target
                            + "; choose another, or pass 0 to have one chosen");
                }
            }
        } finally {
            unusable.forEach(port -> port.release(null));
        }
    }

    /**
     * Takes a port that is reserved for a connection in TIME-WAIT with this peer; null if there is none. Used only if
     * no other port is free, and if timestamps distinguish old segments from new ones (RFC 6191;
     * {@code net.ipv4.tcp_tw_reuse} of Linux).
     */
    private TcpPort acquireTimeWaitPort(InetSocketAddress localOrNull, IpAddress target, int targetPort) {
        IpAddress wanted = localOrNull == null ? IpAddress.ANY_IPV6 : IpAddress.of(localOrNull.getAddress());
        return stack.timeWaitPorts().acquire(port -> port.isForPeer(target, targetPort)
                && (wanted.isAny() || wanted.equals(port.binding().local()))
                && isFree(port.binding(), target, targetPort));
    }

    private boolean isFree(TcpNetwork.Binding binding, IpAddress target, int targetPort) {
        IpAddress local = binding.local();
        return stack.engine().isFree(System.nanoTime(), local.high(), local.low(), binding.port(), target.high(),
                target.low(), targetPort);
    }

    private TcpTransport open(TcpNetwork.Binding binding, TcpPort port, IpAddress target, int targetPort,
                              int soMark) {
        TcpTransport transport = new TcpTransport(stack, port);
        IpAddress local = binding.local();
        transport.connection(stack.engine().connect(System.nanoTime(), local.high(), local.low(), binding.port(),
                target.high(), target.low(), targetPort, null, stack.deviceQueue().limits().mtuBytes(), transport));
        transport.connection().soMark(soMark);
        transport.path(network);
        return transport;
    }
}
