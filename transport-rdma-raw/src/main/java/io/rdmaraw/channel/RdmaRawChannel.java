package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.internal.StringUtil;
import io.netty.util.internal.UnstableApi;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.net.BindException;
import java.net.SocketAddress;

/**
 * A channel of Ethernet frames. Bind it to a {@link RdmaRawAddress}: it then receives, as {@link ByteBuf}s that lie in
 * the memory the device wrote them to, the frames that match the address's {@link FlowSpec}s, and sends the frames that
 * are written to it. A frame begins with the destination MAC address and has no FCS; frames shorter than 60 bytes are
 * padded with zeros when they are sent.
 *
 * <p>A write promise completes when the device has taken the frame. A frame that is too long or too short fails its
 * promise and nothing else. Frames are released to the loop that received them, from any thread; a handler that keeps
 * many makes the channel copy frames on receipt, which {@link #statistics()} counts.
 */
public final class RdmaRawChannel extends AbstractRdmaRawChannel {
    private static final ChannelMetadata METADATA = new ChannelMetadata(false);

    private final RdmaRawChannelConfig config = new RdmaRawChannelConfig(this);
    private final Receiver receiver = new Receiver();
    private final ChannelOutboundBuffer.MessageProcessor offerBuffered = this::offerBuffered;
    private final RdmaRawChannelStatistics statistics = new RdmaRawChannelStatistics();
    private final FrameInbox inbox = new FrameInbox(this, statistics);
    /** Made while the super constructor runs, which is why it has no initialiser: that would set it to null again. */
    private DirectUnsafe directUnsafe;
    private DeviceQueue port;
    private volatile RdmaRawAddress localAddress;
    private boolean waitingForRoom;
    /** The frames of the outbound buffer that a burst is made of. */
    private final ByteBuf[] buffered = new ByteBuf[FrameQueue.BURST_FRAMES];
    private int bufferedOffered;

    /** Makes an open, unregistered channel. */
    public RdmaRawChannel() {
        super(null);
    }

    @Override
    protected AbstractUnsafe newUnsafe() {
        return new BaseUnsafe();
    }

    @Override
    public Unsafe unsafe() {
        if (directUnsafe == null) {
            directUnsafe = new DirectUnsafe(this, (BaseUnsafe) super.unsafe());
        }
        return directUnsafe;
    }

    @Override
    public RdmaRawChannelConfig config() {
        return config;
    }

    @Override
    public boolean isActive() {
        return isOpen() && localAddress != null;
    }

    @Override
    public ChannelMetadata metadata() {
        return METADATA;
    }

    @Override
    public RdmaRawAddress localAddress() {
        return localAddress;
    }

    /** Returns what was counted for this channel; readable on any thread. */
    public RdmaRawChannelStatistics statistics() {
        return statistics;
    }

    /**
     * Returns how the channel's loop exchanges frames with the device: {@code calls} of libibverbs, or {@code rings} of
     * an mlx5 device used in place, followed by {@code striding receive} and {@code compressed completions} where these
     * are on. The same for all channels of a loop on one device. Any thread, while the channel is bound.
     *
     * @throws IllegalStateException when the channel is not bound
     */
    @UnstableApi
    public String queueMode() {
        DeviceQueue bound = port;
        if (bound == null) {
            throw new IllegalStateException("the channel has no queue before it is bound: bind it first");
        }
        return bound.queue().mode();
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
        return null;
    }

    @Override
    void joinLoop(RdmaRawIoHandler loop) {
        if (localAddress != null) {
            joinQueue(localAddress);
        }
        inbox.joinedLoop();
    }

    @Override
    void registrationDone() {
        directUnsafe.resume();
    }

    @Override
    protected void doBind(SocketAddress address) throws BindException {
        if (!(address instanceof RdmaRawAddress rawAddress)) {
            throw new IllegalArgumentException("a raw channel binds to an RdmaRawAddress, not to a "
                    + StringUtil.simpleClassName(address));
        }
        if (localAddress != null) {
            throw new BindException("the channel is bound already, to " + localAddress);
        }
        joinQueue(rawAddress);
        localAddress = rawAddress;
    }

