package io.rdmaraw.channel;

import io.netty.channel.ChannelException;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DatagramChannelConfig;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.net.socket.HostInterfaces;
import jdk.net.ExtendedSocketOptions;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.util.Collections;

/** The settings of a {@link RdmaRawDatagramChannel}. Can be set on any thread; those of binding, before it. */
public final class RdmaRawDatagramChannelConfig extends AbstractRdmaRawChannelConfig<RdmaRawDatagramChannelConfig>
        implements DatagramChannelConfig {
    /** Linux's net.core.rmem_default and wmem_default. */
    private static final int DEFAULT_BUFFER_BYTES = 212992;
    private static final int DEFAULT_TTL = 64;
    private static final int MAX_BYTE = 255;
    private static final OptionTable<RdmaRawDatagramChannelConfig> TABLE = newTable();

    private volatile int sendBufferBytes = DEFAULT_BUFFER_BYTES;
    private volatile int receiveBufferBytes = DEFAULT_BUFFER_BYTES;
    private volatile int trafficClass;
    private volatile int mark;
    private volatile int unicastTimeToLive = DEFAULT_TTL;
    private volatile int multicastTimeToLive = 1;
    private volatile boolean reuseAddress;
    private volatile boolean reusePort;
    private volatile boolean broadcast;
    private volatile boolean loopbackModeDisabled;
    private volatile boolean activeOnRegistration;
    private volatile boolean receiveOriginalDestination;
    private volatile boolean kernelSocket = true;
    private volatile NetworkInterface networkInterface;
    private volatile InetAddress interfaceAddress;

    RdmaRawDatagramChannelConfig(RdmaRawDatagramChannel channel) {
        super(channel);
    }

    @SuppressWarnings("deprecation") // DATAGRAM_CHANNEL_ACTIVE_ON_REGISTRATION is, but programs use it
    private static OptionTable<RdmaRawDatagramChannelConfig> newTable() {
        return new OptionTable<RdmaRawDatagramChannelConfig>()
                .with(ChannelOption.SO_BROADCAST, c -> c.broadcast, RdmaRawDatagramChannelConfig::setBroadcast)
                .with(ChannelOption.SO_RCVBUF, c -> c.receiveBufferBytes,
                        RdmaRawDatagramChannelConfig::setReceiveBufferSize)
                .with(ChannelOption.SO_SNDBUF, c -> c.sendBufferBytes, RdmaRawDatagramChannelConfig::setSendBufferSize)
                .with(ChannelOption.SO_REUSEADDR, c -> c.reuseAddress, RdmaRawDatagramChannelConfig::setReuseAddress)
                .with(ChannelOption.IP_MULTICAST_LOOP_DISABLED, c -> c.loopbackModeDisabled,
                        RdmaRawDatagramChannelConfig::setLoopbackModeDisabled)
                .with(ChannelOption.IP_MULTICAST_ADDR, RdmaRawDatagramChannelConfig::getInterface,
                        RdmaRawDatagramChannelConfig::setInterface)
                .with(ChannelOption.IP_MULTICAST_IF, c -> c.networkInterface,
                        RdmaRawDatagramChannelConfig::setNetworkInterface)
                .with(ChannelOption.IP_MULTICAST_TTL, c -> c.multicastTimeToLive,
                        RdmaRawDatagramChannelConfig::setTimeToLive)
                .with(ChannelOption.IP_TOS, c -> c.trafficClass, RdmaRawDatagramChannelConfig::setTrafficClass)
                .with(ChannelOption.DATAGRAM_CHANNEL_ACTIVE_ON_REGISTRATION, c -> c.activeOnRegistration,
                        (c, value) -> c.activeOnRegistration = value)
                .with(RdmaRawChannelOption.SO_REUSEPORT, c -> c.reusePort, RdmaRawDatagramChannelConfig::setReusePort)
                .with(RdmaRawChannelOption.IP_TTL, c -> c.unicastTimeToLive,
                        RdmaRawDatagramChannelConfig::setUnicastTimeToLive)
                .with(RdmaRawChannelOption.IP_RECVORIGDSTADDR, c -> c.receiveOriginalDestination,
                        (c, value) -> c.receiveOriginalDestination = value)
                .with(RdmaRawChannelOption.SO_MARK, c -> c.mark, RdmaRawDatagramChannelConfig::setMark)
                .with(RdmaRawChannelOption.KERNEL_SOCKET, c -> c.kernelSocket, (c, value) -> c.kernelSocket = value)
                .alsoAs(StandardSocketOptions.SO_BROADCAST, ChannelOption.SO_BROADCAST)
                .alsoAs(StandardSocketOptions.SO_RCVBUF, ChannelOption.SO_RCVBUF)
                .alsoAs(StandardSocketOptions.SO_SNDBUF, ChannelOption.SO_SNDBUF)
                .alsoAs(StandardSocketOptions.SO_REUSEADDR, ChannelOption.SO_REUSEADDR)
                .alsoAs(StandardSocketOptions.SO_REUSEPORT, RdmaRawChannelOption.SO_REUSEPORT)
                .alsoAs(StandardSocketOptions.IP_MULTICAST_IF, ChannelOption.IP_MULTICAST_IF)
                .alsoAs(StandardSocketOptions.IP_MULTICAST_TTL, ChannelOption.IP_MULTICAST_TTL)
                .alsoAs(StandardSocketOptions.IP_TOS, ChannelOption.IP_TOS)
                .with(StandardSocketOptions.IP_MULTICAST_LOOP, c -> !c.loopbackModeDisabled,
                        (c, loop) -> c.setLoopbackModeDisabled(!loop))
                .without(ExtendedSocketOptions.SO_INCOMING_NAPI_ID, RdmaRawChannelOption.NO_NAPI_ID);
    }

    @Override
    OptionTable<RdmaRawDatagramChannelConfig> table() {
        return TABLE;
    }

    /** Returns the value of {@code SO_SNDBUF}, in bytes. */
    @Override
    public int getSendBufferSize() {
        return sendBufferBytes;
    }

    /**
     * Sets {@code SO_SNDBUF}, in bytes. It is kept for programs that ask for it; what waits to be sent is bounded by
     * the device's send queue and by the channel's write buffer water marks.
     */
    @Override
    public RdmaRawDatagramChannelConfig setSendBufferSize(int bytes) {
        sendBufferBytes = ObjectUtil.checkPositive(bytes, "sendBufferSize");
        return this;
    }

    /** Returns how many bytes of datagrams are kept while reads are paused. */
    @Override
    public int getReceiveBufferSize() {
        return receiveBufferBytes;
    }

    /** Sets how many bytes of datagrams are kept while reads are paused; what exceeds them is dropped and counted. */
    @Override
    public RdmaRawDatagramChannelConfig setReceiveBufferSize(int bytes) {
        receiveBufferBytes = ObjectUtil.checkPositive(bytes, "receiveBufferSize");
        return this;
    }

    @Override
    public int getTrafficClass() {
        return trafficClass;
    }

    @Override
    public RdmaRawDatagramChannelConfig setTrafficClass(int value) {
        trafficClass = ObjectUtil.checkInRange(value, 0, MAX_BYTE, "trafficClass");
        return this;
    }

    int mark() {
        return mark;
    }

    /** The kernel's socket and the ways that are known would keep the old one. */
    private void setMark(int value) {
        if (value != mark && ((RdmaRawDatagramChannel) channel).localAddress() != null) {
            throw new IllegalStateException("SO_MARK is to be set before the channel is bound");
        }
        mark = value;
    }

    /** Returns the time to live or hop limit of unicast datagrams. */
    public int getUnicastTimeToLive() {
        return unicastTimeToLive;
    }

    /** Sets the time to live or hop limit of unicast datagrams, 1 to 255. */
    public RdmaRawDatagramChannelConfig setUnicastTimeToLive(int hops) {
        unicastTimeToLive = ObjectUtil.checkInRange(hops, 1, MAX_BYTE, "unicastTimeToLive");
        return this;
    }

    /** Returns the time to live or hop limit of multicast datagrams. */
    @Override
    public int getTimeToLive() {
        return multicastTimeToLive;
    }

    @Override
    public RdmaRawDatagramChannelConfig setTimeToLive(int hops) {
        multicastTimeToLive = ObjectUtil.checkInRange(hops, 0, MAX_BYTE, "timeToLive");
        return this;
    }

    @Override
    public boolean isReuseAddress() {
        return reuseAddress;
    }

    @Override
    public RdmaRawDatagramChannelConfig setReuseAddress(boolean reuse) {
        reuseAddress = reuse;
        return this;
    }

    /** Tells whether other channels may bind the same port and share its flows. */
    public boolean isReusePort() {
        return reusePort;
    }

    /** Sets {@link RdmaRawChannelOption#SO_REUSEPORT}. */
    public RdmaRawDatagramChannelConfig setReusePort(boolean reuse) {
        reusePort = reuse;
        return this;
    }

    @Override
    public boolean isBroadcast() {
        return broadcast;
    }

    @Override
    public RdmaRawDatagramChannelConfig setBroadcast(boolean value) {
        broadcast = value;
        return this;
    }

    @Override
    public boolean isLoopbackModeDisabled() {
        return loopbackModeDisabled;
    }

    /**
     * Sets that datagrams to groups do not reach members on this host, which on a loop device is all of them. On a link
     * they reach members on other hosts only, whatever is set here: the device does not bring back what it sends.
     */
    @Override
    public RdmaRawDatagramChannelConfig setLoopbackModeDisabled(boolean disabled) {
        loopbackModeDisabled = disabled;
        return this;
    }

    @Override
    public InetAddress getInterface() {
        NetworkInterface chosen = networkInterface;
        if (interfaceAddress != null || chosen == null) {
            return interfaceAddress;
        }
        return chosen.inetAddresses().findFirst().orElse(null);
    }

    @Override
    public RdmaRawDatagramChannelConfig setInterface(InetAddress address) {
        try {
            networkInterface = HostInterfaces.withAddress(address);
        } catch (SocketException e) {
            throw new ChannelException(e);
        }
        interfaceAddress = address;
        return this;
    }

    @Override
    public NetworkInterface getNetworkInterface() {
        return networkInterface;
    }

    @Override
    public RdmaRawDatagramChannelConfig setNetworkInterface(NetworkInterface chosen) {
        networkInterface = chosen;
        interfaceAddress = null;
        return this;
    }

    /** Returns the address that datagrams to groups come from, or null when no interface was chosen for them. */
    InetAddress multicastSource(boolean ipv4) {
        NetworkInterface chosen = networkInterface;
        if (chosen == null) {
            return null;
        }
        for (InetAddress address : Collections.list(chosen.getInetAddresses())) {
            if (address instanceof Inet4Address == ipv4) {
                return address;
            }
        }
        return null;
    }

    boolean isActiveOnRegistration() {
        return activeOnRegistration;
    }

    /** Tells whether the recipient of received packets is what they were sent to; IP_RECVORIGDSTADDR. */
    public boolean isReceiveOriginalDestination() {
        return receiveOriginalDestination;
    }

    /** Tells whether the channel has a kernel socket on its port; {@link RdmaRawChannelOption#KERNEL_SOCKET}. */
    public boolean isKernelSocket() {
        return kernelSocket;
    }
}
