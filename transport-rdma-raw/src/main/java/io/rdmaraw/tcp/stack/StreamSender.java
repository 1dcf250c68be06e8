package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;
import io.rdmaraw.memory.ExclusiveContent;
import io.rdmaraw.tcp.stack.send.FileRegionAccess;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.WritableByteChannel;

/**
 * Moves flushed messages of a socket channel into the send buffer of its connection, as far as there is room. Used on
 * the loop's thread only.
 */
final class StreamSender {
    /** Maximum number of bytes read from a file at once. */
    private static final int FILE_CHUNK_BYTES = 1 << 16;

    private static final int MAX_COMPONENTS = 64;

    private StreamSender() {
    }

    /** Moves messages until the send buffer is full. The transport notifies the channel when there is room again. */
    static void fill(TcpTransport transport, ChannelOutboundBuffer in, ByteBufAllocator allocator)
            throws IOException {
        boolean mayMakeRoom = true;
        while (!in.isEmpty()) {
            int room = transport.sendRoom();
            if (room <= 0 && mayMakeRoom) {
                // At most once for each flush: a peer that acknowledges fast must not keep the loop here.
                mayMakeRoom = false;
                room = transport.makeSendRoom();
            }
            if (room <= 0) {
                transport.notifyWhenSendRoom();
                return;
            }
            Object msg = in.current();
            if (msg instanceof ByteBuf data) {
                writeBytes(in, transport, data, room, allocator);
            } else if (!writeRegion(in, transport, (FileRegion) msg, room, allocator)) {
                transport.retryWrite();
                return;
            }
        }
    }

    private static void writeBytes(ChannelOutboundBuffer in, TcpTransport transport, ByteBuf data, int room,
                                   ByteBufAllocator allocator) {
        int bytes = data.readableBytes();
        boolean knownExclusive = transport.isSentInPlace(data);
        if (bytes <= room) {
            if (bytes > 0) {
                sendWhole(transport, data, bytes, allocator, knownExclusive);
            }
            if (bytes > 0 || in.size() > 1) {
                // NIO and epoll report the progress of an empty buffer only if others are flushed behind it.
                in.progress(bytes);
            }
            transport.sentInPlace(null);
            in.remove();
        } else {
            if (isExclusive(data, room, knownExclusive)) {
                // The slice adds a reference. Remember the buffer, so that the rest is not copied because of it.
                transport.sentInPlace(data);
                transport.send(data.retainedSlice(data.readerIndex(), room));
            } else {
                transport.send(copy(data, room, allocator));
            }
            in.removeBytes(room);
        }
    }

    private static void sendWhole(TcpTransport transport, ByteBuf data, int bytes, ByteBufAllocator allocator,
                                  boolean knownExclusive) {
        if (data instanceof CompositeByteBuf composite && composite.numComponents() <= MAX_COMPONENTS
                && (knownExclusive || ExclusiveContent.isOnlyReference(composite))) {
            sendComponents(transport, composite, allocator);
        } else {
            transport.send(isExclusive(data, bytes, knownExclusive) ? data.retain() : copy(data, bytes, allocator));
        }
    }

    private static boolean isExclusive(ByteBuf data, int bytes, boolean knownExclusive) {
        return ExclusiveContent.isExclusive(data, data.readerIndex(), bytes, knownExclusive);
    }

    /** Sends each component separately, so that the device can read it in place. */
    private static void sendComponents(TcpTransport transport, CompositeByteBuf composite,
                                       ByteBufAllocator allocator) {
        int index = composite.readerIndex();
        int end = composite.writerIndex();
        while (index < end) {
            int i = composite.toComponentIndex(index);
            int componentEnd = Math.min(end, composite.toByteIndex(i) + composite.internalComponent(i).capacity());
            ByteBuf part = composite.internalComponent(i);
            int from = index - composite.toByteIndex(i);
            int bytes = componentEnd - index;
            transport.send(ExclusiveContent.isExclusive(part, from, bytes, false) ? part.retainedSlice(from, bytes)
                    : copy(composite.slice(index, bytes), bytes, allocator));
            index = componentEnd;
        }
    }

    private static ByteBuf copy(ByteBuf data, int bytes, ByteBufAllocator allocator) {
        return allocator.directBuffer(bytes).writeBytes(data, data.readerIndex(), bytes);
    }

    /** Moves a part of a file region. Returns false if the region has bytes left but cannot provide any now. */
    private static boolean writeRegion(ChannelOutboundBuffer in, TcpTransport transport, FileRegion region, int room,
                                       ByteBufAllocator allocator) throws IOException {
        long left = region.count() - region.transferred();
        if (left <= 0) {
            in.remove();
            return true;
        }
        int limitBytes = (int) Math.min(left, Math.min(room, FILE_CHUNK_BYTES));
        ByteBuf content = allocator.directBuffer(limitBytes);
        long transferred;
        try {
            transferred = transfer(region, content, limitBytes);
        } catch (IOException | RuntimeException e) {
            content.release();
            throw e;
        }
        if (content.isReadable()) {
            transport.send(content);
        } else {
            content.release();
        }
        if (transferred <= 0) {
            requireComplete(region);
        } else {
            in.progress(transferred);
        }
        boolean complete = region.transferred() >= region.count();
        if (complete) {
            in.remove();
        }
        return complete || transferred > 0;
    }

    /** Moves bytes of a region into a buffer. Returns their number; 0 or negative if the region provides none now. */
    private static long transfer(FileRegion region, ByteBuf content, int limitBytes) throws IOException {
        if (FileRegionAccess.supports(region)) {
            int bytes = FileRegionAccess.read((DefaultFileRegion) region, content, limitBytes);
            if (bytes > 0) {
                return bytes;
            }
        }
        return region.transferTo(new Chunk(content, limitBytes), region.transferred());
    }

    /**
     * Throws an exception if the file is shorter than its region. Called if the region transferred nothing although
     * there was room.
     */
    private static void requireComplete(FileRegion region) throws IOException {
        if (region instanceof DefaultFileRegion && region.transferred() < region.count()) {
            throw new IOException("Underlying file ends " + (region.count() - region.transferred())
                    + " bytes before the region of " + region.count() + " bytes does");
        }
    }

    /** Channel that receives the bytes of a region, up to a limit. */
    private static final class Chunk implements WritableByteChannel {
        private final ByteBuf content;
        private final int limitBytes;

        Chunk(ByteBuf content, int limitBytes) {
            this.content = content;
            this.limitBytes = limitBytes;
        }

        @Override
        public int write(ByteBuffer source) throws ClosedChannelException {
            int bytes = Math.min(source.remaining(), limitBytes - content.readableBytes());
            if (bytes > 0) {
                int limit = source.limit();
                source.limit(source.position() + bytes);
                content.writeBytes(source);
                source.limit(limit);
            }
            return bytes;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {
            // The channel stays open.
        }
    }
}
