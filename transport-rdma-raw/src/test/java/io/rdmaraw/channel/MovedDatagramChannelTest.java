package io.rdmaraw.channel;

import static io.rdmaraw.channel.DatagramFixture.at;
import static io.rdmaraw.channel.DatagramFixture.text;
import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.EventExecutor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A datagram channel moves to another loop. Operations that were under way on the first loop complete on the second
 * one. From then on the channel uses the queue and the neighbours of the second loop.
 */
@Timeout(60)
class MovedDatagramChannelTest {
    private static final String HERE = "10.9.0.1";
    private static final String THERE = "10.9.0.2";
    private static final int PORT = 5555;

    private final LoopDevice device = LoopDevice.inMemory();
    private final List<EventLoopGroup> hosts = new ArrayList<>();
    private final List<DatagramFixture.Inbox> inboxes = new ArrayList<>();
    private final EventLoopGroup here = host("02:00:00:09:00:01", HERE);
    /** Opened by the test. Until then the loop that the channel has joined is blocked in a handler. */
    private final CountDownLatch end = new CountDownLatch(1);

    private EventLoopGroup host(String mac, String address) {
        EventLoopGroup host = new RdmaRawEventLoopGroup(2, RdmaRawIoHandlerConfig.builder().device(device.name)
                .detectDuplicateAddresses(false).receiveQueueDepth(256).sendQueueDepth(256).slotCount(1024)
                .userspaceAddress(mac, address + "/24", null).build());
        hosts.add(host);
        return host;
    }

    private EventLoopGroup otherHost() {
        return host("02:00:00:09:00:02", THERE);
    }

    /** Binds a channel of the other host and blocks the host, so that it does not answer before the latch opens. */
    private DatagramFixture.Inbox bindOnSilentHost(CountDownLatch answer) throws InterruptedException {
        EventLoopGroup there = otherHost();
        DatagramFixture.Inbox server = bind(there, PORT);
        for (EventExecutor loop : there) {
            StreamFixture.silence((EventLoop) loop, answer);
        }
        return server;
    }

    private DatagramFixture.Inbox bind(EventLoopGroup loops, int port) throws InterruptedException {
        DatagramFixture.Inbox inbox = new DatagramFixture.Inbox();
        inboxes.add(inbox);
        inbox.channel = (RdmaRawDatagramChannel) new Bootstrap().group(loops).channel(RdmaRawDatagramChannel.class)
                .handler(inbox).bind(new InetSocketAddress(port)).sync().channel();
        return inbox;
    }

