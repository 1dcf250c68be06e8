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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Writes that the send buffer takes part by part. */
@Timeout(60)
class RdmaRawSocketChannelWriteTest {
    private static final int SEND_BUFFER_BYTES = 20_000;
    private static final int RECEIVE_BUFFER_BYTES = 8_192;
    private static final int CONTENT_BYTES = 50_000;
    private static final int MESSAGE_BYTES = 5_000;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);
    /** Of the reader's loop. */
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

    /** Returns a promise that notes how far its write is. */
    private ChannelProgressivePromise noting() {
        return writer.newProgressivePromise().addListener(new ChannelProgressiveFutureListener() {
            @Override
            public void operationProgressed(ChannelProgressiveFuture future, long bytes, long total) {
                progress.add(bytes);
            }

            @Override
            public void operationComplete(ChannelProgressiveFuture future) {
                // The last step has been told.
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
    void buffersTellHowFarTheyAre() throws InterruptedException {
        ChannelFuture written = writer.writeAndFlush(Unpooled.wrappedBuffer(content), noting());
        awaitContent();
        written.sync();
        assertProgressInParts();
    }

    @Test
    void filesTellHowFarTheyAre(@TempDir Path directory) throws Exception {
        Path file = Files.write(directory.resolve("content"), content);
        ChannelFuture written = writer.writeAndFlush(new DefaultFileRegion(file.toFile(), 0, CONTENT_BYTES), noting());
        awaitContent();
        written.sync();
        assertProgressInParts();
    }

    /** Parts that begin and end within their buffers, the first of each message within one that was read in part. */
    @Test
    void partsOfBuffersAreGathered() throws InterruptedException {
        ChannelFuture written = null;
        for (int from = 0; from < CONTENT_BYTES; from += MESSAGE_BYTES) {
            CompositeByteBuf message = Unpooled.compositeBuffer();
            message.addComponent(true, part(from, 1_000)).addComponent(true, part(from + 1_000, 10))
                    .addComponent(true, part(from + 1_010, MESSAGE_BYTES - 1_010));
            // What the content has here goes by itself.
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

    /** Its owner may do with it what he likes when the write is complete, though much of it has not left yet. */
    @Test
    void aBufferThatSomebodyElseHoldsIsCopiedPartByPart() throws InterruptedException {
        ByteBuf held = Unpooled.directBuffer(CONTENT_BYTES).writeBytes(content);
        CompletableFuture<Long> unsentBytes = new CompletableFuture<>();
        // In the turn that completes it: the reader takes what has left meanwhile.
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

    /** As above, where the send buffer takes it at once; alone, and as a part of a message. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aBufferThatSomebodyElseHoldsIsCopiedWhole(boolean asPart) throws InterruptedException {
        int heldBytes = SEND_BUFFER_BYTES - 10;
        ByteBuf held = Unpooled.directBuffer(heldBytes).writeBytes(content, 10, heldBytes);
        CountDownLatch silence = new CountDownLatch(1);
        // Without an answer no more leaves than the first congestion window, ten segments.
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

    /** The writer's own memory, which the writer may use again once the write is complete. */
    @ParameterizedTest
    @ValueSource(strings = {"array", "part of an array", "part of a message", "message of many parts",
            "read-only array", "memory", "read-only memory", "unmodifiable parts", "never released",
            "part of one never released", "kept by its maker"})
    void whatWasOnlyWrappedIsCopied(String kind) throws InterruptedException {
        byte[] array = Arrays.copyOf(content, SEND_BUFFER_BYTES);
        ByteBuffer memory = ByteBuffer.allocateDirect(SEND_BUFFER_BYTES).put(array).flip();
        ByteBuf kept = UnpooledByteBufAllocator.DEFAULT.heapBuffer(SEND_BUFFER_BYTES, SEND_BUFFER_BYTES);
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
            default -> Unpooled.wrappedBuffer(memory.asReadOnlyBuffer());
        };
        int bytes = message.readableBytes();
        CountDownLatch silence = new CountDownLatch(1);
        StreamFixture.silence(reader.eventLoop(), silence);
        StreamFixture.on(writer.eventLoop(), () -> {
            assertTrue(writer.writeAndFlush(message).isSuccess());
            assertTrue(writer.tcpInfo().getNow().unsentBytes() > 0, "all of it has left already");
            Arrays.fill(array, (byte) 0);
            kept.setZero(0, kept.capacity());
            return memory.put(array);
        });
        silence.countDown();
        writer.writeAndFlush(Unpooled.wrappedBuffer(content, bytes, CONTENT_BYTES - bytes));
        awaitContent();
    }

    /** As those behind the buffers of Vert.x are: its users write them as often as they like. */
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

    /** Counts how often it is asked for its references. */
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

    /** A message of very many parts goes part by part: looking at all of them each time would take for ever. */
    @Test
    void onlyPartsThatAreSentNowAreLookedAt() throws InterruptedException {
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

    /** What came from an allocator is sent from where it lies. */
    @ParameterizedTest
    @ValueSource(strings = {"unpooled", "pooled", "adaptive", "registered"})
    void whatWasAllocatedIsNotCopied(String kind) throws InterruptedException {
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

    /** The reset has come, and nobody has looked: as with a kernel, the write itself finds out. */
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
}
