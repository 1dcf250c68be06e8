package io.rdmaraw.tcp.stack;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.util.ArrayList;
import java.util.List;

/** Opens connections on one loop's TCP: finds a port for each, and has the core send its SYN. For the loop's thread. */
public final class TcpOpener {
    /** Ports that are tried before a connection fails for want of one. */
    private static final int MAX_PORT_ATTEMPTS = 64;

    private final TcpStack stack;
    private final TcpNetwork network;

    TcpOpener(TcpStack stack) {
        this.stack = stack;
        network = stack.network();
    }

    /**
     * Opens a connection; the transport's channel is told how it went.
     *
     * @param mark {@code SO_MARK}, 0 for none
     * @throws IOException when there is no way to the peer or no port
     */
    public TcpTransport connect(InetSocketAddress localOrNull, InetSocketAddress remote, int mark,
                                ConnectionListener channel) throws IOException {
        IpAddress target = targetOf(remote);
        if (target.isMulticast() || target.equals(IpAddress.BROADCAST)) {
            // RFC 9293 section 3.9.2.3 (MUST-46).
            throw new NoRouteToHostException("Network is unreachable: " + target
                    + " stands for many hosts, and a connection is to one");
        }
        TcpTransport transport = openOnFreePort(localOrNull, target, remote.getPort(), mark);
        transport.channel(channel);
        channel.applyOptions(transport.connection());
        stack.counters().flows++;
        return transport;
    }

    /**
     * Tells whether the kernel has to carry a connection to this peer: the device's link does not lead there.
     *
     * @param mark {@code SO_MARK}, 0 for none
     */
    public boolean isForKernel(InetSocketAddress localOrNull, InetSocketAddress remote, int mark) {
        return network.isForKernel(localOrNull, remote.getAddress().isAnyLocalAddress()
                ? targetOf(remote).toInetAddress() : remote.getAddress(), mark);
    }

    /**
     * Checks an address that a connection is to be opened from.
     *
     * @throws IOException when this host does not have it
     */
    public void checkLocal(InetSocketAddress local) throws IOException {
        network.checkLocal(IpAddress.of(local.getAddress()));
    }

    private static IpAddress targetOf(InetSocketAddress remote) {
        IpAddress target = IpAddress.of(remote.getAddress());
        if (!target.isAny()) {
            return target;
        }
        // As on Linux: the wildcard is this host.
        return target.isIpv4() ? IpAddress.LOOPBACK_IPV4 : IpAddress.LOOPBACK_IPV6;
    }

    /**
     * A port that is free for the network may be in TIME-WAIT towards this peer: another one may not. Those that are
     * stay taken meanwhile, so that none is tried twice.
     */
    private TcpTransport openOnFreePort(InetSocketAddress localOrNull, IpAddress target, int targetPort, int mark)
            throws IOException {
        boolean anyPort = localOrNull == null || localOrNull.getPort() == 0;
        List<TcpPort> unusable = List.of();
        try {
            for (int attempt = 1;; attempt++) {
                TcpNetwork.Binding binding;
                try {
                    binding = network.connect(localOrNull, target, targetPort, mark);
                } catch (BindException e) {
                    TcpPort old = anyPort ? fromTimeWait(localOrNull, target, targetPort) : null;
                    if (old == null) {
                        throw e;
                    }
                    return open(old.binding(), old, target, targetPort, mark);
                }
                TcpPort taken = new ConnectedPort(stack, binding, target, targetPort);
                if (isFree(binding, target, targetPort)) {
                    return open(binding, taken, target, targetPort, mark);
                }
                unusable = attempt == 1 ? new ArrayList<>() : unusable;
                unusable.add(taken);
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
     * When there is no other port left, one that is kept for a connection in TIME-WAIT with this peer will do, as soon
     * as timestamps tell old segments from new ones (RFC 6191; {@code net.ipv4.tcp_tw_reuse} of Linux).
     */
    private TcpPort fromTimeWait(InetSocketAddress localOrNull, IpAddress target, int targetPort) {
        IpAddress wanted = localOrNull == null ? IpAddress.ANY_IPV6 : IpAddress.of(localOrNull.getAddress());
        return stack.lingering().take(port -> port.isTowards(target, targetPort)
                && (wanted.isAny() || wanted.equals(port.binding().local()))
                && isFree(port.binding(), target, targetPort));
    }

    private boolean isFree(TcpNetwork.Binding binding, IpAddress target, int targetPort) {
        IpAddress local = binding.local();
        return stack.engine().isFree(System.nanoTime(), local.high(), local.low(), binding.port(), target.high(),
                target.low(), targetPort);
    }

    private TcpTransport open(TcpNetwork.Binding binding, TcpPort taken, IpAddress target, int targetPort,
                              int mark) {
        TcpTransport transport = new TcpTransport(stack, taken);
        IpAddress local = binding.local();
        transport.connection(stack.engine().connect(System.nanoTime(), local.high(), local.low(), binding.port(),
                target.high(), target.low(), targetPort, null, stack.port().limits().mtuBytes(), transport));
        transport.connection().mark(mark);
        transport.path(network);
        return transport;
    }
}
