package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.wire.ArpPacket;
import io.rdmaraw.wire.EtherType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.PortUnreachableException;
import java.net.UnknownHostException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static io.rdmaraw.channel.DatagramFixture.at;
import static io.rdmaraw.channel.DatagramFixture.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Two userspace hosts on one link, which is a loop device. */
class UserspaceDatagramTest {
    private static final String[] ADDRESSES_A = {"10.9.0.1/24", "fd09::1/64"};
    private static final String[] ADDRESSES_B = {"10.9.0.2/24", "fd09::2/64"};

    private final LoopDevice device = new LoopDevice();
    private IoEventLoopGroup a;
    private IoEventLoopGroup b;

    @BeforeEach
    void open() {
        a = group("02:00:00:09:00:01", ADDRESSES_A);
        b = group("02:00:00:09:00:02", ADDRESSES_B);
    }

    private IoEventLoopGroup group(String mac, String... addresses) {
        RdmaRawIoHandlerConfig.Builder config = RdmaRawIoHandlerConfig.builder().device(device.name)
                .detectDuplicateAddresses(false).receiveQueueDepth(256).sendQueueDepth(256).slotCount(1024);
        for (String address : addresses) {
            config.userspaceAddress(mac, address, null);
        }
        return new RdmaRawEventLoopGroup(2, config.build());
    }

