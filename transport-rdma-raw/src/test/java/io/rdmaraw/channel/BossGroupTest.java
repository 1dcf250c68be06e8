package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.unix.UnixChannelOption;
import io.netty.util.concurrent.EventExecutor;
import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.tcp.stack.TcpStack;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A server channel on a separate boss group: the worker loops take over the port's flow rules when the channel is
 * bound, so that connections arrive at their own loop.
 */
@Timeout(120)
class BossGroupTest {
    private static final String SERVER_MAC = "02:00:00:0b:00:01";
    private static final String SERVER = "10.11.0.1";
    private static final int WORKERS = 3;
    private static final int CONNECTIONS = 48;
    private static final int TALK_BYTES = 1 << 16;

    private final LoopDevice device = LoopDevice.inMemory();
    private final StreamFixture fixture = new StreamFixture(host(device.name, SERVER_MAC, SERVER), WORKERS,
            host(device.name, "02:00:00:0b:00:02", "10.11.0.2"), 1);
    private final RdmaRawEventLoopGroup bosses = bossesOn(device.name);
    /** Number of flow rules of the userspace host on each loop. Rules beyond these belong to ports. */
    private final Map<EventLoop, Integer> rulesOfHost = new HashMap<>();
    private final List<Channel> listeners = new ArrayList<>();
    private final BlockingQueue<Channel> children = new LinkedBlockingQueue<>();

