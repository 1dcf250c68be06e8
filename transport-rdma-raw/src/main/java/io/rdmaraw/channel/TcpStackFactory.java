package io.rdmaraw.channel;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.KernelTcpNetwork;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.host.loopback.LoopbackTcpNetwork;
import io.rdmaraw.host.userspace.UserspaceHostConfig;
import io.rdmaraw.host.userspace.UserspaceIpHost;
import io.rdmaraw.host.userspace.UserspaceTcpNetwork;
import io.rdmaraw.tcp.TcpSecrets;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.verbs.DeviceName;

import java.io.IOException;
import java.security.SecureRandom;

/** Creates the TCP stack of a loop on the configured device. */
final class TcpStackFactory {
    /** Shared by the process, because consecutive connections between two endpoints may be on different loops. */
    static final TcpSecrets SECRETS = new TcpSecrets(new SecureRandom());

    private TcpStackFactory() {
    }

    /**
     * Opens the TCP stack, and its queue if necessary.
     *
     * @throws IOException if the device cannot be opened or does not support raw packets
     */
    static TcpStack open(RdmaRawIoHandler handler, ThreadAwareExecutor loop) throws IOException {
        String device = handler.config().device();
        TcpNetwork network = newNetwork(handler, device, (EventLoop) loop);
        return new TcpStack(handler.openDeviceQueue(device, RdmaRawAddress.OWN_PORT), network,
                handler.config().tcpOptions(), loop, new SecureRandom());
    }

    private static TcpNetwork newNetwork(RdmaRawIoHandler handler, String device, EventLoop loop) throws IOException {
        UserspaceHostConfig userspaceHost = handler.config().userspaceHostOrNull();
        if (userspaceHost == null && new DeviceName(device).isLoopback()) {
            return new LoopbackTcpNetwork(device);
        }
        IpContext ipContext = handler.ipContext();
        return userspaceHost == null ? new KernelTcpNetwork(device, ipContext, loop)
                : new UserspaceTcpNetwork(device, UserspaceIpHost.join(device, userspaceHost,
                        handler.openDeviceQueue(device, RdmaRawAddress.OWN_PORT), ipContext, loop), ipContext, loop);
    }
}
