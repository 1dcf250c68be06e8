package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.IoEventLoopGroup;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.BindException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

import static io.rdmaraw.channel.DatagramFixture.at;
import static io.rdmaraw.channel.DatagramFixture.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

/** On the loop device of the host, kernel sockets and channels reach each other. */
class RdmaRawDatagramChannelKernelTest {
    private final IoEventLoopGroup group = new RdmaRawEventLoopGroup(1);

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private DatagramFixture.Inbox bind(InetSocketAddress local, boolean kernelSocket) throws InterruptedException {
        DatagramFixture.Inbox inbox = new DatagramFixture.Inbox();
        inbox.channel = (RdmaRawDatagramChannel) new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .option(RdmaRawChannelOption.KERNEL_SOCKET, kernelSocket).option(ChannelOption.SO_RCVBUF, 1 << 20)
                .handler(inbox).bind(local).sync().channel();
        return inbox;
    }

    private static DatagramSocket socket() throws IOException {
        DatagramSocket socket = new DatagramSocket(at("127.0.0.1", 0));
        socket.setSoTimeout(Patience.MILLIS);
        return socket;
    }

    private static String receive(DatagramSocket socket) throws IOException {
        DatagramPacket packet = new DatagramPacket(new byte[65535], 65535);
        socket.receive(packet);
        return new String(packet.getData(), 0, packet.getLength(), StandardCharsets.US_ASCII);
    }

    @Test
    void kernelSocketsAndChannelReachEachOther() throws Exception {
        DatagramFixture.Inbox server = bind(new InetSocketAddress(0), true);
        try (DatagramSocket client = socket()) {
            String longText = "0123456789".repeat(3000);
            for (String text : new String[] {"short", "", longText}) {
                byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
                client.send(new DatagramPacket(bytes, bytes.length, at("127.0.0.1", server.address().getPort())));
                io.netty.channel.socket.DatagramPacket received = server.take();
                assertEquals(text(text), received.content());
                assertEquals(client.getLocalSocketAddress(), received.sender());
                server.channel.writeAndFlush(
                        new io.netty.channel.socket.DatagramPacket(received.content(), received.sender())).sync();
                assertEquals(text, receive(client));
            }
        }
        assertEquals(3, server.channel.statistics().receivedByKernel());
        assertEquals(3, server.channel.statistics().sentByKernel());
    }

    @Test
    void channelsReachOneAnotherByTheDevice() throws Exception {
        DatagramFixture.Inbox server = bind(at("127.0.0.1", 0), true);
        DatagramFixture.Inbox client = bind(at("127.0.0.1", 0), true);
        client.send("by the device", server.address());
        assertEquals("by the device", server.takeText());
        assertEquals(0, server.channel.statistics().receivedByKernel());
    }

    @Test
    void portIsAlsoBoundInKernel() throws Exception {
        DatagramFixture.Inbox server = bind(at("127.0.0.1", 0), true);
        assertThrows(BindException.class, () -> new DatagramSocket(server.address()));
        try (DatagramSocket other = socket()) {
            InetSocketAddress taken = (InetSocketAddress) other.getLocalSocketAddress();
            assertThrows(BindException.class, () -> bind(taken, true));
            bind(taken, false);
        }
        InetSocketAddress address = server.address();
        server.channel.close().sync();
        awaitFree(address);
    }

    /** A selector releases the port of a closed channel in its next turn. {@code close()} does not wait for that. */
    private static void awaitFree(InetSocketAddress address) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Patience.MILLIS);
        while (true) {
            try {
                new DatagramSocket(address).close();
                return;
            } catch (BindException e) {
                if (System.nanoTime() - deadline > 0) {
                    throw e;
                }
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void kernelReportsUnreachablePort() throws Exception {
        DatagramFixture.Inbox client = bind(new InetSocketAddress(0), true);
        InetSocketAddress gone;
        try (DatagramSocket socket = socket()) {
            gone = (InetSocketAddress) socket.getLocalSocketAddress();
        }
        client.channel.connect(gone).sync();
        client.channel.writeAndFlush(text("anybody?")).sync();
        assertInstanceOf(PortUnreachableException.class, FrameQueueHandler.take(client.errors, "error"));
    }

    @Test
    void channelWorksWithoutKernelSocket() throws Exception {
        DatagramFixture.Inbox client = bind(at("127.0.0.1", 0), false);
        new DatagramSocket(client.address()).close();
        client.channel.connect(at("127.0.0.1", 9)).sync();
        client.channel.writeAndFlush(text("anybody?")).sync();
        assertInstanceOf(PortUnreachableException.class, FrameQueueHandler.take(client.errors, "error"));
    }
}
