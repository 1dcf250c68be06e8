package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;
import io.rdmaraw.tcp.CloseReason;

import java.io.IOException;
import java.net.SocketException;
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

    private final RdmaRawSocketChannel channel;

    StreamSender(RdmaRawSocketChannel channel) {
        this.channel = channel;
    }

    /** Sends as much as there is room for; the flow tells the channel when there is more. */
    void write(ChannelOutboundBuffer in, TcpFlow flow) throws IOException {
        flow.stack().beforeFlush();
        requireOpen(flow);
        try {
            fill(in, flow);
        } finally {
            flow.stack().flush();
        }
    }

    /** Fills the send buffer of a connection whose SYN has not been sent. */
    void writeEarly(ChannelOutboundBuffer in, TcpFlow flow) throws IOException {
        fill(in, flow);
    }

    private void fill(ChannelOutboundBuffer in, TcpFlow flow) throws IOException {
        while (!in.isEmpty()) {
            int room = flow.sendRoom();
            if (room <= 0) {
                flow.awaitSendRoom();
                return;
            }
            Object msg = in.current();
            if (msg instanceof ByteBuf data) {
                writeBytes(in, flow, data, room);
            } else {
                writeRegion(in, flow, (FileRegion) msg, room);
            }
        }
    }

    private static void requireOpen(TcpFlow flow) throws IOException {
        CloseReason reason = flow.closeReason();
        if (reason != null) {
            IOException cause = StreamErrors.ofClose(reason);
            throw cause != null ? cause : new SocketException("Broken pipe: the connection is closed");
        }
    }

    private void writeBytes(ChannelOutboundBuffer in, TcpFlow flow, ByteBuf data, int room) {
        int bytes = data.readableBytes();
        if (bytes <= room) {
            if (bytes > 0) {
                sendWhole(flow, data, bytes);
                in.progress(bytes);
            }
            in.remove();
        } else {
            flow.send(isShared(data) ? copy(data, room) : data.retainedSlice(data.readerIndex(), room));
            in.removeBytes(room);
        }
    }

    private void sendWhole(TcpFlow flow, ByteBuf data, int bytes) {
        if (isShared(data)) {
            flow.send(copy(data, bytes));
        } else if (data instanceof CompositeByteBuf composite && composite.numComponents() <= MAX_COMPONENTS) {
            sendComponents(flow, composite);
        } else {
            flow.send(data.retain());
        }
    }

    /** Each part by itself, so that the device can send it from where it lies. */
    private void sendComponents(TcpFlow flow, CompositeByteBuf composite) {
        int index = composite.readerIndex();
        int end = composite.writerIndex();
        while (index < end) {
            int i = composite.toComponentIndex(index);
            int componentEnd = Math.min(end, composite.toByteIndex(i) + composite.internalComponent(i).capacity());
            ByteBuf part = composite.internalComponent(i);
            int from = index - composite.toByteIndex(i);
            int bytes = componentEnd - index;
            flow.send(isShared(part) ? copy(composite.slice(index, bytes), bytes) : part.retainedSlice(from, bytes));
            index = componentEnd;
        }
    }

    /** Someone else holds the buffer too, and may change its content once the write is complete. */
    private static boolean isShared(ByteBuf data) {
        return data.refCnt() > 1;
    }

    private ByteBuf copy(ByteBuf data, int bytes) {
        return channel.alloc().directBuffer(bytes).writeBytes(data, data.readerIndex(), bytes);
    }

    private void writeRegion(ChannelOutboundBuffer in, TcpFlow flow, FileRegion region, int room) throws IOException {
        long left = region.count() - region.transferred();
        if (left <= 0) {
            in.remove();
            return;
        }
        Chunk chunk = new Chunk(channel.alloc().directBuffer((int) Math.min(left, FILE_CHUNK_BYTES)),
                (int) Math.min(left, Math.min(room, FILE_CHUNK_BYTES)));
        long transferred;
        try {
            transferred = region.transferTo(chunk, region.transferred());
        } catch (IOException | RuntimeException e) {
            chunk.content.release();
            throw e;
        }
        if (chunk.content.isReadable()) {
            flow.send(chunk.content);
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
