package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.nio.NioIoHandle;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.rdmaraw.channel.loop.NioRegistrations;
import io.rdmaraw.kernel.KernelStreamSocket;
import io.rdmaraw.metrics.RdmaRawMetrics;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** NIO channels on the loops of this transport are reported, counted or refused, as configured. */
@Timeout(60)
class NioRegistrationsTest {
    private final LoopDevice device = LoopDevice.inMemory();
    private final Warnings warnings = new Warnings();
    private RdmaRawEventLoopGroup group;

    /** A field keeps the logger, because the logging framework refers to it weakly. */
    private static final class Warnings extends Handler {
        private final Logger logger = Logger.getLogger(NioRegistrations.class.getName());
        private int count;
        private String last;

        Warnings() {
            logger.addHandler(this);
        }

        @Override
        public synchronized void publish(LogRecord entry) {
            if (entry.getLevel() == Level.WARNING) {
                count++;
                last = entry.getMessage();
            }
        }

        @Override
        public void flush() {
        }

        @Override
        public void close() {
            logger.removeHandler(this);
        }
    }

    private void open(NioChannels choice) {
        group = new RdmaRawEventLoopGroup(2, StreamFixture.config(device.name).nioChannels(choice).build());
    }

    @AfterEach
    void shutDown() {
        warnings.close();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private ChannelFuture register(Class<? extends Channel> type) throws InterruptedException {
        return new Bootstrap().group(group).channel(type).handler(new ChannelInboundHandlerAdapter()).register()
                .await();
    }

    private long counted(String metric) {
        return RdmaRawMetrics.loops().stream().filter(loop -> loop.metrics().stream()
                        .anyMatch(m -> m.name().equals(metric)))
                .flatMapToLong(loop -> loop.metrics().stream().filter(m -> m.name().equals(metric))
                        .mapToLong(loop::value)).sum();
    }

    @Test
    void firstChannelOfGroupIsLoggedAndAllAreCounted() throws Exception {
        open(NioChannels.REPORTED);
        long before = counted("nio-channels");
        for (int i = 0; i < 4; i++) {
            register(NioSocketChannel.class).sync();
        }
        register(NioServerSocketChannel.class).sync();
        register(NioDatagramChannel.class).sync();
        assertEquals(1, warnings.count);
        assertTrue(warnings.last.contains("RdmaRawSocketChannel"), warnings.last);
        assertEquals(6, counted("nio-channels") - before);
    }

    @Test
    void allowedChannelsCauseNoWarning() throws Exception {
        open(NioChannels.ALLOWED);
        register(NioSocketChannel.class).sync();
        assertEquals(0, warnings.count);
    }

    /** Domain sockets are accepted in every mode, since no device could carry them. */
    @Test
    void domainSocketsAreAlwaysAccepted() throws Exception {
        open(NioChannels.REFUSED);
        register(NioDomainSocketChannel.class).sync();
        assertEquals(0, warnings.count);
    }

    @Test
    void refusedChannelsFailWithRemedyAndAreIncompatible() throws Exception {
        open(NioChannels.REFUSED);
        long before = counted("nio-channels-refused");
        Throwable cause = register(NioSocketChannel.class).cause();
        assertInstanceOf(UnsupportedOperationException.class, cause);
        assertTrue(cause.getMessage().contains("RdmaRawSocketChannel"), cause::getMessage);
        assertEquals(1, counted("nio-channels-refused") - before);
        assertFalse(group.next().isCompatible(NioIoHandle.class));
        assertTrue(group.next().isCompatible(RdmaRawIoHandle.class));
    }

    /**
     * NIO sockets that the transport itself opens, for peers that the device does not reach, are neither reported nor
     * refused.
     */
    @Test
    void kernelSocketsOfTransportAreAccepted() throws Exception {
        group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder().receiveQueueDepth(256)
                .sendQueueDepth(256).slotCount(2048).nioChannels(NioChannels.REFUSED).build());
        long before = counted("nio-channels");
        try (ServerSocket peer = new ServerSocket(0)) {
            KernelStreamSocket socket = KernelStreamSocket.open();
            group.register(socket).sync();
            socket.connect(new InetSocketAddress("127.0.0.1", peer.getLocalPort())).sync();
            try (Socket accepted = peer.accept()) {
                assertTrue(accepted.isConnected());
            }
            socket.close().sync();
        }
        assertEquals(0, warnings.count);
        assertEquals(before, counted("nio-channels"));
    }
}
