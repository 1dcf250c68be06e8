package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.AddressedEnvelope;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.util.internal.StringUtil;
import io.rdmaraw.channel.io.DatagramInbox;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.host.DatagramNetwork;
import io.rdmaraw.host.GroupChange;
import io.rdmaraw.host.kernel.KernelDatagramNetwork;
import io.rdmaraw.host.loopback.LoopbackDatagramNetwork;
import io.rdmaraw.host.userspace.UserspaceDatagramNetwork;
import io.rdmaraw.host.userspace.UserspaceHostConfig;
import io.rdmaraw.host.userspace.UserspaceIpHost;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.udp.DatagramCounters;
import io.rdmaraw.udp.DatagramEndpoint;
import io.rdmaraw.udp.DatagramOwner;
import io.rdmaraw.verbs.DeviceName;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.UnresolvedAddressException;

/**
 * A UDP channel. Handlers for Netty's other datagram channels work unchanged.
 *
 * {@snippet :
 * bootstrap.group(group).channel(RdmaRawDatagramChannel.class).handler(handler).bind(53);
 * }
 *
 * <p>The channel fires {@link io.netty.channel.socket.DatagramPacket}s. Their content is in the memory that the device
 * wrote, unless the datagram came in fragments or through the kernel's socket, handlers hold too many buffers, or the
 * user has set another allocator. The channel sends {@code DatagramPacket}s, {@link AddressedEnvelope}s of a
 * {@link ByteBuf}, and {@code SegmentedDatagramPacket}s. A connected channel also sends {@code ByteBuf}s.
 *
 * <p>{@link RdmaRawIoHandlerConfig.Builder#device(String)} selects the device. A write promise completes when the
 * device or the kernel has accepted the datagram, or when it is queued for an unresolved next hop. Datagrams longer
 * than the MTU are sent as IP fragments.
 */
public final class RdmaRawDatagramChannel extends MulticastDatagramChannel {
    private static final ChannelMetadata METADATA = new ChannelMetadata(true);

    private final RdmaRawDatagramChannelConfig config = new RdmaRawDatagramChannelConfig(this);
    private final DatagramCounters counters = new DatagramCounters();
    private final RdmaRawDatagramStatistics statistics = new RdmaRawDatagramStatistics(counters);
    private final DatagramInbox inbox = new DatagramInbox(this, config, config.readSettings(), counters);
    private final DatagramEndpoint endpoint;
    private final boolean ipv4Only;
    private volatile InetSocketAddress localAddress;
    private volatile InetSocketAddress remoteAddress;

    /** Creates an open, unregistered channel for IPv4 and IPv6. */
    public RdmaRawDatagramChannel() {
        this(null);
    }

    /**
     * Creates an open, unregistered channel.
     *
     * @param family {@code INET} for IPv4 only; {@code INET6} or null for both. IPv4 peers always have IPv4 addresses
     * @throws IllegalArgumentException if the family is {@code UNIX}
     */
    public RdmaRawDatagramChannel(SocketProtocolFamily family) {
        if (family == SocketProtocolFamily.UNIX) {
            throw new IllegalArgumentException("a datagram channel of this transport is for INET or INET6, not UNIX");
        }
        ipv4Only = family == SocketProtocolFamily.INET;
        endpoint = new DatagramEndpoint(this, config.settings(), counters, inbox, new Owner(), ipv4Only);
    }

    @Override
    protected AbstractUnsafe newUnsafe() {
        return new DatagramUnsafe();
    }

    @Override
    public RdmaRawDatagramChannelConfig config() {
        return config;
    }

    @Override
    public boolean isActive() {
        return isOpen() && (localAddress != null || config.isActiveOnRegistration() && isRegistered());
    }

    @Override
    public boolean isConnected() {
        return isOpen() && remoteAddress != null;
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remoteAddress;
    }

    /** Returns the counters of this channel. They can be read on any thread. */
    public RdmaRawDatagramStatistics statistics() {
        return statistics;
    }

    /** Returns the queue from which the channel receives; null if it has none. */
    DeviceQueue deviceQueue() {
        return endpoint.deviceQueue();
    }

    @Override
    boolean isRegisteredAndInEventLoop() {
        return endpoint.isRegisteredAndInEventLoop();
    }

    @Override
    protected SocketAddress localAddress0() {
        return localAddress;
    }

    @Override
    protected SocketAddress remoteAddress0() {
        return remoteAddress;
    }

    @Override
    void joinLoop(RdmaRawIoHandler handler) throws IOException {
        endpoint.attach(handler.ipContext(), handler.descriptors(),
                device -> handler.openDeviceQueue(device, RdmaRawAddress.OWN_PORT));
        inbox.joinLoop();
    }

    @Override
    void leaveLoop() {
        endpoint.detach();
    }

