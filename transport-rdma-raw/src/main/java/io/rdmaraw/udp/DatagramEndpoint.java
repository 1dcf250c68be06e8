package io.rdmaraw.udp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.DatagramChannel;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.host.DatagramNetwork;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.GroupChange;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.KernelSocket;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.loop.LoopDescriptors;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.socket.SocketErrorQueue;
import io.rdmaraw.queue.ReceiveBurst;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * The UDP endpoint of one datagram channel: its port, its flow rules, its multicast groups, and the conversion between
 * datagrams and frames. The channel stores the addresses visible to the user and queues datagrams that the user has not
 * read. Used on the loop's thread only, except {@link #unbind()}.
 */
public final class DatagramEndpoint {
    private final DatagramChannel channel;
    private final DatagramSettings settings;
    private final DatagramCounters counters;
    private final DatagramSink sink;
    private final DatagramOwner owner;
    private final DatagramMemberships memberships = new DatagramMemberships();
    private final DatagramReceiver receiver;
    private final KernelSocket kernelSocket;
    private final Runnable onHostChange = this::hostChanged;
    /** Changes of multicast groups that the user requested before the channel was bound. */
    private final List<GroupChange> changesBeforeBind = new ArrayList<>(0);
    private volatile DatagramNetwork network;
    private DatagramSender sender;
    private DatagramFlowRules rules;
    private IpContext ipContext;
    private LoopQueues queues;
    private DeviceQueue deviceQueue;

    /** The queues of a loop, one per device. */
    public interface LoopQueues {
        /**
         * Returns the loop's queue of a device. The first call opens it.
         *
         * @throws IOException if the device cannot be opened
         */
        DeviceQueue open(String deviceName) throws IOException;
    }

    /**
     * Creates the endpoint of a channel that is neither registered nor bound.
     *
     * @param ipv4Only whether the channel has no IPv6 addresses
     */
    public DatagramEndpoint(DatagramChannel channel, DatagramSettings settings, DatagramCounters counters,
                            DatagramSink sink, DatagramOwner owner, boolean ipv4Only) {
        this.channel = channel;
        this.settings = settings;
        this.counters = counters;
        this.sink = sink;
        this.owner = owner;
        receiver = new DatagramReceiver(this, sink, memberships);
        kernelSocket = new KernelSocket(new KernelReceiver(), ipv4Only);
    }

    DatagramChannel channel() {
        return channel;
    }

    DatagramSettings settings() {
        return settings;
    }

    DatagramCounters counters() {
        return counters;
    }

    DatagramOwner owner() {
        return owner;
    }

    DatagramNetwork network() {
        return network;
    }

    IpContext ipContext() {
        return ipContext;
    }

    /** Returns the queue from which the endpoint receives; null if it has none. */
    public DeviceQueue deviceQueue() {
        return deviceQueue;
    }

    private void hostChanged() {
        rules.hostChanged();
    }

    /**
     * Returns whether the calling thread is that of the loop on which the channel is registered.
     *
     * <p>The order of the checks matters: a channel that moves is registered with the new loop only after
     * {@code eventLoop()} returns the new loop.
     */
    public boolean isRegisteredAndInEventLoop() {
        return channel.isRegistered() && channel.eventLoop().inEventLoop();
    }

    // ---- event loop ----

    /**
     * Attaches the endpoint to a loop.
     *
     * @param queuesOfLoop the queues of that loop
     * @throws IOException if the queue of a bound endpoint cannot be opened
     */
    public void attach(IpContext context, LoopDescriptors descriptors, LoopQueues queuesOfLoop) throws IOException {
        ipContext = context;
        queues = queuesOfLoop;
        receiver.moveTo(context);
        kernelSocket.joinLoop(context, descriptors);
        if (channel.localAddress() != null) {
            attachQueue();
        }
    }

    /** Detaches the endpoint from its loop; the port stays bound. */
    public void detach() {
        detachQueue();
        kernelSocket.leaveLoop();
    }

    private void attachQueue() throws IOException {
        DeviceQueue attached = queues.open(network.deviceName());
        network.moveTo(ipContext, channel.eventLoop());
        sender.moveTo(attached);
        rules.installOn(attached);
        deviceQueue = attached;
        ipContext.addHostChangeListener(onHostChange);
    }

    private void detachQueue() {
        if (deviceQueue != null) {
            deviceQueue = null;
            ipContext.removeHostChangeListener(onHostChange);
            rules.removeAll();
        }
    }

    // ---- port ----

    /** Returns whether {@link #setNetwork} was called. */
    public boolean hasNetwork() {
        return network != null;
    }

    /** Sets the network of the port. Must be called once, before {@link #bind}. */
    public void setNetwork(DatagramNetwork chosen) {
        sender = new DatagramSender(this, chosen, kernelSocket, sink, receiver);
        rules = new DatagramFlowRules(chosen, memberships, receiver, counters, QueueReceiver::new);
        network = chosen;
    }

    /** Returns the kernel socket on the same port. */
    public KernelSocket kernelSocket() {
        return kernelSocket;
    }

    /** Returns the endpoint as a port of a userspace host. */
    public PortOwner portOwner() {
        return new DatagramPortOwner(this, receiver, sink);
    }

