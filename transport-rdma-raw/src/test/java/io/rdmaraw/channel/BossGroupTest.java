package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
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

/** A server channel on a group of its own: after the first connection the loops of the others serve the port. */
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
    /** How many rules of its host lead to each loop. */
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

    /** A host of our own, whose segments the device steers by rules. */
    private static RdmaRawIoHandlerConfig host(String device, String mac, String address) {
        return StreamFixture.config(device).detectDuplicateAddresses(false).ownAddress(mac, address + "/24", null)
                .build();
    }

    @BeforeEach
    void countRulesOfHost() {
        noteRulesOfHost(boss());
        fixture.servers.forEach(worker -> noteRulesOfHost((EventLoop) worker));
    }

    private void noteRulesOfHost(EventLoop loop) {
        TcpStack stack = stack(loop);
        rulesOfHost.put(loop, on(loop, () -> stack.port().statistics().rules));
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
        return on((EventLoop) loop, () -> ((RdmaRawEventLoop) loop).handler().tcp());
    }

    /** Returns how many rules of ports lead to a loop. */
    private long rules(EventLoop loop) {
        TcpStack stack = stack(loop);
        return on(loop, () -> stack.port().statistics().rules) - rulesOfHost.get(loop);
    }

    private static long moved(EventLoop loop) {
        TcpStack stack = stack(loop);
        return on(loop, () -> stack.counters().movedConnections);
    }

    private void awaitFollowed() {
        Patience.until(() -> rules(boss()) == 0, "the boss loop to leave the port to the others");
    }

    private RdmaRawSocketChannel talk(InetSocketAddress server, int seed) throws InterruptedException {
        return fixture.connect(server, new Talker(seed, TALK_BYTES));
    }

    /** All that was sent has come back, unchanged. */
    private void awaitEnd(RdmaRawSocketChannel client) throws InterruptedException {
        Talker talker = client.pipeline().get(Talker.class);
        on(client.eventLoop(), () -> {
            talker.enough();
            return null;
        });
        talker.awaitAllBack();
    }

    @Test
    void connectionsComeToTheirLoopsAtOnce() throws InterruptedException {
        InetSocketAddress server = listen();
        RdmaRawSocketChannel first = talk(server, 0);
        awaitFollowed();
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

    /** While the rules change hands nothing is lost, whatever loop a segment comes to. It happens once in seven. */
    @RepeatedTest(10)
    void nothingIsLostMeanwhile() throws InterruptedException {
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
        return on(loop, () -> stack.port().statistics().unmatchedFrames + stack.counters().droppedUnmatched);
    }

    @Test
    void aServerThatSharesItsPortStaysWhereItIs() throws InterruptedException {
        InetSocketAddress server = listen(fixture.servers, settings -> settings.option(
                UnixChannelOption.SO_REUSEPORT, true));
        awaitEnd(talk(server, 1));
        StreamFixture.settle(boss());
        assertEquals(1, rules(boss()));
    }

    /** Who says which loops are to serve the port is heard. */
    @Test
    void theUsersGroupServes() throws InterruptedException {
        InetSocketAddress server = listen(fixture.servers,
                settings -> settings.option(RdmaRawChannelOption.ACCEPT_GROUP, bosses));
        awaitEnd(talk(server, 1));
        StreamFixture.settle(boss());
        assertEquals(1, rules(boss()));
    }

    /** Loops on another device cannot receive what comes by this one. */
    @Test
    void workersOfAnotherDeviceAreNotFollowed() throws InterruptedException {
        RdmaRawEventLoopGroup others = bossesOn(LoopDevice.inMemory().name);
        try {
            fixture.connect(listen(others, settings -> { }), new Talker(1, TALK_BYTES));
            children.take();
            StreamFixture.settle(boss());
            assertEquals(1, rules(boss()));
        } finally {
            others.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** As long as connections of a server are open its port is kept, and another server of the same groups takes it. */
    @Test
    void anotherServerTakesThePortThatWasFollowed() throws InterruptedException {
        InetSocketAddress server = listen();
        RdmaRawSocketChannel first = talk(server, 1);
        awaitFollowed();
        listeners.getFirst().close().sync();
        ServerBootstrap again = new ServerBootstrap().group(bosses, fixture.servers)
                .channel(RdmaRawServerSocketChannel.class).childHandler(new StreamFixture.Echo());
        again.bind(server).sync();
        RdmaRawSocketChannel second = talk(server, 2);
        awaitEnd(second);
        awaitEnd(first);
        assertEquals(0, rules(boss()), "the workers serve the port still");
    }

    /** The rules of a port that is given back are gone from all loops, whoever served it. */
    @Test
    void whatWasFollowedIsGivenBack() throws InterruptedException {
        InetSocketAddress server = listen();
        RdmaRawSocketChannel client = talk(server, 1);
        awaitFollowed();
        awaitEnd(client);
        listeners.getFirst().close().sync();
        // A reset leaves no TIME-WAIT that would keep the port.
        Channel child = children.take();
        child.config().setOption(ChannelOption.SO_LINGER, 0);
        child.close().sync();
        client.closeFuture().sync();
        for (EventExecutor worker : fixture.servers) {
            Patience.until(() -> rules((EventLoop) worker) == 0, "the rule to be gone");
        }
        // By the boss group alone, whose loop has to be the one that receives again.
        new ServerBootstrap().group(bosses).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new StreamFixture.Echo()).bind(server).sync();
        awaitEnd(talk(server, 2));
        assertEquals(1, rules(boss()));
    }

    /** The server channel goes to another loop; those that serve the port stay. */
    @Test
    void aServerThatMovesIsStillServedByThem() throws InterruptedException {
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

    private ChannelFuture listenAgain(InetSocketAddress server, EventLoopGroup accepting, EventLoopGroup serving)
            throws InterruptedException {
        return new ServerBootstrap().group(accepting, serving).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new StreamFixture.Echo()).bind(server).sync();
    }

    /** The boss loop leaves when all of the others have joined, and not when another call finds nothing to do. */
    @Test
    void theLastLoopOfBeforeDoesNotLeaveTooSoon() throws InterruptedException {
        List<EventLoop> workers = new ArrayList<>();
        fixture.servers.forEach(worker -> workers.add((EventLoop) worker));
        InetSocketAddress server = listen();
        CountDownLatch latch = new CountDownLatch(1);
        // The first child is on the first of the workers, and the second server's on the second.
        StreamFixture.keepBusy(workers.getLast(), latch);
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

    /** A port that goes on to a third group before the second one has joined. */
    @Test
    void aMoveThatWasOvertakenChangesNothing() throws InterruptedException {
        List<EventLoop> workers = new ArrayList<>();
        fixture.servers.forEach(worker -> workers.add((EventLoop) worker));
        InetSocketAddress server = listen();
        CountDownLatch latch = new CountDownLatch(1);
        StreamFixture.keepBusy(workers.getLast(), latch);
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

    /** A group that ends takes its loops from the port; those of before serve it again. */
    @Test
    void theBossTakesThePortBack() throws InterruptedException {
        RdmaRawEventLoopGroup workers = bossesOn(device.name);
        InetSocketAddress server = listen(workers, settings -> { });
        awaitEnd(talk(server, 1));
        awaitFollowed();
        workers.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        Patience.until(() -> rules(boss()) == 1, "the boss loop to serve the port again");
        // Nobody is left whom a connection could be registered with: it is taken and closed, and not left alone.
        RdmaRawSocketChannel client = fixture.connect(server, new Talker(2, TALK_BYTES));
        client.closeFuture().sync();
    }

    /** A server that has taken a port over whose loops end has a loop of its own to fall back on. */
    @Test
    void anotherBossTakesThePortBack() throws InterruptedException {
        RdmaRawEventLoopGroup workers = bossesOn(device.name);
        InetSocketAddress server = listen(workers, settings -> { });
        awaitEnd(talk(server, 1));
        awaitFollowed();
        listeners.getFirst().close().sync();
        RdmaRawEventLoopGroup next = bossesOn(device.name);
        try {
            EventLoop loop = (EventLoop) next.iterator().next();
            noteRulesOfHost(loop);
            listenAgain(server, next, fixture.servers);
            workers.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
            Patience.until(() -> rules(loop) == 1, "the other boss loop to serve the port");
            awaitEnd(talk(server, 2));
            Patience.until(() -> rules(loop) == 0, "the workers of the other server to serve it");
            awaitEnd(talk(server, 3));
        } finally {
            next.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** A server channel that has moved falls back on the loop that it is on by then. */
    @Test
    void aServerThatHasMovedTakesThePortBack() throws InterruptedException {
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

    /** The server channel's own loop has no part in a port that was left to others. */
    @Test
    void anotherBossTakesThePort() throws InterruptedException {
        InetSocketAddress server = listen();
        RdmaRawSocketChannel first = talk(server, 1);
        awaitFollowed();
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

    /** To a group that had left it, and back to the one before, while connections keep it. */
    @Test
    void aPortComesBackToLoopsThatHadLeftIt() throws InterruptedException {
        InetSocketAddress server = listen();
        RdmaRawSocketChannel first = talk(server, 1);
        awaitFollowed();
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

    /** As another host the workers would take none of the port's segments for theirs. */
    @Test
    void workersOfAnotherHostAreNotFollowed() throws InterruptedException {
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

    /** A device without room for one more rule: the boss loop goes on, and passes on what comes. */
    @Test
    void onAFullDeviceTheBossGoesOn() throws InterruptedException {
        InetSocketAddress server = listen();
        SoftverbsFaults faults = SoftverbsFaults.of(stack(boss()).port().device().context());
        CountDownLatch latch = new CountDownLatch(1);
        for (EventExecutor worker : fixture.servers) {
            StreamFixture.keepBusy((EventLoop) worker, latch);
        }
        RdmaRawSocketChannel first = talk(server, 1);
        RdmaRawSocketChannel second = talk(server, 2);
        // The connections have their rules; those of the port get no room.
        faults.setFlowCapacity(1);
        latch.countDown();
        awaitEnd(first);
        awaitEnd(second);
        assertEquals(1, rules(boss()));
        faults.setFlowCapacity(-1);
        awaitEnd(talk(server, 3));
    }
}
