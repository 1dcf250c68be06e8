package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.channel.io.DirectSends;
import io.rdmaraw.device.DeviceQueue;

import java.net.SocketAddress;
import java.nio.channels.ClosedChannelException;

/**
 * Sends the frames of a raw channel without Netty's outbound buffer. {@code write} adds a frame to {@link DirectSends},
 * and {@code flush} passes the frames to the device. The outbound buffer is used only in these cases: the device has no
 * room, too many frames or bytes are not flushed ({@link DirectSends#hasRoom}), the channel is not bound, or it moves
 * between loops. While the buffer contains frames, all later frames are added to it, which preserves the order.
 */
final class DirectUnsafe implements Channel.Unsafe {
    private final RdmaRawChannel channel;
    private final RdmaRawChannel.BaseUnsafe base;
    private final DirectSends sends = new DirectSends(SendRefusedException::of);
    /** Whether the outbound buffer contains frames, flushed or not. */
    private boolean overflowing;

    DirectUnsafe(RdmaRawChannel channel, RdmaRawChannel.BaseUnsafe base) {
        this.channel = channel;
        this.base = base;
    }

    @Override
    public void write(Object msg, ChannelPromise promise) {
        DeviceQueue deviceQueue = channel.deviceQueue();
        if (deviceQueue == null || overflowing || !channel.isActive()) {
            writeBuffered(msg, promise);
        } else if (msg instanceof ByteBuf frame) {
            writeFrame(frame, promise, deviceQueue);
        } else if (msg instanceof FrameBurst burst) {
            writeBurst(burst, promise, deviceQueue);
        } else {
            base.write(msg, promise);
        }
    }

    private void writeFrame(ByteBuf frame, ChannelPromise promise, DeviceQueue deviceQueue) {
        if (!deviceQueue.limits().allows(frame)) {
            IllegalArgumentException refusal = deviceQueue.limits().refusalException(frame);
            frame.release();
            promise.tryFailure(refusal);
        } else if (sends.hasRoom(1, channel.config().getWriteBufferHighWaterMark())) {
            sends.add(channel.copyIfShared(frame), promise, deviceQueue.frameQueue().slots());
        } else {
            overflow();
            base.write(frame, promise);
        }
    }

    private void writeBurst(FrameBurst burst, ChannelPromise promise, DeviceQueue deviceQueue) {
        IllegalArgumentException refusal = null;
        for (int i = 0; i < burst.size() && refusal == null; i++) {
            refusal = deviceQueue.limits().allows(burst.frame(i)) ? null
                    : deviceQueue.limits().refusalException(burst.frame(i));
        }
        if (refusal != null) {
            burst.release();
            promise.tryFailure(refusal);
        } else if (burst.size() == 0) {
            burst.release();
            promise.trySuccess();
        } else if (sends.hasRoom(burst.size(), channel.config().getWriteBufferHighWaterMark())) {
            for (int n = burst.size(); n > 0; n--) {
                sends.add(channel.copyIfShared(burst.removeFirst()), promise, deviceQueue.frameQueue().slots());
            }
            burst.release();
        } else {
            overflow();
            writeBuffered(burst, promise);
        }
    }

    /**
     * Adds the frames of a burst to the outbound buffer one by one, so that their bytes count for the channel's
     * writability.
     */
    private void writeBuffered(Object msg, ChannelPromise promise) {
        if (channel.isOpen()) {
            overflowing = true;
        }
        if (!(msg instanceof FrameBurst burst) || burst.size() == 0) {
            base.write(msg, promise);
            return;
        }
        while (burst.size() > 1) {
            base.write(burst.removeFirst(), base.voidPromise());
        }
        base.write(burst.removeFirst(), promise);
        burst.release();
    }

    @Override
    public void flush() {
        if (!sends.isEmpty()) {
            DeviceQueue deviceQueue = channel.deviceQueue();
            if (deviceQueue == null || !sends.flush(deviceQueue.frameQueue())) {
                overflow();
            }
        }
        if (overflowing) {
            base.flush();
        }
    }

    /** Moves all direct frames to the outbound buffer, in order. Flushed frames remain flushed. */
    private void overflow() {
        overflowing = true;
        sends.drainTo((frame, promise, lastOfPromise, lastFlushed) -> {
            base.write(frame, lastOfPromise ? promise : base.voidPromise());
            if (lastFlushed) {
                base.outboundBuffer().addFlush();
            }
        });
    }

    /**
     * Moves direct frames to the outbound buffer before the channel leaves its loop. They may be in slots of the loop's
     * queue.
     */
    void leaveQueue() {
        if (!sends.isEmpty()) {
            overflow();
        }
    }

    /** Returns to direct sending if the outbound buffer is empty. Called after the buffer was written. */
    void outboundBufferWritten(ChannelOutboundBuffer buffer) {
        overflowing = buffer.totalPendingWriteBytes() > 0 || !buffer.isEmpty();
    }

    /** Retries writing the outbound buffer. */
    void resume() {
        if (overflowing) {
            base.resumeFlush();
        }
    }

    void failPending() {
        sends.drainTo((frame, promise, lastOfPromise, lastFlushed) -> {
            ReferenceCountUtil.safeRelease(frame);
            if (lastOfPromise) {
                promise.tryFailure(new ClosedChannelException());
            }
        });
    }

    @Override
    @SuppressWarnings("deprecation") // RecvByteBufAllocator is replaced in Netty 5 only
    public RecvByteBufAllocator.Handle recvBufAllocHandle() {
        return base.recvBufAllocHandle();
    }

    @Override
    public SocketAddress localAddress() {
        return base.localAddress();
    }

    @Override
    public SocketAddress remoteAddress() {
        return base.remoteAddress();
    }

    @Override
    public void register(EventLoop eventLoop, ChannelPromise promise) {
        base.register(eventLoop, promise);
    }

    @Override
    public void bind(SocketAddress localAddress, ChannelPromise promise) {
        base.bind(localAddress, promise);
    }

    @Override
    public void connect(SocketAddress remoteAddress, SocketAddress localAddress, ChannelPromise promise) {
        base.connect(remoteAddress, localAddress, promise);
    }

    @Override
    public void disconnect(ChannelPromise promise) {
        base.disconnect(promise);
    }

    @Override
    public void close(ChannelPromise promise) {
        base.close(promise);
    }

    @Override
    public void closeForcibly() {
        base.closeForcibly();
    }

    @Override
    public void deregister(ChannelPromise promise) {
        base.deregister(promise);
    }

    @Override
    public void beginRead() {
        base.beginRead();
    }

    @Override
    public ChannelPromise voidPromise() {
        return base.voidPromise();
    }

    @Override
    public ChannelOutboundBuffer outboundBuffer() {
        return base.outboundBuffer();
    }
}