    private void joinQueue(RdmaRawAddress address) {
        DeviceQueue joined = ioHandler().port(address.deviceName(), address.portNumber());
        joined.attach(receiver, address.flows());
        port = joined;
    }

    @Override
    void leaveLoop() {
        DeviceQueue left = port;
        if (left != null) {
            directUnsafe.leaveQueue();
            waitingForRoom = false;
            port = null;
            left.detach(receiver);
        }
    }

    @Override
    protected void doDisconnect() {
        throw new UnsupportedOperationException("a raw channel is not connected");
    }

    @Override
    protected void doClose() {
        markClosed();
        DeviceQueue left = port;
        port = null;
        if (left != null) {
            left.detach(receiver);
        }
        directUnsafe.failPending();
        inbox.close();
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
        if (!(msg instanceof ByteBuf frame)) {
            throw new UnsupportedOperationException("unsupported message type: " + StringUtil.simpleClassName(msg)
                    + " (expected: ByteBuf, FrameBurst)");
        }
        if (port != null && !port.limits().allows(frame)) {
            throw port.limits().refusal(frame);
        }
        return frame;
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer in) {
        DeviceQueue current = port;
        boolean room = current != null;
        while (room && !in.isEmpty()) {
            room = writeBurst(in, current.queue());
        }
        if (!in.isEmpty() && current != null && !waitingForRoom) {
            waitingForRoom = true;
            current.awaitRoom(receiver);
        }
        directUnsafe.buffered(in);
    }

    /** Sends a burst out of the outbound buffer; returns false when the device has no room. */
    private boolean writeBurst(ChannelOutboundBuffer in, FrameQueue queue) {
        bufferedOffered = 0;
        try {
            in.forEachFlushedMessage(offerBuffered);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        int offered = bufferedOffered;
        if (offered == 0) {
            ByteBuf frame = (ByteBuf) in.current();
            if (frame.refCnt() == 0) {
                in.remove(new IllegalReferenceCountException(0));
                return true;
            }
            if (port.limits().allows(frame)) {
                return queue.reclaim() > 0;
            }
            // Written before the channel was bound, when the limits were not known yet.
            in.remove(port.limits().refusal(frame));
            return true;
        }
        long refused = queue.post();
        for (int i = 0; i < offered; i++) {
            Object frame = buffered[i];
            buffered[i] = null;
            complete(in, frame, (refused >>> i & 1) == 0 ? null : SendRefusedException.of(queue.refusalErrno()));
        }
        return true;
    }

    private boolean offerBuffered(Object msg) {
        ByteBuf frame = (ByteBuf) msg;
        if (bufferedOffered == FrameQueue.BURST_FRAMES || frame.refCnt() == 0 || !port.limits().allows(frame)) {
            return false;
        }
        frame.retain();
        if (port.queue().offer(frame) != FrameQueue.ACCEPTED) {
            frame.release();
            return false;
        }
        buffered[bufferedOffered++] = frame;
        return true;
    }

    /** What the channel's queue knows of it. */
    private final class Receiver implements FrameReceiver {
        @Override
        public String id() {
            return RdmaRawChannel.this.id().asShortText();
        }

        @Override
        public String label() {
            return id() + ' ' + RdmaRawChannel.this.localAddress();
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
            return inbox.receive(frame);
        }

        @Override
        public int receiveRun(ReceiveBurst burst, int from, int end) {
            return inbox.receiveRun(burst, from, end);
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
            waitingForRoom = false;
            directUnsafe.resume();
        }

        @Override
        public RdmaRawMetered statistics() {
            return statistics;
        }
    }

    /** Netty's part of the channel's life; the sending is {@link DirectUnsafe}'s. */
    final class BaseUnsafe extends AbstractUnsafe {
        @Override
        public void connect(SocketAddress remoteAddress, SocketAddress local, ChannelPromise promise) {
            promise.tryFailure(new UnsupportedOperationException(
                    "a raw channel has no peer to connect to; bind it to an RdmaRawAddress"));
        }

        void resumeFlush() {
            flush0();
        }
    }
}
