package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainDatagramChannel;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.unix.DomainDatagramPacket;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.channel.unix.DomainSocketReadMode;
import io.netty.channel.unix.FileDescriptor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Loops serve the Unix domain sockets of Netty's epoll transport, with descriptors and credentials. */
@Timeout(60)
class DomainSocketsTest {
    private static final int LONG_BYTES = 3_000_000;

    private final LoopDevice device = LoopDevice.inMemory();
    private final RdmaRawEventLoopGroup group =
            new RdmaRawEventLoopGroup(1, StreamFixture.config(device.name).build());
    private final BlockingQueue<Channel> children = new LinkedBlockingQueue<>();
    private final BlockingQueue<Object> received = new LinkedBlockingQueue<>();
    @TempDir
    private Path folder;

    /** As Netty requires before the first channel of epoll. */
    @BeforeAll
    static void loadEpoll() {
        Epoll.ensureAvailability();
    }

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private DomainSocketAddress listen(ChannelHandler child) throws InterruptedException {
        DomainSocketAddress address = new DomainSocketAddress(folder.resolve("server").toString());
        new ServerBootstrap().group(group).channel(EpollServerDomainSocketChannel.class)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(child);
                        children.add(channel);
                    }
                }).bind(address).sync();
        return address;
    }

    private EpollDomainSocketChannel connect(DomainSocketAddress server) throws InterruptedException {
        return (EpollDomainSocketChannel) new Bootstrap().group(group).channel(EpollDomainSocketChannel.class)
                .handler(new Collector()).connect(server).sync().channel();
    }

    private <T> T take(BlockingQueue<T> queue) throws InterruptedException {
        T taken = queue.poll(Patience.SECONDS, TimeUnit.SECONDS);
        assertNotNull(taken, "nothing arrived");
        return taken;
    }

    private ByteBuf takeBytes(int count) throws InterruptedException {
        ByteBuf all = Unpooled.buffer(count);
        while (all.readableBytes() < count) {
            ByteBuf part = (ByteBuf) take(received);
            all.writeBytes(part);
            part.release();
        }
        return all;
    }

    private final class Collector extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            received.add(msg);
        }
    }

    private static ByteBuf content(int bytes) {
        ByteBuf content = Unpooled.directBuffer(bytes);
        for (int i = 0; i < bytes; i++) {
            content.writeByte(i * 31 + (i >> 8));
        }
        return content;
    }

    @Test
    void streamsCarryBytesAndCredentials() throws Exception {
        EpollDomainSocketChannel client = connect(listen(new StreamFixture.Echo()));
        assertSame(client.eventLoop(), group.iterator().next());
        assertEquals(ProcessHandle.current().pid(), client.peerCredentials().pid());
        ByteBuf sent = content(LONG_BYTES);
        client.writeAndFlush(sent.retainedDuplicate()).sync();
        assertEquals(sent, takeBytes(LONG_BYTES));
        sent.release();
        // Bytes that arrive one at a time, with a sleep of the loop before each.
        for (int i = 0; i < 20; i++) {
            client.writeAndFlush(content(1)).sync();
            takeBytes(1);
            Thread.sleep(2);
        }
        take(children).close().sync();
        client.closeFuture().sync();
    }

    @Test
    void pausedReaderReadsRestLater() throws Exception {
        EpollDomainSocketChannel client = connect(listen(new StreamFixture.Echo()));
        client.config().setAutoRead(false);
        client.writeAndFlush(content(1000)).sync();
        Thread.sleep(50);
        client.read();
        takeBytes(1000);
    }

    @Test
    void descriptorsArePassed() throws Exception {
        EpollDomainSocketChannel client = connect(listen(new ChannelInboundHandlerAdapter()));
        client.config().setReadMode(DomainSocketReadMode.FILE_DESCRIPTORS);
        Path file = Files.writeString(folder.resolve("passed"), "content");
        FileDescriptor sent = FileDescriptor.from(file.toFile());
        take(children).writeAndFlush(sent).sync();
        FileDescriptor passed = assertInstanceOf(FileDescriptor.class, take(received));
        assertTrue(passed.isOpen());
        assertTrue(passed.intValue() != sent.intValue());
        passed.close();
        sent.close();
    }

    @Test
    void datagramsArrive() throws Exception {
        DomainSocketAddress address = new DomainSocketAddress(folder.resolve("datagrams").toString());
        new Bootstrap().group(group).channel(EpollDomainDatagramChannel.class).handler(new Collector())
                .bind(address).sync();
        Channel sender = new Bootstrap().group(group).channel(EpollDomainDatagramChannel.class)
                .handler(new ChannelInboundHandlerAdapter())
                .bind(new DomainSocketAddress(folder.resolve("sender").toString())).sync().channel();
        sender.writeAndFlush(new DomainDatagramPacket(content(100), address)).sync();
        DomainDatagramPacket packet = (DomainDatagramPacket) take(received);
        assertEquals(100, packet.content().readableBytes());
        packet.release();
    }

    /** Both kinds of channels on one loop, which sleeps in a selector because of the third. */
    @Test
    void loopServesDeviceAndNioToo() throws Exception {
        try (StreamFixture fixture = StreamFixture.ofOneGroup(group)) {
            EpollDomainSocketChannel domain = connect(listen(new StreamFixture.Echo()));
            Channel stream = fixture.client(new Collector()).connect(fixture.listen(new StreamFixture.Echo())).sync()
                    .channel();
            new Bootstrap().group(group).channel(NioDatagramChannel.class)
                    .handler(new ChannelInboundHandlerAdapter()).bind(new InetSocketAddress("127.0.0.1", 0)).sync();
            for (int i = 0; i < 20; i++) {
                domain.writeAndFlush(content(10)).sync();
                takeBytes(10);
                stream.writeAndFlush(content(10)).sync();
                takeBytes(10);
                Thread.sleep(2);
            }
        }
    }

    @Test
    void tcpChannelsOfEpollAreRefused() throws Exception {
        Throwable cause = new Bootstrap().group(group).channel(EpollSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).register().await().cause();
        assertInstanceOf(IllegalArgumentException.class, cause);
        assertTrue(cause.getMessage().contains("Unix domain sockets only"), cause.getMessage());
    }

    @Test
    void socketsCloseWithTheirLoop() throws Exception {
        EpollDomainSocketChannel client = connect(listen(new ChannelInboundHandlerAdapter()));
        Channel child = take(children);
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        assertTrue(client.closeFuture().isDone());
        assertTrue(child.closeFuture().isDone());
    }
}