    @AfterEach
    void shutDown() {
        a.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        b.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private static DatagramFixture.Inbox bind(IoEventLoopGroup group, InetSocketAddress local)
            throws InterruptedException {
        DatagramFixture.Inbox inbox = new DatagramFixture.Inbox();
        inbox.channel = (RdmaRawDatagramChannel) new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .option(ChannelOption.SO_RCVBUF, 1 << 20).handler(inbox).bind(local).sync().channel();
        return inbox;
    }

    @ParameterizedTest
    @CsvSource({"10.9.0.1, 10.9.0.2", "fd09::1, fd09::2"})
    void hostsResolveEachOtherAndTalk(String ofA, String ofB) throws InterruptedException {
        DatagramFixture.Inbox server = bind(a, new InetSocketAddress(0));
        DatagramFixture.Inbox client = bind(b, new InetSocketAddress(0));
        for (String content : new String[] {"short", "0123456789".repeat(800)}) {
            client.send(content, at(ofA, server.address().getPort()));
            io.netty.channel.socket.DatagramPacket question = server.take();
            assertEquals(at(ofB, client.address().getPort()), question.sender());
            server.channel.writeAndFlush(new io.netty.channel.socket.DatagramPacket(question.content(),
                    question.sender())).sync();
            assertEquals(content, client.takeText());
        }
        assertEquals(0, server.channel.statistics().sentByKernel());
    }

    /**
     * Channels identify refused frames by their position in the burst, so frames of the host must not be pending then.
     */
    @Test
    @Tag("softverbs")
    void repliesOfHostArePostedBeforeChannelsGetFrames() throws Exception {
        DatagramFixture.Inbox port = bind(a, new InetSocketAddress(0));
        EventLoop driving = port.channel.eventLoop();
        BlockingQueue<Long> late = new LinkedBlockingQueue<>();
        RdmaRawChannel[] bound = new RdmaRawChannel[1];
        bound[0] = (RdmaRawChannel) new Bootstrap().group(driving).channel(RdmaRawChannel.class)
                .handler(new SimpleChannelInboundHandler<ByteBuf>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf frame) {
                        FrameQueue queue = bound[0].deviceQueue().frameQueue();
                        long before = queue.counters().sentFrames;
                        queue.post();
                        late.add(queue.counters().sentFrames - before);
                    }
                }).bind(device.to(LoopDevice.A)).sync().channel();
        RdmaRawChannel sender = device.bind(b, device.sendOnly(), new ChannelInboundHandlerAdapter());
        CountDownLatch sent = new CountDownLatch(1);
        CountDownLatch blocked = new CountDownLatch(1);
        driving.execute(() -> {
            blocked.countDown();
            awaitUninterruptibly(sent);
        });
        blocked.await();
        sender.write(whoHas("10.9.0.1"));
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 64)).sync();
        sent.countDown();
        assertEquals(0, FrameQueueHandler.take(late, "frame"), "frames of the host that were not posted yet");
        RdmaRawMetered host = bound[0].deviceQueue().statistics().channels().get("host");
        RdmaRawMetric answered = host.metrics().stream().filter(metric -> metric.name().equals("answered.arp"))
                .findFirst().orElseThrow();
        assertEquals(1, host.value(answered));
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static ByteBuf whoHas(String address) throws UnknownHostException {
        byte[] sender = {2, 0, 0, 9, 0, 3};
        return Unpooled.buffer().writeBytes(new byte[] {-1, -1, -1, -1, -1, -1}).writeBytes(sender)
                .writeShort(EtherType.ARP).writeShort(1).writeShort(EtherType.IPV4).writeByte(6).writeByte(4)
                .writeShort(ArpPacket.REQUEST).writeBytes(sender)
                .writeBytes(InetAddress.getByName("10.9.0.3").getAddress()).writeZero(6)
                .writeBytes(InetAddress.getByName(address).getAddress()).writeZero(18);
    }

    @Test
    void unboundPortIsReportedUnreachable() throws InterruptedException {
        for (String peer : new String[] {"10.9.0.2", "fd09::2"}) {
            DatagramFixture.Inbox client = bind(a, new InetSocketAddress(0));
            bind(b, new InetSocketAddress(0));
            client.channel.connect(at(peer, 9)).sync();
            client.channel.writeAndFlush(text("anybody?")).sync();
            assertInstanceOf(PortUnreachableException.class, FrameQueueHandler.take(client.errors, "error"));
        }
    }

    /**
     * The rule table is full, so only the rule for the host's MAC address delivers datagrams. The host passes each one
     * to its channel, even if another loop serves the channel.
     */
    @Test
    void withoutRulesHostPassesDatagramsToChannels() throws InterruptedException {
        DatagramFixture.Inbox[] servers = new DatagramFixture.Inbox[4];
        bind(a, new InetSocketAddress(0));
        DatagramFixture.Inbox client = bind(b, new InetSocketAddress(0));
        SharedDevice shared = SharedDevice.acquire(device.name);
        DeviceFaults faults = DeviceFaults.of(shared.context());
        try {
            faults.setRuleCapacity(1);
            for (int i = 0; i < servers.length; i++) {
                servers[i] = bind(a, new InetSocketAddress(0));
                assertTrue(servers[i].channel.statistics().isCoarselySteered());
            }
            for (int i = 0; i < servers.length; i++) {
                client.send("to " + i, at("10.9.0.1", servers[i].address().getPort()));
                assertEquals("to " + i, servers[i].takeText());
            }
        } finally {
            faults.setRuleCapacity(-1);
            shared.release();
        }
    }

    /** No device loops a frame back to the host that sent it. */
    @ParameterizedTest
    @ValueSource(strings = {"10.9.0.1", "fd09::1"})
    void aHostReachesItself(String own) throws InterruptedException {
        DatagramFixture.Inbox server = bind(a, new InetSocketAddress(0));
        DatagramFixture.Inbox client = bind(a, new InetSocketAddress(0));
        for (String content : new String[] {"", "short", "0123456789".repeat(800)}) {
            client.send(content, at(own, server.address().getPort()));
            io.netty.channel.socket.DatagramPacket question = server.take();
            assertEquals(at(own, client.address().getPort()), question.sender());
            server.channel.writeAndFlush(new io.netty.channel.socket.DatagramPacket(question.content(),
                    question.sender())).sync();
            assertEquals(content, client.takeText());
        }
        assertEquals(3, client.channel.statistics().sentToSelf());
        client.channel.connect(at(own, 9)).sync();
        client.channel.writeAndFlush(text("anybody?")).sync();
        assertInstanceOf(PortUnreachableException.class, FrameQueueHandler.take(client.errors, "error"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"239.9.9.9", "ff15::99"})
    void groupDatagramsReachMembersOnceAndIntact(String group) throws InterruptedException {
        DatagramFixture.Inbox member = bind(a, new InetSocketAddress(0));
        DatagramFixture.Inbox sender = bind(b, new InetSocketAddress(0));
        // On a link this option concerns members on the sender's host only.
        sender.channel.config().setLoopbackModeDisabled(true);
        int port = member.address().getPort();
        member.channel.joinGroup(at(group, port).getAddress()).sync();
        String longText = "0123456789".repeat(800);
        for (String content : new String[] {"first", longText, "last"}) {
            sender.send(content, at(group, port));
            assertEquals(content, member.takeText());
        }
        DatagramFixture.awaitRounds(member);
        assertTrue(member.packets.isEmpty(), "a datagram came twice");
        member.channel.leaveGroup(at(group, port).getAddress()).sync();
        sender.send("missed", at(group, port));
        sender.send("to itself", at(group.contains(":") ? "fd09::1" : "10.9.0.1", port));
        assertEquals("to itself", member.takeText());
    }

    /** Memberships requested before the bind take effect when the channel is bound. */
    @Test
    void groupsAreJoinedBeforeBinding() throws Exception {
        DatagramFixture.Inbox member = new DatagramFixture.Inbox();
        member.channel = (RdmaRawDatagramChannel) new Bootstrap().group(a).channel(RdmaRawDatagramChannel.class)
                .handler(member).register().sync().channel();
        InetSocketAddress group = at("239.9.9.8", 0);
        member.channel.joinGroup(group.getAddress()).sync();
        member.channel.joinGroup(at("239.9.9.7", 0).getAddress()).sync();
        member.channel.leaveGroup(at("239.9.9.7", 0).getAddress()).sync();
        member.channel.bind(new InetSocketAddress(0)).sync();
        DatagramFixture.Inbox sender = bind(b, new InetSocketAddress(0));
        sender.send("left", at("239.9.9.7", member.address().getPort()));
        sender.send("to all", at("239.9.9.8", member.address().getPort()));
        assertEquals("to all", member.takeText());
    }

    @Test
    void anotherLoopTakesOverWhenTheDrivingOneLeaves() throws InterruptedException {
        DatagramFixture.Inbox first = bind(a, new InetSocketAddress(0));
        DatagramFixture.Inbox second = bind(a, new InetSocketAddress(0));
        first.channel.eventLoop().shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        DatagramFixture.Inbox client = bind(b, new InetSocketAddress(0));
        // The remaining loop answers the address resolution.
        client.send("still there?", at("10.9.0.1", second.address().getPort()));
        assertEquals("still there?", second.takeText());
    }

    @Test
    void userErrorsAreReported() throws InterruptedException {
        DatagramFixture.Inbox client = bind(a, at("10.9.0.1", 0));
        assertInstanceOf(NoRouteToHostException.class, client.channel.writeAndFlush(
                new io.netty.channel.socket.DatagramPacket(text("x"), at("192.0.2.1", 1))).await().cause());
        int port = client.address().getPort();
        assertThrows(BindException.class, () -> bind(a, at("10.9.0.1", port)));
        assertThrows(BindException.class, () -> bind(a, at("10.9.0.2", 0)));
        assertThrows(IllegalArgumentException.class, () -> group("03:00:00:09:00:01", ADDRESSES_A));
        assertThrows(IllegalArgumentException.class, () -> group("02:00:00:09:00:01", "10.9.0.1"));
        assertThrows(IllegalArgumentException.class, () -> RdmaRawIoHandlerConfig.builder()
                .userspaceAddress("02:00:00:09:00:01", "10.9.0.1/24", "10.8.0.1").build());
    }
}
