package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.AddressedEnvelope;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.util.internal.StringUtil;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.host.DatagramNetwork;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.GroupChange;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.KernelSocket;
import io.rdmaraw.host.SharedDatagramNetwork;
import io.rdmaraw.host.loopback.LoopbackDatagramNetwork;
import io.rdmaraw.host.userspace.UserspaceDatagramNetwork;
import io.rdmaraw.host.userspace.UserspaceHostConfig;
import io.rdmaraw.host.userspace.UserspaceIpHost;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.socket.SocketErrorQueue;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.verbs.DeviceName;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.UnresolvedAddressException;
import java.util.ArrayList;
import java.util.List;

/**
 * A UDP channel. Takes the place of Netty's other datagram channels without a change to handlers: it fires
 * {@link io.netty.channel.socket.DatagramPacket}s, whose contents lie where the device wrote them, and sends
 * {@code DatagramPacket}s, {@link AddressedEnvelope}s of a {@link ByteBuf}, {@code SegmentedDatagramPacket}s and, when
 * connected, {@code ByteBuf}s.
 *
 * <p>The device is the one that {@link RdmaRawIoHandlerConfig.Builder#device(String)} names. A write promise completes
 * when the device has taken the datagram. Datagrams longer than the MTU are sent as fragments.
 */
public final class RdmaRawDatagramChannel extends MulticastDatagramChannel {
    private static final ChannelMetadata METADATA = new ChannelMetadata(true);
    private static final int PORT_NUMBER = 1;

    private final RdmaRawDatagramChannelConfig config = new RdmaRawDatagramChannelConfig(this);
    private final RdmaRawDatagramStatistics statistics = new RdmaRawDatagramStatistics();
    private final DatagramMemberships memberships = new DatagramMemberships();
    private final DatagramInbox inbox = new DatagramInbox(this, statistics);
    private final DatagramReceiver receiver = new DatagramReceiver(this, inbox, memberships);
    private final KernelSocket kernel;
    private final boolean ipv4Only;
    private volatile DatagramNetwork network;
    private DatagramSender sender;
    private DatagramFlowRules steering;
    private final Runnable onHostChange = () -> steering.hostChanged();
    /** What was done about groups before there was a port. */
    private final List<GroupChange> beforeBinding = new ArrayList<>();
    private DeviceQueue port;
    private volatile InetSocketAddress localAddress;
    private volatile InetSocketAddress remoteAddress;

    /** Makes an open, unregistered channel for IPv4 and IPv6. */
    public RdmaRawDatagramChannel() {
        this(null);
    }

