package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.IoEventLoopGroup;
import io.rdmaraw.capture.CapturedFrames;
import io.rdmaraw.capture.FrameCapture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;

import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Captured frames have the reason for which they were dropped, and the channel of their connection. */
@Timeout(60)
@ResourceLock("io.rdmaraw.capture")
class CapturedReasonsTest {
    private static final String ETHERNET = "0200000f00010200000f00020800";
    /** A datagram from 10.15.0.2 to port 7 of 10.15.0.1 with a wrong UDP checksum. */
    private static final byte[] DAMAGED = HexFormat.of().parseHex(ETHERNET
            + "4500001e000100004011" + "66ae" + "0a0f00020a0f0001" + "07d00007000a0bad" + "6869");
    /** The same without a UDP checksum, so that it is valid. */
    private static final byte[] VALID = HexFormat.of().parseHex(ETHERNET
            + "4500001e000100004011" + "66ae" + "0a0f00020a0f0001" + "07d00007000a0000" + "6869");
    /** A SYN with FIN from 10.15.0.2 to port 80 of 10.15.0.1. */
    private static final byte[] SYN_FIN = HexFormat.of().parseHex(ETHERNET
            + "4500002800010000400666af" + "0a0f00020a0f0001" + "07d000500000000100000001" + "500303e88fb70000");

    private final LoopDevice device = LoopDevice.inMemory();
    private CapturedFrames captured;
    private IoEventLoopGroup host;
    private StreamFixture fixture;

    @AfterEach
    void close() {
        if (host != null) {
            host.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
        }
        if (fixture != null) {
            fixture.close();
        }
        captured.close();
    }

    private void startCapture() {
        captured = new CapturedFrames(FrameCapture.start(new long[0], 2000, 1 << 20));
    }

    private void openHost() {
        host = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder().device(device.name)
                .userspaceAddress("02:00:00:0f:00:01", "10.15.0.1/24", "10.15.0.2")
                .detectDuplicateAddresses(false).build());
    }

    /**
     * Sends frames until one that begins with certain bytes is captured with a reason. If the host stops the loop for
     * long, frames are read without their reasons.
     */
    private void sendUntilDropped(byte[] start, String reason, byte[]... frames) throws InterruptedException {
        RdmaRawChannel sender = device.bind(host, device.sendOnly(), new ChannelInboundHandlerAdapter());
        startCapture();
        do {
            for (byte[] frame : frames) {
                sender.write(sender.alloc().buffer(frame.length).writeBytes(frame));
            }
            sender.writeAndFlush(sender.alloc().buffer(start.length).writeBytes(start)).sync();
            captured.read();
        } while (received(start).stream().noneMatch(frame -> frame.dropReason().equals(reason)));
    }

    /** Returns the received frames that begin with certain bytes. */
    private List<CapturedFrames.Frame> received(byte[] start) {
        return captured.frames().stream().filter(frame -> !frame.sent()
                && Arrays.equals(frame.bytes(), 0, start.length, start, 0, start.length)).toList();
    }

    @Test
    void droppedDatagramsHaveTheirReasonAndOthersHaveNone() throws InterruptedException {
        openHost();
        Channel channel = new Bootstrap().group(host).channel(RdmaRawDatagramChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).bind(new InetSocketAddress("10.15.0.1", 7)).sync()
                .channel();
        sendUntilDropped(DAMAGED, "bad-checksum", VALID, DAMAGED, VALID);
        captured.stop();
        assertTrue(received(DAMAGED).stream()
                .allMatch(frame -> Set.of("", "bad-checksum").contains(frame.dropReason())));
        assertTrue(received(VALID).stream().allMatch(frame -> frame.dropReason().isEmpty()));
        assertEquals(Set.of(channel.id().asShortText()), captured.frames().stream().filter(frame -> !frame.sent()
                && !frame.dropReason().isEmpty()).map(CapturedFrames.Frame::channel).collect(Collectors.toSet()));
        assertTrue(received(VALID).stream().anyMatch(frame -> frame.channel().equals(channel.id().asShortText())));
    }

    @Test
    void droppedSegmentsHaveTheirReason() throws InterruptedException {
        openHost();
        new ServerBootstrap().group(host).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new ChannelInboundHandlerAdapter()).bind(new InetSocketAddress("10.15.0.1", 80)).sync();
        byte[] damaged = SYN_FIN.clone();
        damaged[SYN_FIN.length - 3]++;
        sendUntilDropped(SYN_FIN, "syn-fin", damaged);
        assertTrue(received(SYN_FIN).stream().allMatch(frame -> frame.channel().isEmpty()));
        captured.stop();
        sendUntilDropped(damaged, "bad-checksum", SYN_FIN);
    }

    @Test
    void segmentsOfAConnectionHaveItsChannel() throws InterruptedException {
        fixture = new StreamFixture(device, 1, 1);
        InetSocketAddress server = fixture.listen(new StreamFixture.Echo());
        startCapture();
        RdmaRawSocketChannel client = fixture.connect(server, new ChannelInboundHandlerAdapter());
        String clientId = client.id().asShortText();
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[5000])).sync();
        String childId = fixture.accepted().id().asShortText();
        while (client.tcpInfo().sync().getNow().bytesReceived() < 5000) {
            StreamFixture.settle(client.eventLoop());
        }
        client.close().sync();
        captured.stop();
        String clientQueue = queueThatSendsTo(server.getPort());
        for (CapturedFrames.Frame frame : captured.frames()) {
            boolean atClient = captured.points().get(frame.point()).equals(clientQueue);
            // Segments before the channel is attached and in TIME-WAIT have none.
            if (!frame.channel().isEmpty() || frame.sent() && frame.bytes().length > 100) {
                assertEquals(atClient ? clientId : childId, frame.channel());
            }
        }
        assertTrue(captured.frames().stream().anyMatch(frame -> frame.sent() && frame.channel().equals(clientId)));
        assertTrue(captured.frames().stream().anyMatch(frame -> !frame.sent() && frame.channel().equals(clientId)));
        assertTrue(captured.frames().stream().anyMatch(frame -> frame.sent() && frame.channel().equals(childId)));
        assertTrue(captured.frames().stream().anyMatch(frame -> !frame.sent() && frame.channel().equals(childId)));
    }

    /** Returns the queue that sends to a port. */
    private String queueThatSendsTo(int port) {
        return captured.frames().stream().filter(frame -> frame.sent()
                && ((frame.bytes()[36] & 0xff) << 8 | frame.bytes()[37] & 0xff) == port)
                .map(frame -> captured.points().get(frame.point())).findFirst().orElseThrow();
    }
}
