package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.internal.StringUtil;
import io.netty.util.internal.UnstableApi;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.loop.OutboundMessages;
import io.rdmaraw.memory.ExclusiveContent;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.net.BindException;
import java.net.SocketAddress;
import java.net.SocketException;

/**
 * A channel for raw Ethernet frames. After it is bound to a {@link RdmaRawAddress}, it receives the frames that match
 * the {@link FlowSpec}s of the address.
 *
 * {@snippet :
 * bootstrap.group(group).channel(RdmaRawChannel.class).handler(handler)
 *         .bind(RdmaRawAddress.of("soft:loop", FlowSpec.parse("ip4 udp dst-port 4789")));
 * }
 *
 * <p><b>Frames.</b> Each received frame is a {@link ByteBuf} in the memory that the device wrote. Handlers release it,
 * on any thread. If handlers retain many frames, or the user has set another allocator, the channel copies new frames
 * on receipt; {@link #statistics()} counts them. A frame starts with the destination MAC address and has no FCS. On
 * sending, frames shorter than 60 bytes are padded with zeros.
 *
 * <p><b>Writes.</b> A write promise completes when the device has accepted the frame. If a frame is too long or too
 * short, only its own promise fails.
 */
public final class RdmaRawChannel extends AbstractRdmaRawChannel {
    private static final ChannelMetadata METADATA = new ChannelMetadata(false);

    private final RdmaRawChannelConfig config = new RdmaRawChannelConfig(this);
    private final Receiver receiver = new Receiver();
    private final ChannelOutboundBuffer.MessageProcessor frameOffer = this::offerFrame;
    private final RdmaRawChannelStatistics statistics = new RdmaRawChannelStatistics();
    private final FrameInbox inbox = new FrameInbox(this, statistics);
    /**
     * Created while the super constructor runs. It has no initializer, because that would reset it to null afterwards.
     */
    private DirectUnsafe directUnsafe;
    private DeviceQueue deviceQueue;
    private volatile RdmaRawAddress localAddress;
    private boolean waitingForRoom;
    /** Frames of the outbound buffer that belong to the current burst. */
    private final ByteBuf[] burstFrames = new ByteBuf[FrameQueue.MAX_BURST_FRAMES];
    private int burstSize;

    /** Creates an open, unregistered channel. */
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

    /** Returns the counters of this channel. They can be read on any thread. */
    public RdmaRawChannelStatistics statistics() {
        return statistics;
    }

    /**
     * Returns how the channel's loop exchanges frames with the device. All channels of a loop on one device have the
     * same mode. Can be called on any thread.
     *
     * <p>The mode is {@code calls} if the loop calls libibverbs, and {@code rings} if it accesses the rings of an mlx5
     * device directly. {@code striding receive} and {@code compressed completions} are appended if these features are
     * enabled.
     *
     * @throws IllegalStateException if the channel is not bound
     */
    @UnstableApi
    public String queueMode() {
        DeviceQueue bound = deviceQueue;
        if (bound == null) {
            throw new IllegalStateException("the channel has no queue before it is bound: bind it first");
        }
        return bound.frameQueue().mode();
    }

