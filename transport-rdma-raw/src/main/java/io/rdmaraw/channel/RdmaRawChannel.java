package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.AbstractChannel;
import io.netty.channel.ChannelMetadata;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEvent;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandle;
import io.netty.channel.IoRegistration;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.internal.StringUtil;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.verbs.FlowSpec;

import java.net.SocketAddress;
import java.util.ArrayDeque;

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
public final class RdmaRawChannel extends AbstractChannel {
    private static final ChannelMetadata METADATA = new ChannelMetadata(false);

    private final RdmaRawChannelConfig config = new RdmaRawChannelConfig(this);
    private final ArrayDeque<ByteBuf> backlog = new ArrayDeque<>();
    private final Handle handle = new Handle();
    private final QueueSide queueSide = new QueueSide();
    private final ChannelOutboundBuffer.MessageProcessor offerBuffered = this::offerBuffered;
    private final RdmaRawChannelStatistics statistics = new RdmaRawChannelStatistics();
    /** Made while the super constructor runs, which is why it has no initialiser: that would set it to null again. */
    private DirectUnsafe directUnsafe;
    private IoRegistration registration;
    private RdmaRawIoHandler ioHandler;
    private PortQueue port;
    private volatile RdmaRawAddress localAddress;
    private volatile boolean open = true;
    private boolean readPending;
    private boolean inBurst;
    private boolean backlogScheduled;
    private boolean waitingForRoom;
    private FrameBurst currentBurst;
    private int burstFrames;
    private int bufferedOffered;
    private int burstBytes;

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
    public boolean isOpen() {
        return open;
    }

