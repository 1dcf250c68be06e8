package io.rdmaraw.channel.loop;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.kernel.KernelTcpNetwork;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.host.loopback.LoopbackTcpNetwork;
import io.rdmaraw.host.userspace.UserspaceHostConfig;
import io.rdmaraw.host.userspace.UserspaceIpHost;
import io.rdmaraw.host.userspace.UserspaceTcpNetwork;
import io.rdmaraw.tcp.TcpSecrets;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpStackOptions;
import io.rdmaraw.verbs.DeviceName;

import java.io.IOException;
import java.security.SecureRandom;
import java.util.function.Supplier;

/** Creates the TCP stack of a loop on the configured device. */
public final class TcpStackFactory {
    /** Shared by the process, because consecutive connections between two endpoints may be on different loops. */
    public static final TcpSecrets SECRETS = new TcpSecrets(new SecureRandom());

    private TcpStackFactory() {
    }

    /**
     * Opens the TCP stack, and its queue if necessary.
     *
     * @param userspaceHostOrNull host with addresses of its own; null for those of the kernel
     * @param ipContext opens the loop's IP context if necessary
     * @throws IOException if the device cannot be opened or does not support raw packets
     */
    public static TcpStack open(String device, UserspaceHostConfig userspaceHostOrNull, TcpStackOptions options,
            LoopQueues queues, Supplier<IpContext> ipContext, ThreadAwareExecutor loop) throws IOException {
        TcpNetwork network = newNetwork(device, userspaceHostOrNull, queues, ipContext, (EventLoop) loop);
        return new TcpStack(queues.open(device, LoopQueues.OWN_PORT), network, options, loop, new SecureRandom());
    }

    private static TcpNetwork newNetwork(String device, UserspaceHostConfig userspaceHost, LoopQueues queues,
            Supplier<IpContext> ipContextOpener, EventLoop loop) throws IOException {
        if (userspaceHost == null && new DeviceName(device).isLoopback()) {
            return new LoopbackTcpNetwork(device);
        }
        IpContext ipContext = ipContextOpener.get();
        return userspaceHost == null ? new KernelTcpNetwork(device, ipContext, loop)
                : new UserspaceTcpNetwork(device, UserspaceIpHost.join(device, userspaceHost,
                        queues.open(device, LoopQueues.OWN_PORT), ipContext, loop), ipContext, loop);
    }
}
