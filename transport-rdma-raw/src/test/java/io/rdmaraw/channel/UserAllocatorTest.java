package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.memory.RegisteredByteBufAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.InetSocketAddress;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * If the user sets an {@code ALLOCATOR} other than the transport's, received data is copied into its buffers, as with
 * Netty's other channels. Some handlers only accept buffers of an allocator they know.
 */
@Timeout(60)
class UserAllocatorTest {
    private static final ByteBufAllocator POOLED = PooledByteBufAllocator.DEFAULT;
    private static final int PIECE_BYTES = 700;
    private static final int BYTES = 100_000;
    private static final int MANY_SEGMENTS_BYTES = 20_000;
    private static final int MANY = 60;

    /** Collects the buffers of a stream. */
    private static final class Pieces extends ChannelInboundHandlerAdapter {
        final BlockingQueue<ByteBuf> pieces = new LinkedBlockingQueue<>();
        final BlockingQueue<Throwable> errors = new LinkedBlockingQueue<>();

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            pieces.add((ByteBuf) msg);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            errors.add(cause);
        }
    }

    /** An allocator that always fails. */
    private static final class Empty extends AbstractByteBufAllocator {
        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
            throw new IllegalStateException("no memory here");
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
            return newHeapBuffer(initialCapacity, maxCapacity);
        }

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }
    }

    private static byte[] randomBytes() {
        return randomBytes(BYTES);
    }

    private static byte[] randomBytes(int count) {
        byte[] bytes = new byte[count];
        new Random(count).nextBytes(bytes);
        return bytes;
    }

    @Test
    void aStreamIsCopiedIntoBuffersOfTheUsersAllocatorAndSize() throws Exception {
        Pieces received = new Pieces();
        byte[] sent = randomBytes();
        try (StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1)) {
            InetSocketAddress server = fixture.listen("127.0.0.1", received, settings -> settings
                    .childOption(ChannelOption.ALLOCATOR, POOLED)
                    .childOption(ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(PIECE_BYTES)));
            fixture.connect(server, new ChannelInboundHandlerAdapter())
                    .writeAndFlush(Unpooled.wrappedBuffer(sent)).sync();
            ByteBuf all = Unpooled.buffer();
            int pieces = 0;
            while (all.readableBytes() < BYTES) {
                ByteBuf piece = FrameQueueHandler.take(received.pieces, "piece");
                assertSame(POOLED, piece.alloc());
                assertEquals(PIECE_BYTES, piece.capacity());
                all.writeBytes(piece);
                assertTrue(piece.release());
                pieces++;
            }
            assertEquals(Unpooled.wrappedBuffer(sent), all);
            RdmaRawSocketChannel reader = fixture.accepted();
            long copies = on(reader.eventLoop(), () -> reader.tcpStack().statistics().copiedForAllocator);
            assertEquals(pieces, copies);
        }
    }

    /** A copied buffer is filled to its size, from as many segments as needed. */
    @Test
    void userBufferIsFilledFromManySegments() throws Exception {
        Pieces received = new Pieces();
        byte[] sent = randomBytes(MANY_SEGMENTS_BYTES);
        try (StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1)) {
            InetSocketAddress server = fixture.listen("127.0.0.1", received, settings -> settings
                    .childOption(ChannelOption.AUTO_READ, false).childOption(ChannelOption.ALLOCATOR, POOLED)
                    .childOption(ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(MANY_SEGMENTS_BYTES)));
            RdmaRawSocketChannel client = fixture.connect(server, new ChannelInboundHandlerAdapter());
            client.writeAndFlush(Unpooled.wrappedBuffer(sent)).sync();
            while (client.tcpInfo().get().bytesAcked() < MANY_SEGMENTS_BYTES) {
                Thread.onSpinWait();
            }
            assertTrue(client.tcpInfo().get().segmentBytes() < MANY_SEGMENTS_BYTES / 4);
            fixture.accepted().read();
            ByteBuf piece = FrameQueueHandler.take(received.pieces, "piece");
            assertEquals(Unpooled.wrappedBuffer(sent), piece);
            assertTrue(piece.release());
        }
    }

    @Test
    void withTheTransportsAllocatorAStreamIsNotCopied() throws Exception {
        Pieces received = new Pieces();
        try (StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1)) {
            InetSocketAddress server = fixture.listen("127.0.0.1", received, settings -> settings
                    .childOption(ChannelOption.ALLOCATOR, RdmaRawByteBufAllocator.DEFAULT));
            fixture.connect(server, new ChannelInboundHandlerAdapter())
                    .writeAndFlush(Unpooled.wrappedBuffer(new byte[PIECE_BYTES])).sync();
            ByteBuf piece = FrameQueueHandler.take(received.pieces, "piece");
            assertInstanceOf(RegisteredByteBufAllocator.class, piece.alloc());
            piece.release();
            RdmaRawSocketChannel reader = fixture.accepted();
            long copies = on(reader.eventLoop(), () -> reader.tcpStack().statistics().copiedForAllocator);
            assertEquals(0, copies);
        }
    }

    /** The channel closes with the error. A NIO channel would fail again in each turn of the loop. */
    @Test
    void aStreamWhoseAllocatorFailsEndsWithItsError() throws Exception {
        Pieces received = new Pieces();
        try (StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1)) {
            InetSocketAddress server = fixture.listen("127.0.0.1", received, settings -> settings
                    .childOption(ChannelOption.ALLOCATOR, new Empty()));
            fixture.connect(server, new ChannelInboundHandlerAdapter())
                    .writeAndFlush(Unpooled.wrappedBuffer(new byte[PIECE_BYTES])).sync();
            assertEquals("no memory here", FrameQueueHandler.take(received.errors, "error").getMessage());
            fixture.accepted().closeFuture().sync();
        }
    }

    @Test
    void datagramsAreCopiedIntoBuffersOfTheUsersAllocator() throws Exception {
        try (DatagramFixture fixture = new DatagramFixture(1)) {
            DatagramFixture.Inbox receiver = fixture.bind(new InetSocketAddress("127.0.0.1", 0),
                    DatagramFixture.option(ChannelOption.ALLOCATOR, POOLED));
            DatagramFixture.Inbox sender = fixture.bind(new InetSocketAddress("127.0.0.1", 0));
            for (String text : new String[] {"one", "", "three"}) {
                sender.send(text, receiver.address());
                DatagramPacket packet = receiver.take();
                assertSame(POOLED, packet.content().alloc());
                assertEquals(DatagramFixture.text(text), packet.content());
                assertEquals(sender.address(), packet.sender());
                packet.release();
            }
            assertEquals(3, receiver.channel.statistics().copiedForAllocator());
            receiver.send("back", sender.address());
            assertEquals("back", sender.takeText());
            assertEquals(0, sender.channel.statistics().copiedForAllocator());
        }
    }

    @Test
    void datagramIsDroppedAndReportedIfAllocatorFails() throws Exception {
        try (DatagramFixture fixture = new DatagramFixture(1)) {
            DatagramFixture.Inbox receiver = fixture.bind(new InetSocketAddress("127.0.0.1", 0),
                    DatagramFixture.option(ChannelOption.ALLOCATOR, new Empty()));
            DatagramFixture.Inbox sender = fixture.bind(new InetSocketAddress("127.0.0.1", 0));
            sender.send("lost", receiver.address());
            assertEquals("no memory here", FrameQueueHandler.take(receiver.errors, "error").getMessage());
            assertEquals(1, receiver.channel.statistics().droppedUnallocated());
            receiver.channel.config().setAllocator(POOLED);
            sender.send("next", receiver.address());
            assertEquals("next", receiver.takeText());
        }
    }

    /** Errors are reported once per burst, so that a sender cannot flood the handler or its log. */
    @Test
    void failuresOfOneBurstAreReportedOnce() throws Exception {
        try (DatagramFixture fixture = new DatagramFixture(1)) {
            DatagramFixture.Inbox receiver = fixture.bind(new InetSocketAddress("127.0.0.1", 0),
                    DatagramFixture.option(ChannelOption.ALLOCATOR, new Empty()));
            DatagramFixture.Inbox sender = fixture.bind(new InetSocketAddress("127.0.0.1", 0));
            on(sender.channel.eventLoop(), () -> {
                for (int i = 0; i < MANY; i++) {
                    sender.channel.write(new DatagramPacket(DatagramFixture.text("lost"), receiver.address()));
                }
                return sender.channel.flush();
            });
            while (receiver.channel.statistics().droppedUnallocated() < MANY) {
                DatagramFixture.awaitRounds(receiver);
            }
            assertTrue(receiver.errors.size() < MANY / 4, () -> receiver.errors.size() + " errors");
        }
    }

    @Test
    void fragmentsHoldNoSlotsIfAllocatorFails() throws Exception {
        try (DatagramFixture fixture = new DatagramFixture(1)) {
            DatagramFixture.Inbox receiver = fixture.bind(new InetSocketAddress("127.0.0.1", 0),
                    DatagramFixture.option(ChannelOption.ALLOCATOR, new Empty()));
            DatagramFixture.Inbox sender = fixture.bind(new InetSocketAddress("127.0.0.1", 0));
            int before = on(receiver.channel.eventLoop(),
                    () -> LoopDevice.slotsMissing(receiver.channel.deviceQueue()));
            for (int i = 0; i < 5; i++) {
                sender.channel.writeAndFlush(new DatagramPacket(Unpooled.wrappedBuffer(new byte[20_000]),
                        receiver.address())).sync();
                DatagramFixture.awaitRounds(receiver);
            }
            assertTrue(receiver.channel.statistics().receivedFragments() > 5);
            assertEquals(before,
                    on(receiver.channel.eventLoop(), () -> LoopDevice.slotsMissing(receiver.channel.deviceQueue())));
        }
    }

    /** A user-defined handle that throws. */
    private static final class Broken extends DefaultMaxMessagesRecvByteBufAllocator {
        private final boolean throwsError;

        Broken(boolean throwsError) {
            this.throwsError = throwsError;
        }

        @Override
        @SuppressWarnings("deprecation") // the type that Netty asks for
        public Handle newHandle() {
            return new MaxMessageHandle() {
                @Override
                public int guess() {
                    return PIECE_BYTES;
                }

                @Override
                public void lastBytesRead(int bytes) {
                    if (throwsError) {
                        throw new AssertionError("broken handle");
                    }
                    throw new IllegalStateException("broken handle");
                }
            };
        }
    }

    @ParameterizedTest
    @CsvSource({"false,false", "true,false", "false,true", "true,true"})
    void streamWhoseHandleThrowsDeliversItsBytesAndStaysOpen(boolean copies, boolean error) throws Exception {
        Pieces received = new Pieces();
        ByteBufAllocator allocator = copies ? POOLED : RdmaRawByteBufAllocator.DEFAULT;
        try (StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1)) {
            InetSocketAddress server = fixture.listen("127.0.0.1", received, settings -> settings
                    .childOption(ChannelOption.ALLOCATOR, allocator)
                    .childOption(ChannelOption.RECVBUF_ALLOCATOR, new Broken(error)));
            Channel client = fixture.connect(server, new ChannelInboundHandlerAdapter());
            RdmaRawSocketChannel reader = fixture.accepted();
            DeviceQueue port = reader.tcpStack().deviceQueue();
            int before = on(reader.eventLoop(), () -> LoopDevice.slotsMissing(port));
            for (int i = 0; i < 3; i++) {
                client.writeAndFlush(Unpooled.wrappedBuffer(new byte[PIECE_BYTES])).sync();
                ByteBuf piece = FrameQueueHandler.take(received.pieces, "piece");
                assertEquals(PIECE_BYTES, piece.readableBytes());
                piece.release();
                assertEquals("broken handle", FrameQueueHandler.take(received.errors, "error").getMessage());
            }
            assertTrue(reader.isActive());
            client.close().sync();
            reader.closeFuture().sync();
            // The slot of the last segment returns with its completion.
            long deadlineNanos = System.nanoTime() + Patience.NANOS;
            while (on(reader.eventLoop(), () -> LoopDevice.slotsMissing(port)) > before) {
                assertTrue(System.nanoTime() < deadlineNanos, "a buffer is kept");
            }
        }
    }

    @Test
    void framesAreCopiedIntoBuffersOfTheUsersAllocator() throws Exception {
        frames(false);
    }

    @Test
    void framesOfBurstsAreCopiedIntoBuffersOfTheUsersAllocator() throws Exception {
        frames(true);
    }

    private static void frames(boolean bursts) throws Exception {
        LoopDevice device = LoopDevice.inMemory();
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
                .receiveQueueDepth(256).sendQueueDepth(256).slotCount(1024).build());
        FrameQueueHandler received = new FrameQueueHandler();
        try {
            RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
            receiver.config().setAllocator(POOLED).setFrameBursts(bursts);
            RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
            for (int i = 0; i < 2 * FrameBurst.MAX_FRAMES; i++) {
                sender.write(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64));
            }
            sender.flush();
            int next = 0;
            while (next < 2 * FrameBurst.MAX_FRAMES) {
                Object message = FrameQueueHandler.take(received.messages, "message");
                int size = message instanceof FrameBurst burst ? burst.size() : 1;
                for (int i = 0; i < size; i++) {
                    ByteBuf frame = message instanceof FrameBurst burst ? burst.frame(i) : (ByteBuf) message;
                    assertSame(POOLED, frame.alloc());
                    assertEquals(next++, LoopDevice.number(frame));
                }
                ReferenceCountUtil.release(message);
            }
            assertEquals(next, receiver.statistics().copiedForAllocator());
            assertEquals(0, LoopDevice.slotsMissing(receiver));
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
