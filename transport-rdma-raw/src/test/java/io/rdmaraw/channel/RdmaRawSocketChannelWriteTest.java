package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelProgressiveFuture;
import io.netty.channel.ChannelProgressiveFutureListener;
import io.netty.channel.ChannelProgressivePromise;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.FileRegion;
import io.netty.util.AbstractReferenceCounted;
import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.netty.channel.socket.SocketChannelConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Writes larger than the send buffer, and the ownership of written buffers. */
@Timeout(60)
class RdmaRawSocketChannelWriteTest {
    private static final int SEND_BUFFER_BYTES = 20_000;
    private static final int RECEIVE_BUFFER_BYTES = 8_192;
    private static final int CONTENT_BYTES = 50_000;
    private static final int MESSAGE_BYTES = 5_000;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);
    /** Accessed on the reader's loop only. */
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final byte[] content = new byte[CONTENT_BYTES];
    private final List<Long> progress = new ArrayList<>();
    private RdmaRawSocketChannel writer;
    private RdmaRawSocketChannel reader;

    private final class Collector extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ByteBuf data = (ByteBuf) msg;
            byte[] bytes = new byte[data.readableBytes()];
            data.readBytes(bytes).release();
            received.writeBytes(bytes);
        }
    }

    @BeforeEach
    void connect() throws InterruptedException {
        new Random(1).nextBytes(content);
        InetSocketAddress server = fixture.listen("127.0.0.1", new Collector(), settings -> settings
                .option(ChannelOption.SO_RCVBUF, RECEIVE_BUFFER_BYTES).childOption(ChannelOption.AUTO_READ, false));
        writer = (RdmaRawSocketChannel) fixture.client(new ChannelInboundHandlerAdapter())
                .option(ChannelOption.SO_SNDBUF, SEND_BUFFER_BYTES).connect(server).sync().channel();
        reader = fixture.accepted();
    }

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    private void awaitContent() {
        reader.config().setAutoRead(true);
        while (StreamFixture.on(reader.eventLoop(), received::size) < CONTENT_BYTES) {
            assertTrue(reader.isActive());
        }
        assertArrayEquals(content, StreamFixture.on(reader.eventLoop(), received::toByteArray));
    }

    /** Returns a promise that records the reported progress. */
    private ChannelProgressivePromise noting() {
        return writer.newProgressivePromise().addListener(new ChannelProgressiveFutureListener() {
            @Override
            public void operationProgressed(ChannelProgressiveFuture future, long bytes, long total) {
                progress.add(bytes);
            }

            @Override
            public void operationComplete(ChannelProgressiveFuture future) {
                // The last progress has been reported before.
            }
        });
    }

    private void assertProgressInParts() {
        List<Long> told = StreamFixture.on(writer.eventLoop(), () -> List.copyOf(progress));
        assertEquals(told.stream().sorted().distinct().toList(), told);
        assertTrue(told.size() > 1 && told.getFirst() <= SEND_BUFFER_BYTES, told.toString());
        assertEquals(CONTENT_BYTES, told.getLast());
    }

    @Test
    void progressOfBuffersIsReported() throws InterruptedException {
        ChannelFuture written = writer.writeAndFlush(Unpooled.wrappedBuffer(content), noting());
        awaitContent();
        written.sync();
        assertProgressInParts();
    }

    @Test
    void progressOfFilesIsReported(@TempDir Path directory) throws Exception {
        Path file = Files.write(directory.resolve("content"), content);
        ChannelFuture written = writer.writeAndFlush(new DefaultFileRegion(file.toFile(), 0, CONTENT_BYTES), noting());
        awaitContent();
        written.sync();
        assertProgressInParts();
    }

    /** As on NIO and epoll: an empty buffer has progress if a buffer is flushed behind it. */
    @Test
    void emptyBufferHasProgressBeforeAnother() throws InterruptedException {
        writer.writeAndFlush(Unpooled.EMPTY_BUFFER, noting()).sync();
        assertEquals(List.of(), StreamFixture.on(writer.eventLoop(), () -> List.copyOf(progress)));
        ChannelFuture written = writer.write(Unpooled.EMPTY_BUFFER, noting());
        writer.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
        written.sync();
        assertEquals(List.of(0L), StreamFixture.on(writer.eventLoop(), () -> List.copyOf(progress)));
    }

    /** Has bytes once the test says so, as a source that waits for somebody else. */
    private final class LateRegion extends AbstractReferenceCounted implements FileRegion {
        private static final int MAX_VAIN_CALLS = 100_000;
        private boolean ready;
        private long transferred;
        private int vainCalls;

        @Override
        public long transferTo(WritableByteChannel target, long position) throws IOException {
            if (!ready) {
                if (++vainCalls > MAX_VAIN_CALLS) {
                    throw new IOException("the loop asks again and again");
                }
                return 0;
            }
            int bytes = target.write(ByteBuffer.wrap(content, (int) position, CONTENT_BYTES - (int) position));
            transferred += bytes;
            return bytes;
        }

        @Override
        public long position() {
            return 0;
        }

        @Override
        public long transferred() {
            return transferred;
        }

        @Override
        @Deprecated
        public long transfered() {
            return transferred;
        }

        @Override
        public long count() {
            return CONTENT_BYTES;
        }

        @Override
        public FileRegion retain() {
            super.retain();
            return this;
        }

        @Override
        public FileRegion retain(int increment) {
            super.retain(increment);
            return this;
        }

        @Override
        public FileRegion touch() {
            return this;
        }

        @Override
        public FileRegion touch(Object hint) {
            return this;
        }

        @Override
        protected void deallocate() {
            // There is nothing to release.
        }
    }

    @Test
    void emptyRegionDoesNotBlockLoop() throws InterruptedException {
        LateRegion region = new LateRegion();
        ChannelFuture written = writer.writeAndFlush(region);
        RdmaRawLoopStatistics loop = RdmaRawMetrics.loops().stream()
                .filter(each -> each.name().equals(StreamFixture.on(writer.eventLoop(),
                        () -> Thread.currentThread().getName()))).findAny().orElseThrow();
        RdmaRawMetric sleeps = loop.metrics().stream().filter(metric -> metric.name().equals("sleeps")).findAny()
                .orElseThrow();
        int callsBefore = StreamFixture.on(writer.eventLoop(), () -> region.vainCalls);
        long sleepsBefore = loop.value(sleeps);
        Patience.until(() -> loop.value(sleeps) > sleepsBefore
                && StreamFixture.on(writer.eventLoop(), () -> region.vainCalls) > callsBefore,
                "the loop to sleep, and to ask the region again");
        StreamFixture.on(writer.eventLoop(), () -> region.ready = true);
        awaitContent();
        assertTrue(written.sync().isSuccess());
    }

    /**
     * Components that start and end within their buffers. The first component of each message has been read in part.
     */
    @Test
    void partsOfBuffersAreGathered() throws InterruptedException {
        ChannelFuture written = null;
        for (int from = 0; from < CONTENT_BYTES; from += MESSAGE_BYTES) {
            CompositeByteBuf message = Unpooled.compositeBuffer();
            message.addComponent(true, part(from, 1_000)).addComponent(true, part(from + 1_000, 10))
                    .addComponent(true, part(from + 1_010, MESSAGE_BYTES - 1_010));
            // These bytes are written as a separate message.
            writer.write(message.readBytes(7));
            written = writer.writeAndFlush(message);
        }
        awaitContent();
        assertTrue(written.sync().isSuccess());
    }

    private ByteBuf part(int from, int bytes) {
        return Unpooled.directBuffer(bytes + 10).writeZero(3).writeBytes(content, from, bytes).writeZero(5)
                .setIndex(3, 3 + bytes);
    }

    /**
     * Another holder may change the buffer when the write is complete, although much of it has not been transmitted.
     */
    @Test
    void bufferWithAnotherHolderIsCopiedInParts() throws InterruptedException {
        ByteBuf held = Unpooled.directBuffer(CONTENT_BYTES).writeBytes(content);
        CompletableFuture<Long> unsentBytes = new CompletableFuture<>();
        // Checked in the turn that completes the write, because the reader keeps receiving.
        writer.writeAndFlush(held.retain()).addListener(written -> {
            held.setZero(0, CONTENT_BYTES).release();
            unsentBytes.complete(written.isSuccess() ? writer.tcpInfo().getNow().unsentBytes() : -1L);
        });
        while (!unsentBytes.isDone()) {
            reader.read();
            StreamFixture.settle(reader.eventLoop());
            StreamFixture.settle(writer.eventLoop());
        }
        assertTrue(unsentBytes.join() > 0, "all of it has left already, or none was written");
        awaitContent();
    }

    /** The same for a buffer that fits the send buffer, alone and as a component of a message. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void bufferWithAnotherHolderIsCopiedAtOnce(boolean asPart) throws InterruptedException {
        int heldBytes = SEND_BUFFER_BYTES - 10;
        ByteBuf held = Unpooled.directBuffer(heldBytes).writeBytes(content, 10, heldBytes);
        CountDownLatch silence = new CountDownLatch(1);
        // Without an acknowledgement only the initial congestion window, ten segments, is transmitted.
        StreamFixture.silence(reader.eventLoop(), silence);
        StreamFixture.on(writer.eventLoop(), () -> {
            ChannelFuture written;
            if (asPart) {
                written = writer.writeAndFlush(Unpooled.compositeBuffer().addComponent(true, part(0, 10))
                        .addComponent(true, held.retain()));
            } else {
                writer.write(part(0, 10));
                written = writer.writeAndFlush(held.retain());
            }
            assertTrue(written.isSuccess());
            assertTrue(writer.tcpInfo().getNow().unsentBytes() > 0, "all of it has left already");
            return held.setZero(0, heldBytes).release();
        });
        silence.countDown();
        writer.writeAndFlush(Unpooled.wrappedBuffer(content, SEND_BUFFER_BYTES, CONTENT_BYTES - SEND_BUFFER_BYTES));
        awaitContent();
    }

    /** The buffer wraps memory that the writer may reuse when the write is complete, so its content is copied. */
    @ParameterizedTest
    @ValueSource(strings = {"array", "part of an array", "part of a message", "message of many parts",
            "read-only array", "memory", "read-only memory", "unmodifiable parts", "never released",
            "part of one never released", "kept by its maker", "direct and kept by its maker", "class of the user",
            "slice of a pooled buffer", "duplicate of a pooled buffer", "slice of a pooled slice",
            "message with a pooled slice"})
    void wrappedMemoryIsCopied(String kind) throws InterruptedException {
        byte[] array = Arrays.copyOf(content, SEND_BUFFER_BYTES);
        ByteBuffer memory = ByteBuffer.allocateDirect(SEND_BUFFER_BYTES).put(array).flip();
        ByteBuf kept = UnpooledByteBufAllocator.DEFAULT.heapBuffer(SEND_BUFFER_BYTES, SEND_BUFFER_BYTES);
        ByteBuf parent = PooledByteBufAllocator.DEFAULT.directBuffer(SEND_BUFFER_BYTES).writeBytes(array);
        // The slice holds the only reference to its parent: the parent's count is 1 and the slice's is 2.
        ByteBuf slice = parent.retainedSlice();
        Watched ofUser = new Watched(SEND_BUFFER_BYTES);
        ByteBuf message = switch (kind) {
            case "array" -> Unpooled.wrappedBuffer(array);
            case "part of an array" -> Unpooled.wrappedBuffer(array, 0, SEND_BUFFER_BYTES - 1);
            case "part of a message" -> Unpooled.compositeBuffer().addComponent(true, Unpooled.wrappedBuffer(array));
            case "message of many parts" -> ofManyParts(array);
            case "read-only array" -> Unpooled.wrappedBuffer(ByteBuffer.wrap(array).asReadOnlyBuffer());
            case "memory" -> Unpooled.wrappedBuffer(memory);
            case "unmodifiable parts" -> Unpooled.wrappedUnmodifiableBuffer(Unpooled.wrappedBuffer(array, 0, 100),
                    Unpooled.wrappedBuffer(array, 100, SEND_BUFFER_BYTES - 100));
            case "never released" -> new NeverReleased(array);
            case "part of one never released" -> new NeverReleased(array).slice(0, SEND_BUFFER_BYTES - 1);
            case "kept by its maker" -> Unpooled.unreleasableBuffer(kept.writeBytes(array));
            case "direct and kept by its maker" -> Unpooled.unreleasableBuffer(parent);
            case "class of the user" -> ofUser.writeBytes(array);
            case "slice of a pooled buffer" -> parent.retainedSlice();
            case "duplicate of a pooled buffer" -> parent.retainedDuplicate();
            case "slice of a pooled slice" -> slice.retainedSlice();
            case "message with a pooled slice" -> Unpooled.compositeBuffer().addComponent(true, parent.retainedSlice());
            default -> Unpooled.wrappedBuffer(memory.asReadOnlyBuffer());
        };
        if (kind.equals("slice of a pooled slice")) {
            parent.release();
        }
        int bytes = message.readableBytes();
        CountDownLatch silence = new CountDownLatch(1);
        StreamFixture.silence(reader.eventLoop(), silence);
        StreamFixture.on(writer.eventLoop(), () -> {
            assertTrue(writer.writeAndFlush(message).isSuccess());
            assertTrue(writer.tcpInfo().getNow().unsentBytes() > 0, "all of it has left already");
            Arrays.fill(array, (byte) 0);
            kept.setZero(0, kept.capacity());
            slice.setZero(0, slice.capacity());
            if (ofUser.refCnt() > 0) {
                ofUser.setZero(0, ofUser.capacity());
            }
            return memory.put(array);
        });
        silence.countDown();
        writer.writeAndFlush(Unpooled.wrappedBuffer(content, bytes, CONTENT_BYTES - bytes));
        awaitContent();
        for (ByteBuf own : List.of(slice, parent, kept, ofUser)) {
            if (own.refCnt() > 0) {
                own.release(own.refCnt());
            }
        }
    }

    /** Like the buffers of Vert.x, which may be written any number of times. */
    private static final class NeverReleased extends UnpooledHeapByteBuf {
        NeverReleased(byte[] array) {
            super(UnpooledByteBufAllocator.DEFAULT, array, array.length);
        }

        @Override
        public ByteBuf retain() {
            return this;
        }

        @Override
        public boolean release() {
            return false;
        }
    }

    private static ByteBuf ofManyParts(byte[] array) {
        CompositeByteBuf message = Unpooled.compositeBuffer(array.length);
        for (int from = 0; from < array.length; from += 100) {
            message.addComponent(true, Unpooled.wrappedBuffer(array, from, 100));
        }
        return message;
    }

    /** Counts the calls of {@code refCnt}. */
    private static final class Watched extends UnpooledDirectByteBuf {
        private int asked;

        Watched(int bytes) {
            super(UnpooledByteBufAllocator.DEFAULT, bytes, bytes);
        }

        @Override
        public int refCnt() {
            asked++;
            return super.refCnt();
        }
    }

    /**
     * A message with very many components is sent in parts. Checking all components for each part would take quadratic
     * time.
     */
    @Test
    void onlyComponentsBeingSentAreChecked() throws InterruptedException {
        Watched last = new Watched(CONTENT_BYTES - SEND_BUFFER_BYTES);
        last.writeBytes(content, SEND_BUFFER_BYTES, last.capacity());
        CompositeByteBuf message = Unpooled.compositeBuffer()
                .addComponent(true, Unpooled.directBuffer(SEND_BUFFER_BYTES).writeBytes(content, 0, SEND_BUFFER_BYTES))
                .addComponent(true, last);
        CountDownLatch silence = new CountDownLatch(1);
        StreamFixture.silence(reader.eventLoop(), silence);
        ChannelFuture sent = StreamFixture.on(writer.eventLoop(), () -> {
            last.asked = 0;
            ChannelFuture written = writer.writeAndFlush(message);
            assertEquals(0, last.asked);
            return written;
        });
        silence.countDown();
        awaitContent();
        assertTrue(sent.await(30, TimeUnit.SECONDS));
        assertTrue(StreamFixture.on(writer.eventLoop(), () -> last.asked > 0), "it has been sent");
    }

    /** Memory from an allocator is sent without a copy. */
    @ParameterizedTest
    @ValueSource(strings = {"unpooled", "pooled", "adaptive", "registered"})
    void allocatedMemoryIsNotCopied(String kind) throws InterruptedException {
        ByteBufAllocator allocator = switch (kind) {
            case "unpooled" -> UnpooledByteBufAllocator.DEFAULT;
            case "pooled" -> PooledByteBufAllocator.DEFAULT;
            case "adaptive" -> new AdaptiveByteBufAllocator(true);
            default -> RdmaRawByteBufAllocator.DEFAULT;
        };
        ByteBuf message = allocator.directBuffer(1_000).writeBytes(content, 0, 1_000);
        CountDownLatch silence = new CountDownLatch(1);
        StreamFixture.silence(reader.eventLoop(), silence);
        StreamFixture.on(writer.eventLoop(), () -> {
            assertTrue(writer.writeAndFlush(message).isSuccess());
            assertTrue(message.refCnt() > 0, "released, so it was copied");
            return null;
        });
        silence.countDown();
        writer.writeAndFlush(Unpooled.wrappedBuffer(content, 1_000, CONTENT_BYTES - 1_000));
        awaitContent();
    }

    /** The first part is unacknowledged and holds a reference too. It must not count as another holder. */
    @ParameterizedTest
    @ValueSource(strings = {"unpooled", "pooled", "adaptive"})
    void restOfLargeBufferIsNotCopied(String kind) throws InterruptedException {
        ByteBufAllocator allocator = switch (kind) {
            case "unpooled" -> UnpooledByteBufAllocator.DEFAULT;
            case "pooled" -> PooledByteBufAllocator.DEFAULT;
            default -> new AdaptiveByteBufAllocator(true);
        };
        int bytes = SEND_BUFFER_BYTES + 500;
        ByteBuf message = allocator.directBuffer(bytes).writeBytes(content, 0, bytes);
        // The reader does not read, so no more is acknowledged than its receive buffer holds.
        writer.writeAndFlush(message).sync();
        // The device may hold further references until it reports the completion of the frames.
        int references = StreamFixture.on(writer.eventLoop(), message::refCnt);
        assertTrue(references >= 2, references + " references of two parts");
        writer.writeAndFlush(Unpooled.wrappedBuffer(content, bytes, CONTENT_BYTES - bytes));
        awaitContent();
    }

    /** The reset has been received but not processed. As with a kernel, the write reports it. */
    @Test
    void aWriteToAConnectionThatThePeerHasResetFails() {
        reader.config().setSoLinger(0);
        ChannelFuture written = StreamFixture.on(writer.eventLoop(), () -> {
            reader.close().sync();
            StreamFixture.settle(reader.eventLoop());
            return writer.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
        });
        written.awaitUninterruptibly();
        assertEquals("Connection reset by peer", assertInstanceOf(IOException.class, written.cause()).getMessage());
    }

    /** With half-closure the channel stays open after a reset until a write fails. */
    @Test
    void aResetFailsWritesThatWaitForRoom() throws InterruptedException {
        ((SocketChannelConfig) writer.config()).setAllowHalfClosure(true);
        reader.config().setAutoRead(false);
        reader.config().setSoLinger(0);
        ChannelFuture written = writer.writeAndFlush(Unpooled.wrappedBuffer(new byte[64 * SEND_BUFFER_BYTES]));
        reader.close().sync();
        assertTrue(written.await(Patience.NANOS, TimeUnit.NANOSECONDS), "the write hangs");
        assertInstanceOf(IOException.class, written.cause());
    }
}
