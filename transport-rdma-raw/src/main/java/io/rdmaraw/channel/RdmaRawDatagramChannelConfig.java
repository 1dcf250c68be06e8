package io.rdmaraw.channel;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.DatagramChannelConfig;
import io.netty.util.internal.ObjectUtil;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Collections;
import java.util.Map;

/** The settings of a {@link RdmaRawDatagramChannel}. Can be set on any thread; those of binding, before it. */
public final class RdmaRawDatagramChannelConfig extends DefaultChannelConfig implements DatagramChannelConfig {
    /** Linux's net.core.rmem_default and wmem_default. */
    private static final int DEFAULT_BUFFER_BYTES = 212992;
    private static final int DEFAULT_TTL = 64;
    private static final int MAX_BYTE = 255;

    private final RdmaRawDatagramChannel channel;
    private volatile int sendBufferBytes = DEFAULT_BUFFER_BYTES;
    private volatile int receiveBufferBytes = DEFAULT_BUFFER_BYTES;
    private volatile int trafficClass;
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
        this.channel = channel;
        super.setAllocator(RdmaRawByteBufAllocator.DEFAULT);
    }

    @Override
    @SuppressWarnings("deprecation") // DATAGRAM_CHANNEL_ACTIVE_ON_REGISTRATION is, but programs use it
    public Map<ChannelOption<?>, Object> getOptions() {
        return getOptions(super.getOptions(), ChannelOption.SO_BROADCAST, ChannelOption.SO_RCVBUF,
                ChannelOption.SO_SNDBUF, ChannelOption.SO_REUSEADDR, ChannelOption.IP_MULTICAST_LOOP_DISABLED,
                ChannelOption.IP_MULTICAST_ADDR, ChannelOption.IP_MULTICAST_IF, ChannelOption.IP_MULTICAST_TTL,
                ChannelOption.IP_TOS, ChannelOption.DATAGRAM_CHANNEL_ACTIVE_ON_REGISTRATION,
                RdmaRawChannelOption.SO_REUSEPORT, RdmaRawChannelOption.IP_TTL,
                RdmaRawChannelOption.IP_RECVORIGDSTADDR, RdmaRawChannelOption.KERNEL_SOCKET);
    }

    @Override
    @SuppressWarnings({"unchecked", "deprecation"})
    public <T> T getOption(ChannelOption<T> option) {
        Object value;
        if (option == ChannelOption.SO_BROADCAST) {
            value = broadcast;
        } else if (option == ChannelOption.SO_RCVBUF) {
            value = receiveBufferBytes;
        } else if (option == ChannelOption.SO_SNDBUF) {
            value = sendBufferBytes;
        } else if (option == ChannelOption.SO_REUSEADDR) {
            value = reuseAddress;
        } else if (option == ChannelOption.IP_TOS) {
            value = trafficClass;
        } else if (option == ChannelOption.DATAGRAM_CHANNEL_ACTIVE_ON_REGISTRATION) {
            value = activeOnRegistration;
        } else if (option == RdmaRawChannelOption.SO_REUSEPORT) {
            value = reusePort;
        } else if (option == RdmaRawChannelOption.IP_TTL) {
            value = unicastTimeToLive;
        } else if (option == RdmaRawChannelOption.IP_RECVORIGDSTADDR) {
            value = receiveOriginalDestination;
        } else if (option == RdmaRawChannelOption.KERNEL_SOCKET) {
            value = kernelSocket;
        } else {
            return getMulticastOption(option);
        }
        return (T) value;
    }

    @SuppressWarnings("unchecked")
    private <T> T getMulticastOption(ChannelOption<T> option) {
        Object value;
        if (option == ChannelOption.IP_MULTICAST_LOOP_DISABLED) {
            value = loopbackModeDisabled;
        } else if (option == ChannelOption.IP_MULTICAST_ADDR) {
            value = getInterface();
        } else if (option == ChannelOption.IP_MULTICAST_IF) {
            value = networkInterface;
        } else if (option == ChannelOption.IP_MULTICAST_TTL) {
            value = multicastTimeToLive;
        } else {
            return super.getOption(option);
        }
        return (T) value;
    }

    @Override
    @SuppressWarnings("deprecation")
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        validate(option, value);
        if (option == ChannelOption.SO_BROADCAST) {
            broadcast = (Boolean) value;
        } else if (option == ChannelOption.SO_RCVBUF) {
            setReceiveBufferSize((Integer) value);
        } else if (option == ChannelOption.SO_SNDBUF) {
            setSendBufferSize((Integer) value);
        } else if (option == ChannelOption.SO_REUSEADDR) {
            reuseAddress = (Boolean) value;
        } else if (option == ChannelOption.IP_TOS) {
            setTrafficClass((Integer) value);
        } else if (option == ChannelOption.DATAGRAM_CHANNEL_ACTIVE_ON_REGISTRATION) {
            activeOnRegistration = (Boolean) value;
        } else if (option == RdmaRawChannelOption.SO_REUSEPORT) {
            reusePort = (Boolean) value;
        } else if (option == RdmaRawChannelOption.IP_TTL) {
            setUnicastTimeToLive((Integer) value);
        } else if (option == RdmaRawChannelOption.IP_RECVORIGDSTADDR) {
            receiveOriginalDestination = (Boolean) value;
        } else if (option == RdmaRawChannelOption.KERNEL_SOCKET) {
            kernelSocket = (Boolean) value;
        } else {
            return setMulticastOption(option, value);
        }
        return true;
    }

    private <T> boolean setMulticastOption(ChannelOption<T> option, T value) {
        if (option == ChannelOption.IP_MULTICAST_LOOP_DISABLED) {
            loopbackModeDisabled = (Boolean) value;
        } else if (option == ChannelOption.IP_MULTICAST_ADDR) {
            setInterface((InetAddress) value);
        } else if (option == ChannelOption.IP_MULTICAST_IF) {
            setNetworkInterface((NetworkInterface) value);
        } else if (option == ChannelOption.IP_MULTICAST_TTL) {
            setTimeToLive((Integer) value);
        } else {
            return super.setOption(option, value);
        }
        return true;
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

    /** Returns how many bytes of datagrams are kept while nobody reads. */
    @Override
    public int getReceiveBufferSize() {
        return receiveBufferBytes;
    }

    /** Sets how many bytes of datagrams are kept while nobody reads; what exceeds them is dropped and counted. */
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

    /** Sets that datagrams to groups do not reach members on this host, which on a loop device is all of them. */
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
            networkInterface = NetworkInterface.getByInetAddress(address);
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

    @Override
    protected void autoReadCleared() {
        channel.stopReading();
    }

    @Override
    @SuppressWarnings("deprecation")
    public RdmaRawDatagramChannelConfig setMaxMessagesPerRead(int messages) {
        super.setMaxMessagesPerRead(messages);
        return this;
    }

    @Override
    public RdmaRawDatagramChannelConfig setWriteSpinCount(int count) {
        super.setWriteSpinCount(count);
        return this;
    }

    @Override
    public RdmaRawDatagramChannelConfig setConnectTimeoutMillis(int millis) {
        super.setConnectTimeoutMillis(millis);
        return this;
    }

    @Override
    public RdmaRawDatagramChannelConfig setAllocator(ByteBufAllocator allocator) {
        super.setAllocator(allocator);
        return this;
    }

    @Override
    @SuppressWarnings("deprecation") // RecvByteBufAllocator is replaced in Netty 5 only
    public RdmaRawDatagramChannelConfig setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
        return this;
    }

    @Override
    public RdmaRawDatagramChannelConfig setAutoRead(boolean autoRead) {
        super.setAutoRead(autoRead);
        return this;
    }

    @Override
    public RdmaRawDatagramChannelConfig setAutoClose(boolean autoClose) {
        super.setAutoClose(autoClose);
        return this;
    }

    @Override
    public RdmaRawDatagramChannelConfig setMessageSizeEstimator(MessageSizeEstimator estimator) {
        super.setMessageSizeEstimator(estimator);
        return this;
    }

    @Override
    public RdmaRawDatagramChannelConfig setWriteBufferWaterMark(WriteBufferWaterMark waterMark) {
        super.setWriteBufferWaterMark(waterMark);
        return this;
    }
}
