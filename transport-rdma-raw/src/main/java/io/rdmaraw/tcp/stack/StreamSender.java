package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.buffer.UnpooledUnsafeDirectByteBuf;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.WritableByteChannel;

/**
 * Moves what was written to a socket channel into its connection's send buffer, as far as that has room. For the loop's
 * thread.
 */
final class StreamSender {
    /** How much of a file is read at once: what two slots hold, as most of it goes out in segments of less than one. */
    private static final int FILE_CHUNK_BYTES = 1 << 16;

    private static final int MAX_COMPONENTS = 64;

    /** Classes of Netty that it has no other name for. */
    private static final Class<?> UNRELEASABLE = Unpooled.unreleasableBuffer(Unpooled.EMPTY_BUFFER).getClass();
    private static final Class<?> UNMODIFIABLE = Unpooled.wrappedUnmodifiableBuffer(Unpooled.wrappedBuffer(new byte[1]),
            Unpooled.wrappedBuffer(new byte[1])).getClass();

    private StreamSender() {
    }

    /** Sends as much as there is room for; the transport tells the channel when there is more. */
    static void fill(TcpTransport transport, ChannelOutboundBuffer in, ByteBufAllocator allocator)
            throws IOException {
        while (!in.isEmpty()) {
            int room = transport.sendRoom();
            if (room <= 0) {
                transport.awaitSendRoom();
                return;
            }
            Object msg = in.current();
            if (msg instanceof ByteBuf data) {
                writeBytes(in, transport, data, room, allocator);
            } else {
                writeRegion(in, transport, (FileRegion) msg, room, allocator);
            }
        }
    }

    private static void writeBytes(ChannelOutboundBuffer in, TcpTransport transport, ByteBuf data, int room,
                                   ByteBufAllocator allocator) {
        int bytes = data.readableBytes();
        if (bytes <= room) {
            if (bytes > 0) {
                sendWhole(transport, data, bytes, allocator);
                in.progress(bytes);
            }
            in.remove();
        } else {
            transport.send(mayChange(data, room) ? copy(data, room, allocator)
                    : data.retainedSlice(data.readerIndex(), room));
            in.removeBytes(room);
        }
    }

    private static void sendWhole(TcpTransport transport, ByteBuf data, int bytes, ByteBufAllocator allocator) {
        if (data instanceof CompositeByteBuf composite && composite.numComponents() <= MAX_COMPONENTS
                && !isShared(data)) {
            sendComponents(transport, composite, allocator);
        } else {
            transport.send(mayChange(data, bytes) ? copy(data, bytes, allocator) : data.retain());
        }
    }

    /** Each part by itself, so that the device can send it from where it lies. */
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
            transport.send(mayChange(part, part.capacity()) ? copy(composite.slice(index, bytes), bytes, allocator)
                    : part.retainedSlice(from, bytes));
            index = componentEnd;
        }
    }

    /** Tells whether the next bytes may be changed once the write is complete, while they are not acknowledged yet. */
    private static boolean mayChange(ByteBuf data, int bytes) {
        return isShared(data) || (data instanceof CompositeByteBuf composite
                ? hasWrappedPart(composite, composite.readerIndex(), composite.readerIndex() + bytes)
                : wrapsMemory(data));
    }

    /** Someone else holds the buffer too. */
    private static boolean isShared(ByteBuf data) {
        return data.refCnt() > 1;
    }

    /**
     * The buffer came from no allocator, but was put around an array or a {@link ByteBuffer}, as by {@link
     * Unpooled#wrappedBuffer}: that is still its maker's. Allocators have classes of their own for what they give out.
     */
    private static boolean wrapsMemory(ByteBuf data) {
        ByteBuf root = data;
        boolean neverReleased = false;
        for (ByteBuf inner = root.unwrap(); inner != null; inner = root.unwrap()) {
            neverReleased |= root.getClass() == UNRELEASABLE;
            root = inner;
        }
        if (root instanceof CompositeByteBuf composite) {
            return hasWrappedPart(composite, 0, composite.capacity());
        }
        Class<?> type = root.getClass();
        return type == UnpooledHeapByteBuf.class || type == UnpooledUnsafeDirectByteBuf.class
                || type == UnpooledDirectByteBuf.class || type == UNMODIFIABLE || root.isReadOnly()
                || root.hasArray() && (neverReleased || !isOfNetty(type));
    }

    /**
     * Others, such as Vert.x, have buffers on the heap that are never released: their makers may change the content and
     * write them again.
     */
    private static boolean isOfNetty(Class<?> type) {
        return type.getPackageName().equals(ByteBuf.class.getPackageName());
    }

    /** Only the parts that hold these bytes count: of a long message a part goes at a time. */
    private static boolean hasWrappedPart(CompositeByteBuf composite, int from, int end) {
        int first = from < end ? composite.toComponentIndex(from) : composite.numComponents();
        for (int i = first; i < composite.numComponents() && composite.toByteIndex(i) < end; i++) {
            ByteBuf part = composite.internalComponent(i);
            if (mayChange(part, part.capacity())) {
                return true;
            }
        }
        return false;
    }

    private static ByteBuf copy(ByteBuf data, int bytes, ByteBufAllocator allocator) {
        return allocator.directBuffer(bytes).writeBytes(data, data.readerIndex(), bytes);
    }

    private static void writeRegion(ChannelOutboundBuffer in, TcpTransport transport, FileRegion region, int room,
                                    ByteBufAllocator allocator) throws IOException {
        long left = region.count() - region.transferred();
        if (left <= 0) {
            in.remove();
            return;
        }
        Chunk chunk = new Chunk(allocator.directBuffer((int) Math.min(left, FILE_CHUNK_BYTES)),
                (int) Math.min(left, Math.min(room, FILE_CHUNK_BYTES)));
        long transferred;
        try {
            transferred = region.transferTo(chunk, region.transferred());
        } catch (IOException | RuntimeException e) {
            chunk.content.release();
            throw e;
        }
        if (chunk.content.isReadable()) {
            transport.send(chunk.content);
        } else {
            chunk.content.release();
        }
        if (transferred <= 0) {
            requireComplete(region);
        }
        in.progress(transferred);
        if (region.transferred() >= region.count()) {
            in.remove();
        }
    }

    /** Nothing came although there is room: the file is shorter than the region says. */
    private static void requireComplete(FileRegion region) throws IOException {
        if (region instanceof DefaultFileRegion && region.transferred() < region.count()) {
            throw new IOException("Underlying file ends " + (region.count() - region.transferred())
                    + " bytes before the region of " + region.count() + " bytes does");
        }
    }

    /** Takes what a region transfers, up to a limit. */
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
