package io.rdmaraw.channel;

import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.udp.DatagramSettings;

import java.net.InetAddress;

/** Adapts the channel configuration to the settings of the endpoint. */
record DatagramOptions(RdmaRawDatagramChannelConfig config) implements DatagramSettings {
    @Override
    public PortSharing portSharing() {
        return new PortSharing(config.isReuseAddress(), config.isReusePort(), config.bindsForeignAddress());
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
    public NumberedOptions kernelOptions() {
        return config.kernelOptions();
    }

    @Override
    public InetAddress groupSourceOrNull(boolean ipv4) {
        return config.multicastSource(ipv4);
    }

    @Override
    public int trafficClass() {
        return config.getTrafficClass();
    }

    @Override
    public int unicastHops() {
        return config.getUnicastTimeToLive();
    }

    @Override
    public int multicastHops() {
        return config.getTimeToLive();
    }

    @Override
    public boolean isMulticastLoop() {
        return !config.isLoopbackModeDisabled();
    }

    @Override
    public boolean isReceiveOriginalDestination() {
        return config.isReceiveOriginalDestination();
    }
}