    @AfterEach
    void shutDown() {
        end.countDown();
        hosts.forEach(host -> host.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
        inboxes.forEach(inbox -> inbox.packets.forEach(ReferenceCountUtil::release));
    }

    private EventLoop otherLoop(EventLoop than) {
        for (EventExecutor loop : here) {
            if (loop != than) {
                return (EventLoop) loop;
            }
        }
        throw new AssertionError("the group has one loop");
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(Patience.SECONDS, TimeUnit.SECONDS), "timed out");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void move(RdmaRawDatagramChannel channel, EventLoop to) throws InterruptedException {
        channel.deregister().sync();
        to.register(channel).sync();
    }

    private void moveBefore(RdmaRawDatagramChannel channel, Runnable asking) {
        moveBefore(channel, () -> { }, asking);
    }

    /**
     * Makes a call while the channel moves: its task runs on the old loop after the channel has joined the other loop,
     * which is blocked in a handler. Returns when the old loop has processed the task.
     *
     * @param first runs on the old loop, which receives nothing from then on until the channel has moved
     */
    private void moveBefore(RdmaRawDatagramChannel channel, Runnable first, Runnable asking) {
        EventLoop from = channel.eventLoop();
        EventLoop to = otherLoop(from);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch moved = new CountDownLatch(1);
        from.execute(() -> {
            first.run();
            channel.deregister().addListener(left -> {
                to.register(channel).addListener(joined -> {
                    moved.countDown();
                    await(end);
                });
                await(moved);
            });
            begun.countDown();
            await(asked);
        });
        await(begun);
        asking.run();
        asked.countDown();
        await(moved);
        settle(from);
    }

    @Test
    void usesNeighboursOfNewLoop() throws InterruptedException {
        DatagramFixture.Inbox server = bind(otherHost(), 0);
        DatagramFixture.Inbox client = bind(here, 0);
        EventLoop second = otherLoop(client.channel.eventLoop());
        move(client.channel, second);
        client.send("hello", at(THERE, server.address().getPort()));
        assertEquals("hello", server.takeText());
    }

    @Test
    void sendsToKnownPeerAfterMove() throws InterruptedException {
        DatagramFixture.Inbox server = bind(otherHost(), 0);
        DatagramFixture.Inbox client = bind(here, 0);
        client.send("before", at(THERE, server.address().getPort()));
        assertEquals("before", server.takeText());
        move(client.channel, otherLoop(client.channel.eventLoop()));
        client.send("after", at(THERE, server.address().getPort()));
        assertEquals("after", server.takeText());
    }

    /** Sends datagrams to a peer without a known address; called on the loop. They wait for three seconds at most. */
    private static void sendUnresolved(DatagramFixture.Inbox client, DatagramFixture.Inbox witness) {
        client.channel.writeAndFlush(new DatagramPacket(text("hello"), at(THERE, PORT)));
        witness.channel.writeAndFlush(new DatagramPacket(text("resolved"), at(THERE, PORT)));
    }

    @Test
    void waitingDatagramIsSentByLoopOfChannel() throws InterruptedException {
        CountDownLatch answer = new CountDownLatch(1);
        DatagramFixture.Inbox server = bindOnSilentHost(answer);
        DatagramFixture.Inbox client = bind(here, 0);
        EventLoop first = client.channel.eventLoop();
        EventLoop second = otherLoop(first);
        DatagramFixture.Inbox witness = bind(first, 0);
        moveBefore(client.channel, () -> sendUnresolved(client, witness), answer::countDown);
        // The datagram of the witness waited for the same neighbour, behind the datagram of the client.
        assertEquals("resolved", server.takeText());
        settle(first);
        assertEquals(0, client.channel.statistics().sentDatagrams(), "sent beside a loop that is in a handler");
        end.countDown();
        assertEquals("hello", server.takeText());
        settle(second);
        assertEquals(1, client.channel.statistics().sentDatagrams());
    }

    @Test
    void waitingDatagramIsDroppedIfChannelIsDeregistered() throws InterruptedException {
        CountDownLatch answer = new CountDownLatch(1);
        DatagramFixture.Inbox server = bindOnSilentHost(answer);
        DatagramFixture.Inbox client = bind(here, 0);
        EventLoop first = client.channel.eventLoop();
        DatagramFixture.Inbox witness = bind(first, 0);
        StreamFixture.on(first, () -> {
            sendUnresolved(client, witness);
            ChannelFuture leaving = client.channel.deregister();
            answer.countDown();
            return leaving;
        }).sync();
        assertEquals("resolved", server.takeText());
        settle(first);
        assertEquals(1, client.channel.statistics().droppedUnresolved());
        assertEquals(0, client.channel.statistics().sentDatagrams());
    }

    @Test
    void handedOverDatagramIsReceivedOnLoopOfChannel() throws InterruptedException {
        DatagramFixture.Inbox server = bind(here, 0);
        DatagramFixture.Inbox sender = bind(otherLoop(server.channel.eventLoop()), 0);
        moveBefore(server.channel, () -> sender.channel.writeAndFlush(new DatagramPacket(text("hello"),
                at(HERE, server.address().getPort()))).syncUninterruptibly());
        assertEquals(1, sender.channel.statistics().sentToSelf());
        assertEquals(0, server.channel.statistics().receivedDatagrams(), "taken beside a loop that is in a handler");
        end.countDown();
        assertEquals("hello", server.takeText());
    }

    @Test
    void groupIsJoinedOnLoopOfChannel() throws Exception {
        DatagramFixture.Inbox member = bind(here, 0);
        InetAddress group = InetAddress.getByName("239.9.0.1");
        List<ChannelFuture> joined = new ArrayList<>();
        moveBefore(member.channel, () -> joined.add(member.channel.joinGroup(group)));
        assertFalse(joined.getFirst().isDone(), "joined beside a loop that is in a handler");
        end.countDown();
        joined.getFirst().sync();
        DatagramFixture.Inbox sender = bind(otherHost(), 0);
        sender.send("all", new InetSocketAddress(group, member.address().getPort()));
        assertEquals("all", member.takeText());
    }

    @Test
    void boundChannelConnectsOnNoLoop() throws InterruptedException {
        DatagramFixture.Inbox server = bind(otherHost(), 0);
        DatagramFixture.Inbox client = bind(here, 0);
        EventLoop second = otherLoop(client.channel.eventLoop());
        client.channel.deregister().sync();
        client.channel.connect(at(THERE, server.address().getPort())).sync();
        second.register(client.channel).sync();
        client.channel.writeAndFlush(text("hello")).sync();
        assertEquals("hello", server.takeText());
    }

    @Test
    void unboundChannelIsNotBoundOnNoLoop() throws InterruptedException {
        Channel unbound = new Bootstrap().group(here).channel(RdmaRawDatagramChannel.class)
                .handler(new DatagramFixture.Inbox()).register().sync().channel();
        unbound.deregister().sync();
        Throwable cause = unbound.bind(new InetSocketAddress(0)).await().cause();
        assertTrue(assertInstanceOf(IllegalStateException.class, cause).getMessage().contains("on no loop"));
    }

    @Test
    void aGroupIsNotJoinedOnNoLoop() throws Exception {
        DatagramFixture.Inbox member = bind(here, 0);
        EventLoop first = member.channel.eventLoop();
        InetAddress group = InetAddress.getByName("239.9.0.1");
        member.channel.deregister().sync();
        ChannelFuture refused = member.channel.joinGroup(group).await();
        IllegalStateException cause = assertInstanceOf(IllegalStateException.class, refused.cause());
        assertTrue(cause.getMessage().contains("on no loop"), cause::getMessage);
        EventLoop second = otherLoop(first);
        assertNotSame(first, second);
        second.register(member.channel).sync();
        member.channel.joinGroup(group).sync();
        DatagramFixture.Inbox sender = bind(otherHost(), 0);
        sender.send("all", new InetSocketAddress(group, member.address().getPort()));
        assertEquals("all", member.takeText());
    }
}
