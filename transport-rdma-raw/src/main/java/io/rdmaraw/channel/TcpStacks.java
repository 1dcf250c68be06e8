package io.rdmaraw.channel;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.host.HostView;
import io.rdmaraw.host.LoopTcpNetwork;
import io.rdmaraw.host.SharedTcpNetwork;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.route.LoopHost;
import io.rdmaraw.route.OwnHostConfig;
import io.rdmaraw.tcp.TcpSecrets;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.security.SecureRandom;

/** Makes the TCP of a loop on the device that its settings name. */
final class TcpStacks {
    /** Of the process: a connection between two ends may follow one that was on another loop. */
    static final TcpSecrets SECRETS = new TcpSecrets(new SecureRandom());
    private static final int PORT_NUMBER = 1;

    private TcpStacks() {
    }

    /**
     * Opens the queue, if it is not open, and the TCP on it.
     *
     * @throws io.rdmaraw.verbs.VerbsException when the device cannot be opened or does not carry raw packets
     */
    static TcpStack open(RdmaRawIoHandler handler, ThreadAwareExecutor loop) {
        String device = handler.config().ipDevice();
        TcpNetwork network = networkOf(handler, device, (EventLoop) loop);
        return new TcpStack(handler.port(device, PORT_NUMBER), network, handler.config(), loop, new SecureRandom());
    }

    private static TcpNetwork networkOf(RdmaRawIoHandler handler, String device, EventLoop loop) {
        OwnHostConfig ownHost = handler.config().ownHostOrNull();
        if (ownHost == null && LoopHost.isLoopDevice(device)) {
            return new LoopTcpNetwork(device);
        }
        HostView hostView = handler.hostView();
        try {
            return ownHost == null ? new SharedTcpNetwork(device, hostView, loop)
                    : new OwnTcpNetwork(device, OwnNetworkHost.join(device, ownHost,
                            handler.port(device, PORT_NUMBER), hostView, loop), hostView, loop);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