    /**
     * Makes an open, unregistered channel.
     *
     * @param family {@code INET} for IPv4 only; {@code INET6} or null for both, IPv4 peers having IPv4 addresses
     */
    public RdmaRawDatagramChannel(SocketProtocolFamily family) {
        if (family == SocketProtocolFamily.UNIX) {
            throw new IllegalArgumentException("a datagram channel of this transport is for INET or INET6, not UNIX");
        }
        ipv4Only = family == SocketProtocolFamily.INET;
        kernel = new KernelSocket(new FromKernel(), ipv4Only);
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

    /** Returns what was counted for this channel; readable on any thread. */
    public RdmaRawDatagramStatistics statistics() {
        return statistics;
    }

    IpContext hostView() {
        return ioHandler().hostView();
    }

    /**
     * Tells whether the channel is on the loop that runs this: only then may what it has be used. The order matters,
     * as the channel may be joining another one: it is registered there only after its loop is that one.
     */
    @Override
    boolean isOnThisLoop() {
        return isRegistered() && eventLoop().inEventLoop();
    }

    /** A datagram's next hop has become known; a channel that has no queue any more loses it. */
    void sendResolved(DatagramPath path, ByteBuf content) {
        if (port == null) {
            statistics.droppedUnresolved++;
            content.release();
        } else {
            sender.sendResolved(path, content);
        }
    }

    /** A router does not let packets to a destination pass that are longer. */
    void pathTooBig(IpAddress destination, int mtuBytes) {
        sender.pathTooBig(destination, mtuBytes);
    }

    DeviceQueue port() {
        return port;
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
    void joinLoop(RdmaRawIoHandler loop) {
        receiver.moveTo(loop.hostView());
        kernel.joinLoop(loop.hostView(), loop.descriptors());
        if (localAddress != null) {
            joinQueue();
        }
        inbox.joinedLoop();
    }

    @Override
    void leaveLoop() {
        leaveQueue();
        kernel.leaveLoop();
    }

    @Override
    protected void doBind(SocketAddress address) throws IOException {
        InetSocketAddress local = checked(address);
        if (localAddress != null) {
            throw new IOException("the channel is bound already, to " + localAddress);
        }
        if (network == null) {
            DatagramNetwork chosen = newNetwork(ioHandler().config().ipDevice());
            sender = new DatagramSender(this, chosen, kernel, inbox, receiver);
            steering = new DatagramFlowRules(chosen, memberships, receiver, statistics, Receiver::new);
            network = chosen;
        }
        InetSocketAddress bound = network.bind(local);
        receiver.setAddresses(bound, null);
        try {
            for (GroupChange change : beforeBinding) {
                announce(change);
            }
            joinQueue();
        } catch (IOException | RuntimeException e) {
            steering.leave();
            network.unbind();
            throw e;
        }
        beforeBinding.clear();
        localAddress = bound;
        ioHandler().config().unnamedDevice().bound(bound);
    }

    private DatagramNetwork newNetwork(String device) throws IOException {
        DatagramNetwork.Options options = new DatagramOptions(config);
        UserspaceHostConfig userspaceHost = ioHandler().config().userspaceHostOrNull();
        if (userspaceHost != null) {
            UserspaceIpHost host = UserspaceIpHost.join(device, userspaceHost, ioHandler().port(device, PORT_NUMBER),
                    hostView(), eventLoop());
            return new UserspaceDatagramNetwork(device, host, ipv4Only, options,
                    new DatagramPortOwner(this, receiver, inbox));
        }
        if (new DeviceName(device).isLoopback()) {
            return new LoopbackDatagramNetwork(device, ipv4Only, options, kernel);
        }
        return new SharedDatagramNetwork(device, ipv4Only, options, kernel);
    }

    private void bindIfNecessary() throws IOException {
        if (localAddress == null) {
            doBind(new InetSocketAddress(0));
        }
    }

    private void joinQueue() {
        DeviceQueue joined = ioHandler().port(network.deviceName(), PORT_NUMBER);
        network.moveTo(hostView(), eventLoop());
        sender.moveTo(joined);
        steering.join(joined);
        port = joined;
        hostView().follow(onHostChange);
    }

    private void leaveQueue() {
        if (port != null) {
            port = null;
            hostView().unfollow(onHostChange);
            steering.leave();
        }
    }

    private void connectTo(SocketAddress remote, SocketAddress local) throws IOException {
        InetSocketAddress peer = checked(remote);
        if (local != null) {
            doBind(local);
        } else {
            bindIfNecessary();
        }
        setAddresses(network.connect(peer), peer);
    }

    @Override
    protected void doDisconnect() throws IOException {
        if (remoteAddress != null) {
            setAddresses(network.disconnect(), null);
        }
    }

    private void setAddresses(InetSocketAddress local, InetSocketAddress remoteOrNull) {
        receiver.setAddresses(local, remoteOrNull);
        localAddress = local;
        remoteAddress = remoteOrNull;
        steering.steer();
    }

    @Override
    void changeGroup(GroupChange change) throws IOException {
        IpAddress group = change.group();
        boolean changed = true;
        switch (change.kind()) {
            case JOIN -> changed = memberships.join(group, change.sourceOrNull());
            case LEAVE -> changed = memberships.leave(group, change.sourceOrNull());
            case BLOCK -> memberships.block(group, change.sourceOrNull());
        }
        if (localAddress == null) {
            beforeBinding.add(change);
        } else if (changed) {
            announce(change);
            steering.steer();
        }
    }

    private void announce(GroupChange change) throws IOException {
        try {
            network.announce(change, memberships.filter(change.group()));
        } catch (IOException e) {
            if (change.kind() == GroupChange.Kind.JOIN) {
                memberships.leave(change.group(), change.sourceOrNull());
            }
            throw e;
        }
    }

    @Override
    protected void doClose() {
        markClosed();
        leaveQueue();
        DatagramNetwork used = network;
        if (used != null) {
            used.unbind();
        }
        inbox.close();
        receiver.close();
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
        boolean room = port != null;
        while (room && port != null && !in.isEmpty()) {
            room = sender.sendBurst(in);
        }
        if (!in.isEmpty() && port != null) {
            steering.awaitRoom();
        }
    }

    /** What the channel's queue knows of it. */
    private final class Receiver implements FrameReceiver {
        @Override
        public String id() {
            return RdmaRawDatagramChannel.this.id().asShortText();
        }

        @Override
        public String label() {
            return id() + ' ' + RdmaRawDatagramChannel.this.localAddress();
        }

        @Override
        public void queueEvent(QueueEvent event) {
            pipeline().fireUserEventTriggered(RdmaRawQueueEvent.of(event));
        }

        @Override
        public void queueGone() {
            unsafe().close(unsafe().voidPromise());
        }

        @Override
        public boolean receive(ByteBuf frame, boolean checksumVerified) {
            return receiver.receive(frame, checksumVerified);
        }

        @Override
        public int receiveRun(ReceiveBurst burst, int from, int end) {
            return receiver.receiveRun(burst, from, end);
        }

        @Override
        public boolean isInBurst() {
            return inbox.isInBurst();
        }

        @Override
        public void endBurst() {
            inbox.endBurst();
        }

        @Override
        public void sendQueueHasRoom() {
            steering.roomCame();
            ((DatagramUnsafe) unsafe()).resumeFlush();
        }

        @Override
        public RdmaRawMetered statistics() {
            return statistics;
        }
    }

    /** What comes by the kernel's socket of the same port. */
    private final class FromKernel implements KernelSocket.Receiver {
        @Override
        public void receiveFromKernel(ByteBuf content, InetSocketAddress from) {
            receiver.receiveFromKernel(content, from);
        }

        @Override
        public void kernelReadComplete() {
            if (inbox.isInBurst()) {
                inbox.endBurst();
            }
        }

        @Override
        public void kernelError(SocketErrorQueue.Entry error) {
            if (error.errno() == Errno.ECONNREFUSED) {
                receiver.reportPortUnreachable();
            } else if (error.errno() == Errno.EMSGSIZE && error.mtuBytes() > 0) {
                pathTooBig(error.destination(), error.mtuBytes());
            }
        }
    }

    private final class DatagramUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            if (!promise.setUncancellable() || !ensureOpen(promise)) {
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