    @Override
    void kernelOptionChanged(NumberedOptions.Key key, byte[] value) throws IOException {
        if (localAddress == null) {
            return;
        }
        if (!isRegisteredAndInEventLoop()) {
            throw new IllegalStateException(key + " of a bound channel can be set on its event loop only: set it before"
                    + " bind");
        }
        endpoint.kernelSocket().setOption(key, value);
    }

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        InetSocketAddress local = requireResolved(address);
        if (localAddress != null) {
            throw new IOException("the channel is bound already, to " + localAddress);
        }
        RdmaRawIoHandlerConfig group = requireIoHandler().config();
        if (!endpoint.hasNetwork()) {
            endpoint.setNetwork(newNetwork(group.device()));
        }
        InetSocketAddress bound = endpoint.bind(local);
        localAddress = bound;
        group.missingDeviceWarning().warnIfDeviceMissing(bound);
    }

    private DatagramNetwork newNetwork(String device) throws IOException {
        DatagramNetwork.Options options = config.settings();
        UserspaceHostConfig userspaceHost = ioHandler().config().userspaceHostOrNull();
        if (userspaceHost != null) {
            UserspaceIpHost host = UserspaceIpHost.join(device, userspaceHost,
                    ioHandler().openDeviceQueue(device, RdmaRawAddress.OWN_PORT), ioHandler().ipContext(), eventLoop());
            return new UserspaceDatagramNetwork(device, host, ipv4Only, options, endpoint.portOwner());
        }
        if (new DeviceName(device).isLoopback()) {
            return new LoopbackDatagramNetwork(device, ipv4Only, options, endpoint.kernelSocket());
        }
        return new KernelDatagramNetwork(device, ipv4Only, options, endpoint.kernelSocket());
    }

    private void bindIfNecessary() throws IOException {
        if (localAddress == null) {
            doBind(new InetSocketAddress(0));
        }
    }

    private void connectTo(SocketAddress remote, SocketAddress local) throws IOException {
        InetSocketAddress peer = requireResolved(remote);
        if (local != null) {
            doBind(local);
        } else {
            bindIfNecessary();
        }
        setAddresses(endpoint.connect(peer), peer);
    }

    @Override
    protected void doDisconnect() throws IOException {
        if (remoteAddress != null) {
            setAddresses(endpoint.disconnect(), null);
        }
    }

    private void setAddresses(InetSocketAddress local, InetSocketAddress remoteOrNull) {
        localAddress = local;
        remoteAddress = remoteOrNull;
        endpoint.steer();
    }

    @Override
    void changeGroup(GroupChange change) throws IOException {
        endpoint.changeGroup(change);
    }

    @Override
    protected void doClose() {
        markClosed();
        endpoint.unbind();
        inbox.close();
        endpoint.close();
    }

    @Override
    protected void doBeginRead() {
        inbox.beginRead();
    }

    @Override
    void stopReading() {
        inbox.stopReading();
    }

    @Override
    protected Object filterOutboundMessage(Object msg) {
        if (msg instanceof ByteBuf) {
            return msg;
        }
        if (msg instanceof AddressedEnvelope<?, ?> envelope && envelope.content() instanceof ByteBuf
                && (envelope.recipient() == null || envelope.recipient() instanceof InetSocketAddress)) {
            InetSocketAddress recipient = (InetSocketAddress) envelope.recipient();
            if (recipient != null && recipient.isUnresolved()) {
                throw new UnresolvedAddressException();
            }
            return msg;
        }
        throw new UnsupportedOperationException("unsupported message type: " + StringUtil.simpleClassName(msg)
                + " (expected: DatagramPacket, AddressedEnvelope<ByteBuf, InetSocketAddress>, ByteBuf)");
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer in) throws IOException {
        bindIfNecessary();
        endpoint.send(in);
    }

    /** Handles events of the endpoint. */
    private final class Owner implements DatagramOwner {
        @Override
        public void onQueueEvent(QueueEvent event) {
            pipeline().fireUserEventTriggered(RdmaRawQueueEvent.of(event));
        }

        @Override
        public void onSendRoom() {
            ((DatagramUnsafe) unsafe()).resumeFlush();
        }

        @Override
        public IOException sendFailure(int errno) {
            return SendRefusedException.of(errno);
        }

        @Override
        public RdmaRawMetered statistics() {
            return statistics;
        }

        @Override
        public FrameDrops<?> frameDrops() {
            return RdmaRawDatagramStatistics.TABLE.frameDrops(statistics);
        }
    }

    private final class DatagramUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            if (!promise.setUncancellable() || !ensureOpen(promise)) {
                return;
            }
            if (isConnected()) {
                promise.tryFailure(new AlreadyConnectedException());
                return;
            }
            boolean wasActive = isActive();
            try {
                connectTo(remote, local);
            } catch (Exception e) {
                promise.tryFailure(annotateConnectException(e, remote));
                closeIfClosed();
                return;
            }
            boolean active = isActive();
            promise.trySuccess();
            if (!wasActive && active) {
                pipeline().fireChannelActive();
            }
        }

        void resumeFlush() {
            flush0();
        }
    }
}
