package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.pcap.PcapFormat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Writes all frames that a channel receives and sends to a pcap file for Wireshark and tcpdump (Ethernet, nanosecond
 * timestamps). Add it as the first handler of a {@link RdmaRawChannel}:
 *
 * {@snippet :
 * pipeline.addFirst(PcapFrameHandler.toFile(Path.of("/tmp/frames.pcap")));
 * }
 *
 * <p>The loop copies frames into a buffer, and a daemon thread writes the file. If no buffer is free, the frame is not
 * recorded but counted in {@link #droppedFrames()}. An outgoing frame is recorded when it is written, even if it is not
 * sent later. The thread completes and closes the file soon after the handler was removed or the channel was closed;
 * the end of the process may truncate it. A handler serves one channel.
 */
public final class PcapFrameHandler extends ChannelDuplexHandler {
    private static final int BUFFER_BYTES = 1 << 20;
    private static final int BUFFERS = 8;
    private static final ByteBuffer END = ByteBuffer.allocate(0);

    private final int snapBytes;
    private final OutputStream out;
    private final BlockingQueue<ByteBuffer> free = new LinkedBlockingQueue<>();
    private final BlockingQueue<ByteBuffer> full = new LinkedBlockingQueue<>();
    private ByteBuffer current;
    private Thread writerThread;
    private volatile long dropped;
    private volatile IOException failure;

    private PcapFrameHandler(OutputStream out, int snapBytes) {
        this.out = ObjectUtil.checkNotNull(out, "out");
        this.snapBytes = ObjectUtil.checkInRange(snapBytes, 14, PcapFormat.MAX_CAPTURED_BYTES, "snapBytes");
    }

    /**
     * Returns a handler that writes complete frames to a file. The file is created or replaced immediately.
     *
     * @throws IOException if the file cannot be created
     */
    public static PcapFrameHandler toFile(Path file) throws IOException {
        return toStream(Files.newOutputStream(file), PcapFormat.MAX_CAPTURED_BYTES);
    }

    /**
     * Returns a handler that writes to a stream. The handler closes the stream.
     *
     * @param snapBytes maximum number of bytes recorded per frame, 14 to 262144
     */
    public static PcapFrameHandler toStream(OutputStream out, int snapBytes) {
        return new PcapFrameHandler(out, snapBytes);
    }

    /**
     * Returns the number of frames that were not recorded because writing was too slow, had failed or had ended. Can be
     * called on any thread.
     */
    public long droppedFrames() {
        return dropped;
    }

    /** Returns the reason why writing failed, or null. Can be called on any thread. */
    public IOException failure() {
        return failure;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        for (int i = 0; i < BUFFERS; i++) {
            free.add(ByteBuffer.allocate(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN));
        }
        current = free.remove();
        PcapFormat.putFileHeader(current, snapBytes, PcapFormat.LINKTYPE_ETHERNET);
        writerThread = Thread.ofPlatform().daemon().name("pcap "
                + ctx.channel().id().asShortText()).start(this::writeAll);
        ctx.channel().closeFuture().addListener(future -> finish());
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        finish();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) throws Exception {
        record(msg);
        super.channelRead(ctx, msg);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) throws Exception {
        submitIfIdle();
        super.channelReadComplete(ctx);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) throws Exception {
        record(msg);
        super.write(ctx, msg, promise);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) throws Exception {
        submitIfIdle();
        super.flush(ctx);
    }

    private void record(Object msg) {
        if (msg instanceof ByteBuf frame) {
            record(frame);
        } else if (msg instanceof FrameBurst burst) {
            for (int i = 0; i < burst.size(); i++) {
                record(burst.frame(i));
            }
        }
    }

    private void record(ByteBuf frame) {
        int lengthBytes = frame.readableBytes();
        int capturedBytes = Math.min(lengthBytes, snapBytes);
        if (current != null && current.remaining() < PcapFormat.RECORD_HEADER_BYTES + capturedBytes) {
            full.add(current);
            current = null;
        }
        if (current == null) {
            current = writerThread == null || failure != null ? null : free.poll();
        }
        if (current == null) {
            dropped = dropped + 1;
            return;
        }
        Instant now = Instant.now();
        PcapFormat.putRecordHeader(current, now.getEpochSecond(), now.getNano(), capturedBytes, lengthBytes);
        frame.getBytes(frame.readerIndex(), current.array(), current.position(), capturedBytes);
        current.position(current.position() + capturedBytes);
    }

    /** Passes a partly filled buffer to the writer if the writer is idle. */
    private void submitIfIdle() {
        if (current != null && current.position() > 0 && full.isEmpty() && !free.isEmpty()) {
            full.add(current);
            current = free.poll();
        }
    }

    private void finish() {
        Thread running = writerThread;
        if (running == null) {
            return;
        }
        writerThread = null;
        if (current != null) {
            full.add(current);
            current = null;
        }
        full.add(END);
    }

    private void writeAll() {
        try (out) {
            for (ByteBuffer buffer = full.take(); buffer != END; buffer = full.take()) {
                out.write(buffer.array(), 0, buffer.position());
                free.add(buffer.clear());
            }
        } catch (IOException e) {
            failure = e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