    @Override
    public boolean isActive() {
        return open && localAddress != null;
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

    PortQueue port() {
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
    protected boolean isCompatible(EventLoop loop) {
        return loop instanceof IoEventLoop ioLoop && ioLoop.isCompatible(Handle.class);
    }

    @Override
    protected void doRegister(ChannelPromise promise) {
        ((IoEventLoop) eventLoop()).register(handle).addListener(future -> {
            if (!future.isSuccess()) {
                promise.setFailure(future.cause());
                return;
            }
            registration = (IoRegistration) future.getNow();
            ioHandler = registration.attachment();
            try {
                if (localAddress != null) {
                    joinQueue(localAddress);
                }
            } catch (RuntimeException e) {
                promise.setFailure(e);
                return;
            }
            promise.setSuccess();
            directUnsafe.resume();
        });
    }

    @Override
    protected void doDeregister() {
        leaveQueue();
        IoRegistration current = registration;
        if (current != null) {
            registration = null;
            ioHandler = null;
            current.cancel();
        }
    }

    @Override
    protected void doBind(SocketAddress address) {
        if (!(address instanceof RdmaRawAddress rawAddress)) {
            throw new IllegalArgumentException("a raw channel binds to an RdmaRawAddress, not to a "
                    + StringUtil.simpleClassName(address));
        }
        joinQueue(rawAddress);
        localAddress = rawAddress;
    }

    private void joinQueue(RdmaRawAddress address) {
        PortQueue joined = ioHandler.port(address.deviceName(), address.portNumber());
        joined.attach(queueSide, address.flows());
        port = joined;
    }

    private void leaveQueue() {
        PortQueue left = port;
        if (left != null) {
            directUnsafe.leaveQueue();
            waitingForRoom = false;
            port = null;
            left.detach(queueSide);
        }
    }

    @Override
    protected void doDisconnect() {
        throw new UnsupportedOperationException("a raw channel is not connected");
    }

    @Override
    protected void doClose() {
        open = false;
        readPending = false;
        PortQueue left = port;
        port = null;
        if (left != null) {
            left.detach(queueSide);
        }
        directUnsafe.failPending();
        if (currentBurst != null) {
            currentBurst.release();
            currentBurst = null;
        }
        statistics.droppedAtClose += backlog.size();
        for (ByteBuf frame = backlog.poll(); frame != null; frame = backlog.poll()) {
            frame.release();
        }
    }

    @Override
    protected void doBeginRead() {
        readPending = true;
        if (!backlog.isEmpty() && !backlogScheduled) {
            backlogScheduled = true;
            eventLoop().execute(this::readBacklog);
        }
    }

    /** Auto-read was switched off, on any thread. */
    void stopReading() {
        if (!isRegistered() || eventLoop().inEventLoop()) {
            readPending = false;
        } else {
            eventLoop().execute(() -> {
                if (!config.isAutoRead()) {
                    readPending = false;
                }
            });
        }
    }

    private void readBacklog() {
        backlogScheduled = false;
        while (readPending && !backlog.isEmpty()) {
            receive(backlog.poll());
            if (currentBurst != null && currentBurst.isFull()) {
                break;
            }
        }
        if (inBurst) {
            endBurst();
        }
    }

    private boolean receive(ByteBuf frame) {
        if (!readPending || backlogScheduled && !inBurst) {
            keep(frame);
            return false;
        }
        boolean first = !inBurst;
        inBurst = true;
        burstFrames++;
        burstBytes += frame.readableBytes();
        if (config.isFrameBursts()) {
            if (currentBurst == null) {
                currentBurst = port.burstPool().take();
            }
            currentBurst.add(frame);
        } else {
            if (!config.isAutoRead()) {
                readPending = false;
            }
            pipeline().fireChannelRead(frame);
        }
        return first;
    }

    private void keep(ByteBuf frame) {
        if (open && backlog.size() < config.getReceiveBacklog()) {
            backlog.add(frame);
        } else {
            statistics.droppedWithoutRead++;
            frame.release();
        }
    }

    private void endBurst() {
        inBurst = false;
        FrameBurst burst = currentBurst;
        if (burst != null) {
            currentBurst = null;
            if (!config.isAutoRead()) {
                readPending = false;
            }
            pipeline().fireChannelRead(burst);
        }
        reportRead();
        statistics.receivedFrames += burstFrames;
        statistics.receivedBytes += burstBytes;
        burstFrames = 0;
        burstBytes = 0;
        pipeline().fireChannelReadComplete();
    }

    /** Receive buffers are posted beforehand, so the allocator's handle is only told what came. */
    @SuppressWarnings("deprecation") // RecvByteBufAllocator is replaced in Netty 5 only
    private void reportRead() {
        RecvByteBufAllocator.Handle recvHandle = unsafe().recvBufAllocHandle();
        recvHandle.reset(config);
        recvHandle.incMessagesRead(burstFrames);
        recvHandle.lastBytesRead(burstBytes);
        recvHandle.readComplete();
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
        PortQueue current = port;
        boolean room = current != null;
        while (room && !in.isEmpty()) {
            room = writeBurst(in, current.queue());
        }
        if (!in.isEmpty() && current != null && !waitingForRoom) {
            waitingForRoom = true;
            current.awaitRoom(queueSide);
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
            if (port.limits().allows(frame)) {
                return queue.reclaim() > 0;
            }
            // Written before the channel was bound, when the limits were not known yet.
            in.remove(port.limits().refusal(frame));
            return true;
        }
        long refused = queue.post();
        for (int i = 0; i < offered; i++) {
            if ((refused >>> i & 1) == 0) {
                in.remove();
            } else {
                in.remove(SendRefusedException.of(queue.refusalErrno()));
            }
        }
        return true;
    }

    private boolean offerBuffered(Object msg) {
        ByteBuf frame = (ByteBuf) msg;
        if (bufferedOffered == FrameQueue.BURST_FRAMES || !port.limits().allows(frame)) {
            return false;
        }
        frame.retain();
        if (port.queue().offer(frame) != FrameQueue.ACCEPTED) {
            frame.release();
            return false;
        }
        bufferedOffered++;
        return true;
    }

    /** What the channel's queue knows of it. */
    private final class QueueSide implements QueueChannel {
        @Override
        public RdmaRawChannel channel() {
            return RdmaRawChannel.this;
        }

        @Override
        public boolean receive(ByteBuf frame, boolean checksumVerified) {
            return RdmaRawChannel.this.receive(frame);
        }

        @Override
        public void endBurst() {
            RdmaRawChannel.this.endBurst();
        }

        @Override
        public void sendQueueHasRoom() {
            waitingForRoom = false;
            directUnsafe.resume();
        }
    }

    /** What stands for the channel at its loop. */
    final class Handle implements RdmaRawIoHandle {
        @Override
        public void handle(IoRegistration ioRegistration, IoEvent event) {
            // Frames reach the channel through its queue.
        }

        @Override
        public void close() {
            unsafe().close(unsafe().voidPromise());
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
