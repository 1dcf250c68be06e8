package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.ReferenceCountUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The user's limit on messages between two {@code channelReadComplete} events is observed. */
@Timeout(60)
class ReadLimitsTest {
    private static final int MESSAGES = 50;
    private static final int LIMIT = 4;

    private int numbers;

    /** Records the number of messages before each end of a read. */
    private static final class Reads extends ChannelInboundHandlerAdapter {
        private final List<Integer> messagesPerRead = new ArrayList<>();
        private int messages;
        private int total;

        @Override
        public synchronized void channelRead(ChannelHandlerContext ctx, Object msg) {
            messages++;
            total++;
            ReferenceCountUtil.release(msg);
        }

        @Override
        public synchronized void channelReadComplete(ChannelHandlerContext ctx) {
            messagesPerRead.add(messages);
            messages = 0;
            notifyAll();
        }

        synchronized List<Integer> await(int expected) throws InterruptedException {
            while (total < expected || messages > 0) {
                wait();
            }
            return List.copyOf(messagesPerRead);
        }
    }

    private static void assertLimited(List<Integer> messagesPerRead, int limit) {
        assertEquals(MESSAGES, messagesPerRead.stream().mapToInt(Integer::intValue).sum());
        assertTrue(messagesPerRead.stream().allMatch(n -> n > 0 && n <= limit), messagesPerRead::toString);
    }

    /** Sends all datagrams in one task of the loop that also receives them. */
    private static void sendDatagrams(Channel sender, InetSocketAddress to) throws InterruptedException {
        for (int i = 0; i < MESSAGES; i++) {
            sender.write(new DatagramPacket(DatagramFixture.text("datagram " + i), to));
        }
        sender.flush();
    }

    private static List<Integer> datagrams(Reads reads, Channel receiver, Channel sender) throws Exception {
        receiver.pipeline().addFirst(reads);
        receiver.eventLoop().submit(() -> {
            sendDatagrams(sender, (InetSocketAddress) receiver.localAddress());
            return null;
        }).sync();
        return reads.await(MESSAGES);
    }

    @Test
    void fixedLimitAppliesToDatagrams() throws Exception {
        try (DatagramFixture fixture = new DatagramFixture(1)) {
            Channel receiver = fixture.bind(new InetSocketAddress("127.0.0.1", 0), DatagramFixture.option(
                    ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(2048).maxMessagesPerRead(LIMIT)))
                    .channel;
            Channel sender = fixture.bind(new InetSocketAddress("127.0.0.1", 0)).channel;
            assertLimited(datagrams(new Reads(), receiver, sender), LIMIT);
        }
    }

    @Test
    @SuppressWarnings("deprecation") // MAX_MESSAGES_PER_READ is, but programs use it
    void oldOptionAppliesToWaitingDatagrams() throws Exception {
        try (DatagramFixture fixture = new DatagramFixture(1)) {
            Channel receiver = fixture.bind(new InetSocketAddress("127.0.0.1", 0), bootstrap -> bootstrap
                    .option(ChannelOption.MAX_MESSAGES_PER_READ, LIMIT)
                    .option(ChannelOption.AUTO_READ, false)).channel;
            Channel sender = fixture.bind(new InetSocketAddress("127.0.0.1", 0)).channel;
            Reads reads = new Reads();
            receiver.pipeline().addFirst(reads);
            sender.eventLoop().submit(() -> {
                sendDatagrams(sender, (InetSocketAddress) receiver.localAddress());
                return null;
            }).sync();
            receiver.config().setAutoRead(true);
            assertLimited(reads.await(MESSAGES), LIMIT);
        }
    }

    /** As with NIO, auto-read continues although a handler discards {@code read()} calls. */
    @Test
    @SuppressWarnings("deprecation") // MAX_MESSAGES_PER_READ is, but programs use it
    void waitingDatagramsKeepOrderIfHandlerDiscardsReads() throws Exception {
        try (DatagramFixture fixture = new DatagramFixture(1)) {
            DatagramFixture.Inbox inbox = fixture.bind(new InetSocketAddress("127.0.0.1", 0), bootstrap -> bootstrap
                    .option(ChannelOption.MAX_MESSAGES_PER_READ, LIMIT).option(ChannelOption.AUTO_READ, false));
            Channel sender = fixture.bind(new InetSocketAddress("127.0.0.1", 0)).channel;
            inbox.channel.pipeline().addFirst(new ChannelOutboundHandlerAdapter() {
                private boolean asked;

                @Override
                public void read(ChannelHandlerContext ctx) {
                    if (!asked) {
                        asked = true;
                        ctx.read();
                    }
                }
            });
            for (int burst = 0; burst < 2; burst++) {
                sender.eventLoop().submit(() -> {
                    sendDatagrams(sender, inbox.address());
                    return null;
                }).sync();
                inbox.channel.config().setAutoRead(true);
                for (int i = 0; i < MESSAGES; i++) {
                    assertEquals("datagram " + i, inbox.takeText());
                }
            }
        }
    }