    /**
     * Binds the port and steers its datagrams to the loop's queue.
     *
     * @return the bound address with its port
     * @throws IOException if the address is not an address of the host, the port is in use, or the device cannot be
     *         opened
     */
    public InetSocketAddress bind(InetSocketAddress local) throws IOException {
        InetSocketAddress bound = network.bind(local);
        receiver.setAddresses(bound, null);
        try {
            for (GroupChange change : changesBeforeBind) {
                announce(change);
            }
            attachQueue();
        } catch (IOException | RuntimeException e) {
            rules.removeAll();
            network.unbind();
            throw e;
        }
        changesBeforeBind.clear();
        return bound;
    }

    /**
     * Connects the port to a peer. The caller must call {@link #steer} afterwards.
     *
     * @return the local address; a wildcard is replaced by the source address for the peer
     * @throws IOException if there is no route to the peer
     */
    public InetSocketAddress connect(InetSocketAddress peer) throws IOException {
        InetSocketAddress local = network.connect(peer);
        receiver.setAddresses(local, peer);
        return local;
    }

    /**
     * Disconnects the port from its peer. The caller must call {@link #steer} afterwards.
     *
     * @return the local address to which the port is bound
     */
    public InetSocketAddress disconnect() throws IOException {
        InetSocketAddress local = network.disconnect();
        receiver.setAddresses(local, null);
        return local;
    }

    /** Replaces the flow rules according to the current addresses and groups. */
    public void steer() {
        rules.steer();
    }

    /** Changes a multicast membership. Before the channel is bound, the change is stored for {@link #bind}. */
    public void changeGroup(GroupChange change) throws IOException {
        IpAddress group = change.group();
        boolean changed = true;
        switch (change.kind()) {
            case JOIN -> changed = memberships.join(group, change.sourceOrNull());
            case LEAVE -> changed = memberships.leave(group, change.sourceOrNull());
            case BLOCK -> memberships.block(group, change.sourceOrNull());
        }
        if (channel.localAddress() == null) {
            changesBeforeBind.add(change);
        } else if (changed) {
            announce(change);
            rules.steer();
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

    /** Detaches the endpoint from its queue and releases the port. */
    public void unbind() {
        detachQueue();
        DatagramNetwork used = network;
        if (used != null) {
            used.unbind();
        }
    }

    /** Releases fragments of incomplete datagrams. */
    public void close() {
        receiver.close();
    }

    // ---- sending ----

    /**
     * Sends flushed messages until the buffer is empty, the send queue or the kernel's send buffer is full, or the
     * endpoint has no queue.
     */
    public void send(ChannelOutboundBuffer in) {
        boolean hasRoom = deviceQueue != null;
        while (hasRoom && deviceQueue != null && !in.isEmpty()) {
            hasRoom = sender.sendBurst(in);
        }
        if (!in.isEmpty() && deviceQueue != null && !kernelSocket.isSendBufferFull()) {
            rules.notifyWhenRoom();
        }
    }

    /** Sends a datagram after its next hop was resolved. Drops it if the endpoint has no queue any more. */
    void sendResolved(DatagramPath path, ByteBuf content) {
        if (deviceQueue == null) {
            counters.droppedUnresolved++;
            content.release();
        } else {
            sender.sendResolved(path, content);
        }
    }

    /** Reduces the path MTU to a destination, as reported by a router. */
    void reducePathMtu(IpAddress destination, int mtuBytes) {
        sender.reducePathMtu(destination, mtuBytes);
    }

    /** Connects the endpoint to its queue. Each set of flow rules has its own instance. */
    private final class QueueReceiver implements FrameReceiver {
        @Override
        public String id() {
            return channel.id().asShortText();
        }

        @Override
        public String label() {
            return id() + ' ' + channel.localAddress();
        }

        @Override
        public void onQueueEvent(QueueEvent event) {
            owner.onQueueEvent(event);
        }

        @Override
        public void onDeviceRemoved() {
            channel.unsafe().close(channel.unsafe().voidPromise());
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
            return sink.isInBurst();
        }

        @Override
        public void endBurst() {
            sink.endBurst();
        }

        @Override
        public void onSendRoom() {
            rules.onSendRoom();
            owner.onSendRoom();
        }

        @Override
        public RdmaRawMetered statistics() {
            return owner.statistics();
        }

        @Override
        public FrameDrops<?> frameDrops() {
            return owner.frameDrops();
        }
    }

    /** Receives datagrams and errors of the kernel socket on the same port. */
    private final class KernelReceiver implements KernelSocket.Receiver {
        @Override
        public void onKernelDatagram(ByteBuf content, InetSocketAddress from) {
            receiver.receiveFromKernel(content, from);
        }

        @Override
        public void onKernelReadComplete() {
            sink.endBurst();
        }

        @Override
        public void onKernelSendRoom() {
            owner.onSendRoom();
        }

        @Override
        public void onKernelError(SocketErrorQueue.Entry error) {
            if (error.kindOrNull() != null) {
                receiver.reportIcmp(error.kindOrNull(), error.destination(), error.port());
            }
            if (error.errno() == Errno.EMSGSIZE && error.mtuBytes() > 0) {
                reducePathMtu(error.destination(), error.mtuBytes());
            }
        }
    }
}
