package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.CharsetUtil;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A flush processes received acknowledgements, as a kernel does at any time, but never calls another handler: a loop
 * runs one handler at a time.
 */
@Timeout(60)
class FlushWithinTurnTest {
    private static final int MUCH_BYTES = 16 << 20;
    private static final int MESSAGE_BYTES = 16_384;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);
    /** Accessed on the clients' loop only. */
    private final List<String> datagrams = new ArrayList<>();
    private final AtomicLong receivedBytes = new AtomicLong();

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    private final class Datagrams extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            DatagramPacket packet = (DatagramPacket) msg;
            datagrams.add(packet.content().toString(CharsetUtil.US_ASCII));
            packet.release();
        }
    }

    private final class Counter extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            receivedBytes.addAndGet(((ByteBuf) msg).readableBytes());
            ((ByteBuf) msg).release();
        }
    }

    private static Channel bind(EventLoopGroup group, ChannelInboundHandlerAdapter handler)
            throws InterruptedException {
        return new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class).handler(handler)
                .bind(new InetSocketAddress("127.0.0.1", 0)).sync().channel();
    }

    @Test
    void datagramsOfOtherChannelsAreDeliveredAfterTurn() throws InterruptedException {
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new Counter()),
                new ChannelInboundHandlerAdapter());
        Channel receiver = bind(fixture.clients, new Datagrams());
        Channel sender = bind(fixture.servers, new ChannelInboundHandlerAdapter());
        List<String> expected = new ArrayList<>();
        on(client.eventLoop(), () -> {
            for (int i = 0; i < 200; i++) {
                expected.add("datagram " + i);
                sender.writeAndFlush(new DatagramPacket(Unpooled.copiedBuffer(expected.getLast(),
                        CharsetUtil.US_ASCII), (InetSocketAddress) receiver.localAddress())).sync();
                client.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
            }
            assertEquals(List.of(), datagrams, "handled within a flush");
            return null;
        });
        Patience.until(() -> on(client.eventLoop(), datagrams::size) == 200, "the datagrams");
        assertEquals(expected, on(client.eventLoop(), () -> List.copyOf(datagrams)));
        Patience.until(() -> receivedBytes.get() == 2_000, "the stream's bytes");
    }

    /**
     * The peer acknowledges data while the handler writes. The send buffer must drain within the turn, as with a
     * kernel.
     */
    @Test
    void sendBufferDrainsWhileHandlerWrites() throws Exception {
        CompletableFuture<Long> leftBytes = new CompletableFuture<>();
        fixture.connect(fixture.listen(new Counter()), new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                ((ByteBuf) msg).release();
                for (int written = 0; written < MUCH_BYTES; written += MESSAGE_BYTES) {
                    ctx.writeAndFlush(ctx.alloc().buffer(MESSAGE_BYTES).writeZero(MESSAGE_BYTES), ctx.voidPromise());
                }
                long begunNanos = System.nanoTime();
                while (pendingBytes(ctx) > 0 && System.nanoTime() - begunNanos < Patience.NANOS) {
                    ctx.flush();
                }
                leftBytes.complete(pendingBytes(ctx));
            }
        });
        fixture.accepted().writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
        assertEquals(0, leftBytes.get(Patience.SECONDS + 5, TimeUnit.SECONDS), "bytes left when the turn ends");
        Patience.until(() -> receivedBytes.get() == MUCH_BYTES, "all bytes");
    }

    private static long pendingBytes(ChannelHandlerContext ctx) {
        return ctx.channel().unsafe().outboundBuffer().totalPendingWriteBytes();
    }

    /** Each side answers a read with more than its send buffer holds. Other tasks of the loop must still run. */
    @Test
    void busyConnectionsDoNotStarveTasksOfLoop() throws InterruptedException {
        class PingPong extends ChannelInboundHandlerAdapter {
            @Override
            public boolean isSharable() {
                return true;
            }

            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                receivedBytes.addAndGet(((ByteBuf) msg).readableBytes());
                ((ByteBuf) msg).release();
                if (ctx.channel().isActive() && pendingBytes(ctx) < MUCH_BYTES) {
                    ctx.writeAndFlush(ctx.alloc().buffer(1 << 20).writeZero(1 << 20), ctx.voidPromise());
                }
            }
        }
        StreamFixture one = StreamFixture.ofOneGroup(LoopDevice.inMemory(), 1);
        try {
            RdmaRawSocketChannel client = one.connect(one.listen(new PingPong()), new PingPong());
            client.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
            for (long bytes = 1 << 20; bytes <= 64 << 20; bytes *= 2) {
                long atLeast = bytes;
                Patience.until(() -> receivedBytes.get() > atLeast, "bytes");
                assertTrue(on(client.eventLoop(), client::isActive));
            }
        } finally {
            one.close();
        }
    }
}