    /** Reading stops in a burst and resumes in the same burst, through a handler of another channel. */
    @Test
    void datagramsKeepOrderIfReadingStopsWithinBurst() throws Exception {
        try (DatagramFixture fixture = new DatagramFixture(1)) {
            DatagramFixture.Inbox stopped = fixture.bind(new InetSocketAddress("127.0.0.1", 0));
            DatagramFixture.Inbox other = fixture.bind(new InetSocketAddress("127.0.0.1", 0));
            Channel sender = fixture.bind(new InetSocketAddress("127.0.0.1", 0)).channel;
            stopped.channel.pipeline().addFirst(new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object msg) {
                    ctx.channel().config().setAutoRead(false);
                    ctx.pipeline().remove(this);
                    ctx.fireChannelRead(msg);
                }
            });
            other.channel.pipeline().addFirst(new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object msg) {
                    stopped.channel.config().setAutoRead(true);
                    ctx.fireChannelRead(msg);
                }
            });
            sender.eventLoop().submit(() -> {
                for (InetSocketAddress to : List.of(stopped.address(), stopped.address(), other.address(),
                        stopped.address(), stopped.address())) {
                    sender.write(new DatagramPacket(DatagramFixture.text(Integer.toString(++numbers)), to));
                }
                sender.flush();
            }).sync();
            for (String expected : List.of("1", "2", "4", "5")) {
                assertEquals(expected, stopped.takeText());
            }
        }
    }

    /** Without a limit, a burst is as long as the device delivers it. */
    @Test
    void burstsAreUnlimitedByDefault() throws Exception {
        try (DatagramFixture fixture = new DatagramFixture(1)) {
            Channel receiver = fixture.bind(new InetSocketAddress("127.0.0.1", 0)).channel;
            Channel sender = fixture.bind(new InetSocketAddress("127.0.0.1", 0)).channel;
            List<Integer> messagesPerRead = datagrams(new Reads(), receiver, sender);
            assertTrue(messagesPerRead.stream().anyMatch(n -> n > LIMIT), messagesPerRead::toString);
        }
    }

    @Test
    void fixedLimitAppliesToFrames() throws Exception {
        LoopDevice device = LoopDevice.inMemory();
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
                .receiveQueueDepth(256).sendQueueDepth(256).slotCount(1024).build());
        try {
            Reads reads = new Reads();
            RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), reads);
            receiver.config().setRecvByteBufAllocator(new FixedRecvByteBufAllocator(64).maxMessagesPerRead(LIMIT));
            RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
            for (int i = 0; i < MESSAGES; i++) {
                sender.write(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64));
            }
            sender.flush();
            assertLimited(reads.await(MESSAGES), LIMIT);
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** For a stream, the maximum of an adaptive allocator is the maximum size of a message, as with NIO. */
    @Test
    void adaptiveMaximumLimitsStreamReads() throws Exception {
        BlockingQueue<Integer> sizes = new LinkedBlockingQueue<>();
        try (StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1)) {
            InetSocketAddress server = fixture.listen("127.0.0.1", new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object msg) {
                    sizes.add(((ByteBuf) msg).readableBytes());
                    ReferenceCountUtil.release(msg);
                }
            }, settings -> settings.childOption(ChannelOption.RECVBUF_ALLOCATOR,
                    new AdaptiveRecvByteBufAllocator(64, 128, 256)));
            fixture.connect(server, new ChannelInboundHandlerAdapter())
                    .writeAndFlush(Unpooled.wrappedBuffer(new byte[100_000]));
            for (int bytes = 0; bytes < 100_000;) {
                int size = sizes.poll(Patience.SECONDS, TimeUnit.SECONDS);
                assertTrue(size <= 256, size + " bytes");
                bytes += size;
            }
        }
    }
}
