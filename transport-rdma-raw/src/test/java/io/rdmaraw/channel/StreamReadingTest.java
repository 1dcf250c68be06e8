package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A channel hands on what is asked for, and no more: what has come meanwhile waits. */
@Timeout(60)
class StreamReadingTest {
    private static final int PIECE_BYTES = 10;

    private final LoopDevice device = LoopDevice.inMemory();
    private final RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().ipDevice(device.name).build();
    private final EventLoopGroup servers = new RdmaRawEventLoopGroup(1, config);
    private final EventLoopGroup clients = new RdmaRawEventLoopGroup(1, config);
    private final BlockingQueue<RdmaRawSocketChannel> children = new LinkedBlockingQueue<>();
    /** Of the child's loop. */
    private int messages;
    private int bytes;
    private RdmaRawSocketChannel sender;
    private RdmaRawSocketChannel reader;

    @ChannelHandler.Sharable
    private final class Counting extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            children.add((RdmaRawSocketChannel) ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            messages++;
            bytes += ((ByteBuf) msg).readableBytes();
            ((ByteBuf) msg).release();
        }
    }

    @BeforeEach
    void connect() throws InterruptedException {
        InetSocketAddress server = (InetSocketAddress) new ServerBootstrap().group(servers)
                .channel(RdmaRawServerSocketChannel.class).childHandler(new Counting())
                .childOption(ChannelOption.RECVBUF_ALLOCATOR,
                        new FixedRecvByteBufAllocator(PIECE_BYTES).maxMessagesPerRead(1))
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).sync().channel().localAddress();
        sender = (RdmaRawSocketChannel) new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).connect(server).sync().channel();
        reader = children.take();
    }

    @AfterEach
    void shutDown() {
        clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Comes back when the reader's TCP has the bytes, and its loop has done what that may have led to. */
    private void send(int pieces) throws Exception {
        long expected = reader.tcpInfo().get().bytesReceived() + (long) pieces * PIECE_BYTES;
        sender.writeAndFlush(Unpooled.wrappedBuffer(new byte[pieces * PIECE_BYTES])).sync();
        while (reader.tcpInfo().get().bytesReceived() < expected) {
            assertTrue(reader.isActive());
        }
        settle();
    }

    private void settle() throws InterruptedException {
        for (int turn = 0; turn < 3; turn++) {
            reader.eventLoop().submit(() -> { }).sync();
        }
    }

    private int readBytes() throws InterruptedException {
        return reader.eventLoop().submit(() -> bytes).sync().getNow();
    }

    private void awaitRead(int expected) throws InterruptedException {
        while (readBytes() < expected) {
            assertTrue(reader.isActive());
        }
    }

    /** From this thread, and from the loop's own. */
    @Test
    void withoutAutoReadNothingIsHandedOnUntilItIsAskedFor() throws Exception {
        send(1);
        awaitRead(PIECE_BYTES);
        reader.config().setAutoRead(false);
        settle();
        send(5);
        assertEquals(PIECE_BYTES, readBytes());
        reader.config().setAutoRead(true);
        awaitRead(6 * PIECE_BYTES);
        reader.eventLoop().submit(() -> reader.config().setAutoRead(false)).sync();
        send(5);
        assertEquals(6 * PIECE_BYTES, readBytes());
        reader.config().setAutoRead(true);
        awaitRead(11 * PIECE_BYTES);
    }

    @Test
    void aReadIsForOneMessage() throws Exception {
        reader.config().setAutoRead(false);
        settle();
        send(4);
        for (int read = 1; read <= 4; read++) {
            reader.read();
            awaitRead(read * PIECE_BYTES);
            settle();
            assertEquals(read, reader.eventLoop().submit(() -> messages).sync().getNow());
        }
        // One that is asked for before there is anything.
        reader.read();
        settle();
        send(3);
        awaitRead(5 * PIECE_BYTES);
        settle();
        assertEquals(5, reader.eventLoop().submit(() -> messages).sync().getNow());
    }
}
