package io.rdmaraw.channel;

import io.netty.channel.ChannelException;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DatagramChannelConfig;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.channel.settings.OptionTable;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.socket.HostInterfaces;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.udp.DatagramSettings;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.util.Collections;

/**
 * The configuration of a {@link RdmaRawDatagramChannel}. Options can be set on any thread. Options that affect binding
 * must be set before the channel is bound.
 */
public final class RdmaRawDatagramChannelConfig extends AbstractRdmaRawChannelConfig<RdmaRawDatagramChannelConfig>
        implements DatagramChannelConfig {
    /** Default of {@code net.core.rmem_default} and {@code net.core.wmem_default} of Linux. */
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

    @SuppressWarnings("deprecation") // DATAGRAM_CHANNEL_ACTIVE_ON_REGISTRATION is deprecated but in use
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
                .with(RdmaRawChannelOption.IP_FREEBIND, c -> c.isKernelFlag(NumberedOptions.IP_FREEBIND),
                        (c, on) -> c.setKernelFlag(NumberedOptions.IP_FREEBIND, on))
                .with(RdmaRawChannelOption.IP_TRANSPARENT, c -> c.isKernelFlag(NumberedOptions.IP_TRANSPARENT),
                        (c, on) -> c.setKernelFlag(NumberedOptions.IP_TRANSPARENT, on))
                .with(RdmaRawChannelOption.KERNEL_SOCKET, c -> c.kernelSocket, (c, value) -> c.kernelSocket = value)
                .alias(StandardSocketOptions.SO_BROADCAST, ChannelOption.SO_BROADCAST)
                .alias(StandardSocketOptions.SO_RCVBUF, ChannelOption.SO_RCVBUF)
                .alias(StandardSocketOptions.SO_SNDBUF, ChannelOption.SO_SNDBUF)
                .alias(StandardSocketOptions.SO_REUSEADDR, ChannelOption.SO_REUSEADDR)
                .alias(StandardSocketOptions.SO_REUSEPORT, RdmaRawChannelOption.SO_REUSEPORT)
                .alias(StandardSocketOptions.IP_MULTICAST_IF, ChannelOption.IP_MULTICAST_IF)
                .alias(StandardSocketOptions.IP_MULTICAST_TTL, ChannelOption.IP_MULTICAST_TTL)
                .alias(StandardSocketOptions.IP_TOS, ChannelOption.IP_TOS)
                .with(StandardSocketOptions.IP_MULTICAST_LOOP, c -> !c.loopbackModeDisabled,
                        (c, loop) -> c.setLoopbackModeDisabled(!loop))
                .numberedFlag(OptionTable.SOL_SOCKET, 2, ChannelOption.SO_REUSEADDR)
                .numberedFlag(OptionTable.SOL_SOCKET, 6, ChannelOption.SO_BROADCAST)
                .numberedFlag(OptionTable.SOL_SOCKET, 15, RdmaRawChannelOption.SO_REUSEPORT)
                .numbered(OptionTable.SOL_SOCKET, 36, RdmaRawChannelOption.SO_MARK)
                .numbered(OptionTable.IPPROTO_IP, 1, ChannelOption.IP_TOS)
                .numbered(OptionTable.IPPROTO_IP, 2, RdmaRawChannelOption.IP_TTL)
                .numberedFlag(OptionTable.IPPROTO_IP, 15, RdmaRawChannelOption.IP_FREEBIND)
                .numberedFlag(OptionTable.IPPROTO_IP, 19, RdmaRawChannelOption.IP_TRANSPARENT)
                .numbered(OptionTable.IPPROTO_IP, 33, ChannelOption.IP_MULTICAST_TTL)
                .withUnsupported("SO_INCOMING_NAPI_ID", RdmaRawChannelOption.NO_NAPI_ID);
    }

    @Override
    boolean mayHaveKernelSocket() {
        return true;
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
     * Sets {@code SO_SNDBUF}, in bytes. The value has no effect; it is stored for programs that read it back. Pending
     * data is limited by the device's send queue and the channel's write buffer water marks.
     */
    @Override
    public RdmaRawDatagramChannelConfig setSendBufferSize(int bytes) {
        sendBufferBytes = Math.max(MIN_SEND_BUFFER_BYTES, ObjectUtil.checkPositive(bytes, "sendBufferSize"));
        return this;
    }

    /** Returns the maximum number of bytes of datagrams that are queued while reads are paused. */
    @Override
    public int getReceiveBufferSize() {
        return receiveBufferBytes;
    }

    /**
     * Sets {@code SO_RCVBUF}, the maximum number of bytes of datagrams that are queued while reads are paused. Further
     * datagrams are dropped and counted.
     */
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

    /** Rejects changes after binding, because the kernel socket and cached routes would keep the old mark. */
    private void setMark(int value) {
        if (value != mark && ((RdmaRawDatagramChannel) channel).localAddress() != null) {
            throw new IllegalStateException("SO_MARK cannot be changed on a bound channel: set it before bind");
        }
        mark = value;
    }

    /** Returns the TTL or hop limit of unicast datagrams. */
    public int getUnicastTimeToLive() {
        return unicastTimeToLive;
    }

    /** Sets the TTL or hop limit of unicast datagrams: 1 to 255. */
    public RdmaRawDatagramChannelConfig setUnicastTimeToLive(int hops) {
        unicastTimeToLive = ObjectUtil.checkInRange(hops, 1, MAX_BYTE, "unicastTimeToLive");
        return this;
    }

    /** Returns the TTL or hop limit of multicast datagrams: 0 to 255. */
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

    /** Returns whether other channels may bind the same port and share its flows. */
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
     * Sets whether group members on this host receive no sent multicast datagrams. The setting matters only on loop
     * devices, where all members are on this host. On a link, members on this host never receive them, because the
     * device does not loop back sent frames.
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

    /**
     * Returns the source address of multicast datagrams, or null if no interface was set or it has no address of this
     * family.
     */
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

    /**
     * Returns whether the recipient of received packets is their destination address;
     * {@link RdmaRawChannelOption#IP_RECVORIGDSTADDR}.
     */
    public boolean isReceiveOriginalDestination() {
        return receiveOriginalDestination;
    }

    /** Returns the value of {@link RdmaRawChannelOption#KERNEL_SOCKET}, which only {@code soft:loop} observes. */
    public boolean isKernelSocket() {
        return kernelSocket;
    }

    /** Returns the options as the endpoint reads them. */
    DatagramSettings settings() {
        return new Settings(this);
    }

    /** The settings of the endpoint. */
    private record Settings(RdmaRawDatagramChannelConfig config) implements DatagramSettings {
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
}