    @AfterEach
    void shutDown() {
        fixture.close();
        bosses.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private static RdmaRawEventLoopGroup bossesOn(String name) {
        return new RdmaRawEventLoopGroup(1, host(name, SERVER_MAC, SERVER));
    }

    /** Configures a userspace host, for which the device needs flow rules. */
    private static RdmaRawIoHandlerConfig host(String device, String mac, String address) {
        return StreamFixture.config(device).detectDuplicateAddresses(false).userspaceAddress(mac, address + "/24", null)
                .build();
    }

    @BeforeEach
    void countRulesOfHost() {
        noteRulesOfHost(boss());
        fixture.servers.forEach(worker -> noteRulesOfHost((EventLoop) worker));
    }

    private void noteRulesOfHost(EventLoop loop) {
        TcpStack stack = stack(loop);
        rulesOfHost.put(loop, on(loop, () -> stack.deviceQueue().statistics().ruleCount));
    }

    private InetSocketAddress listen(EventLoopGroup workers, Consumer<ServerBootstrap> settings)
            throws InterruptedException {
        ServerBootstrap server = new ServerBootstrap().group(bosses, workers)
                .channel(RdmaRawServerSocketChannel.class)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new StreamFixture.Echo());
                        children.add(channel);
                    }
                });
        settings.accept(server);
        Channel listener = server.bind(new InetSocketAddress(InetAddress.ofLiteral(SERVER), 0)).sync().channel();
        listeners.add(listener);
        return (InetSocketAddress) listener.localAddress();
    }

    private InetSocketAddress listen() throws InterruptedException {
        return listen(fixture.servers, settings -> { });
    }

    private EventLoop boss() {
        return (EventLoop) bosses.iterator().next();
    }

    private static TcpStack stack(EventExecutor loop) {
        return on((EventLoop) loop, () -> ((RdmaRawEventLoop) loop).handler().openTcpStack());
    }

    /** Returns the number of flow rules of ports that lead to a loop. */
    private long rules(EventLoop loop) {
        TcpStack stack = stack(loop);
        return on(loop, () -> stack.deviceQueue().statistics().ruleCount) - rulesOfHost.get(loop);
    }

    private static long moved(EventLoop loop) {
        TcpStack stack = stack(loop);
        return on(loop, () -> stack.statistics().movedConnections);
    }

    private void awaitFollowed() {
        Patience.until(() -> rules(boss()) == 0, "the boss loop to leave the port to the others");
    }

    private RdmaRawSocketChannel talk(InetSocketAddress server, int seed) throws InterruptedException {
        return fixture.connect(server, new Talker(seed, TALK_BYTES));
    }

    /** Waits until all data sent by the client has been echoed unchanged. */
    private void awaitEnd(RdmaRawSocketChannel client) throws InterruptedException {
        Talker talker = client.pipeline().get(Talker.class);
        on(client.eventLoop(), () -> {
            talker.enough();
            return null;
        });
        talker.awaitAllBack();
    }

    @Test
    void connectionsArriveAtTheirOwnLoop() throws InterruptedException {
        InetSocketAddress server = listen();
        awaitFollowed();
        awaitOnOwnLoops(server, talk(server, 0));
        assertEquals(0, moved(boss()));
    }

    /** The server channel does not know the group of its connections before the first one is registered. */
    @Test
    void laterConnectionsArriveAtTheirOwnLoop() throws InterruptedException {
        Channel listener = new Bootstrap().group(bosses).channel(RdmaRawServerSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        Channel child = (Channel) msg;
                        child.pipeline().addLast(new StreamFixture.Echo());
                        fixture.servers.register(child);
                    }
                }).bind(new InetSocketAddress(InetAddress.ofLiteral(SERVER), 0)).sync().channel();
        InetSocketAddress server = (InetSocketAddress) listener.localAddress();
        assertEquals(1, rules(boss()));
        RdmaRawSocketChannel first = talk(server, 0);
        awaitFollowed();
        awaitOnOwnLoops(server, first);
    }

    private void awaitOnOwnLoops(InetSocketAddress server, RdmaRawSocketChannel first) throws InterruptedException {
        long movedBefore = moved(boss());
        List<RdmaRawSocketChannel> clients = new ArrayList<>();
        for (int i = 1; i <= CONNECTIONS; i++) {
            clients.add(talk(server, i));
        }
        for (RdmaRawSocketChannel client : clients) {
            awaitEnd(client);
        }
        awaitEnd(first);
        assertEquals(movedBefore, moved(boss()), "connections that the boss loop has passed on");
        for (EventExecutor worker : fixture.servers) {
            assertEquals(0, moved((EventLoop) worker), "connections that came to another loop of the workers");
            assertEquals(1, rules((EventLoop) worker));
        }
    }

    /**
     * No segment is lost while the flow rules move from the boss loop to the workers, whichever loop receives it.
     * Repeated, because a segment hits the transition in about one of seven runs.
     */
    @RepeatedTest(10)
    void noSegmentIsLostWhileRulesMove() throws InterruptedException {
        InetSocketAddress server = listen();
        List<ChannelFuture> connecting = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            connecting.add(fixture.client(new Talker(i, TALK_BYTES)).connect(server));
        }
        for (ChannelFuture client : connecting) {
            awaitEnd((RdmaRawSocketChannel) client.sync().channel());
        }
        awaitFollowed();
        for (EventExecutor worker : fixture.servers) {
            assertEquals(0, unmatched((EventLoop) worker));
        }
        assertEquals(0, unmatched(boss()));
        assertEquals(CONNECTIONS, connecting.stream().filter(client -> client.channel().isActive()).count());
    }

    private static long unmatched(EventLoop loop) {
        TcpStack stack = stack(loop);
        return on(loop, () -> stack.deviceQueue().statistics().undeliveredFrames + stack.statistics().droppedUnmatched);
    }

    @Test
    void serverWithReusePortStaysOnBossLoop() throws InterruptedException {
        InetSocketAddress server = listen(fixture.servers, settings -> settings.option(
                UnixChannelOption.SO_REUSEPORT, true));
        awaitEnd(talk(server, 1));
        StreamFixture.settle(boss());
        assertEquals(1, rules(boss()));
    }

    /** The workers do not take over the port if the user has chosen another group with {@code ACCEPT_GROUP}. */
    @Test
    void acceptGroupServesPort() throws InterruptedException {
        InetSocketAddress server = listen(fixture.servers,
                settings -> settings.option(RdmaRawChannelOption.ACCEPT_GROUP, bosses));
        awaitEnd(talk(server, 1));
        StreamFixture.settle(boss());
        assertEquals(1, rules(boss()));
    }

    /**
     * Workers on another device cannot receive the port's segments, so the boss loop keeps the port. They cannot carry
     * its connections either.
     */
    @Test
    void bossKeepsPortIfWorkersUseAnotherDevice() throws InterruptedException {
        RdmaRawEventLoopGroup others = bossesOn(LoopDevice.inMemory().name);
        try {
            RdmaRawSocketChannel refused = fixture.connect(listen(others, settings -> { }), new Talker(1, TALK_BYTES));
            assertTrue(refused.closeFuture().await(Patience.MILLIS));
            StreamFixture.settle(boss());
            assertEquals(1, rules(boss()));
        } finally {
            others.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /**
     * Open connections keep the port on the workers when the server closes. A new server of the same groups reuses it
     * there.
     */
    @Test
    void newServerReusesPortOnWorkers() throws InterruptedException {
        InetSocketAddress server = listen();
        RdmaRawSocketChannel first = talk(server, 1);
        awaitFollowed();
        // A server resets connections that it has not accepted when it closes.
        children.take();
        listeners.getFirst().close().sync();
        ServerBootstrap again = new ServerBootstrap().group(bosses, fixture.servers)
                .channel(RdmaRawServerSocketChannel.class).childHandler(new StreamFixture.Echo());
        again.bind(server).sync();
        RdmaRawSocketChannel second = talk(server, 2);
        awaitEnd(second);
        awaitEnd(first);
        assertEquals(0, rules(boss()), "the workers serve the port still");
    }

    /** When a port is released, its rules are withdrawn from all loops, including those that took it over. */
    @Test
    void releasedPortLeavesNoRulesOnWorkers() throws InterruptedException {
        InetSocketAddress server = listen();
        RdmaRawSocketChannel client = talk(server, 1);
        awaitFollowed();
        awaitEnd(client);
        listeners.getFirst().close().sync();
        // A reset avoids TIME-WAIT, which would keep the port in use.
        Channel child = children.take();
        child.config().setOption(ChannelOption.SO_LINGER, 0);
        child.close().sync();
        client.closeFuture().sync();
        for (EventExecutor worker : fixture.servers) {
            Patience.until(() -> rules((EventLoop) worker) == 0, "the rule to be gone");
        }
        // This server uses the boss group only, so the boss loop must receive the port's segments again.
        new ServerBootstrap().group(bosses).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new StreamFixture.Echo()).bind(server).sync();
        awaitEnd(talk(server, 2));
        assertEquals(1, rules(boss()));
    }

    /** A server channel moves to another boss loop. The workers continue to serve the port. */
    @Test
    void workersKeepPortWhenServerChannelMoves() throws InterruptedException {
        InetSocketAddress server = listen();
        awaitEnd(talk(server, 1));
        awaitFollowed();
        Channel listener = listeners.getFirst();
        RdmaRawEventLoopGroup next = bossesOn(device.name);
        try {
            noteRulesOfHost((EventLoop) next.iterator().next());
            listener.deregister().sync();
            next.register(listener).sync();
            awaitEnd(talk(server, 2));
            assertEquals(0, rules((EventLoop) next.iterator().next()));
            assertNotEquals(0, rules((EventLoop) fixture.servers.iterator().next()));
            listener.close().sync();
        } finally {
            next.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /**
     * A server channel moves to a boss loop on the device of the workers, where its port is opened anew. The workers
     * take over the port at once, as after bind.
     */
    @Test
    void workersTakeOverPortOfMovedServerChannel() throws InterruptedException {
        RdmaRawEventLoopGroup first = bossesOn(LoopDevice.inMemory().name);
        try {
            Channel listener = new ServerBootstrap().group(first, fixture.servers)
                    .channel(RdmaRawServerSocketChannel.class).childHandler(new StreamFixture.Echo())
                    .bind(new InetSocketAddress(InetAddress.ofLiteral(SERVER), 0)).sync().channel();
            listener.deregister().sync();
            bosses.register(listener).sync();
            awaitFollowed();
            InetSocketAddress server = (InetSocketAddress) listener.localAddress();
            awaitOnOwnLoops(server, talk(server, 0));
            assertEquals(0, moved(boss()));
            listener.close().sync();
        } finally {
            first.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private ChannelFuture listenAgain(InetSocketAddress server, EventLoopGroup accepting, EventLoopGroup serving)
            throws InterruptedException {
        return new ServerBootstrap().group(accepting, serving).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new StreamFixture.Echo()).bind(server).sync();
    }

    /**
     * The boss loop withdraws its rule only when all workers have joined. A second server that finds the takeover under
     * way does not make it leave early.
     */
    @Test
    void bossKeepsRuleUntilAllWorkersHaveJoined() throws InterruptedException {
        List<EventLoop> workers = new ArrayList<>();
        fixture.servers.forEach(worker -> workers.add((EventLoop) worker));
        CountDownLatch latch = new CountDownLatch(1);
        // Children are assigned in turn: the first one to the first worker, the second server's to the second worker.
        StreamFixture.keepBusy(workers.getLast(), latch);
        InetSocketAddress server = listen();
        try {
            RdmaRawSocketChannel first = fixture.connect(server, new Talker(1, TALK_BYTES));
            children.take();
            listeners.getFirst().close().sync();
            listenAgain(server, bosses, fixture.servers);
            awaitEnd(talk(server, 2));
            StreamFixture.settle(boss());
            assertEquals(1, rules(boss()), "the boss loop has to go on meanwhile");
            latch.countDown();
            awaitFollowed();
            awaitEnd(first);
        } finally {
            latch.countDown();
        }
        awaitEnd(talk(server, 3));
    }

    /** The port passes to a third group before the second group has joined. The overtaken move then has no effect. */
    @Test
    void overtakenMoveHasNoEffect() throws InterruptedException {
        List<EventLoop> workers = new ArrayList<>();
        fixture.servers.forEach(worker -> workers.add((EventLoop) worker));
        CountDownLatch latch = new CountDownLatch(1);
        StreamFixture.keepBusy(workers.getLast(), latch);
        InetSocketAddress server = listen();
        RdmaRawSocketChannel first;
        try {
            first = fixture.connect(server, new Talker(1, TALK_BYTES));
            children.take();
            listeners.getFirst().close().sync();
            listenAgain(server, bosses, bosses);
            awaitEnd(talk(server, 2));
        } finally {
            latch.countDown();
        }
        Patience.until(() -> workers.stream().allMatch(worker -> rules(worker) == 0), "the workers to leave the port");
        assertEquals(1, rules(boss()));
        awaitEnd(first);
        awaitEnd(talk(server, 3));
    }

    /** When the worker group shuts down, its loops leave the port and the boss loop serves it again. */
    @Test
    void portFallsBackToBossWhenWorkersEnd() throws InterruptedException {
        RdmaRawEventLoopGroup workers = bossesOn(device.name);
        InetSocketAddress server = listen(workers, settings -> { });
        awaitEnd(talk(server, 1));
        awaitFollowed();
        workers.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        Patience.until(() -> rules(boss()) == 1, "the boss loop to serve the port again");
        // No loop is left to register the connection with: the server accepts and closes it instead of leaving it open.
        RdmaRawSocketChannel client = fixture.connect(server, new Talker(2, TALK_BYTES));
        client.closeFuture().sync();
    }

    /**
     * A second server with another boss has taken over the port from loops that then shut down. The port falls back to
     * that server's own boss loop.
     */
    @Test
    void portFallsBackToBossOfSecondServer() throws InterruptedException {
        RdmaRawEventLoopGroup workers = bossesOn(device.name);
        InetSocketAddress server = listen(workers, settings -> { });
        awaitEnd(talk(server, 1));
        awaitFollowed();
        listeners.getFirst().close().sync();
        RdmaRawEventLoopGroup next = bossesOn(device.name);
        try {
            EventLoop loop = (EventLoop) next.iterator().next();
            noteRulesOfHost(loop);
            listenAgain(server, next, next);
            workers.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
            Patience.until(() -> rules(loop) == 1, "the other boss loop to serve the port");
            awaitEnd(talk(server, 2));
        } finally {
            next.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /**
     * A server channel has moved to another boss loop. When the workers shut down, the port falls back to that loop.
     */
    @Test
    void portFallsBackToNewLoopOfMovedServer() throws InterruptedException {
        RdmaRawEventLoopGroup workers = bossesOn(device.name);
        InetSocketAddress server = listen(workers, settings -> { });
        awaitEnd(talk(server, 1));
        awaitFollowed();
        Channel listener = listeners.getFirst();
        RdmaRawEventLoopGroup next = bossesOn(device.name);
        try {
            EventLoop loop = (EventLoop) next.iterator().next();
            noteRulesOfHost(loop);
            listener.deregister().sync();
            next.register(listener).sync();
            workers.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
            Patience.until(() -> rules(loop) == 1, "the loop of the server channel to serve the port");
            listener.close().sync();
        } finally {
            next.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** If workers already serve a port, the boss loop of a new server adds no rule for it. */
    @Test
    void secondBossAddsNoRuleForServedPort() throws InterruptedException {
        InetSocketAddress server = listen();
        RdmaRawSocketChannel first = talk(server, 1);
        awaitFollowed();
        // A server resets connections that it has not accepted when it closes.
        children.take();
        listeners.getFirst().close().sync();
        RdmaRawEventLoopGroup next = bossesOn(device.name);
        try {
            noteRulesOfHost((EventLoop) next.iterator().next());
            Channel again = listenAgain(server, next, fixture.servers).channel();
            awaitEnd(talk(server, 2));
            awaitEnd(first);
            assertEquals(0, rules((EventLoop) next.iterator().next()));
            again.close().sync();
        } finally {
            next.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** The port moves from the workers to the boss group and back while connections of all servers stay open. */
    @Test
    void portReturnsToLoopsThatHadLeft() throws InterruptedException {
        InetSocketAddress server = listen();
        RdmaRawSocketChannel first = talk(server, 1);
        awaitFollowed();
        // A server resets connections that it has not accepted when it closes.
        children.take();
        listeners.getFirst().close().sync();
        Channel alone = listenAgain(server, bosses, bosses).channel();
        RdmaRawSocketChannel second = talk(server, 2);
        EventLoop worker = (EventLoop) fixture.servers.iterator().next();
        Patience.until(() -> rules(worker) == 0 && rules(boss()) == 1, "the boss loop to have the port for itself");
        alone.close().sync();
        listenAgain(server, bosses, fixture.servers);
        RdmaRawSocketChannel third = talk(server, 3);
        Patience.until(() -> rules(worker) == 1 && rules(boss()) == 0, "the workers to have the port again");
        for (RdmaRawSocketChannel client : List.of(first, second, third, talk(server, 4))) {
            awaitEnd(client);
        }
    }

    /**
     * Workers of another userspace host have other addresses and would not recognise the port's segments, so the boss
     * loop keeps the port.
     */
    @Test
    void bossKeepsPortIfWorkersAreAnotherHost() throws InterruptedException {
        RdmaRawEventLoopGroup others = new RdmaRawEventLoopGroup(1, host(device.name, "02:00:00:0b:00:03",
                "10.11.0.3"));
        try {
            fixture.connect(listen(others, settings -> { }), new Talker(1, TALK_BYTES));
            children.take();
            StreamFixture.settle(boss());
            assertEquals(1, rules(boss()));
        } finally {
            others.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /**
     * If the device has no room for another rule, the boss loop keeps the port and passes segments on to the workers.
     */
    @Test
    void bossKeepsPortIfDeviceIsFull() throws InterruptedException {
        SoftverbsFaults faults = SoftverbsFaults.of(stack(boss()).deviceQueue().device().context());
        CountDownLatch latch = new CountDownLatch(1);
        for (EventExecutor worker : fixture.servers) {
            StreamFixture.keepBusy((EventLoop) worker, latch);
        }
        InetSocketAddress server = listen();
        RdmaRawSocketChannel first = talk(server, 1);
        RdmaRawSocketChannel second = talk(server, 2);
        // The connections already have their rules. The device has no room for rules of the port.
        faults.setFlowCapacity(1);
        latch.countDown();
        awaitEnd(first);
        awaitEnd(second);
        assertEquals(1, rules(boss()));
        faults.setFlowCapacity(-1);
        awaitEnd(talk(server, 3));
    }
}
