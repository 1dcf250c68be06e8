package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.EventLoop;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Tests behaviour that users of socket channels rely on, with a kernel socket as the peer, for connections
 * carried by the device and by the kernel.
 */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class TcpBehaviourOverVethTest {
    private static final String LONG = "0123456789".repeat(100_000);

    /** The location of the peer. */
    enum Peer { OVER_THE_LINK, ON_THIS_HOST }

    private VethPair pair;
    private RdmaRawEventLoopGroup group;

    @BeforeEach
    void open(TestNetwork network) {
        pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        group = new RdmaRawEventLoopGroup(2, pair.ours().namespace().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device("soft:xdp:" + pair.ours().name()).build());
    }

    @AfterEach
    void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private NetworkNamespace host(Peer peer) {
        return peer == Peer.ON_THIS_HOST ? pair.ours().namespace() : pair.peer().namespace();
    }

    private String addressOf(Peer peer) {
        return peer == Peer.ON_THIS_HOST ? "127.0.0.1" : pair.peer().ipv4();
    }

    private ServerSocket listen(Peer peer) throws Exception {
        ServerSocket server = host(peer).call(() -> new ServerSocket(0, 50, InetAddress.ofLiteral(addressOf(peer))));
        server.setSoTimeout(Await.PATIENCE_MILLIS);
        return server;
    }

    private static Socket accept(ServerSocket server) throws IOException {
        Socket accepted = server.accept();
        accepted.setSoTimeout(Await.PATIENCE_MILLIS);
        return accepted;
    }

    private Bootstrap client(ChannelInboundHandlerAdapter handler) {
        return new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).handler(handler);
    }

    private static RdmaRawSocketChannel connect(Bootstrap client, ServerSocket server) throws InterruptedException {
        return (RdmaRawSocketChannel) client
                .connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort())).sync().channel();
    }

    private static void write(Channel channel, String text) throws InterruptedException {
        channel.writeAndFlush(Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII)).sync();
    }

    private static String readAll(Socket socket) throws IOException {
        return new String(socket.getInputStream().readAllBytes(), CharsetUtil.US_ASCII);
    }

    /** Reports the end of the input. */
    private static final class InputEnd extends ChannelInboundHandlerAdapter {
        final CountDownLatch seen = new CountDownLatch(1);

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event == ChannelInputShutdownEvent.INSTANCE) {
                seen.countDown();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void peerMayCloseItsDirectionFirst(Peer peer) throws Exception {
        try (ServerSocket server = listen(peer)) {
            InputEnd end = new InputEnd();
            RdmaRawSocketChannel channel = connect(client(end).option(ChannelOption.ALLOW_HALF_CLOSURE, true), server);
            try (Socket socket = accept(server)) {
                socket.shutdownOutput();
                assertTrue(end.seen.await(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
                assertTrue(channel.isInputShutdown());
                assertFalse(channel.isOutputShutdown());
                channel.writeAndFlush(Unpooled.copiedBuffer(LONG, CharsetUtil.US_ASCII))
                        .addListener(written -> channel.shutdownOutput());
                assertEquals(LONG, readAll(socket));
            }
            assertTrue(channel.isOpen(), "half-closed on both sides is not closed");
            channel.close().sync();
        }
    }

    @ParameterizedTest
    @EnumSource
    void channelMayCloseItsDirectionFirst(Peer peer) throws Exception {
        try (ServerSocket server = listen(peer)) {
            TcpHost.Client client = new TcpHost.Client();
            RdmaRawSocketChannel channel = connect(client(client), server);
            try (Socket socket = accept(server)) {
                channel.shutdownOutput().sync();
                assertTrue(channel.isOutputShutdown());
                assertEquals("", readAll(socket));
                socket.getOutputStream().write(LONG.getBytes(CharsetUtil.US_ASCII));
                client.await(LONG);
                assertInstanceOf(IOException.class, channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[1])).await()
                        .cause());
            }
            channel.closeFuture().sync();
            assertNull(client.errors.poll(), "a peer that ends in order is no error");
        }
    }

    @ParameterizedTest
    @EnumSource
    void endOfStreamClosesChannelThatDoesNotRead(Peer peer) throws Exception {
        try (ServerSocket server = listen(peer)) {
            Channel channel = connect(client(new TcpHost.Client()).option(ChannelOption.AUTO_READ, false), server);
            accept(server).close();
            assertTrue(channel.closeFuture().await(Await.PATIENCE_MILLIS));
        }
    }

    @ParameterizedTest
    @EnumSource
    void endOfStreamIsReportedAfterAllData(Peer peer) throws Exception {
        try (ServerSocket server = listen(peer)) {
            TcpHost.Client client = new TcpHost.Client();
            Channel channel = connect(byteByByte(client), server);
            try (Socket socket = accept(server)) {
                socket.getOutputStream().write("end".getBytes(CharsetUtil.US_ASCII));
            }
            for (String next : List.of("e", "n", "d")) {
                assertTrue(channel.isOpen());
                channel.read();
                client.await(next);
            }
            channel.read();
            assertTrue(channel.closeFuture().await(Await.PATIENCE_MILLIS));
            assertNull(client.errors.poll());
        }
    }

    /** Returns a client that reads one byte per read request. */
    private Bootstrap byteByByte(TcpHost.Client client) {
        return client(client).option(ChannelOption.AUTO_READ, false)
                .option(ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(1).maxMessagesPerRead(1));
    }

    @ParameterizedTest
    @EnumSource
    void resetByPeerFiresException(Peer peer) throws Exception {
        try (ServerSocket server = listen(peer)) {
            TcpHost.Client client = new TcpHost.Client();
            RdmaRawSocketChannel channel = connect(client(client), server);
            try (Socket socket = accept(server)) {
                socket.setSoLinger(true, 0);
            }
            Throwable cause = client.errors.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
            assertInstanceOf(SocketException.class, cause);
            assertTrue(cause.getMessage().contains("Connection reset"), cause.getMessage());
            channel.closeFuture().sync();
            assertInstanceOf(IOException.class, channel.writeAndFlush(Unpooled.EMPTY_BUFFER).await().cause());
        }
    }

    @ParameterizedTest
    @EnumSource
    void closeWithLingerZeroResets(Peer peer) throws Exception {
        try (ServerSocket server = listen(peer)) {
            Channel channel = connect(client(new TcpHost.Client()).option(ChannelOption.SO_LINGER, 0), server);
            try (Socket socket = accept(server)) {
                channel.close().sync();
                assertReset(socket);
            }
        }
    }

    /** The data is written before the close; the peer receives it afterwards. */
    @ParameterizedTest
    @EnumSource
    void lingeringCloseSendsPendingData(Peer peer) throws Exception {
        try (ServerSocket server = listen(peer)) {
            Channel channel = connect(client(new TcpHost.Client()).option(ChannelOption.SO_LINGER, 30), server);
            String text = "0123456789".repeat(6000);
            try (Socket socket = accept(server)) {
                write(channel, text);
                channel.close();
                assertEquals(text, readAll(socket));
            }
            channel.closeFuture().sync();
        }
    }

    @ParameterizedTest
    @EnumSource
    void closeWithUnreadDataResets(Peer peer) throws Exception {
        try (ServerSocket server = listen(peer)) {
            TcpHost.Client client = new TcpHost.Client();
            Channel channel = connect(byteByByte(client), server);
            try (Socket socket = accept(server)) {
                socket.getOutputStream().write("two".getBytes(CharsetUtil.US_ASCII));
                channel.read();
                client.await("t");
                channel.close().sync();
                assertReset(socket);
            }
        }
    }

    private static void assertReset(Socket socket) {
        try {
            assertEquals("a reset", socket.getInputStream().read());
        } catch (IOException e) {
            assertEquals("Connection reset", e.getMessage());
        }
    }

    /**
     * If the peer does not read, the channel becomes unwritable and the promises of the pending writes stay
     * incomplete.
     */
    @ParameterizedTest
    @EnumSource
    void unreadDataOfPeerCountsAgainstWaterMarks(Peer peer) throws Exception {
        byte[] block = new byte[1 << 20];
        int blocks = 24;
        try (ServerSocket server = listen(peer)) {
            RdmaRawSocketChannel channel = connect(client(new TcpHost.Client()), server);
            try (Socket socket = accept(server)) {
                List<ChannelFuture> writes = new ArrayList<>();
                for (int i = 0; i < blocks; i++) {
                    writes.add(channel.writeAndFlush(Unpooled.wrappedBuffer(block)));
                }
                channel.eventLoop().submit(() -> { }).sync();
                assertFalse(channel.isWritable());
                assertTrue(channel.bytesBeforeWritable() > block.length, "most of it waits in the channel");
                assertFalse(writes.getLast().isDone());
                assertEquals(blocks * block.length, socket.getInputStream().readNBytes(blocks * block.length).length);
                for (ChannelFuture write : writes) {
                    assertTrue(write.await(Await.PATIENCE_MILLIS) && write.isSuccess());
                }
                // Netty completes a promise before it subtracts the bytes of the write.
                Await.until("the channel to be writable", channel::isWritable);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void fileRegionsAreSentInOrder(Peer peer, @TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("content"), LONG);
        try (ServerSocket server = listen(peer)) {
            RdmaRawSocketChannel channel = connect(client(new TcpHost.Client()), server);
            try (Socket socket = accept(server)) {
                channel.write(Unpooled.copiedBuffer("before ", CharsetUtil.US_ASCII));
                channel.write(new DefaultFileRegion(file.toFile(), 10, LONG.length() - 20));
                channel.writeAndFlush(Unpooled.copiedBuffer(" behind", CharsetUtil.US_ASCII))
                        .addListener(sent -> channel.close());
                assertEquals("before " + LONG.substring(10, LONG.length() - 10) + " behind", readAll(socket));
            }
        }
    }

    /**
     * Moves the channel to another loop while much data is pending. Data written and read afterwards must follow
     * in order.
     */
    @ParameterizedTest
    @EnumSource
    void reregistrationMovesTheConnection(Peer peer) throws Exception {
        byte[] block = new byte[1 << 16];
        // Number of blocks that arrive while the channel has no loop: the kernel sends its buffers by itself, the
        // device needs the channel's loop.
        int blocksMeanwhile = peer == Peer.ON_THIS_HOST ? 256 : 0;
        int blocks = 512;
        try (ServerSocket server = listen(peer)) {
            TcpHost.Client client = new TcpHost.Client();
            RdmaRawSocketChannel channel = connect(client(client), server);
            try (Socket socket = accept(server)) {
                for (int i = 0; i < blocks; i++) {
                    channel.write(Unpooled.wrappedBuffer(numbered(block, i)));
                }
                channel.flush();
                channel.deregister().sync();
                assertBlocks(socket, block.length, 0, blocksMeanwhile);
                nextLoop(channel).register(channel).sync();
                channel.writeAndFlush(Unpooled.copiedBuffer("behind", CharsetUtil.US_ASCII));
                assertBlocks(socket, block.length, blocksMeanwhile, blocks);
                assertEquals("behind", new String(socket.getInputStream().readNBytes(6), CharsetUtil.US_ASCII));
                socket.getOutputStream().write(LONG.getBytes(CharsetUtil.US_ASCII));
                client.await(LONG);
            }
            channel.closeFuture().sync();
        }
    }

    /**
     * The kernel sends the remaining data while the channel has no loop. It must count as written and not be sent
     * again.
     */
    @Test
    void dataSentByTheKernelDuringAMoveIsSentOnce() throws Exception {
        byte[] block = new byte[1 << 16];
        int blocks = 256;
        try (ServerSocket server = listen(Peer.ON_THIS_HOST)) {
            RdmaRawSocketChannel channel = connect(client(new TcpHost.Client()), server);
            try (Socket socket = accept(server)) {
                List<ChannelFuture> writes = new ArrayList<>();
                for (int i = 0; i < blocks; i++) {
                    writes.add(channel.write(Unpooled.wrappedBuffer(numbered(block, i))));
                }
                channel.flush();
                channel.deregister().sync();
                assertFalse(writes.getLast().isDone(), "the kernel's buffers hold all of it");
                assertBlocks(socket, block.length, 0, blocks);
                nextLoop(channel).register(channel).sync();
                for (ChannelFuture write : writes) {
                    assertTrue(write.await(Await.PATIENCE_MILLIS) && write.isSuccess());
                }
                channel.writeAndFlush(Unpooled.copiedBuffer("behind", CharsetUtil.US_ASCII));
                assertEquals("behind", new String(socket.getInputStream().readNBytes(6), CharsetUtil.US_ASCII));
            }
            channel.closeFuture().sync();
        }
    }

    /** The peer sends nothing that would wake the channel up, so writes during the move must be remembered. */
    @ParameterizedTest
    @EnumSource
    void dataWrittenDuringAMoveIsSent(Peer peer) throws Exception {
        try (ServerSocket server = listen(peer)) {
            RdmaRawSocketChannel channel = connect(client(new TcpHost.Client()), server);
            try (Socket socket = accept(server)) {
                channel.deregister().sync();
                // This listener runs on the new loop before the connection has left the old loop.
                nextLoop(channel).register(channel).addListener(registered -> channel.writeAndFlush(
                        Unpooled.copiedBuffer("on the way", CharsetUtil.US_ASCII)));
                assertEquals("on the way", new String(socket.getInputStream().readNBytes(10), CharsetUtil.US_ASCII));
            }
            channel.closeFuture().sync();
        }
    }

    private EventLoop nextLoop(Channel channel) {
        EventLoop next = group.next();
        return next == channel.eventLoop() ? group.next() : next;
    }

    private static byte[] numbered(byte[] block, int number) {
        byte[] copy = block.clone();
        ByteBuffer.wrap(copy).putInt(number);
        return copy;
    }

    private static void assertBlocks(Socket socket, int blockBytes, int from, int to) throws IOException {
        for (int i = from; i < to; i++) {
            byte[] received = socket.getInputStream().readNBytes(blockBytes);
            assertEquals(blockBytes, received.length);
            assertEquals(i, ByteBuffer.wrap(received).getInt(), "the number of the block");
        }
    }
}
