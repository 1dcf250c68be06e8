package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultAddressedEnvelope;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.unix.SegmentedDatagramPacket;
import io.netty.util.CharsetUtil;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.PortUnreachableException;
import java.net.SocketException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.AlreadyConnectedException;

import static io.rdmaraw.channel.DatagramFixture.at;
import static io.rdmaraw.channel.DatagramFixture.awaitRounds;
import static io.rdmaraw.channel.DatagramFixture.option;
import static io.rdmaraw.channel.DatagramFixture.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

class RdmaRawDatagramChannelTest {
    private final DatagramFixture fixture = new DatagramFixture(2);

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    @ParameterizedTest
    @CsvSource({"127.0.0.1,127.0.0.1", "::1,::1", "0.0.0.0,127.0.0.1", "0.0.0.0,::1", "0.0.0.0,127.8.9.10"})
    void carriesDatagrams(String bound, String target) throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at(bound, 0));
        DatagramFixture.Inbox client = fixture.bind(new InetSocketAddress(0));
        client.send("ping", at(target, server.address().getPort()));
        DatagramPacket ping = server.take();
        assertEquals(text("ping"), ping.content());
        assertEquals(client.address().getPort(), ping.sender().getPort());
        assertTrue(ping.sender().getAddress().isLoopbackAddress());
        server.channel.writeAndFlush(new DatagramPacket(ping.content(), ping.sender())).sync();
        assertEquals("ping", client.takeText());
    }

    @Test
    void receivedContentIsTheSlotThatTheDeviceWrote() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        client.send("in place", server.address());
        DatagramPacket packet = server.take();
        FrameBuf content = assertInstanceOf(FrameBuf.class, packet.content());
        assertTrue(content.isRegistered());
        assertEquals(42, content.memoryAddress() - content.slotAddress(), "Ethernet, IPv4 and UDP headers before it");
        DeviceQueue port = server.channel.deviceQueue();
        long copiedBefore = port.frameQueue().counters().copiedInFrames;
        server.channel.writeAndFlush(new DatagramPacket(content, packet.sender())).sync();
        assertEquals("in place", client.takeText());
        assertEquals(copiedBefore, port.frameQueue().counters().copiedInFrames, "sent from where it lies");
    }

    /**
     * The device may read the content after the write has completed, when the other holder of the buffer may change it.
     */
    @ParameterizedTest
    @ValueSource(ints = {8, 1_800})
    void contentWithAnotherHolderIsCopied(int lengthBytes) throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        EventLoop loop = client.channel.eventLoop();
        ByteBuf held = StreamFixture.on(loop, () -> client.channel.alloc().directBuffer(lengthBytes)
                .writeZero(lengthBytes));
        assertEquals(1, StreamFixture.on(loop, () -> {
            client.channel.writeAndFlush(new DatagramPacket(held.retainedDuplicate(), server.address()));
            return held.refCnt();
        }), "references while the device has not reported the frame");
        assertEquals(lengthBytes, server.take().content().readableBytes());
        held.release();
    }

    /** Segments that were sent before hold references to the content too. These do not count as other holders. */
    @Test
    void allSegmentsOfAMessageAreSentInPlace() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        EventLoop loop = client.channel.eventLoop();
        ByteBuf content = StreamFixture.on(loop, () -> client.channel.alloc().directBuffer(900).writeZero(900));
        assertEquals(3, StreamFixture.on(loop, () -> {
            client.channel.writeAndFlush(new SegmentedDatagramPacket(content, 300, server.address()));
            return content.refCnt();
        }), "references of the segments");
        for (int i = 0; i < 3; i++) {
            assertEquals(300, server.take().content().readableBytes());
        }
    }

    /** Each transmitted datagram must pass the parser, checksums included. */
    @ParameterizedTest
    @CsvSource({"127.0.0.1,0,42", "127.0.0.1,1,43", "127.0.0.1,1472,1514", "::1,0,62", "::1,3,65", "::1,1452,1514"})
    void writesValidFrames(String address, int lengthBytes, int frameBytes) throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at(address, 0));
        DatagramFixture.Inbox client = fixture.bind(at(address, 0),
                option(ChannelOption.IP_TOS, 0xb8).andThen(option(RdmaRawChannelOption.IP_TTL, 7)));
        FrameQueueHandler sniffer = fixture.sniff();
        ByteBuf content = Unpooled.buffer(lengthBytes).writeBytes(new byte[lengthBytes]);
        client.channel.writeAndFlush(new DatagramPacket(content, server.address())).sync();
        ByteBuf frame = sniffer.takeFrame();
        ParsedFrame parsed = new ParsedFrame();
        ParseCounters counters = new ParseCounters();
        ParseVerdict verdict = new FrameParser(counters)
                .parse(frame.memoryAddress(), frame.readableBytes(), false, parsed);
        assertEquals(ParseVerdict.UDP, verdict);
        assertEquals(Math.max(60, frameBytes), frame.readableBytes());
        assertEquals(lengthBytes, parsed.payloadLengthBytes());
        assertEquals(0xb8, parsed.trafficClass());
        assertEquals(7, parsed.hopLimit());
        if (parsed.ipVersion() == 6) {
            assertNotEquals(0, NetworkOrder.getInt(parsed.networkHeaderAddress()) & 0xf_ffff, "RFC 6437 section 3");
        }
        assertEquals(client.address().getPort(), parsed.sourcePort());
        assertEquals(server.address().getPort(), parsed.destinationPort());
        frame.release();
        assertEquals(lengthBytes, server.take().content().readableBytes());
    }

    @ParameterizedTest
    @CsvSource({"127.0.0.1,1473", "127.0.0.1,8000", "127.0.0.1,65507", "::1,1453", "::1,65000"})
    void longDatagramsTravelAsFragments(String address, int lengthBytes) throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at(address, 0));
        DatagramFixture.Inbox client = fixture.bind(at(address, 0));
        ByteBuf content = Unpooled.buffer(lengthBytes);
        for (int i = 0; i < lengthBytes; i++) {
            content.writeByte(i * 31 >>> 3);
        }
        client.channel.writeAndFlush(new DatagramPacket(content.retainedDuplicate(), server.address())).sync();
        DatagramPacket received = server.take();
        assertEquals(content, received.content());
        received.release();
        content.release();
        assertEquals(1, server.channel.statistics().reassembledDatagrams());
        assertEquals(client.channel.statistics().sentFragments(), server.channel.statistics().receivedFragments());
    }

    @ParameterizedTest
    @CsvSource({"127.0.0.1,false", "127.0.0.1,true", "::1,false", "::1,true"})
    void replyIsSentInSlotOfRequest(String host, boolean keptToo) throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at(host, 0));
        DatagramFixture.Inbox client = fixture.bind(at(host, 0));
        client.send("a question, longer than the least frame", server.address());
        DatagramPacket packet = server.take();
        FrameBuf content = (FrameBuf) packet.content();
        long payloadAddress = content.memoryAddress();
        content.skipBytes(2);
        if (keptToo) {
            content.retain();
        }
        server.channel.writeAndFlush(new DatagramPacket(content, packet.sender())).sync();
        assertEquals("question, longer than the least frame", client.takeText());
        server.channel.eventLoop().submit(() -> { }).sync();
        if (keptToo) {
            // The content has another holder, so the headers were written to another slot and the content is unchanged.
            assertEquals("question, longer than the least frame", content.toString(CharsetUtil.US_ASCII));
            assertEquals(payloadAddress, content.memoryAddress());
            content.release();
        }
    }

    @Test
    void datagramsLongerThanIpAllowsAreRefused() throws InterruptedException {
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        ByteBuf content = Unpooled.buffer(65508).writeZero(65508);
        Throwable cause = client.channel.writeAndFlush(new DatagramPacket(content, client.address())).await().cause();
        assertTrue(cause.getMessage().contains("Message too long"), cause.getMessage());
        assertEquals(0, content.refCnt());
        client.send("lives", client.address());
        assertEquals("lives", client.takeText());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 100, 1472})
    void segmentsBecomeDatagrams(int segmentBytes) throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        int totalBytes = 150 * segmentBytes + segmentBytes / 2 + 1;
        ByteBuf content = Unpooled.buffer(totalBytes);
        for (int i = 0; i < totalBytes; i++) {
            content.writeByte(i % 251);
        }
        int count = Math.ceilDiv(totalBytes, segmentBytes);
        client.channel.writeAndFlush(new SegmentedDatagramPacket(content, segmentBytes, server.address())).sync();
        int offset = 0;
        for (int i = 0; i < count; i++) {
            DatagramPacket packet = server.take();
            assertEquals(Math.min(segmentBytes, totalBytes - offset), packet.content().readableBytes());
            assertEquals((byte) (offset % 251), packet.content().getByte(0), "segment " + i);
            offset += packet.content().readableBytes();
            packet.release();
        }
        assertEquals(totalBytes, offset);
        assertEquals(count, client.channel.statistics().sentDatagrams());
    }

    @Test
    void envelopesAreSentAsDatagrams() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        client.channel.writeAndFlush(new DefaultAddressedEnvelope<>(text("envelope"), server.address())).sync();
        assertEquals("envelope", server.takeText());
        assertInstanceOf(UnsupportedOperationException.class, client.channel.writeAndFlush("text").await().cause());
    }

    @Test
    void aConnectedChannelRefusesToConnectAgain() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        client.channel.connect(server.address()).sync();
        assertInstanceOf(AlreadyConnectedException.class,
                client.channel.connect(server.address()).awaitUninterruptibly().cause());
    }

    @Test
    void aDatagramToPortZeroFails() throws InterruptedException {
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        assertInstanceOf(SocketException.class, client.channel.writeAndFlush(new DatagramPacket(
                Unpooled.wrappedBuffer(new byte[1]), at("127.0.0.1", 0))).awaitUninterruptibly().cause());
    }

    @Test
    void connectedChannelReceivesFromItsPeerOnly() throws InterruptedException {
        DatagramFixture.Inbox peer = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox stranger = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(new InetSocketAddress(0));
        client.channel.connect(peer.address()).sync();
        assertEquals(at("127.0.0.1", client.channel.localAddress().getPort()), client.address());
        assertTrue(client.channel.isConnected());
        stranger.send("from a stranger", client.address());
        peer.send("from the peer", client.address());
        assertEquals("from the peer", client.takeText());
        client.channel.writeAndFlush(text("to the peer")).sync();
        assertEquals("to the peer", peer.takeText());
        client.channel.disconnect().sync();
        assertFalse(client.channel.isConnected());
        assertNull(client.channel.remoteAddress());
        assertInstanceOf(NotYetConnectedException.class, client.channel.writeAndFlush(text("x")).await().cause());
        stranger.send("later", at("127.0.0.1", client.address().getPort()));
        assertEquals("later", client.takeText());
    }

    @Test
    void unboundPortIsReportedToConnectedChannel() throws InterruptedException {
        DatagramFixture.Inbox client = fixture.bind(new InetSocketAddress(0));
        client.channel.connect(at("127.0.0.1", 9)).sync();
        client.channel.writeAndFlush(text("anybody?")).sync();
        assertInstanceOf(PortUnreachableException.class, FrameQueueHandler.take(client.errors, "error"));
        assertTrue(client.channel.isOpen());
        client.channel.config().setAutoRead(false);
        awaitRounds(client);
        client.channel.writeAndFlush(text("anybody?")).sync();
        Throwable cause = client.channel.writeAndFlush(text("anybody?")).await().cause();
        assertInstanceOf(PortUnreachableException.class, cause);
        DatagramFixture.Inbox unconnected = fixture.bind(new InetSocketAddress(0));
        unconnected.send("nobody", at("127.0.0.1", 9));
        awaitRounds(unconnected);
        assertEquals(0, unconnected.errors.size());
        assertEquals(1, unconnected.channel.statistics().portUnreachable());
    }

    @Test
    void portCanBeBoundOnce() throws InterruptedException {
        DatagramFixture.Inbox first = fixture.bind(at("127.0.0.1", 0));
        int port = first.address().getPort();
        assertThrows(BindException.class, () -> fixture.bind(at("127.0.0.1", port)));
        assertThrows(BindException.class, () -> fixture.bind(new InetSocketAddress(port)));
        assertThrows(BindException.class, () -> fixture.bind(at("192.0.2.77", 0)));
        fixture.bind(at("127.0.0.2", port));
        fixture.bind(at("::1", port));
        first.channel.close().sync();
        fixture.bind(at("127.0.0.1", port));
    }

    @Test
    void moreSpecificBindingReceives() throws InterruptedException {
        DatagramFixture.Inbox wildcard = fixture.bind(new InetSocketAddress(0),
                option(ChannelOption.SO_REUSEADDR, true));
        int port = wildcard.address().getPort();
        DatagramFixture.Inbox exact = fixture.bind(at("127.0.0.1", port), option(ChannelOption.SO_REUSEADDR, true));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        client.send("one", at("127.0.0.1", port));
        client.send("two", at("127.0.0.2", port));
        assertEquals("one", exact.takeText());
        assertEquals("two", wildcard.takeText());
        exact.channel.close().sync();
        client.send("three", at("127.0.0.1", port));
        assertEquals("three", wildcard.takeText());
    }

    @Test
    void channelsThatShareAPortShareTheFlows() throws InterruptedException {
        DatagramFixture.Inbox[] servers = new DatagramFixture.Inbox[4];
        InetSocketAddress address = at("127.0.0.1", 0);
        for (int i = 0; i < servers.length; i++) {
            servers[i] = fixture.bind(address, option(RdmaRawChannelOption.SO_REUSEPORT, true));
            address = servers[i].address();
        }
        for (int c = 0; c < 64; c++) {
            DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
            for (int n = 0; n < 3; n++) {
                client.send("flow " + c, address);
            }
        }
        int total = 0;
        for (DatagramFixture.Inbox server : servers) {
            awaitRounds(server);
            assertTrue(server.packets.size() > 0, "each channel has some of 64 flows");
            assertEquals(0, server.packets.size() % 3, "a flow stays with its channel");
            total += server.packets.size();
        }
        assertEquals(64 * 3, total);
    }

    /**
     * The rule table has no room for a channel's port rules. The channel then receives all frames of its MAC address
     * and filters them by port. When there is room again, it gets its rules.
     */
    @Test
    void aFullRuleTableMakesSteeringCoarse() throws InterruptedException {
        DatagramFixture.Inbox exact = fixture.bind(at("127.0.0.1", 0));
        SharedDevice device = SharedDevice.acquire(fixture.device.name);
        try {
            SoftverbsFaults.of(device.context()).setFlowCapacity(4);
            DatagramFixture.Inbox coarse = fixture.bind(new InetSocketAddress(0));
            assertFalse(exact.channel.statistics().isCoarselySteered());
            assertTrue(coarse.channel.statistics().isCoarselySteered());
            int port = coarse.address().getPort();
            for (String address : new String[] {"127.0.0.1", "::1"}) {
                DatagramFixture.Inbox client = address.equals("::1") ? coarse : exact;
                client.send("short", at(address, port));
                assertEquals("short", coarse.takeText());
                client.send("0123456789".repeat(500), at(address, port));
                assertEquals("0123456789".repeat(500), coarse.takeText());
            }
            coarse.channel.connect(exact.address()).sync();
            exact.send("to the connected", coarse.address());
            assertEquals("to the connected", coarse.takeText());
            SoftverbsFaults.of(device.context()).setFlowCapacity(100);
            coarse.channel.disconnect().sync();
            assertFalse(coarse.channel.statistics().isCoarselySteered(), "there is room again");
        } finally {
            device.release();
        }
    }

    @Test
    void receiveBufferLimitsQueuedDatagrams() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0),
                option(ChannelOption.AUTO_READ, false).andThen(option(ChannelOption.SO_RCVBUF, 10 * (100 + 64))));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        for (int i = 0; i < 25; i++) {
            client.channel.writeAndFlush(new DatagramPacket(Unpooled.buffer(100).writeByte(i).writeZero(99),
                    server.address())).sync();
        }
        awaitRounds(server);
        assertEquals(15, server.channel.statistics().droppedNotRead());
        for (int i = 0; i < 10; i++) {
            assertEquals(0, server.packets.size(), "one datagram per read");
            server.channel.read();
            DatagramPacket packet = server.take();
            assertEquals(i, packet.content().getByte(0));
            packet.release();
            awaitRounds(server);
        }
        client.send("fits again", server.address());
        server.channel.read();
        assertEquals("fits again", server.takeText());
    }

    @Test
    void damagedFramesAreCountedAndDropped() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        FrameQueueHandler sniffer = fixture.sniff();
        client.send("original", server.address());
        assertEquals("original", server.takeText());
        ByteBuf frame = sniffer.takeFrame();
        RdmaRawChannel raw = fixture.raw();
        for (int offset = 14; offset < 50; offset++) {
            ByteBuf damaged = frame.copy(0, 50);
            damaged.setByte(offset, damaged.getByte(offset) ^ 0x10);
            raw.writeAndFlush(damaged).sync();
        }
        raw.writeAndFlush(frame).sync();
        assertEquals("original", server.takeText());
        assertEquals(0, server.packets.size());
        RdmaRawDatagramStatistics statistics = server.channel.statistics();
        assertTrue(statistics.droppedMalformed() + statistics.droppedBadChecksum() > 20,
                "those that still match a rule: " + statistics.droppedMalformed() + " and "
                        + statistics.droppedBadChecksum());
        assertTrue(statistics.droppedBadChecksum() >= 8, "those with damaged payload: "
                + statistics.droppedBadChecksum());
    }

    @Test
    void loopDeviceHasNoRouteToOtherHosts() throws InterruptedException {
        DatagramFixture.Inbox client = fixture.bind(new InetSocketAddress(0));
        ChannelFuture sent = client.channel.writeAndFlush(new DatagramPacket(text("out"), at("192.0.2.1", 53)));
        assertInstanceOf(NoRouteToHostException.class, sent.await().cause());
        DatagramFixture.Inbox ipv4 = fixture.bind(at("127.0.0.1", 0));
        sent = ipv4.channel.writeAndFlush(new DatagramPacket(text("other version"), at("::1", 53)));
        assertInstanceOf(SocketException.class, sent.await().cause());
    }

    @Test
    void recipientIsOriginalDestinationAddress() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(new InetSocketAddress(0),
                option(RdmaRawChannelOption.IP_RECVORIGDSTADDR, true));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        InetSocketAddress meant = at("127.3.2.1", server.address().getPort());
        client.send("to an alias", meant);
        DatagramPacket packet = server.take();
        assertEquals(meant, packet.recipient());
        server.channel.writeAndFlush(new DatagramPacket(packet.content(), packet.sender(), packet.recipient())).sync();
        DatagramPacket answer = client.take();
        assertEquals(meant, answer.sender(), "the answer comes from the address that was asked");
        answer.release();
    }

    @Test
    void channelWorksAfterMoveToAnotherLoop() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        client.send("before", server.address());
        assertEquals("before", server.takeText());
        server.channel.deregister().sync();
        EventLoopGroup loops = fixture.group;
        loops.register(server.channel).sync();
        client.send("after", server.address());
        assertEquals("after", server.takeText());
        server.send("and back", client.address());
        assertEquals("and back", client.takeText());
    }

    /** An ICMP error reaches the channel only if it quotes a datagram that the channel may have sent. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void icmpErrorsMustQuoteSentDatagram(boolean genuine) throws InterruptedException {
        DatagramFixture.Inbox peer = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        client.channel.connect(peer.address()).sync();
        FrameQueueHandler sniffer = fixture.sniff();
        client.channel.writeAndFlush(text("a datagram")).sync();
        ByteBuf sent = sniffer.takeFrame();
        ByteBuf quote = sent.copy(14, 28);
        if (!genuine) {
            quote.setShort(20, quote.getUnsignedShort(20) + 1);
        }
        fixture.raw().writeAndFlush(icmpPortUnreachable(fixture.macOf(client.address(), peer.address()), quote)).sync();
        if (genuine) {
            assertInstanceOf(PortUnreachableException.class, FrameQueueHandler.take(client.errors, "error"));
        }
        peer.send("still there", client.address());
        assertEquals("still there", client.takeText());
        assertEquals(genuine ? 0 : 1, client.channel.statistics().droppedNotForChannel());
        assertEquals(0, client.errors.size());
        sent.release();
        quote.release();
    }

    private static ByteBuf icmpPortUnreachable(long mac, ByteBuf quote) {
        ByteBuf frame = Unpooled.directBuffer(128).writeZero(14 + 20 + 8).writeBytes(quote);
        long address = BufferAddress.of(frame);
        int icmpBytes = 8 + quote.writerIndex();
        EthernetHeader.write(address, mac, 0x0200_0000_0001L, 0x0800);
        Ipv4Header.write(address + 14, 0, 20 + icmpBytes, 0, 0, 64, IpProtocol.ICMP, IpAddress.LOOPBACK_IPV4.ipv4(),
                IpAddress.LOOPBACK_IPV4.ipv4());
        IcmpHeader.write(address + 34, 3, 3, 0);
        IcmpHeader.updateChecksum(address + 34, icmpBytes);
        return frame;
    }

    /** Netty keeps a cancelled message in its place among the flushed messages. */
    @Test
    void cancelledWriteDoesNotDuplicateOthers() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        client.channel.eventLoop().submit(() -> {
            assertTrue(client.channel.write(new DatagramPacket(text("cancelled"), server.address())).cancel(false));
            client.channel.write(new DatagramPacket(text("first"), server.address()));
            client.channel.writeAndFlush(new DatagramPacket(text("second"), server.address()));
        }).sync();
        assertEquals("first", server.takeText());
        assertEquals("second", server.takeText());
        client.send("third", server.address());
        assertEquals("third", server.takeText());
    }

    /** As with Netty's other datagram channels, a message released before the flush fails its own promise only. */
    @Test
    void aMessageThatWasReleasedBeforeTheFlushFailsItsPromiseAlone() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        DatagramPacket released = new DatagramPacket(text("released"), server.address());
        ChannelFuture failed = client.channel.write(released);
        client.channel.eventLoop().submit(() -> released.release()).sync();
        client.send("after", server.address());
        assertEquals("after", server.takeText());
        assertInstanceOf(IllegalReferenceCountException.class, failed.awaitUninterruptibly().cause());
        assertTrue(client.channel.isOpen());
    }

    /** The channel changes its rules when it connects, but remains listed and counted as one channel. */
    @Test
    void aConnectedChannelIsStillListedAndCounted() throws InterruptedException {
        DatagramFixture.Inbox server = fixture.bind(at("127.0.0.1", 0));
        DatagramFixture.Inbox client = fixture.bind(at("127.0.0.1", 0));
        client.channel.connect(server.address()).sync();
        RdmaRawQueueStatistics queue = client.channel.deviceQueue().statistics();
        assertTrue(queue.channels().containsValue(client.channel.statistics()));
        client.channel.writeAndFlush(text("counted")).sync();
        assertEquals("counted", server.takeText());
        RdmaRawMetric sent = client.channel.statistics().metrics().stream()
                .filter(metric -> metric.name().equals("sent.datagrams")).findFirst().orElseThrow();
        assertEquals(1, queue.totals("datagram").get(sent));
        client.channel.deregister().sync();
        assertEquals(1, queue.totals("datagram").get(sent));
        client.channel.eventLoop().register(client.channel).sync();
        assertEquals(1, queue.totals("datagram").get(sent), "counted again when it came back");
    }
}
