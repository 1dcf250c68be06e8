package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.verbs.flow.FlowSpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** A user error results in one sentence with the remedy. */
class RdmaRawChannelErrorTest {
    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(2);
    private final FrameQueueHandler received = new FrameQueueHandler();

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        received.messages.forEach(ReferenceCountUtil::release);
    }

    private Throwable failToBind(java.net.SocketAddress address) {
        ChannelFuture future = new Bootstrap().group(group).channel(RdmaRawChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).bind(address).awaitUninterruptibly();
        assertFalse(future.isSuccess());
        return future.cause();
    }

    @Test
    void unknownDeviceIsReportedWithExistingOnes() {
        String message = failToBind(RdmaRawAddress.of("mlx5_99")).getMessage();
        assertTrue(message.contains("mlx5_99") && message.contains("soft:loop"), message);
    }

    @Test
    void unknownSoftwareDeviceIsReportedWithExistingOnes() {
        String message = failToBind(RdmaRawAddress.of("soft:nothing")).getMessage();
        assertTrue(message.contains("soft:nothing") && message.contains("soft:loop"), message);
    }

    /** Users of Netty expect an I/O exception, whatever the reason and whichever channel opens the device. */
    @ParameterizedTest
    @ValueSource(strings = {"mlx5_99", "soft:nothing", "soft:xdp:nosuchif0", "soft:packet:nosuchif0"})
    void deviceThatCannotBeOpenedCausesSocketException(String wrong) {
        assertInstanceOf(SocketException.class, failToBind(RdmaRawAddress.of(wrong)));
        RdmaRawEventLoopGroup other = new RdmaRawEventLoopGroup(1,
                RdmaRawIoHandlerConfig.builder().device(wrong).build());
        try {
            InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
            for (ChannelFuture opening : List.of(bootstrap(other, RdmaRawSocketChannel.class).bind(address),
                    bootstrap(other, RdmaRawSocketChannel.class).connect(address),
                    bootstrap(other, RdmaRawDatagramChannel.class).bind(address),
                    new ServerBootstrap().group(other).channel(RdmaRawServerSocketChannel.class)
                            .childHandler(new ChannelInboundHandlerAdapter()).bind(address))) {
                assertInstanceOf(SocketException.class, opening.awaitUninterruptibly().cause());
            }
        } finally {
            other.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private static Bootstrap bootstrap(RdmaRawEventLoopGroup group, Class<? extends Channel> type) {
        return new Bootstrap().group(group).channel(type).handler(new ChannelInboundHandlerAdapter());
    }

    /** Only the channel class was changed, not the group. */
    @Test
    void loopOfOtherTransportIsNamedWithRemedy() {
        MultiThreadIoEventLoopGroup nio = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        try (WarningsOf channels = new WarningsOf(AbstractRdmaRawChannel.class)) {
            assertInstanceOf(IllegalStateException.class, new Bootstrap().group(nio).channel(RdmaRawChannel.class)
                    .handler(new ChannelInboundHandlerAdapter()).bind(device.sendOnly()).awaitUninterruptibly()
                    .cause());
            assertEquals(List.of("RdmaRawChannel cannot be registered with SingleThreadIoEventLoop: give the bootstrap"
                    + " an RdmaRawEventLoopGroup, or the channel class of the other transport"), channels.messages());
        } finally {
            nio.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void ruleForHostTrafficNeedsPermission() {
        FlowSpec everything = FlowSpec.builder().build();
        String message = failToBind(RdmaRawAddress.of(device.name, everything)).getMessage();
        assertTrue(message.contains("allowHostTraffic"), message);
        RdmaRawAddress named = RdmaRawAddress.of(device.name, everything.toBuilder().allowHostTraffic().build());
        assertTrue(device.bind(group, named, received).isActive());
    }

    @Test
    void ruleOfAnotherLoopIsRefusedWithReason() {
        device.bind(group, device.to(LoopDevice.A), received);
        String message = failToBind(device.to(LoopDevice.A)).getMessage();
        assertTrue(message.contains("EEXIST"), message);
    }

    @Test
    void otherAddressTypeIsRefused() {
        assertInstanceOf(IllegalArgumentException.class, failToBind(new InetSocketAddress(1)));
    }

    @Test
    void missingPortOfDeviceIsRefused() {
        String message = failToBind(RdmaRawAddress.of(device.name, 2)).getMessage();
        assertTrue(message.contains("has no port 2; its only one is 1"), message);
    }

    @Test
    void connectIsRefusedWithAlternative() {
        RdmaRawChannel channel = device.bind(group, device.sendOnly(), received);
        Throwable cause = channel.connect(new InetSocketAddress(1)).awaitUninterruptibly().cause();
        assertTrue(cause.getMessage().contains("RdmaRawAddress"), cause.getMessage());
    }

    @Test
    void settingsOutOfRangeAreRejected() {
        assertThrows(IllegalArgumentException.class,
                () -> RdmaRawIoHandlerConfig.builder().receiveQueueDepth(100).build());
        assertThrows(IllegalArgumentException.class, () -> RdmaRawIoHandlerConfig.builder().slotBytes(1000).build());
        String message = assertThrows(IllegalArgumentException.class,
                () -> RdmaRawIoHandlerConfig.builder().slotCount(1024).build()).getMessage();
        assertTrue(message.contains("slotCount") && message.contains("1280"), message);
    }

    @Test
    void slotsTooShortForTheLinkAreRefusedWithTheLengthNeeded() {
        RdmaRawEventLoopGroup small = new RdmaRawEventLoopGroup(1,
                RdmaRawIoHandlerConfig.builder().slotBytes(1024).build());
        try {
            ChannelFuture future = new Bootstrap().group(small).channel(RdmaRawChannel.class)
                    .handler(new ChannelInboundHandlerAdapter()).bind(device.sendOnly()).awaitUninterruptibly();
            assertTrue(future.cause().getMessage().contains("2048"), future.cause().getMessage());
        } finally {
            small.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** The rule of the first binding must not keep a channel that no longer refers to it. */
    @Test
    void aSecondBindIsRefusedAndTheFirstHolds() throws InterruptedException {
        RdmaRawChannel channel = device.bind(group, device.to(LoopDevice.A), received);
        Throwable cause = channel.bind(LoopDevice.inMemory().to(LoopDevice.A)).awaitUninterruptibly().cause();
        assertInstanceOf(BindException.class, cause);
        assertEquals(device.to(LoopDevice.A), channel.localAddress());
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 3, 64)).sync();
        ByteBuf frame = received.takeFrame();
        assertEquals(3, LoopDevice.number(frame));
        frame.release();
    }

    /**
     * A bound channel cannot move to a loop if that loop's slots are shorter than the device requires. The failed
     * registration closes the channel, and the loop must not keep it.
     */
    @Test
    void failedRegistrationLeavesNothingOnLoop() throws Exception {
        RdmaRawChannel channel = device.bind(group, device.to(LoopDevice.A), received);
        channel.deregister().sync();
        RdmaRawEventLoopGroup other = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
                .slotBytes(1024).build());
        try {
            RdmaRawEventLoop loop = (RdmaRawEventLoop) other.next();
            assertInstanceOf(IllegalArgumentException.class, loop.register(channel).awaitUninterruptibly().cause());
            loop.submit(() -> { }).sync();
            assertFalse(channel.isOpen());
            assertEquals(0, loop.submit(() -> loop.handler().registrationCount()).sync().getNow());
        } finally {
            other.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
