package io.rdmaraw.channel;

import io.rdmaraw.host.DatagramNetwork;
import io.rdmaraw.net.PortSharing;

import java.net.InetAddress;

/** The options of a channel that its network asks for. */
record DatagramOptions(RdmaRawDatagramChannelConfig config) implements DatagramNetwork.Options {
    @Override
    public PortSharing portSharing() {
        return new PortSharing(config.isReuseAddress(), config.isReusePort());
    }

    @Override
    public boolean isBroadcast() {
        return config.isBroadcast();
    }

    @Override
    public boolean isKernelSocket() {
        return config.isKernelSocket();
    }

    @Override
    public int mark() {
        return config.mark();
    }

    @Override
    public InetAddress groupSourceOrNull(boolean ipv4) {
        return config.multicastSource(ipv4);
    }
}