    DeviceQueue deviceQueue() {
        return deviceQueue;
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
    void joinLoop(RdmaRawIoHandler handler) throws SocketException {
        if (localAddress != null) {
            joinQueue(localAddress);
        }
        inbox.joinLoop();
    }

    @Override
    void registrationDone() {
        directUnsafe.resume();
    }

    @Override
    protected void doBind(SocketAddress address) throws SocketException {
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

    private void joinQueue(RdmaRawAddress address) throws SocketException {
        DeviceQueue joined = requireIoHandler().openDeviceQueue(address.deviceName(), address.portNumber());
        joined.attach(receiver, address.flows());
        deviceQueue = joined;
    }

    @Override
    void leaveLoop() {
        DeviceQueue left = deviceQueue;
        if (left != null) {
            directUnsafe.leaveQueue();
            waitingForRoom = false;
            deviceQueue = null;
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
        DeviceQueue left = deviceQueue;
        deviceQueue = null;
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
        if (deviceQueue != null && !deviceQueue.limits().allows(frame)) {
            throw deviceQueue.limits().refusalException(frame);
        }
        return copyIfShared(frame);
    }

    /**
     * Returns a frame that the device can send without a copy. Takes ownership of the given frame. A frame with other
     * references is copied, because the device may read registered memory after the write has completed.
     */
    ByteBuf copyIfShared(ByteBuf frame) {
        int lengthBytes = frame.readableBytes();
        if (ExclusiveContent.isExclusive(frame, lengthBytes) || frame.refCnt() == 0
                || !frame.hasMemoryAddress() && !(frame instanceof CompositeByteBuf)) {
            // Content without a memory address is copied by the queue when the frame is sent.
            return frame;
        }
        ByteBuf copy = RdmaRawByteBufAllocator.DEFAULT.directBuffer(lengthBytes);
        copy.writeBytes(frame, frame.readerIndex(), lengthBytes);
        frame.release();
        if (deviceQueue != null) {
            deviceQueue.frameQueue().counters().copiedInFrames++;
        }
        return copy;
    }

    @Override
    protected void doWrite(ChannelOutboundBuffer in) {
        DeviceQueue current = deviceQueue;
        boolean hasRoom = current != null;
        while (hasRoom && !in.isEmpty()) {
            hasRoom = writeBurst(in, current.frameQueue());
        }
        if (!in.isEmpty() && current != null && !waitingForRoom) {
            waitingForRoom = true;
            current.notifyWhenRoom(receiver);
        }
        directUnsafe.outboundBufferWritten(in);
    }

    /** Sends one burst from the outbound buffer. Returns false if the device has no room. */
    private boolean writeBurst(ChannelOutboundBuffer in, FrameQueue queue) {
        burstSize = 0;
        try {
            in.forEachFlushedMessage(frameOffer);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        int offered = burstSize;
        if (offered == 0) {
            ByteBuf frame = (ByteBuf) in.current();
            if (frame.refCnt() == 0) {
                in.remove(new IllegalReferenceCountException(0));
                return true;
            }
            if (deviceQueue.limits().allows(frame)) {
                return queue.reclaim() > 0;
            }
            // The frame was written before the channel was bound. The limits were not known then.
            in.remove(deviceQueue.limits().refusalException(frame));
            return true;
        }
        long refusedMask = queue.post();
        for (int i = 0; i < offered; i++) {
            Object frame = burstFrames[i];
            burstFrames[i] = null;
            OutboundMessages.complete(in, frame,
                    (refusedMask >>> i & 1) == 0 ? null : SendRefusedException.of(queue.refusalErrno()));
        }
        return true;
    }

    private boolean offerFrame(Object msg) {
        ByteBuf frame = (ByteBuf) msg;
        if (burstSize == FrameQueue.MAX_BURST_FRAMES || frame.refCnt() == 0 || !deviceQueue.limits().allows(frame)) {
            return false;
        }
        frame.retain();
        if (deviceQueue.frameQueue().offer(frame) != FrameQueue.ACCEPTED) {
            frame.release();
            return false;
        }
        burstFrames[burstSize++] = frame;
        return true;
    }

    /** Connects the channel to its queue. */
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
        public void onQueueEvent(QueueEvent event) {
            pipeline().fireUserEventTriggered(RdmaRawQueueEvent.of(event));
        }

        @Override
        public void onDeviceRemoved() {
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
        public void onSendRoom() {
            waitingForRoom = false;
            directUnsafe.resume();
        }

        @Override
        public RdmaRawMetered statistics() {
            return statistics;
        }

        @Override
        public FrameDrops<?> frameDrops() {
            return RdmaRawChannelStatistics.TABLE.frameDrops(statistics);
        }
    }

    /** Implements Netty's channel life cycle. {@link DirectUnsafe} implements writing. */
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
